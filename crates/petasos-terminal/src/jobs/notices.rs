//! What sessions should hear of their jobs: a queue for each session. A session waits for its own
//! events alone; those of a session that nobody watches wait for it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_contract::clock::Clock;
use petasos_contract::jobs::{JobEvent, JobId};
use tokio::sync::Notify;

use super::watch::{Gate, PAUSE, Passage};

/// So many events wait for a session; then the oldest goes.
const EVENTS_MAX: usize = 100;
/// For so many sessions events wait; then those that have waited longest go.
const SESSIONS_MAX: usize = 1000;

/// The queues.
#[derive(Debug)]
pub(super) struct Notices {
    queues: Mutex<Queues>,
    pub(super) clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Queues {
    sessions: HashMap<SessionId, Queue>,
    /// Counts events, so that queues can be told apart by age.
    pushed: u64,
}

/// The events of one session. It is there while something waits in it, or somebody for it.
#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<JobEvent>,
    /// When the last queue that was empty got its first event.
    since: u64,
    gate: Gate,
    arrived: Arc<Notify>,
}

impl Notices {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { queues: Mutex::default(), clock }
    }

    /// Adds an event.
    pub(super) fn push(&self, owner: &SessionId, event: JobEvent) {
        self.queues.lock().push(owner, event);
    }

    /// Adds a match, unless the session had too many.
    pub(super) fn push_match(&self, owner: &SessionId, event: JobEvent) {
        let mut queues = self.queues.lock();
        let passage = queues.sessions.entry(owner.clone()).or_default().gate.pass(self.clock.now());
        match passage {
            Passage::Closed => {}
            Passage::Tripped => {
                let pause = JobEvent::WatchOverflowTripped { pause_s: PAUSE.as_secs() };
                queues.push(owner, pause);
            }
            Passage::Open { released } => {
                if let Some(suppressed) = released {
                    queues.push(owner, JobEvent::WatchOverflowReleased { suppressed });
                }
                queues.push(owner, event);
            }
        }
    }

    /// Takes what a session should hear.
    pub(super) fn drain(&self, session: &SessionId) -> Vec<JobEvent> {
        let mut queues = self.queues.lock();
        let events = queues.sessions.get_mut(session).map(|queue| queue.events.drain(..).collect());
        queues.tidy(session, self.clock.now());
        events.unwrap_or_default()
    }

    /// Removes the notice of a job's end: somebody has seen it.
    pub(super) fn consume(&self, owner: &SessionId, job: &JobId) {
        let ended = |event: &JobEvent| matches!(event, JobEvent::Completion { session_id, .. } if session_id == job);
        let mut queues = self.queues.lock();
        if let Some(queue) = queues.sessions.get_mut(owner) {
            queue.events.retain(|event| !ended(event));
        }
        queues.tidy(owner, self.clock.now());
    }

    /// Comes back when the session has something to drain.
    pub(super) async fn changed(&self, session: &SessionId) {
        let waiting = Waiting { notices: self, session, arrived: self.arrived(session) };
        loop {
            let arrived = waiting.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            if self.has_events(session) {
                return;
            }
            arrived.await;
        }
    }

    fn arrived(&self, session: &SessionId) -> Arc<Notify> {
        let mut queues = self.queues.lock();
        Arc::clone(&queues.sessions.entry(session.clone()).or_default().arrived)
    }

    fn has_events(&self, session: &SessionId) -> bool {
        self.queues.lock().sessions.get(session).is_some_and(|queue| !queue.events.is_empty())
    }
}

impl Queues {
    fn push(&mut self, owner: &SessionId, event: JobEvent) {
        self.pushed += 1;
        let since = self.pushed;
        let queue = self.sessions.entry(owner.clone()).or_default();
        if queue.events.is_empty() {
            queue.since = since;
        }
        if queue.events.len() >= EVENTS_MAX {
            queue.events.pop_front();
            tracing::warn!(session = %owner, "more events of jobs than are kept: one is dropped");
        }
        queue.events.push_back(event);
        queue.arrived.notify_waiters();
        if self.sessions.len() > SESSIONS_MAX {
            self.drop_oldest();
        }
    }

    /// Drops the events that have waited longest for a session that nobody watches.
    fn drop_oldest(&mut self) {
        let unwatched = self.sessions.iter().filter(|(_, queue)| !queue.is_watched());
        let oldest = unwatched.min_by_key(|(_, queue)| queue.since).map(|(id, _)| id.clone());
        if let Some(session) = oldest {
            self.sessions.remove(&session);
            tracing::warn!(%session, "its job events waited longest and are dropped");
        }
    }

    /// A queue without events, watchers and a pause is not kept.
    fn tidy(&mut self, session: &SessionId, now: std::time::Instant) {
        let idle = |queue: &Queue| {
            queue.events.is_empty() && !queue.is_watched() && queue.gate.is_idle(now)
        };
        if self.sessions.get(session).is_some_and(idle) {
            self.sessions.remove(session);
        }
    }
}

impl Queue {
    fn is_watched(&self) -> bool {
        Arc::strong_count(&self.arrived) > 1
    }
}

/// Somebody who waits; the queue goes with the last of them.
struct Waiting<'a> {
    notices: &'a Notices,
    session: &'a SessionId,
    arrived: Arc<Notify>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.arrived = Arc::default();
        self.notices.queues.lock().tidy(self.session, self.notices.clock.now());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petasos_contract::clock::ManualClock;
    use petasos_contract::jobs::Completion;

    use super::*;

    fn notices() -> Notices {
        Notices::new(Arc::new(ManualClock::new()))
    }

    fn ended(owner: &SessionId, number: usize) -> JobEvent {
        JobEvent::Completion {
            session_id: JobId::new(format!("proc_{number}")),
            session_key: owner.clone(),
            command: "true".to_owned(),
            exit_code: 0,
            completion_reason: Completion::Exited,
            termination_source: None,
            output: String::new(),
            started_at: 0.0,
        }
    }

    fn matched(owner: &SessionId) -> JobEvent {
        JobEvent::WatchMatch {
            session_id: JobId::new("proc_w"),
            session_key: owner.clone(),
            command: "true".to_owned(),
            pattern: "error".to_owned(),
            output: String::new(),
            suppressed: 0,
        }
    }

    async fn within<T>(future: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(Duration::from_secs(1), future).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_woken_by_its_own_events_alone() {
        let (notices, mine, other) = (notices(), SessionId::new("a"), SessionId::new("b"));
        notices.push(&other, ended(&other, 1));
        assert_eq!(within(notices.changed(&mine)).await, None, "another session's event");
        assert!(notices.drain(&mine).is_empty());
        let later = async {
            tokio::task::yield_now().await;
            notices.push(&mine, ended(&mine, 2));
        };
        let (woken, ()) = tokio::join!(within(notices.changed(&mine)), later);
        assert_eq!((woken, notices.drain(&mine).len()), (Some(()), 1));
        assert_eq!(within(notices.changed(&mine)).await, None, "nothing is left");
        assert_eq!(within(notices.changed(&other)).await, Some(()), "it waited for its session");
        assert_eq!(notices.drain(&other).len(), 1);
        assert!(notices.queues.lock().sessions.is_empty());
    }

    #[test]
    fn what_waits_is_bounded_and_the_newest_stays() {
        let (notices, session) = (notices(), SessionId::new("a"));
        for number in 0..EVENTS_MAX + 5 {
            notices.push(&session, ended(&session, number));
        }
        let kept = notices.drain(&session);
        assert_eq!((kept.len(), &kept[0]), (EVENTS_MAX, &ended(&session, 5)));
        for number in 0..SESSIONS_MAX + 5 {
            let session = SessionId::new(format!("s{number}"));
            notices.push(&session, ended(&session, number));
        }
        assert_eq!(notices.queues.lock().sessions.len(), SESSIONS_MAX);
        assert!(notices.drain(&SessionId::new("s4")).is_empty());
        assert_eq!(notices.drain(&SessionId::new("s5")).len(), 1);
    }

    #[test]
    fn a_session_that_prints_too_much_does_not_silence_another() {
        let (notices, noisy, calm) = (notices(), SessionId::new("a"), SessionId::new("b"));
        for _ in 0..20 {
            notices.push_match(&noisy, matched(&noisy));
        }
        notices.push_match(&calm, matched(&calm));
        let paused = |event: &JobEvent| matches!(event, JobEvent::WatchOverflowTripped { .. });
        assert_eq!(notices.drain(&noisy).iter().filter(|event| paused(event)).count(), 1);
        assert_eq!(notices.drain(&calm), [matched(&calm)]);
    }
}
