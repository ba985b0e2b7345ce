//! What can go wrong with a file of ours.

use std::io;
use std::path::PathBuf;

/// A file could not be read, written or locked; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The system said no.
    #[error("cannot {action} `{}`: {problem}", file.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        problem: io::Error,
    },
    /// Another process holds the lock.
    #[error(
        "another process has held `{}` for {seconds} s: try again, or end that process",
        lock.display()
    )]
    Locked {
        /// The lock file.
        lock: PathBuf,
        /// How long we waited.
        seconds: u64,
    },
    /// Links that lead back to themselves.
    #[error("`{}` is a circle of symbolic links: remove one of them", file.display())]
    LinkCircle {
        /// Where it began.
        file: PathBuf,
    },
}

impl FsError {
    pub(crate) fn io(action: &'static str, file: impl Into<PathBuf>, problem: io::Error) -> Self {
        Self::Io { action, file: file.into(), problem }
    }
}

/// For callers whose own errors are the system's.
impl From<FsError> for io::Error {
    fn from(error: FsError) -> Self {
        match error {
            FsError::Io { problem, .. } => problem,
            FsError::Locked { .. } => Self::new(io::ErrorKind::TimedOut, error),
            FsError::LinkCircle { .. } => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}
