//! Writing files so that nobody ever sees half of one: a draft beside it, then one rename.
//!
//! Several files change together or not at all: all drafts are written first, every old file
//! keeps a second name until the last rename, and a failure puts all of them back. A file keeps
//! its permissions and its owner; folders are opened without following links.

mod anchor;
mod stage;

use std::borrow::Cow;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use anchor::Anchor;
use petasos_contract::environment::EnvError;
use stage::Staged;

/// What one file becomes.
#[derive(Debug, Clone)]
pub(crate) struct Change<'a> {
    /// The file, behind all links.
    pub(crate) real: PathBuf,
    /// What it was, when it was there.
    pub(crate) before: Option<&'a [u8]>,
    /// What it becomes; `None` removes it.
    pub(crate) after: Option<Cow<'a, [u8]>>,
    /// A file whose permissions a new one takes.
    pub(crate) like: Option<PathBuf>,
    /// The folder that was held when the write was judged; found now without it.
    pub(crate) anchor: Option<Arc<Anchor>>,
}

/// What was done besides.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Whether folders had to be made.
    pub(crate) dirs_created: bool,
    /// What could not be kept, for the model.
    pub(crate) notes: Vec<String>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteFault {
    /// The system refused, and nothing has changed.
    #[error("`{}` cannot be written: {source}", .path.display())]
    System {
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A link in the workspace leads out of it.
    #[error(
        "it is a link that leads out of the working directory, to `{}`: name that path if it is \
         meant",
        .real.display()
    )]
    LeadsOut {
        /// Where.
        real: PathBuf,
    },
    /// A link leads to nothing.
    #[error("it is a link to nothing: remove the link or name the file it should be")]
    Dangling,
    /// The environment failed, and nothing has changed.
    #[error(transparent)]
    Environment(EnvError),
    /// It failed half way and could not be put back.
    #[error("{why}; and not every file could be put back: {then}. Look at each of them")]
    HalfDone {
        /// What failed.
        why: String,
        /// What failed then.
        then: String,
    },
}

/// When a file last changed.
pub(crate) fn modified_ns(known: &Metadata) -> i128 {
    i128::from(known.mtime()) * 1_000_000_000 + i128::from(known.mtime_nsec())
}

/// Where a path really is, or would be once its folders are made.
pub(crate) fn target(path: &Path) -> Result<PathBuf, WriteFault> {
    let system = |source| WriteFault::System { path: path.to_owned(), source };
    let mut rest = Vec::new();
    for at in path.ancestors() {
        match at.canonicalize() {
            Ok(real) => return Ok(rest.iter().rev().fold(real, |real, part| real.join(part))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if at.symlink_metadata().is_ok() {
                    return Err(WriteFault::Dangling);
                }
                rest.extend(at.file_name().map(PathBuf::from));
            }
            Err(error) => return Err(system(error)),
        }
    }
    Ok(path.to_owned())
}

/// Writes, changes and removes files: all of them or none.
pub(crate) fn commit(changes: &[Change<'_>]) -> Result<Done, WriteFault> {
    commit_until(changes, &|_| Ok(()))
}

/// As [`commit`]; `hold` is asked before each rename and may make it fail.
fn commit_until(
    changes: &[Change<'_>],
    hold: &dyn Fn(usize) -> io::Result<()>,
) -> Result<Done, WriteFault> {
    let mut staged: Vec<Staged> = Vec::with_capacity(changes.len());
    for change in changes {
        let one = Staged::new(change, changes.len() > 1)
            .map_err(|source| WriteFault::System { path: change.real.clone(), source })?;
        staged.push(one);
    }
    for index in 0..staged.len() {
        let Some(one) = staged.get_mut(index) else { continue };
        let moved = hold(index).and_then(|()| one.apply());
        if let Err(source) = moved {
            let path = one.path().to_owned();
            return Err(roll_back(staged, &path, source));
        }
    }
    let dirs_created = staged.iter().any(|one| !one.folders.is_empty());
    let notes = staged.into_iter().flat_map(Staged::keep).collect();
    Ok(Done { dirs_created, notes })
}

fn roll_back(staged: Vec<Staged>, path: &Path, source: io::Error) -> WriteFault {
    let mut failed = Vec::new();
    for one in staged.into_iter().rev() {
        let name = one.path().display().to_string();
        if let Err(error) = one.undo() {
            failed.push(format!("`{name}`: {error}"));
        }
    }
    if failed.is_empty() {
        return WriteFault::System { path: path.to_owned(), source };
    }
    WriteFault::HalfDone { why: format!("`{}`: {source}", path.display()), then: failed.join("; ") }
}

#[cfg(test)]
mod race;
#[cfg(test)]
mod tests;
