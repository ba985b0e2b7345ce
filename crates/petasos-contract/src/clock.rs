//! Time as a port, so that tests advance it instead of sleeping.

use std::fmt::Debug;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Tells the monotonic time.
pub trait Clock: Debug + Send + Sync {
    /// Now.
    fn now(&self) -> Instant;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualClock(Mutex<Instant>);

impl ManualClock {
    /// Starts at the present.
    pub fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// Moves forward.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *now += by;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
