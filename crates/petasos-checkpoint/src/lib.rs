//! Copies of the workspace before an agent changes it, and the way back.
//!
//! Its law: the user's repository is never touched. Copies are made with git's plumbing in a
//! repository and an index of our own, below the agent's home; ignored files, secrets and huge
//! files are not copied. It starts processes only through the environment it is given.
//!
//! | file | what it holds |
//! |---|---|
//! | `before` | takes a copy before the first change of a turn |
//! | `take`, `list`, `restore` | making, showing and undoing copies |
//! | `store`, `git` | where copies are, and the program that makes them |
//! | `settings` | how many, and how large |

mod before;
mod error;
mod git;
mod list;
mod restore;
mod settings;
mod store;
mod take;

use std::sync::Arc;

use petasos_contract::CallContext;
use petasos_contract::environment::{Environment, Environments};
use tokio::sync::Semaphore;

pub use before::{Before, EffectsOf};
pub use error::CheckpointError;
pub use list::Checkpoint;
pub use restore::Restored;
pub use settings::CheckpointSettings;
pub use take::Taken;

use git::Git;
use store::Store;

/// Makes, shows and restores copies of workspaces.
pub struct Checkpoints {
    environments: Arc<dyn Environments>,
    /// One at a time: they share an index.
    turn: Semaphore,
}

impl std::fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoints").finish_non_exhaustive()
    }
}

impl Checkpoints {
    /// Copies of what the terminal of this machine works on.
    pub fn new(environments: Arc<dyn Environments>) -> Arc<Self> {
        Arc::new(Self { environments, turn: Semaphore::new(1) })
    }

    /// The store and the program of a call's workspace.
    async fn open(&self, cx: &CallContext) -> Result<(Store, Git), CheckpointError> {
        let environment: Arc<dyn Environment> = self.environments.of(cx).await?;
        let facts = environment.facts();
        if facts.backend != "local" {
            return Err(CheckpointError::Elsewhere { target: facts.target.clone() });
        }
        let store = Store::of(cx)?;
        let git = Git::new(environment, &store);
        Ok((store, git))
    }
}
