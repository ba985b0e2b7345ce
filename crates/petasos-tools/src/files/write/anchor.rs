//! The folder that a file is written to, held from the moment the write was judged.
//!
//! The handle keeps the folder from being replaced unseen: before anything is written the path must
//! still lead to it, without a link on the way. Folders that are missing are made one by one below
//! it, and never through a link.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use crate::files::open::{self, HANDLE, MOVED};

/// A folder that is there, the nearest to the file.
#[derive(Debug)]
pub(crate) struct Anchor {
    path: PathBuf,
    folder: File,
}

impl Anchor {
    /// Holds a folder by a path without links, or the nearest one above it that exists.
    pub(crate) fn hold(folder: &Path) -> io::Result<Self> {
        for path in folder.ancestors() {
            match open::at(path, HANDLE | OFlags::DIRECTORY) {
                Ok(folder) => return Ok(Self { path: path.to_owned(), folder }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// Opens the folder of a file for writing in it, and makes what is missing of it; tells which
    /// folders those are, the outermost first.
    pub(super) fn enter(&self, folder: &Path) -> io::Result<(OwnedFd, Vec<PathBuf>)> {
        let missing = folder.strip_prefix(&self.path).map_err(io::Error::other)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let there = open::at(&self.path, flags)?;
        let (now, held) = (there.metadata()?, self.folder.metadata()?);
        if (now.dev(), now.ino()) != (held.dev(), held.ino()) {
            return Err(io::Error::other(MOVED));
        }
        let (mut at, mut path, mut made) = (OwnedFd::from(there), self.path.clone(), Vec::new());
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for name in missing {
            path.push(name);
            let entered = match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    made.push(path.clone());
                    Ok(())
                }
                // Another call has made it meanwhile.
                Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error),
            };
            match entered.and_then(|()| openat(&at, name, flags, Mode::empty())) {
                Ok(entered) => at = entered,
                Err(error) => {
                    removed(&made);
                    return Err(match error {
                        Errno::LOOP | Errno::NOTDIR => io::Error::other(MOVED),
                        error => error.into(),
                    });
                }
            }
        }
        Ok((at, made))
    }
}

/// Takes folders away again that were made for nothing.
pub(super) fn removed(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        // One that is in use by now stays.
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
