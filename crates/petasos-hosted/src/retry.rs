//! When a vendor's call is made again: never when it may have acted and acting twice differs.

use std::future::Future;
use std::time::{Duration, Instant};

use petasos_contract::wait;

use super::VendorError;

/// The most attempts of one call.
const ATTEMPTS: u32 = 4;

/// The wait after the first attempt; doubled after each.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// What doing it twice would mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The same as once.
    Harmless,
    /// Something else: again only after an attempt that certainly did nothing.
    OnlyUnacted,
}

/// Makes a call until it succeeds, its attempts or its time are used up. Each attempt is told how
/// much time is left; a wait that the vendor asks for is kept when it fits.
pub(crate) async fn with_retry<T, F>(
    deadline: Instant,
    repeat: Repeat,
    mut call: impl FnMut(Duration) -> F,
) -> Result<T, VendorError>
where
    F: Future<Output = Result<T, VendorError>>,
{
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        let left = deadline.saturating_duration_since(Instant::now());
        let error = match wait::until(deadline, "a vendor's answer", call(left)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => return Err(VendorError::Unknown { why: "no answer in time".to_owned() }),
        };
        let again = error.may_pass() && (repeat == Repeat::Harmless || error.did_nothing());
        let asked = match &error {
            VendorError::RateLimited { after, .. } => *after,
            _ => None,
        };
        let rest = asked.unwrap_or(pause).max(pause);
        if !again || attempt >= ATTEMPTS || Instant::now() + rest >= deadline {
            return Err(error);
        }
        tracing::debug!(%error, ?rest, "a vendor's call is made again");
        tokio::time::sleep(rest).await;
        pause *= 2;
    }
    Err(VendorError::Unknown { why: "no attempt was made".to_owned() })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    async fn attempts(repeat: Repeat, error: VendorError) -> u32 {
        let made = Cell::new(0);
        let deadline = Instant::now() + Duration::from_mins(1);
        let result: Result<(), _> = with_retry(deadline, repeat, |_| {
            made.set(made.get() + 1);
            let error = error.clone();
            async move { Err(error) }
        })
        .await;
        assert!(result.is_err());
        made.get()
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_cannot_act_twice_is_tried_again() {
        let why = || "x".to_owned();
        let unknown = VendorError::Unknown { why: why() };
        let unsent = VendorError::Unsent { why: why() };
        let limited = VendorError::RateLimited { why: why(), after: None };
        let refused = VendorError::Refused { why: why() };
        assert_eq!(attempts(Repeat::OnlyUnacted, unknown.clone()).await, 1);
        assert_eq!(attempts(Repeat::Harmless, unknown).await, 4);
        assert_eq!(attempts(Repeat::OnlyUnacted, unsent).await, 4);
        assert_eq!(attempts(Repeat::OnlyUnacted, limited).await, 4);
        assert_eq!(attempts(Repeat::Harmless, refused).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_longer_than_the_deadline_is_not_begun() {
        let after = Some(Duration::from_hours(1));
        let limited = VendorError::RateLimited { why: "x".to_owned(), after };
        assert_eq!(attempts(Repeat::Harmless, limited).await, 1);
    }
}
