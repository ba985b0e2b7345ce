//! Opening a file for reading without surprises: nothing that blocks, nothing that is protected.
//!
//! Links are followed first and the file behind them is judged and opened, so a harmless name
//! cannot lead to a protected file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

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
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(real)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(Unreadable::Special);
    }
    Ok((file, about.len()))
}
