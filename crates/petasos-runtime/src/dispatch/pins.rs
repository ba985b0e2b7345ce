//! Whether the world is still as it was when a call was judged.

use std::fs;
use std::io;
use std::path::Path;

use petasos_contract::plan::Pin;
use sha2::{Digest as _, Sha256};

/// A pinned file is a script that somebody reads; larger ones are never pinned.
const CONTENT_BYTES_MAX: u64 = 1 << 20;

/// Whether nothing of this has moved.
pub(super) fn hold(pins: &[Pin]) -> bool {
    pins.iter().all(holds)
}

fn holds(pin: &Pin) -> bool {
    match pin {
        Pin::Directory { path, device, inode } => is_directory(path, *device, *inode),
        Pin::Absent(path) => {
            matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
        }
        Pin::Content { path, sha256 } => {
            content(path).is_some_and(|bytes| <[u8; 32]>::from(Sha256::digest(bytes)) == *sha256)
        }
        _ => false,
    }
}

#[cfg(unix)]
fn is_directory(path: &Path, device: u64, inode: u64) -> bool {
    use std::os::unix::fs::MetadataExt;
    // Not through a link: the path was one without links.
    let known = fs::symlink_metadata(path);
    known.is_ok_and(|it| it.is_dir() && (it.dev(), it.ino()) == (device, inode))
}

#[cfg(not(unix))]
fn is_directory(path: &Path, _: u64, _: u64) -> bool {
    path.is_dir()
}

fn content(path: &Path) -> Option<Vec<u8>> {
    // Asked first: opening a pipe would wait for somebody.
    let known = fs::symlink_metadata(path).ok()?;
    let fits = known.is_file() && known.len() <= CONTENT_BYTES_MAX;
    fits.then(|| fs::read(path).ok()).flatten()
}
