//! Why there is no copy, or no way back to one.

use std::io;
use std::path::PathBuf;

use petasos_contract::environment::EnvError;

/// Why there is no copy, or no way back to one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Commands do not run on this machine.
    #[error("checkpoints cover this machine only, and the terminal is at `{target}`")]
    Elsewhere {
        /// Where they run.
        target: String,
    },
    /// The workspace is a place that nobody means to copy.
    #[error("`{}` is too wide a folder for checkpoints: start in a project's folder", .0.display())]
    TooWide(PathBuf),
    /// The workspace has too many files.
    #[error(
        "the workspace has more than {most} files that are not ignored: add a .gitignore, or raise `checkpoints.max_files`"
    )]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// There is no such copy.
    #[error("there is no checkpoint `{0}`: see `petasos rollback list`")]
    Unknown(String),
    /// Neither that copy nor the workspace has the file.
    #[error("no such file in checkpoint {id}: `{path}`")]
    Absent {
        /// The file or folder.
        path: String,
        /// The copy.
        id: String,
    },
    /// A path is not inside the workspace.
    #[error("`{0}` is not a path inside the workspace")]
    Outside(String),
    /// Git is missing or failed.
    #[error("git failed: {0}")]
    Git(String),
    /// It took too long.
    #[error("git did not finish within {seconds} s{}", late(*.files))]
    Late {
        /// The limit.
        seconds: u64,
        /// Files that it was to copy, when it was copying.
        files: usize,
    },
    /// Somebody else is in the store.
    #[error("{} is making a checkpoint of this folder (limit {seconds} s)", holder(*.pid))]
    Busy {
        /// Whose process, where it is known.
        pid: Option<u32>,
        /// The limit.
        seconds: u64,
    },
    /// The environment failed.
    #[error(transparent)]
    Environment(#[from] EnvError),
    /// The store cannot be used.
    #[error("the checkpoint store `{}` cannot be used: {source}", .path.display())]
    Store {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn late(files: usize) -> String {
    match files {
        0 => String::new(),
        files => format!(" for {files} files: add what need not be copied to .gitignore"),
    }
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) if pid == std::process::id() => "another session of this process".to_owned(),
        Some(pid) => format!("another petasos process (pid {pid})"),
        None => "another petasos process".to_owned(),
    }
}
