//! Locks that hold across processes and are given up by the system when a process dies.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::FsError;
use crate::replace::{create_parent, sibling};

/// How long a writer waits for another; each holds a lock for milliseconds.
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(15);
const LOCK_POLL: Duration = Duration::from_millis(2);

/// Holds the lock of a file until dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file gives the lock up as well; this is only sooner.
        if let Err(error) = self.file.unlock() {
            tracing::debug!(%error, "unlocking failed");
        }
    }
}

/// Waits for the lock of a file, a sibling named `.NAME.lock`, for at most [`LOCK_WAIT_MAX`].
pub fn lock(target: &Path) -> Result<Lock, FsError> {
    lock_within(&sibling(target, "lock"), LOCK_WAIT_MAX)
}

/// Waits for the lock that this very file is, for at most so long.
pub fn lock_within(path: &Path, wait_max: Duration) -> Result<Lock, FsError> {
    create_parent(path)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|error| FsError::io("open", path, error))?;
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { file }),
            Err(fs::TryLockError::WouldBlock) if started.elapsed() >= wait_max => {
                return Err(FsError::Locked { lock: path.to_owned(), seconds: wait_max.as_secs() });
            }
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL),
            Err(fs::TryLockError::Error(error)) => return Err(FsError::io("lock", path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_without_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("auth.lock");
        let held = lock_within(&file, Duration::ZERO).unwrap();
        let second = lock_within(&file, Duration::from_millis(20));
        assert!(matches!(second, Err(FsError::Locked { .. })), "{second:?}");
        drop(held);
        lock_within(&file, Duration::ZERO).unwrap();
    }
}
