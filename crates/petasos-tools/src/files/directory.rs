//! The directory that a program would run in, resolved once and known again when it starts.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use petasos_contract::plan::Pin;

use super::site::FilePlace;

/// A directory as it was when a call was planned.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    /// As it is entered.
    pub(crate) path: PathBuf,
    /// Behind all links, where that can be told; what policy judges.
    pub(crate) real: PathBuf,
    /// Its device and number on this machine; one that is not there is like no other.
    pub(crate) identity: Option<(u64, u64)>,
    /// What must not move before the program starts.
    pub(crate) pin: Option<Pin>,
}

impl Directory {
    /// Looks at a directory. Elsewhere its path is all that is known of it.
    pub(super) fn look(path: PathBuf, place: &FilePlace) -> Self {
        if !place.is_here() {
            return Self { real: path.clone(), path, identity: None, pin: None };
        }
        let known = path.canonicalize().and_then(|real| Ok((fs::metadata(&real)?, real)));
        match known {
            Ok((known, real)) if known.is_dir() => {
                let (device, inode) = (known.dev(), known.ino());
                let pin = Pin::Directory { path: real.clone(), device, inode };
                Self { path, real, identity: Some((device, inode)), pin: Some(pin) }
            }
            _ => {
                let gone = fs::symlink_metadata(&path)
                    .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
                let pin = gone.then(|| Pin::Absent(path.clone()));
                Self { real: path.clone(), path, identity: Some((0, 0)), pin }
            }
        }
    }
}
