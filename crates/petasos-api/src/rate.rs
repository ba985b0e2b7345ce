//! How many requests a key may make: as many at once as in a minute, and then as they come back.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

const MINUTE: f64 = 60.0;

/// What keys have left.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<HashMap<String, Left>>);

#[derive(Debug, Clone, Copy)]
struct Left {
    requests: f64,
    at: Instant,
}

impl Rates {
    /// Takes one request of a key that may make so many in a minute; zero means any number. Gives
    /// how long it waits when it has none left.
    pub(crate) fn take(&self, key: &str, most: u32, now: Instant) -> Result<(), Duration> {
        if most == 0 {
            return Ok(());
        }
        let most = f64::from(most);
        let mut rates = self.0.lock();
        let full = Left { requests: most, at: now };
        let left = rates.entry(key.to_owned()).or_insert(full);
        let passed = now.saturating_duration_since(left.at).as_secs_f64();
        let back = (left.requests + passed * most / MINUTE).min(most);
        *left = Left { requests: back, at: now };
        if back < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - back) * MINUTE / most));
        }
        left.requests -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_minute_at_once_and_then_what_comes_back() {
        let (rates, now) = (Rates::default(), Instant::now());
        for _ in 0..30 {
            assert_eq!(rates.take("una", 30, now), Ok(()));
        }
        let wait = rates.take("una", 30, now).unwrap_err();
        assert!(wait > Duration::from_millis(1900) && wait <= Duration::from_secs(2), "{wait:?}");
        assert_eq!(rates.take("ben", 30, now), Ok(()), "another key has its own");
        assert_eq!(rates.take("una", 30, now + Duration::from_secs(3)), Ok(()));
        assert!(rates.take("una", 30, now + Duration::from_secs(3)).is_err());
        assert_eq!(rates.take("una", 0, now), Ok(()));
    }
}
