//! Requests to one endpoint, apart by as much as the user wrote (`rate_limit_delay`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::runtime::ProviderRuntime;

/// The longest pause between two requests; more would be a deadline, not a pace.
const DELAY_MAX: Duration = Duration::from_mins(5);

/// When each endpoint may be asked next.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<BTreeMap<String, Instant>>);

impl Pace {
    /// Takes the next turn at an endpoint; how long it is until then.
    pub(super) fn next(&self, runtime: &ProviderRuntime, now: Instant) -> Duration {
        let delay = runtime.overrides.rate_limit_delay_s.and_then(crate::fallback::seconds);
        let Some(delay) = delay.map(|delay| delay.min(DELAY_MAX)) else { return Duration::ZERO };
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = turns.entry(runtime.base_url.to_string()).or_insert(now);
        let mine = (*turn).max(now);
        *turn = mine + delay;
        mine.saturating_duration_since(now)
    }
}
