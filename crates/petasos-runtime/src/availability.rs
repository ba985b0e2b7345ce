//! Availability: asks checks, remembers answers, and never lets one slow probe stall the list.
//!
//! Within one call each check is asked at most once, and whoever needs an answer that somebody
//! else is waiting for waits with them. An answer holds for 30 seconds; a failure
//! within 60 seconds of the last success is taken for a flake, so that a flapping daemon does not
//! change the prompt. A check that panics or overruns counts as failed.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::join_all;
use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_contract::check::{Availability, Check, CheckScope};
use petasos_contract::clock::{Clock, SystemClock};
use petasos_contract::context::{CheckContext, Surface};
use tokio::sync::OnceCell;
use tracing::{debug, warn};

/// How long an answer holds.
pub const ANSWER_LIFETIME: Duration = Duration::from_secs(30);
/// How long after a success a failure is taken for a flake.
pub const FAILURE_GRACE: Duration = Duration::from_mins(1);
/// How long one probe may take.
pub const PROBE_DEADLINE: Duration = Duration::from_secs(3);

/// So many answers are remembered before old ones are looked for and forgotten.
const MEMORIES_MAX: usize = 4_096;

/// The answers of one call, by check.
pub type Answers = HashMap<Arc<str>, Answer>;

/// One answer and how it was come by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The answer.
    pub availability: Availability,
    /// Whether it was asked now, remembered, or forgiven.
    pub how: How,
}

/// How an answer was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Asked now.
    Probed,
    /// Remembered.
    Remembered,
    /// Failed now, but worked a moment ago.
    Forgiven,
}

/// Asks checks and remembers their answers.
#[derive(Debug)]
pub struct Checks {
    clock: Arc<dyn Clock>,
    probe_deadline: Duration,
    memory: Mutex<HashMap<Key, Memory>>,
    flights: Mutex<Flights>,
}

/// The probes that are under way.
#[derive(Debug, Default)]
struct Flights {
    by_key: HashMap<Key, Arc<OnceCell<Answer>>>,
    /// Counts invalidations: a probe that began before one says nothing about what came after.
    epoch: u64,
}

/// A probe that somebody waits for; forgotten with the last of them.
struct Flight<'a> {
    checks: &'a Checks,
    key: Key,
    cell: Arc<OnceCell<Answer>>,
    epoch: u64,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut flights = self.checks.flights.lock();
        let same = flights.by_key.get(&self.key).is_some_and(|cell| Arc::ptr_eq(cell, &self.cell));
        // This one and the table's.
        if same && (self.cell.initialized() || Arc::strong_count(&self.cell) <= 2) {
            flights.by_key.remove(&self.key);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    check: Arc<str>,
    scope: ScopeKey,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ScopeKey {
    Process,
    Profile(PathBuf),
    Session(SessionId, Surface),
}

#[derive(Debug, Clone)]
struct Memory {
    answer: Option<(Availability, Instant)>,
    last_good: Option<Instant>,
}

impl Memory {
    /// Sessions come and go; what neither answers nor forgives any more is forgotten.
    fn is_worth_keeping(&self, now: Instant) -> bool {
        let within = |at: Instant, span: Duration| now.duration_since(at) < span;
        self.answer.as_ref().is_some_and(|(_, at)| within(*at, ANSWER_LIFETIME))
            || self.last_good.is_some_and(|at| within(at, FAILURE_GRACE))
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl Checks {
    /// Remembers by this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let memory = Mutex::new(HashMap::new());
        Self { clock, probe_deadline: PROBE_DEADLINE, memory, flights: Mutex::default() }
    }

    /// Gives each probe so long.
    #[must_use]
    pub fn with_probe_deadline(mut self, deadline: Duration) -> Self {
        self.probe_deadline = deadline;
        self
    }

    /// Answers all checks, each distinct one once, those that must be asked at the same time.
    pub async fn answer<'a>(
        &self,
        checks: impl IntoIterator<Item = &'a Check>,
        cx: &CheckContext,
    ) -> Answers {
        let mut answers = Answers::new();
        let mut to_ask: Vec<&Check> = Vec::new();
        for check in checks {
            if answers.contains_key(check.id()) || to_ask.iter().any(|seen| seen.id() == check.id())
            {
                continue;
            }
            match self.remembered(check, cx) {
                Some(availability) => {
                    let answer = Answer { availability, how: How::Remembered };
                    answers.insert(Arc::clone(check.id()), answer);
                }
                None => to_ask.push(check),
            }
        }
        let asked = join_all(to_ask.iter().map(|check| self.ask(check, cx))).await;
        for (check, answer) in to_ask.iter().zip(asked) {
            answers.insert(Arc::clone(check.id()), answer);
        }
        answers
    }

    /// Whether a remembered answer says that the check passes; `None` when it must be asked.
    pub fn remembered(&self, check: &Check, cx: &CheckContext) -> Option<Availability> {
        let memory = self.memory.lock();
        let (answer, at) = memory.get(&key(check, cx))?.answer.as_ref()?;
        let fresh = self.clock.now().duration_since(*at) < ANSWER_LIFETIME;
        fresh.then(|| answer.clone())
    }

    /// Forgets everything, after a change that alters what is available.
    pub fn invalidate(&self) {
        let mut flights = self.flights.lock();
        flights.epoch += 1;
        flights.by_key.clear();
        self.memory.lock().clear();
    }

    /// Asks, together with whoever asks the same at the same time.
    async fn ask(&self, check: &Check, cx: &CheckContext) -> Answer {
        let flight = self.flight(key(check, cx));
        flight.cell.get_or_init(|| self.probe(check, cx, &flight)).await.clone()
    }

    fn flight(&self, key: Key) -> Flight<'_> {
        let mut flights = self.flights.lock();
        let cell = Arc::clone(flights.by_key.entry(key.clone()).or_default());
        Flight { checks: self, key, cell, epoch: flights.epoch }
    }

    async fn probe(&self, check: &Check, cx: &CheckContext, flight: &Flight<'_>) -> Answer {
        let probe = AssertUnwindSafe(async { check.ask(cx.clone()).await }).catch_unwind();
        let availability = match tokio::time::timeout(self.probe_deadline, probe).await {
            Ok(Ok(availability)) => availability,
            Ok(Err(_)) => Availability::Missing("its check panicked".to_owned()),
            Err(_) => Availability::Missing(format!(
                "its check took longer than {} ms",
                self.probe_deadline.as_millis()
            )),
        };
        if self.flights.lock().epoch != flight.epoch {
            return Answer { availability, how: How::Probed };
        }
        self.remember(flight.key.clone(), availability)
    }

    fn remember(&self, key: Key, availability: Availability) -> Answer {
        let now = self.clock.now();
        let check = Arc::clone(&key.check);
        let mut memories = self.memory.lock();
        if memories.len() >= MEMORIES_MAX {
            memories.retain(|_, memory| memory.is_worth_keeping(now));
        }
        let memory = memories.entry(key).or_insert(Memory { answer: None, last_good: None });
        let Availability::Missing(reason) = &availability else {
            memory.last_good = Some(now);
            memory.answer = Some((availability.clone(), now));
            return Answer { availability, how: How::Probed };
        };
        let forgiven = memory.last_good.is_some_and(|at| now.duration_since(at) < FAILURE_GRACE);
        if forgiven {
            warn!(%check, %reason, "check failed right after it passed, taken for a flake");
            memory.answer = None;
            return Answer { availability: Availability::Ready, how: How::Forgiven };
        }
        // What is not set up is no fault; `tools list --all` and `doctor` name the reason.
        debug!(%check, %reason, "check failed");
        memory.answer = Some((availability.clone(), now));
        Answer { availability, how: How::Probed }
    }
}

fn key(check: &Check, cx: &CheckContext) -> Key {
    let scope = match check.scope() {
        CheckScope::Process => ScopeKey::Process,
        CheckScope::Profile => ScopeKey::Profile(cx.settings.home().to_owned()),
        CheckScope::Session => ScopeKey::Session(cx.session.clone(), cx.surface),
    };
    Key { check: Arc::clone(check.id()), scope }
}
