//! A note that every process of this user reads: an account is limited until a moment.
//!
//! Only for providers whose limit counts an account and not a process. Without it, ten jobs that
//! start together would each learn the same refusal, and each refusal counts again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::credential::now_ms;
use crate::credential::store::{StoreError, write_private};
use crate::failure::Failure;
use petasos_contract::model::Reason;

/// How long an account rests when the provider names no moment.
const REST_MS: u64 = 300_000;

/// Whether a provider's limits are shared by all processes of an account.
fn is_shared(provider: &str) -> bool {
    provider == "nous"
}

fn path(home: &Path, provider: &str) -> PathBuf {
    home.join("rate_limits").join(format!("{provider}.json"))
}

/// How long a provider must still be left alone.
pub fn left(home: &Path, provider: &str) -> Option<Duration> {
    if !is_shared(provider) {
        return None;
    }
    // No note, or one that cannot be read, means no limit: the provider will say it again.
    let text = std::fs::read_to_string(path(home, provider)).ok()?;
    let note: Value = serde_json::from_str(&text).ok()?;
    let until = note.get("reset_at_ms")?.as_u64()?;
    until.checked_sub(now_ms()).filter(|left| *left > 0).map(Duration::from_millis)
}

/// Writes the note after a limit of the account itself.
pub fn note(home: &Path, provider: &str, failure: &Failure) -> Result<(), StoreError> {
    if !is_shared(provider) || failure.reason != Reason::RateLimit {
        return Ok(());
    }
    let stated = failure.limits.requests_hourly.reset_ms.or(failure.limits.requests.reset_ms);
    let asked = failure.retry_after.and_then(|wait| u64::try_from(wait.as_millis()).ok());
    let until = now_ms().saturating_add(stated.or(asked).unwrap_or(REST_MS));
    write_private(&path(home, provider), &json!({"reset_at_ms": until}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_an_account_is_read_by_everybody_and_of_a_key_by_nobody() {
        let home = tempfile::tempdir().unwrap();
        let mut failure = Failure::new(Reason::RateLimit, "");
        failure.limits.requests_hourly.reset_ms = Some(60_000);
        note(home.path(), "nous", &failure).unwrap();
        note(home.path(), "zai", &failure).unwrap();
        let left_of = |provider: &str| left(home.path(), provider);
        assert!(left_of("nous").is_some_and(|left| left > Duration::from_secs(50)));
        assert_eq!(left_of("zai"), None);
        note(home.path(), "nous", &Failure::new(Reason::UpstreamRateLimit, "")).unwrap();
        assert!(left_of("nous").is_some_and(|left| left < Duration::from_mins(2)));
    }
}
