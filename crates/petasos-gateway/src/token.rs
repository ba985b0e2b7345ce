//! Tokens that platforms lend for a while: one is fetched when it is needed, by one caller, and again
//! shortly before it lapses.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::Secret;
use serde_json::Value;

use crate::platform::SendError;

/// A token is fetched anew so long before it lapses.
const EARLY: Duration = Duration::from_mins(5);

/// A token that was fetched, and how long it holds.
#[derive(Debug)]
pub(crate) struct Fetched {
    token: String,
    holds: Duration,
}

impl Fetched {
    /// From an answer: vendors write the seconds as a number or as a text.
    pub(crate) fn of(body: &Value, token: &str, seconds: &str) -> Option<Self> {
        let token = body.get(token).and_then(Value::as_str).filter(|it| !it.is_empty())?.to_owned();
        let holds = body.get(seconds);
        let holds = holds.and_then(|it| it.as_u64().or_else(|| it.as_str()?.parse().ok()));
        Some(Self { token, holds: Duration::from_secs(holds.unwrap_or(600)) })
    }
}

/// The token of an account.
#[derive(Default)]
pub(crate) struct Tokens {
    present: Mutex<Option<(Secret, Instant)>>,
    /// One caller fetches; the others wait for what it gets.
    fetching: tokio::sync::Mutex<()>,
}

impl Tokens {
    fn present(&self) -> Option<String> {
        let present = self.present.lock();
        let (token, until) = present.as_ref()?;
        (Instant::now() < *until).then(|| token.expose().to_owned())
    }

    /// The token that holds now, or the one that is fetched.
    pub(crate) async fn get(
        &self,
        fetch: impl Future<Output = Result<Fetched, SendError>>,
    ) -> Result<String, SendError> {
        if let Some(token) = self.present() {
            return Ok(token);
        }
        let _one = self.fetching.lock().await;
        if let Some(token) = self.present() {
            return Ok(token);
        }
        let Fetched { token, holds } = fetch.await?;
        let holds = holds.saturating_sub(EARLY).max(holds / 2);
        *self.present.lock() = Some((Secret::new(token.as_str()), Instant::now() + holds));
        Ok(token)
    }

    /// The server does not take it any more.
    pub(crate) fn forget(&self) {
        *self.present.lock() = None;
    }
}
