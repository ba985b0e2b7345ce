//! Waiting with an owner, a deadline and a reason; tasks that end with whoever started them.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
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

/// The time that people take to answer. It counts against nobody's deadline: whoever waits for a
/// call that waits for a person waits so much longer.
#[derive(Debug, Default)]
pub struct Pauses(Mutex<Paused>);

#[derive(Debug, Default)]
struct Paused {
    total: Duration,
    open: u32,
    since: Option<tokio::time::Instant>,
}

impl Pauses {
    /// Waits for a person.
    pub async fn during<T>(&self, answer: impl Future<Output = T>) -> T {
        let _open = Open::begin(self);
        answer.await
    }

    /// How long people took so far; what several are asked at once counts once.
    pub fn total(&self) -> Duration {
        let paused = self.lock();
        paused.total + paused.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether somebody is being asked right now.
    pub fn is_open(&self) -> bool {
        self.lock().open > 0
    }

    /// Ends at the deadline, moved by what people take from now on.
    pub async fn until(&self, deadline: Instant) {
        // While somebody is asked the deadline moves along; it is looked at in steps.
        const STEP: Duration = Duration::from_millis(100);
        let before = self.total();
        loop {
            let due = tokio::time::Instant::from(deadline + self.total().saturating_sub(before));
            let now = tokio::time::Instant::now();
            if now >= due {
                return;
            }
            let step = if self.lock().open > 0 { STEP } else { Duration::ZERO };
            tokio::time::sleep_until(due.max(now + step)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Paused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody is being asked.
struct Open<'a>(&'a Pauses);

impl<'a> Open<'a> {
    fn begin(all: &'a Pauses) -> Self {
        let mut paused = all.lock();
        paused.open += 1;
        paused.since.get_or_insert_with(tokio::time::Instant::now);
        drop(paused);
        Self(all)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut paused = self.0.lock();
        paused.open = paused.open.saturating_sub(1);
        if paused.open == 0 {
            let took = paused.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            paused.total += took;
        }
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
