//! Whoever records conversations hears what surfaces hear, whichever surface it is.
//!
//! A watcher must not hold a turn up: it takes events in passing, and what it has to send it sends
//! in `flush`, which ends within its own deadline.

use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_contract::event::{Event, EventSink, Subscriber};

/// Records what happens.
pub trait Watcher: Send + Sync {
    /// Takes one event. A subagent's are taken as its own and need no look inside
    /// [`Event::Subagent`].
    fn take(&self, event: &Event);

    /// A turn has ended: sends what has been gathered.
    fn flush(&self) -> BoxFuture<'_, ()>;
}

/// A sink that tells the watchers too.
pub(crate) fn tee(events: &EventSink, watchers: &[Arc<dyn Watcher>]) -> EventSink {
    if watchers.is_empty() {
        return events.clone();
    }
    EventSink::to(Arc::new(Tee { events: events.clone(), watchers: watchers.to_vec() }))
}

struct Tee {
    events: EventSink,
    watchers: Vec<Arc<dyn Watcher>>,
}

impl Subscriber for Tee {
    fn take(&self, event: Event) {
        for watcher in &self.watchers {
            watcher.take(&event);
        }
        self.events.emit(|| event);
    }
}
