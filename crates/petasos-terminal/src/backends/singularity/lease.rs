//! Who uses a container: locks on files, which a crash lets go of by itself.
//!
//! Each program that uses a container holds its `lock` shared; whoever can have it alone knows
//! that nobody else uses it. Starting and stopping happen behind the `gate`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// How long another program may take to start or stop the container.
const GATE_PATIENCE: Duration = Duration::from_mins(1);
const GATE_PAUSE: Duration = Duration::from_millis(50);

/// The folder of one container with its locks.
#[derive(Debug)]
pub(super) struct Lease {
    folder: PathBuf,
    lock: File,
}

/// Held while a container is started or stopped.
#[derive(Debug)]
pub(super) struct Gate {
    _file: File,
}

impl Lease {
    /// Makes the folder and its files; takes no lock yet.
    pub(super) fn of(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let lock = open(&folder.join("lock"))?;
        Ok(Self { folder, lock })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Waits until no other program starts or stops it.
    pub(super) async fn gate(&self) -> io::Result<Gate> {
        let file = open(&self.folder.join("gate"))?;
        let deadline = Instant::now() + GATE_PATIENCE;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Gate { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                    tokio::time::sleep(GATE_PAUSE).await;
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let why = "another program has been starting or stopping it for a minute";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Says that this program uses it.
    pub(super) fn take(&self) -> io::Result<()> {
        Ok(flock(&self.lock, FlockOperation::NonBlockingLockShared)?)
    }

    /// Whether this program is the only one; it is then locked for good.
    pub(super) fn alone(&self) -> bool {
        flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Says that this program no longer uses it.
    pub(super) fn release(&self) {
        if let Err(error) = flock(&self.lock, FlockOperation::Unlock) {
            tracing::warn!(%error, "the lock of a container stays held until the program ends");
        }
    }

    /// Removes the folder and all files of the container.
    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            let folder = self.folder.display();
            tracing::warn!(%error, %folder, "the folder of a container stays behind");
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_last_user_is_alone() {
        let temp = tempfile::tempdir().unwrap();
        let [one, two] = [(); 2].map(|()| Lease::of(temp.path().join("x")).unwrap());
        one.take().unwrap();
        two.take().unwrap();
        assert!(!two.alone());
        two.take().unwrap();
        one.release();
        assert!(two.alone());
        drop(one.gate().await.unwrap());
        two.remove();
        assert!(!temp.path().join("x").exists());
    }
}
