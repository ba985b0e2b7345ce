//! What everything starts from: finds the store and the program of a call's workspace.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{Environment, Environments};
use petasos_contract::event::Event;
use petasos_contract::{CallContext, wait};

use crate::error::CheckpointError;
use crate::git::{Git, TIME_MAX};
use crate::line::{Line, Lines, Turn};
use crate::name::Unnamed;
use crate::store::{Lock, Store};

/// Makes, shows and restores copies of workspaces.
pub struct Checkpoints {
    environments: Arc<dyn Environments>,
    lines: Lines,
}

/// A store that nobody else is in.
pub(crate) struct Entered {
    pub(crate) store: Store,
    pub(crate) git: Git,
    pub(crate) turn: Turn,
    _lock: File,
}

impl std::fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoints").finish_non_exhaustive()
    }
}

/// How soon a store that another program is in is tried again.
const AGAIN: Duration = Duration::from_millis(5);

/// A wait for another program that takes longer than this is announced.
const ANNOUNCED_AFTER: Duration = Duration::from_secs(2);

/// Waits until no other program is in the store.
async fn locked(store: &Store, cx: &CallContext) -> Result<File, CheckpointError> {
    let begun = Instant::now();
    let until = cx.deadline.min(begun + TIME_MAX);
    let mut is_announced = false;
    loop {
        let holder = match store.lock()? {
            Lock::Ours(file) => return Ok(file),
            Lock::Theirs { pid } => CheckpointError::Busy { pid, seconds: TIME_MAX.as_secs() },
        };
        if Instant::now() >= until {
            return Err(holder);
        }
        if !is_announced && begun.elapsed() >= ANNOUNCED_AFTER {
            is_announced = true;
            cx.events.emit(|| Event::Notice { text: format!("waiting: {holder}") });
        }
        tokio::time::sleep(AGAIN).await;
    }
}

impl Checkpoints {
    /// Copies of what the terminal of this machine works on.
    pub fn new(environments: Arc<dyn Environments>) -> Arc<Self> {
        Arc::new(Self { environments, lines: Lines::default() })
    }

    /// The line before the store of a call's workspace.
    pub(crate) fn line(&self, cx: &CallContext) -> Result<Arc<Line>, CheckpointError> {
        Ok(self.lines.of(&Store::of(cx)?))
    }

    /// The store of a call's workspace, for nobody else until this is dropped. A copy that a dead
    /// program left without a name gets one.
    pub(crate) async fn enter(&self, cx: &CallContext) -> Result<Entered, CheckpointError> {
        let (store, git) = self.open(cx).await?;
        let until = cx.deadline.min(Instant::now() + TIME_MAX);
        let line = self.lines.of(&store);
        let turn = wait::until(until, "another checkpoint of this folder", line.turn()).await;
        let turn = turn.map_err(|_| CheckpointError::Busy {
            pid: Some(std::process::id()),
            seconds: TIME_MAX.as_secs(),
        })?;
        let lock = locked(&store, cx).await?;
        let entered = Entered { store, git, turn, _lock: lock };
        // Checkpoints that have a name can be used all the same.
        if let Err(error) = Unnamed::recover(&entered, cx).await {
            tracing::warn!(%error, "a checkpoint still has no name");
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
