//! When to ask again: the provider's own wish, or a growing delay with jitter.
//!
//! Pure: the clock and the dice are handed in. Who waits, and that a wait can be interrupted, is
//! the client's part.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;

/// The longest wish that is followed.
pub const WISH_MAX: Duration = Duration::from_mins(10);

/// A growing delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first delay.
    pub base: Duration,
    /// The longest delay before jitter.
    pub cap: Duration,
}

/// After an error that the provider reported.
pub const ERRORS: Backoff = Backoff { base: Duration::from_secs(2), cap: Duration::from_mins(1) };
/// After an answer that could not be read.
pub const INVALID: Backoff = Backoff { base: Duration::from_secs(5), cap: Duration::from_mins(2) };
/// For side tasks, which somebody waits for.
pub const SIDE: Backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(8) };

impl Backoff {
    /// The delay before retry `attempt` (from 0), with `dice` in 0..1 choosing the jitter.
    pub fn delay(&self, attempt: u32, dice: f64) -> Duration {
        let doubled = self.base.saturating_mul(2_u32.saturating_pow(attempt.min(16)));
        let delay = doubled.min(self.cap);
        delay + delay.mul_f64(0.5 * dice.clamp(0.0, 1.0))
    }
}

/// The provider's wish, with up to a tenth more so that not everybody comes back at once.
pub fn wish(wait: Duration, dice: f64) -> Duration {
    let wait = wait.min(WISH_MAX);
    wait + wait.mul_f64(0.1 * dice.clamp(0.0, 1.0))
}

/// How long the headers ask to wait: `retry-after-ms`, then `retry-after` in seconds or as a date.
pub fn after<'a>(header: impl Fn(&str) -> Option<&'a str>, now: SystemTime) -> Option<Duration> {
    let number =
        |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    if let Some(ms) = header("retry-after-ms").and_then(number) {
        return Some(Duration::from_secs_f64((ms / 1000.0).min(1e6)));
    }
    let text = header("retry-after")?.trim();
    if let Some(seconds) = number(text) {
        return Some(Duration::from_secs_f64(seconds.min(1e6)));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// How long a body asks to wait: Google's `retryDelay`, or a reset time in seconds.
pub fn in_body(body: Option<&Value>) -> Option<Duration> {
    let error = body?.get("error")?;
    let mut details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let delay = details.find_map(|detail| detail.get("retryDelay")?.as_str());
    let seconds = error.get("resets_in_seconds").and_then(Value::as_f64);
    delay.and_then(duration).or_else(|| {
        seconds.filter(|s| s.is_finite() && *s >= 0.0).map(|s| Duration::from_secs_f64(s.min(1e6)))
    })
}

/// One counter of a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Counter {
    /// The most in a period.
    pub limit: Option<u64>,
    /// What is left of it.
    pub remaining: Option<u64>,
    /// Until it starts again, in milliseconds.
    pub reset_ms: Option<u64>,
}

/// The counters that an answer's headers told; shown to people, never used to delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Limits {
    /// Requests.
    pub requests: Counter,
    /// Tokens.
    pub tokens: Counter,
    /// Requests in an hour.
    pub requests_hourly: Counter,
    /// Tokens in an hour.
    pub tokens_hourly: Counter,
}

impl Limits {
    /// Reads both families of headers in use.
    pub fn read<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Self {
        let counter = |what: &str| {
            let of = |part: &str| {
                header(&format!("x-ratelimit-{part}-{what}"))
                    .or_else(|| header(&format!("anthropic-ratelimit-{what}-{part}")))
            };
            let number = |part: &str| of(part).and_then(|text| text.trim().parse().ok());
            let reset = of("reset").and_then(duration).map(|wait| wait.as_millis());
            let reset_ms = reset.and_then(|wait| u64::try_from(wait).ok());
            Counter { limit: number("limit"), remaining: number("remaining"), reset_ms }
        };
        Self {
            requests: counter("requests"),
            tokens: counter("tokens"),
            requests_hourly: counter("requests-1h"),
            tokens_hourly: counter("tokens-1h"),
        }
    }

    /// Whether no header was there.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Seconds, or text such as `1m30.5s` and `250ms`.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let mut total = 0.0;
    let mut number = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_digit() || letter == '.' {
            number.push(letter);
            continue;
        }
        let value: f64 = std::mem::take(&mut number).parse().ok()?;
        let unit = match letter {
            'm' if letters.next_if_eq(&'s').is_some() => 0.001,
            's' => 1.0,
            'm' => 60.0,
            'h' => 3_600.0,
            'd' => 86_400.0,
            _ => return None,
        };
        total += value * unit;
    }
    if number.is_empty() { Duration::try_from_secs_f64(total).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_wait_is_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let cases = [
            ("retry-after", "7", Some(7_000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "-1", None),
            ("retry-after", "soon", None),
        ];
        for (name, value, expected) in cases {
            let read = after(|asked| (asked == name).then_some(value), now);
            assert_eq!(read.map(|wait| wait.as_millis()), expected, "{name}: {value}");
        }
        let texts =
            [("1m30.5s", Some(90_500)), ("250ms", Some(250)), ("2", Some(2_000)), ("x", None)];
        for (text, expected) in texts {
            assert_eq!(duration(text).map(|wait| wait.as_millis()), expected, "{text}");
        }
    }

    #[test]
    fn delays_grow_to_their_cap_and_jitter_stays_in_its_half() {
        for attempt in 0..40 {
            let least = ERRORS.delay(attempt, 0.0);
            let most = ERRORS.delay(attempt, 1.0);
            assert!(least <= ERRORS.cap && most <= ERRORS.cap.mul_f64(1.5), "{attempt}");
            assert!(least >= ERRORS.base);
        }
        assert_eq!(ERRORS.delay(1, 0.0), Duration::from_secs(4));
        assert_eq!(wish(Duration::from_hours(1), 0.0), WISH_MAX);
    }
}
