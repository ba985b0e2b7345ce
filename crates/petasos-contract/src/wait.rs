//! Waiting with an owner, a deadline and a reason; tasks that end with whoever started them.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a running tool may take to end by itself after an interrupt: to stop what it started
/// and to hand over what it has so far.
pub const WIND_UP: Duration = Duration::from_millis(500);
/// How long hooks and recorders may take to hear of an interrupt. With [`WIND_UP`] and three such
/// pauses an interrupt takes less than a second, whatever they do.
pub const LAST_WORDS: Duration = Duration::from_millis(100);

/// A wait that ran out of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("waited too long for {reason}")]
pub struct Elapsed {
    /// What was waited for.
    pub reason: &'static str,
}

/// Waits until the deadline at most, and says for what.
pub async fn until<T>(
    deadline: Instant,
    reason: &'static str,
    future: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    tokio::time::timeout_at(deadline.into(), future).await.map_err(|_| Elapsed { reason })
}

/// Runs to its end; once cancelled it has only this much longer. `None` when it was dropped.
pub async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    grace: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    let overdue = async {
        cancel.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        done = future => Some(done),
        () = overdue => None,
    }
}

/// A task that is aborted when its owner drops it.
#[derive(Debug)]
pub struct Owned<T>(JoinHandle<T>);

impl<T: Send + 'static> Owned<T> {
    /// Starts the task on the current runtime.
    #[expect(clippy::disallowed_methods, reason = "this is the wrapper that owns every task")]
    pub fn start(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(future))
    }

    /// Waits for its end; `None` when it panicked or was aborted.
    pub async fn join(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
