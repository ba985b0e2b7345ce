//! Opening a file for reading without surprises: nothing that blocks, nothing that is protected.
//!
//! Links are followed first and the file behind them is judged and opened, so a harmless name
//! cannot lead to a protected file.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::guard::{Guard, Protected};

/// Why a path cannot be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// Nothing is there.
    Missing,
    /// It is a folder.
    Folder,
    /// It is a device, a pipe or a socket.
    Special,
    /// It is not for the model.
    Protected(Protected),
    /// The system refuses or fails.
    System(io::Error),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // A file used as a folder: `notes.txt/more`.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::System(error),
        }
    }
}

/// What is at a path, once all links are followed.
#[derive(Debug)]
pub(crate) enum Place {
    /// A regular file.
    File(PathBuf),
    /// A folder.
    Folder(PathBuf),
}

/// Finds out what is at an absolute path; devices and protected files are refused.
pub(crate) fn look(path: &Path, guard: &Guard) -> Result<Place, Unreadable> {
    refuse(path, guard)?;
    // Asked before the links are followed: `/dev/stdin` leads to a name that is no path.
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(Unreadable::Special);
    }
    let real = path.canonicalize()?;
    refuse(&real, guard)?;
    Ok(if kind.is_dir() { Place::Folder(real) } else { Place::File(real) })
}

fn refuse(path: &Path, guard: &Guard) -> Result<(), Unreadable> {
    guard.refuses(path).map_or(Ok(()), |protected| Err(Unreadable::Protected(protected)))
}

/// Opens a regular file, by the path behind all links, and tells its size.
pub(crate) fn open(real: &Path) -> Result<(File, u64), Unreadable> {
    // The path may have become a pipe or a link since it was looked at: never wait, never follow.
    let file = at(real, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(Unreadable::Special);
    }
    Ok((file, about.len()))
}

/// What is known about whatever is at a path behind all links.
pub(crate) fn about(real: &Path) -> io::Result<Metadata> {
    at(real, HANDLE)?.metadata()
}

/// A handle that only names a file; where systems have no such thing, it is opened for reading.
#[cfg(target_os = "linux")]
pub(crate) const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const HANDLE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// Opens a path that has no links. Should a part of it have become one, nothing is opened: what is
/// judged is what is opened, whoever changes the folders meanwhile.
pub(crate) fn at(real: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match opened(real, flags) {
        Ok(fd) => Ok(File::from(fd)),
        Err(Errno::LOOP) => Err(io::Error::other(MOVED)),
        Err(error) => Err(error.into()),
    }
}

/// What is said of a path that leads elsewhere by now.
pub(crate) const MOVED: &str =
    "a folder or a link on the way to it has changed since the call was judged: try again";

#[cfg(target_os = "linux")]
fn opened(real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    match openat2(CWD, real, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Kernels before 5.6 and some sandboxes do not have it; the last part is still not followed.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => openat(CWD, real, flags, Mode::empty()),
        other => other,
    }
}

/// Without `openat2` the last part of the path is not followed, the folders before it are.
#[cfg(not(target_os = "linux"))]
fn opened(real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(CWD, real, flags, Mode::empty())
}
