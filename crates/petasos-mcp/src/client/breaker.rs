//! A server that fails again and again is left alone for a while, and the model is told so.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

const FAILURES: u32 = 3;
const OPEN: Duration = Duration::from_mins(1);

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    /// Lets a call pass, or says for how long none does. After that time one call may try.
    pub(super) fn pass(&self, now: Instant) -> Result<(), Duration> {
        let mut counted = self.0.lock();
        match counted.open_until {
            Some(until) if until > now => Err(until - now),
            Some(_) => {
                // The one that tries: others wait for what becomes of it.
                counted.open_until = Some(now + OPEN);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// A call worked.
    pub(super) fn worked(&self) {
        *self.0.lock() = Counted::default();
    }

    /// A call failed.
    pub(super) fn failed(&self, now: Instant) {
        let mut counted = self.0.lock();
        counted.failures += 1;
        if counted.failures >= FAILURES {
            counted.open_until = Some(now + OPEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_open_it_for_a_minute_and_then_one_call_tries() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        for _ in 0..3 {
            assert!(breaker.pass(start).is_ok());
            breaker.failed(start);
        }
        assert_eq!(breaker.pass(start), Err(OPEN));
        let later = start + OPEN + Duration::from_millis(1);
        assert!(breaker.pass(later).is_ok(), "one tries");
        assert!(breaker.pass(later).is_err(), "the others wait");
        breaker.worked();
        assert!(breaker.pass(later).is_ok());
    }
}
