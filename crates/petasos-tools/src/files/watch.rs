//! When long work on files must stop: at its own limit, before the call's deadline, or on cancel.

use std::time::{Duration, Instant};

use petasos_contract::CallContext;

/// Left for telling what was found once the time is over.
const MARGIN: Duration = Duration::from_millis(500);

/// Why work stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Time is over; what was found is still wanted.
    Late,
    /// Nobody wants the result any more.
    Cancelled,
}

/// Watches one piece of work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch<'a> {
    cx: &'a CallContext,
    until: Instant,
}

impl<'a> Watch<'a> {
    /// Work that may take so long, and never longer than the call.
    pub(crate) fn new(cx: &'a CallContext, most: Duration) -> Self {
        let now = Instant::now();
        let call = cx.deadline.checked_sub(MARGIN).unwrap_or(now);
        Self { cx, until: call.min(now + most) }
    }

    /// Whether to stop, and why.
    pub(crate) fn ended(&self) -> Option<Ended> {
        if self.cx.cancel.is_cancelled() {
            return Some(Ended::Cancelled);
        }
        (Instant::now() >= self.until).then_some(Ended::Late)
    }
}
