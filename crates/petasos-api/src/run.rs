//! A run: one turn asked for over HTTP, and the log of what happens in it.
//!
//! Every interface reads the same log at its own pace: chat completions, responses, the events of
//! runs, and a request that comes a second time. Nobody who reads slowly holds anything up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_contract::delivery::Destination;
use petasos_contract::wait::Owned;
use petasos_session::{Question, Session};
use petasos_store::ApiStore;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;

pub(crate) use crate::event::{RunEvent, RunStatus, Spent};
use crate::keys::Caller;

/// So many events stay in memory; a live reader that is further behind is cut off.
pub(crate) const LAG_MAX: usize = 4096;
/// Numbers of events that a process may have shown before it died without having stored them.
pub(crate) const AFTER_DEATH: i64 = 1 << 20;

/// Why a run is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Somebody asked for it.
    Asked,
    /// Nobody reads its answer any more.
    Gone,
    /// Nothing happened for too long.
    Silent,
    /// Its time is over.
    Late,
}

/// Who decides how long a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// Whoever reads the answer: it ends when nobody does.
    WhileRead,
    /// It goes on by itself.
    OnItsOwn,
}

/// What a run is for.
#[derive(Debug, Clone)]
pub(crate) struct RunFacts {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) session: SessionId,
    pub(crate) created_ms: i64,
    /// What clients call the model.
    pub(crate) model: String,
    pub(crate) life: Life,
    /// Whether it outlives this process.
    pub(crate) kept: bool,
    /// How long its turn may take.
    pub(crate) deadline: Option<Duration>,
    /// What its key holds its conversation to, also in the process after this one.
    pub(crate) held: Held,
    /// Where its answer goes besides its readers.
    pub(crate) to: Option<Destination>,
}

/// What a key holds its conversations to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Held {
    /// Only these toolsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) toolsets: Option<Vec<String>>,
    /// How commands are confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<String>,
    /// The name of its notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<String>,
}

impl Held {
    /// What this key holds them to.
    pub(crate) fn of(caller: &Caller, memory: Option<String>) -> Self {
        Self { toolsets: caller.toolsets.clone(), sandbox: caller.sandbox.clone(), memory }
    }

    /// What was kept of it with a run.
    pub(crate) fn kept(about: &Value) -> Self {
        about.get("held").and_then(|held| Self::deserialize(held).ok()).unwrap_or_default()
    }
}

/// One run.
pub(crate) struct Run {
    pub(crate) facts: RunFacts,
    log: Mutex<Log>,
    changed: Notify,
    /// Events that are to be stored have come.
    pub(crate) unstored: Notify,
}

struct Log {
    events: VecDeque<(i64, Arc<RunEvent>)>,
    next: i64,
    stored: i64,
    status: RunStatus,
    readers: usize,
    stop: Option<Stop>,
    session: Option<Session>,
    question: Option<Arc<Question>>,
}

impl Run {
    pub(crate) fn new(facts: RunFacts, first: i64) -> Arc<Self> {
        let log = Log {
            events: VecDeque::new(),
            next: first,
            stored: first - 1,
            status: RunStatus::Queued,
            readers: 0,
            stop: None,
            session: None,
            question: None,
        };
        let (changed, unstored) = (Notify::new(), Notify::new());
        Arc::new(Self { facts, log: Mutex::new(log), changed, unstored })
    }

    /// Its turn can be stopped from now on; stops it if that was asked for before.
    pub(crate) fn works_in(&self, session: &Session) {
        let mut log = self.log.lock();
        log.session = Some(session.clone());
        let stop = log.stop.is_some();
        drop(log);
        if stop {
            session.interrupt();
        }
    }

    pub(crate) fn push(&self, event: RunEvent) {
        let mut log = self.log.lock();
        if log.status.is_over() {
            return;
        }
        if let Some(status) = event.status() {
            log.status = status;
        }
        let number = log.next;
        log.next += 1;
        log.events.push_back((number, Arc::new(event)));
        log.trim(self.facts.kept);
        drop(log);
        self.changed.notify_waiters();
        self.unstored.notify_one();
    }

    pub(crate) fn status(&self) -> RunStatus {
        let log = self.log.lock();
        let stopping = log.stop.is_some() && !log.status.is_over();
        if stopping { RunStatus::Stopping } else { log.status }
    }

    /// What it asks.
    pub(crate) fn question(&self) -> Option<Arc<Question>> {
        self.log.lock().question.clone()
    }

    pub(crate) fn set_question(&self, question: Option<Arc<Question>>) {
        self.log.lock().question = question;
    }

    /// Why it was stopped.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.log.lock().stop
    }

    /// Stops it; whether that changes anything.
    pub(crate) fn stop(&self, why: Stop) -> bool {
        let mut log = self.log.lock();
        if log.status.is_over() || log.stop.is_some() {
            return false;
        }
        log.stop = Some(why);
        let session = log.session.clone();
        drop(log);
        if let Some(session) = session {
            session.interrupt();
        }
        true
    }

    /// Whether somebody reads it now.
    pub(crate) fn is_read(&self) -> bool {
        self.log.lock().readers > 0
    }

    /// Events that are not stored yet, and how the run is behind them.
    pub(crate) fn take_unstored(&self) -> (Vec<(i64, Value)>, RunStatus) {
        let log = self.log.lock();
        let new = log.events.iter().filter(|(number, _)| *number > log.stored);
        let value = |(number, event): &(i64, Arc<RunEvent>)| {
            (*number, serde_json::to_value(&**event).unwrap_or_default())
        };
        (new.map(value).collect(), log.status)
    }

    pub(crate) fn stored_until(&self, number: i64) {
        let mut log = self.log.lock();
        log.stored = log.stored.max(number);
        log.trim(self.facts.kept);
    }

    /// Puts in what an earlier process stored.
    pub(crate) fn replay(&self, events: impl IntoIterator<Item = (i64, Arc<RunEvent>)>) {
        let mut log = self.log.lock();
        for (number, event) in events {
            if let Some(status) = event.status() {
                log.status = status;
            }
            (log.next, log.stored) = (number + 1, number);
            log.events.push_back((number, event));
        }
        log.trim(self.facts.kept);
        drop(log);
        self.changed.notify_waiters();
    }

    /// Its answer, once there is one.
    pub(crate) fn output(&self) -> Option<String> {
        match &*self.log.lock().events.back()?.1 {
            RunEvent::Completed { output, .. } | RunEvent::Cancelled { output, .. } => {
                Some(output.clone())
            }
            _ => None,
        }
    }

    /// What went wrong, once it has.
    pub(crate) fn error(&self) -> Option<String> {
        match &*self.log.lock().events.back()?.1 {
            RunEvent::Failed { error, .. } => Some(error.message.clone()),
            _ => None,
        }
    }

    /// What it used, once it is over.
    pub(crate) fn used(&self) -> Option<Spent> {
        match &*self.log.lock().events.back()?.1 {
            RunEvent::Completed { usage, .. } | RunEvent::Cancelled { usage, .. } => Some(*usage),
            _ => None,
        }
    }

    /// Reads behind this number.
    pub(crate) fn read(self: &Arc<Self>, after: i64, store: Arc<dyn ApiStore>) -> RunReader {
        self.log.lock().readers += 1;
        let catching = VecDeque::new();
        let run = Arc::clone(self);
        RunReader { run, cursor: after, store, catching, live: false, following: None }
    }
}

impl Log {
    fn trim(&mut self, kept: bool) {
        while self.events.len() > LAG_MAX {
            let oldest = self.events.front().map_or(0, |(number, _)| *number);
            if kept && oldest > self.stored {
                return;
            }
            self.events.pop_front();
        }
    }
}

/// What a reader gets.
#[derive(Debug, Clone)]
pub(crate) enum Read {
    /// The next event and its number.
    Event(i64, Arc<RunEvent>),
    /// It was too slow: it may come back and go on.
    Lagged,
    /// Nothing follows.
    End,
}

/// Somebody who reads a run.
pub(crate) struct RunReader {
    run: Arc<Run>,
    cursor: i64,
    store: Arc<dyn ApiStore>,
    /// Events from before this reader came.
    catching: VecDeque<(i64, Arc<RunEvent>)>,
    /// Whether it has caught up once.
    live: bool,
    /// What fills the log of a run that another process works on.
    following: Option<Owned<()>>,
}

impl RunReader {
    /// Reads a run whose log this task fills.
    pub(crate) fn followed_by(mut self, following: Owned<()>) -> Self {
        self.following = Some(following);
        self
    }

    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The next event. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Read {
        loop {
            if let Some((number, event)) = self.catching.pop_front() {
                self.cursor = number;
                return Read::Event(number, event);
            }
            let run = Arc::clone(&self.run);
            let changed = run.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.look() {
                Look::Found(number, event) => {
                    self.cursor = number;
                    return Read::Event(number, event);
                }
                Look::Gone if self.live || !self.run.facts.kept => return Read::Lagged,
                Look::Gone => {
                    let rows = self.store.run_events(&self.run.facts.id, self.cursor).await;
                    let Ok(rows) = rows else { return Read::Lagged };
                    self.catching = rows.into_iter().filter_map(stored).collect();
                    if self.catching.is_empty() {
                        return Read::Lagged;
                    }
                }
                Look::Nothing { over: true } => return Read::End,
                Look::Nothing { over: false } => {
                    self.live = true;
                    changed.await;
                }
            }
        }
    }

    fn look(&self) -> Look {
        let log = self.run.log.lock();
        let wanted = self.cursor + 1;
        let first = log.events.front().map_or(log.next, |(number, _)| *number);
        if wanted < first && log.next > wanted {
            return Look::Gone;
        }
        // Numbers grow, and skip some where a process died.
        let at = log.events.partition_point(|(number, _)| *number < wanted);
        match log.events.get(at) {
            Some((number, event)) => Look::Found(*number, Arc::clone(event)),
            None => Look::Nothing { over: log.status.is_over() },
        }
    }
}

enum Look {
    Found(i64, Arc<RunEvent>),
    /// It is no longer in memory.
    Gone,
    Nothing {
        over: bool,
    },
}

/// An event from the store.
pub(crate) fn stored((number, value): (i64, Value)) -> Option<(i64, Arc<RunEvent>)> {
    Some((number, Arc::new(serde_json::from_value(value).ok()?)))
}

impl Drop for RunReader {
    fn drop(&mut self) {
        let last = {
            let mut log = self.run.log.lock();
            log.readers = log.readers.saturating_sub(1);
            log.readers == 0
        };
        if last && self.run.facts.life == Life::WhileRead {
            self.run.stop(Stop::Gone);
        }
    }
}
