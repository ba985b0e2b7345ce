//! Who waits for whom: one line before each store. Workspaces do not wait for each other.
//!
//! Whoever stood in line before a checkpoint was begun may use it: it holds what was there after
//! they came, and they have changed nothing since. So hundreds of sessions that begin to work in
//! one folder wait for two checkpoints, not for hundreds.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use crate::error::CheckpointError as Error;
use crate::git::TIME_MAX;
use crate::store::Store;

/// A workspace whose copy took too long is not tried again at every turn.
const COOLDOWN: Duration = Duration::from_mins(10);

/// More lines than this are not remembered; those in use always are.
const LINES_MAX: usize = 1000;

/// The lines of all stores.
#[derive(Debug, Default)]
pub(crate) struct Lines(Mutex<HashMap<PathBuf, Arc<Line>>>);

/// The line before one store.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// How many checkpoints were begun.
    begun: AtomicU64,
    /// The last of them that others may use.
    turn: Arc<tokio::sync::Mutex<u64>>,
    cooldown: Mutex<Option<Cooldown>>,
}

/// Until when no checkpoint is tried, because the last one took too long.
#[derive(Debug, Clone, Copy)]
struct Cooldown {
    until: Instant,
    seconds: u64,
    files: usize,
}

/// The turn of one who stood in line.
pub(crate) type Turn = OwnedMutexGuard<u64>;

/// When somebody came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival(u64);

impl Lines {
    /// The line before this store.
    pub(crate) fn of(&self, store: &Store) -> Arc<Line> {
        let mut lines = self.0.lock();
        if lines.len() >= LINES_MAX {
            lines.retain(|_, line| Arc::strong_count(line) > 1);
        }
        Arc::clone(lines.entry(store.folder.clone()).or_default())
    }
}

impl Line {
    /// Somebody comes.
    pub(crate) fn arrive(&self) -> Arrival {
        Arrival(self.begun.load(Ordering::Acquire))
    }

    /// Waits in line.
    pub(crate) async fn turn(&self) -> Turn {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// A checkpoint is begun.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Why none is tried now, if so.
    pub(crate) fn resting(&self) -> Option<Error> {
        let cooldown = (*self.cooldown.lock()).filter(|it| Instant::now() < it.until)?;
        Some(Error::Late { seconds: cooldown.seconds, files: cooldown.files })
    }

    /// One was tried. Too slow is slow the next time, too.
    pub(crate) fn tried<T>(&self, tried: &Result<T, Error>) {
        if let Err(Error::Late { seconds, files }) = *tried
            && seconds >= TIME_MAX.as_secs()
        {
            let until = Instant::now() + COOLDOWN;
            *self.cooldown.lock() = Some(Cooldown { until, seconds, files });
        }
    }
}

impl Arrival {
    /// Whether a checkpoint that was begun later is there already.
    pub(crate) fn is_covered(self, turn: &Turn) -> bool {
        **turn > self.0
    }
}
