//! The queue of what sessions should be told. Surfaces drain it; each takes only its own.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_contract::clock::Clock;
use petasos_contract::jobs::{JobEvent, JobId};
use tokio::sync::Notify;

use super::watch::{Gate, PAUSE, Passage};

/// More than this is not kept for sessions that never ask.
const EVENTS_MAX: usize = 1000;

/// The queue.
#[derive(Debug)]
pub(super) struct Notices {
    events: Mutex<VecDeque<JobEvent>>,
    gate: Mutex<Gate>,
    arrived: Notify,
    pub(super) clock: Arc<dyn Clock>,
}

impl Notices {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            events: Mutex::new(VecDeque::new()),
            gate: Mutex::new(Gate::default()),
            arrived: Notify::new(),
            clock,
        }
    }

    /// Adds an event.
    pub(super) fn push(&self, event: JobEvent) {
        let mut events = self.events.lock();
        if events.len() >= EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event);
        drop(events);
        self.arrived.notify_waiters();
    }

    /// Adds a match, unless there were too many.
    pub(super) fn push_match(&self, event: JobEvent) {
        let passage = self.gate.lock().pass(self.clock.now());
        match passage {
            Passage::Closed => {}
            Passage::Tripped => {
                self.push(JobEvent::WatchOverflowTripped { pause_s: PAUSE.as_secs() });
            }
            Passage::Open { released } => {
                if let Some(suppressed) = released {
                    self.push(JobEvent::WatchOverflowReleased { suppressed });
                }
                self.push(event);
            }
        }
    }

    /// Takes what a session should be told.
    pub(super) fn drain(&self, session: &SessionId) -> Vec<JobEvent> {
        let mut events = self.events.lock();
        let (theirs, others) =
            events.drain(..).partition(|event| event.owner().is_none_or(|owner| owner == session));
        *events = others;
        let theirs: VecDeque<JobEvent> = theirs;
        theirs.into()
    }

    /// Removes the notice of a job's end: somebody has seen it.
    pub(super) fn consume(&self, job: &JobId) {
        let ended = |event: &JobEvent| matches!(event, JobEvent::Completion { session_id, .. } if session_id == job);
        self.events.lock().retain(|event| !ended(event));
    }

    pub(super) async fn changed(&self) {
        let arrived = self.arrived.notified();
        tokio::pin!(arrived);
        arrived.as_mut().enable();
        if self.events.lock().is_empty() {
            arrived.await;
        }
    }
}
