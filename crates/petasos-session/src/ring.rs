//! The events of one session in a ring, and a cursor for each watcher.
//!
//! Watchers have no queues: one that is slow costs nothing, holds nothing up, and is told how many
//! events it missed. Between turns the ring shrinks to what a newcomer wants to see.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_contract::event::{Event, Subscriber};
use tokio::sync::Notify;

use crate::event::{Envelope, SessionEvent};

/// So much waits for slow watchers while a turn runs.
const BUSY: Room = Room { events: 4096, bytes: 2 * 1024 * 1024 };
/// So much stays between turns once everybody has seen it.
const QUIET: Room = Room { events: 32, bytes: 16 * 1024 };

#[derive(Debug, Clone, Copy)]
struct Room {
    events: usize,
    bytes: usize,
}

/// From where a watcher follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// What happens from now on.
    Now,
    /// From the beginning of the turn that runs, or of the last one.
    Turn,
    /// From this event on.
    Since(u64),
}

/// What a watcher gets.
#[derive(Debug, Clone)]
pub enum StreamItem {
    /// The next event.
    Event(Arc<Envelope>),
    /// So many events are gone; the transcript has what they led to.
    Gap {
        /// How many.
        missed: u64,
    },
}

/// The ring.
#[derive(Debug)]
pub(crate) struct Ring {
    session: SessionId,
    state: Mutex<State>,
    arrived: Notify,
}

/// What the session itself does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing.
    #[default]
    Quiet,
    /// A turn has begun, and perhaps waits for another process.
    Waiting,
    /// It adds to the conversation.
    Writing,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<(usize, Arc<Envelope>)>,
    bytes: usize,
    /// The number of the next event.
    next: u64,
    /// The number of the last turn's first event.
    turn: u64,
    phase: Phase,
    /// The last row that watchers have heard of; rows count from one.
    row: i64,
    closed: bool,
    /// What each watcher reads next.
    cursors: BTreeMap<u64, u64>,
    watchers: u64,
}

impl Ring {
    pub(crate) fn new(session: SessionId) -> Arc<Self> {
        Arc::new(Self { session, state: Mutex::default(), arrived: Notify::new() })
    }

    pub(crate) fn push(&self, event: SessionEvent) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        match &event {
            SessionEvent::TurnStarted { .. } => {
                (state.turn, state.phase) = (state.next, Phase::Waiting);
            }
            SessionEvent::TurnEnded { .. } => state.phase = Phase::Quiet,
            SessionEvent::Agent(Event::TurnStarted { .. }) => state.phase = Phase::Writing,
            SessionEvent::Agent(Event::MessageAdded { seq, .. }) => {
                if *seq <= state.row {
                    return;
                }
                state.row = *seq;
            }
            _ => {}
        }
        let weight = event.weight();
        let envelope = Envelope { seq: state.next, session: self.session.clone(), event };
        state.events.push_back((weight, Arc::new(envelope)));
        state.bytes += weight;
        state.next += 1;
        state.trim();
        drop(state);
        self.arrived.notify_waiters();
    }

    /// Watchers have heard of all rows so far, in whichever way.
    pub(crate) fn told_until(&self, row: Option<i64>) {
        let mut state = self.state.lock();
        state.row = state.row.max(row.unwrap_or_default());
    }

    /// The last row that watchers have heard of; nothing while the session itself adds rows.
    pub(crate) fn told(&self) -> Option<i64> {
        let state = self.state.lock();
        (state.phase != Phase::Writing).then_some(state.row)
    }

    /// What everybody has read is dropped.
    pub(crate) fn forget(&self) {
        let mut state = self.state.lock();
        let unread = state.cursors.values().copied().min().unwrap_or(state.next);
        while !state.events.is_empty() && state.first() < unread {
            state.drop_first();
        }
        state.events.shrink_to_fit();
    }

    /// No event follows; watchers read what is there.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.arrived.notify_waiters();
    }

    pub(crate) fn watch(self: &Arc<Self>, from: Replay) -> EventStream {
        let mut state = self.state.lock();
        let next = match from {
            Replay::Now => state.next,
            Replay::Turn => state.turn.max(state.first()),
            Replay::Since(seq) => seq.min(state.next),
        };
        state.watchers += 1;
        let watcher = state.watchers;
        state.cursors.insert(watcher, next);
        drop(state);
        EventStream { ring: Arc::clone(self), watcher }
    }
}

impl Subscriber for Ring {
    fn take(&self, event: Event) {
        self.push(SessionEvent::Agent(event));
    }
}

impl State {
    /// The number of the oldest event that is there.
    fn first(&self) -> u64 {
        self.next - self.events.len() as u64
    }

    fn trim(&mut self) {
        while self.events.len() > 1 && self.exceeds(BUSY) {
            self.drop_first();
        }
        let unread = self.cursors.values().copied().min().unwrap_or(self.next);
        while self.phase == Phase::Quiet && self.first() < unread && self.exceeds(QUIET) {
            self.drop_first();
        }
    }

    fn exceeds(&self, room: Room) -> bool {
        self.events.len() > room.events || self.bytes > room.bytes
    }

    fn drop_first(&mut self) {
        if let Some((weight, _)) = self.events.pop_front() {
            self.bytes -= weight;
        }
        if self.events.capacity() > 4 * (self.events.len() + QUIET.events) {
            self.events.shrink_to(2 * (self.events.len() + QUIET.events));
        }
    }

    /// What a watcher gets next, and its cursor behind it.
    fn read(&mut self, watcher: u64) -> Option<StreamItem> {
        let (first, next) = (self.first(), self.next);
        let cursor = self.cursors.get_mut(&watcher)?;
        if *cursor < first {
            let missed = first - *cursor;
            *cursor = first;
            return Some(StreamItem::Gap { missed });
        }
        if *cursor >= next {
            return None;
        }
        let at = usize::try_from(*cursor - first).unwrap_or(usize::MAX);
        *cursor += 1;
        let found = self.events.get(at).map(|(_, envelope)| Arc::clone(envelope));
        self.trim();
        found.map(StreamItem::Event)
    }
}

/// The events of a session, for one watcher.
#[derive(Debug)]
pub struct EventStream {
    ring: Arc<Ring>,
    watcher: u64,
}

impl EventStream {
    /// The next one; `None` when the session has ended. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<StreamItem> {
        loop {
            let arrived = self.ring.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            let (item, closed) = {
                let mut state = self.ring.state.lock();
                (state.read(self.watcher), state.closed)
            };
            match item {
                Some(item) => return Some(item),
                None if closed => return None,
                None => arrived.await,
            }
        }
    }

    /// The next one, if it is there already.
    pub fn try_next(&mut self) -> Option<StreamItem> {
        self.ring.state.lock().read(self.watcher)
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut state = self.ring.state.lock();
        state.cursors.remove(&self.watcher);
        state.trim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Page;
    use crate::event::SubmissionId;

    fn ring() -> Arc<Ring> {
        Ring::new(SessionId::new("s"))
    }

    fn note(number: usize) -> SessionEvent {
        SessionEvent::Page(Page::Note(number.to_string()))
    }

    fn shown(item: &StreamItem) -> String {
        match item {
            StreamItem::Event(envelope) => match &envelope.event {
                SessionEvent::Page(page) => page.text().to_owned(),
                other => format!("{other:?}"),
            },
            StreamItem::Gap { missed } => format!("gap {missed}"),
        }
    }

    fn rest(stream: &mut EventStream) -> Vec<String> {
        std::iter::from_fn(|| stream.try_next()).map(|item| shown(&item)).collect()
    }

    #[test]
    fn every_watcher_sees_every_event_at_its_own_pace() {
        let ring = ring();
        let (mut fast, mut slow) = (ring.watch(Replay::Now), ring.watch(Replay::Now));
        let mut seen = Vec::new();
        for number in 0..300 {
            ring.push(note(number));
            seen.extend(rest(&mut fast));
        }
        let all: Vec<String> = (0..300).map(|number| number.to_string()).collect();
        assert_eq!((seen, rest(&mut slow)), (all.clone(), all));
        assert!(ring.state.lock().events.len() <= QUIET.events, "read by all, so it shrinks");
    }

    #[test]
    fn a_watcher_that_never_reads_is_told_what_it_missed_and_holds_nothing_up() {
        let ring = ring();
        let mut asleep = ring.watch(Replay::Now);
        for number in 0..BUSY.events + 7 {
            ring.push(note(number));
        }
        let seen = rest(&mut asleep);
        assert_eq!(seen.first().map(String::as_str), Some("gap 7"));
        assert_eq!(seen.len(), BUSY.events + 1);
        let heavy = "x".repeat(BUSY.bytes);
        for _ in 0..3 {
            ring.push(SessionEvent::Page(Page::Note(heavy.clone())));
        }
        assert_eq!(ring.state.lock().events.len(), 1, "bytes count, too");
    }

    #[test]
    fn a_newcomer_sees_the_turn_from_its_beginning_or_from_any_event() {
        let ring = ring();
        ring.push(note(0));
        ring.push(SessionEvent::TurnStarted { id: SubmissionId(1) });
        (1..50).for_each(|number| ring.push(note(number)));
        assert_eq!(rest(&mut ring.watch(Replay::Turn)).len(), 50);
        assert_eq!(rest(&mut ring.watch(Replay::Since(50))), ["49"]);
        assert!(rest(&mut ring.watch(Replay::Now)).is_empty());
    }

    #[tokio::test]
    async fn a_stream_ends_behind_the_last_event() {
        let ring = ring();
        let mut stream = ring.watch(Replay::Now);
        ring.push(note(1));
        ring.close();
        ring.push(note(2));
        let first = stream.next().await;
        assert_eq!(first.as_ref().map(shown).as_deref(), Some("1"));
        assert!(stream.next().await.is_none());
    }
}
