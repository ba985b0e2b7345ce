//! An index that only one attempt writes to.
//!
//! A git whose petasos was killed may live on for a moment. Were the store's own index given to
//! git, such a git could replace it under the next program's hands; so git only ever sees a draft,
//! and a draft becomes the store's index by one rename, made by whoever holds the store's lock.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::CallContext;

use crate::checkpoints::Entered;
use crate::error::CheckpointError as Error;
use crate::git::Git;
use crate::store::Store;

/// From so many files on, one pack is faster.
const BULK_FROM: usize = 500;

/// An index that only one attempt writes to.
pub(crate) struct Draft {
    /// Its name in the store's folder.
    pub(crate) name: String,
    /// Git on it.
    pub(crate) git: Git,
}

/// Names of files as git wants to read them, a zero byte behind each.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: usize,
}

impl Draft {
    /// A draft that holds what the store's index holds.
    pub(crate) fn new(entered: &Entered) -> Result<Self, Error> {
        Self::like(INDEX, entered)
    }

    /// A draft that holds what this file of the store holds.
    pub(crate) fn like(index: &str, entered: &Entered) -> Result<Self, Error> {
        let Entered { store, git, .. } = entered;
        let name = format!("{PREFIX}{}", token());
        let (from, to) = (store.folder.join(index), store.folder.join(&name));
        // Git never writes into an index, it replaces it: a second name is as good as a copy.
        match fs::hard_link(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => drop(fs::copy(&from, &to).map_err(|source| store.failed(source))?),
            Ok(()) => {}
        }
        Ok(Self { git: git.with_index(&to), name })
    }

    /// Takes these files in as they are now; those that are gone go.
    pub(crate) async fn fill(&self, names: Names, cx: &CallContext) -> Result<(), Error> {
        if names.count == 0 {
            return Ok(());
        }
        // Many files at once go into one pack: a file for each would be slower and more to sweep.
        let bulk: &[&str] =
            if names.count > BULK_FROM { &["-c", "core.bigFileThreshold=1"] } else { &[] };
        let update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        match self.git.one(&[bulk, &update].concat(), names.bytes, cx).await {
            Err(Error::Late { seconds, .. }) => Err(Error::Late { seconds, files: names.count }),
            filled => filled.map(drop),
        }
    }
}

/// The store's index, as of its last checkpoint or restore.
pub(crate) const INDEX: &str = "index";

const PREFIX: &str = "index.";
const BRANCH: &str = "branch";

/// A name that no git of an earlier program knows.
fn token() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

impl Store {
    /// A folder for one commit, in which the name of a checkpoint is the branch that git commits
    /// to. All but the branch is the store's.
    pub(crate) fn branch(&self, reference: &str) -> Result<PathBuf, Error> {
        let name = format!("{BRANCH}.{}", token());
        let folder = self.folder.join(&name);
        fs::create_dir(&folder).map_err(|source| self.failed(source))?;
        self.put(&format!("{name}/commondir"), b"..\n")?;
        self.put(&format!("{name}/HEAD"), format!("ref: {reference}\n").as_bytes())?;
        Ok(folder)
    }

    /// Removes the drafts and branches of attempts that came to nothing, but not this one.
    pub(crate) fn sweep(&self, but: Option<&str>) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if Some(&*name) == but {
                continue;
            }
            let removed = if name.starts_with(PREFIX) {
                fs::remove_file(entry.path())
            } else if name.split('.').next() == Some(BRANCH) {
                fs::remove_dir_all(entry.path())
            } else {
                continue;
            };
            if let Err(error) = removed {
                tracing::debug!(%error, %name, "a leftover of a checkpoint stays");
            }
        }
    }
}
