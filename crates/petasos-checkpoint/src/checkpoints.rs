//! What everything starts from: finds the store and the program of a call's workspace.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{Environment, Environments};
use petasos_contract::{CallContext, wait};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::CheckpointError;
use crate::git::{Git, TIME_MAX};
use crate::name::Unnamed;
use crate::store::Store;

/// Makes, shows and restores copies of workspaces.
pub struct Checkpoints {
    environments: Arc<dyn Environments>,
    /// One at a time: they share an index.
    turn: Semaphore,
}

/// A store that nobody else is in.
pub(crate) struct Entered<'a> {
    pub(crate) store: Store,
    pub(crate) git: Git,
    _lock: File,
    _turn: SemaphorePermit<'a>,
}

impl std::fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoints").finish_non_exhaustive()
    }
}

/// How soon a store that another program is in is tried again.
const AGAIN: Duration = Duration::from_millis(5);

async fn locked(store: &Store) -> Result<File, CheckpointError> {
    loop {
        match store.lock()? {
            Some(lock) => return Ok(lock),
            None => tokio::time::sleep(AGAIN).await,
        }
    }
}

impl Checkpoints {
    /// Copies of what the terminal of this machine works on.
    pub fn new(environments: Arc<dyn Environments>) -> Arc<Self> {
        Arc::new(Self { environments, turn: Semaphore::new(1) })
    }

    /// The store of a call's workspace, for nobody else until this is dropped. A copy that a dead
    /// program left without a name gets one.
    pub(crate) async fn enter(&self, cx: &CallContext) -> Result<Entered<'_>, CheckpointError> {
        let turn = self.turn.acquire().await;
        let turn = turn.map_err(|error| CheckpointError::Git(error.to_string()))?;
        let (store, git) = self.open(cx).await?;
        let until = cx.deadline.min(Instant::now() + TIME_MAX);
        let Ok(lock) = wait::until(until, "another program's checkpoint", locked(&store)).await
        else {
            return Err(CheckpointError::Late { seconds: TIME_MAX.as_secs() });
        };
        let entered = Entered { store, git, _lock: lock?, _turn: turn };
        if let Some(about) = entered.store.unnamed() {
            // Copies that have a name can be used all the same.
            if let Err(error) = (Unnamed { last: None, about }).finish(&entered, cx).await {
                tracing::warn!(%error, "a checkpoint still has no name");
            }
        }
        Ok(entered)
    }

    /// The store and the program of a call's workspace.
    pub(crate) async fn open(&self, cx: &CallContext) -> Result<(Store, Git), CheckpointError> {
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
