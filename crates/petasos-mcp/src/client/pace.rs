//! How often a server is started and listed again: pauses that grow, and an end to trying.
//!
//! Only a life that lasted counts as a recovery. A server that comes up and dies at once is as
//! broken as one that does not come up.

use std::time::{Duration, Instant};

/// How often a server that never worked is tried again, and one that did.
const FIRST_RETRIES: u32 = 3;
const LOST_RETRIES: u32 = 5;
const BACKOFF_MAX: Duration = Duration::from_mins(1);
/// A life of this length is a good one.
const STEADY: Duration = Duration::from_mins(1);
/// The pause after the first refresh in a row; each further one doubles it.
const REFRESH_MIN: Duration = Duration::from_millis(250);
const REFRESH_MAX: Duration = Duration::from_mins(1);
/// From this pause on people are told.
const RESTLESS: Duration = Duration::from_secs(8);

/// The starts of one server.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    tries: u32,
    was_steady: bool,
}

impl Restarts {
    /// A start failed, or a life ended after this time: the pause before the next start, or none
    /// when it has been tried often enough.
    pub(super) fn after(&mut self, lived: Duration) -> Option<Duration> {
        if lived >= STEADY {
            (self.tries, self.was_steady) = (0, true);
        }
        let retries = if self.was_steady { LOST_RETRIES } else { FIRST_RETRIES };
        if self.tries >= retries {
            return None;
        }
        let pause = Duration::from_secs(1_u64 << self.tries.min(6)).min(BACKOFF_MAX);
        self.tries += 1;
        Some(pause)
    }

    /// How many starts in a row came to nothing.
    pub(super) fn in_a_row(&self) -> u32 {
        self.tries + 1
    }
}

/// The refreshes of one connection.
#[derive(Debug, Default)]
pub(super) struct Refreshes {
    last: Option<Instant>,
    due: Option<Instant>,
    pause: Duration,
}

impl Refreshes {
    /// The server says that its tools have changed.
    pub(super) fn ask(&mut self, now: Instant) {
        let Some(last) = self.last else {
            self.due = Some(now);
            return;
        };
        if now.saturating_duration_since(last) > REFRESH_MAX {
            self.pause = Duration::ZERO;
        }
        self.due.get_or_insert((last + self.pause).max(now));
    }

    /// When the next one is due, if any is.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// One was made.
    pub(super) fn made(&mut self, now: Instant) {
        (self.last, self.due) = (Some(now), None);
        self.pause = (self.pause * 2).clamp(REFRESH_MIN, REFRESH_MAX);
    }

    /// Whether the list changes so often that people should know.
    pub(super) fn is_restless(&self) -> bool {
        self.pause >= RESTLESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_that_end_at_once_are_failed_starts_and_lives_that_last_are_not() {
        let seconds = |pause: Option<Duration>| pause.map(|pause| pause.as_secs());
        let mut restarts = Restarts::default();
        let quick = |restarts: &mut Restarts| seconds(restarts.after(Duration::from_secs(2)));
        let pauses: Vec<_> = (0..4).map(|_| quick(&mut restarts)).collect();
        assert_eq!(pauses, [Some(1), Some(2), Some(4), None]);
        assert_eq!(seconds(restarts.after(STEADY)), Some(1), "a long life forgives");
        let pauses: Vec<_> = (0..5).map(|_| quick(&mut restarts)).collect();
        assert_eq!(pauses, [Some(2), Some(4), Some(8), Some(16), None]);
    }

    #[test]
    fn a_list_that_never_stops_changing_is_read_less_and_less() {
        let (mut refreshes, start) = (Refreshes::default(), Instant::now());
        refreshes.ask(start);
        let (mut now, mut made) = (start, 0);
        while let Some(due) = refreshes.due().filter(|due| *due < start + Duration::from_mins(10)) {
            now = due;
            refreshes.made(now);
            made += 1;
            refreshes.ask(now);
        }
        assert!((10..25).contains(&made) && refreshes.is_restless(), "{made}");
        refreshes.made(now);
        let quiet = now + REFRESH_MAX + Duration::from_secs(1);
        refreshes.ask(quiet);
        assert_eq!(refreshes.due(), Some(quiet), "after a quiet minute it is read at once");
    }
}
