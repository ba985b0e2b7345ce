//! A vendor's REST interface, as far as vendors are alike: one key, JSON there and back, refusals
//! told apart by what may have happened, patience by what a repetition would mean.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use petasos_net::{Credential, Method, Net, Reply, Request, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Repeat, VendorError, with_retry};

/// The largest answer that is read whole.
const ANSWER_MAX: usize = 64 << 20;
/// One attempt of a short call.
const ATTEMPT: Duration = Duration::from_secs(20);
/// How long a short call may take with all its attempts.
pub(crate) const SHORT: Duration = Duration::from_secs(40);

/// The interface with a user's key.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    net: Arc<Net>,
    base: Url,
    pub(crate) credential: Credential,
    headers: Vec<(&'static str, String)>,
    query: Vec<(&'static str, String)>,
    /// How long short calls may take.
    pub(crate) short: Duration,
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) kind: String,
    pub(crate) body: Bytes,
    pub(crate) within: Duration,
    pub(crate) repeat: Repeat,
    /// For people.
    pub(crate) what: &'a str,
}

impl Rest {
    /// The interface at an address.
    pub(crate) fn new(net: Arc<Net>, base: Url, credential: Credential) -> Self {
        let (headers, query) = (Vec::new(), Vec::new());
        Self { net, base, credential, headers, query, short: SHORT }
    }

    /// With this header on every call.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// With this word in the query of every call.
    #[cfg(feature = "vercel_sandbox")]
    pub(crate) fn query(mut self, name: &'static str, value: &str) -> Self {
        self.query.push((name, value.to_owned()));
        self
    }

    /// A call whose repetition is harmless, below the base.
    pub(crate) fn call<'a>(&self, method: Method, what: &'a str, body: Option<Value>) -> Call<'a> {
        let body = body.map(|body| body.to_string()).unwrap_or_default().into();
        let mut url = below(&self.base, what);
        for (name, value) in &self.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let (kind, within) = ("application/json".to_owned(), self.short);
        Call { method, url, kind, body, within, repeat: Repeat::Harmless, what }
    }

    /// Makes a call and gives the answer's bytes.
    pub(crate) async fn send(&self, call: Call<'_>) -> Result<Vec<u8>, VendorError> {
        let deadline = Instant::now() + call.within;
        with_retry(deadline, call.repeat, |left| {
            let attempt = match call.repeat {
                Repeat::Harmless => left.min(ATTEMPT.max(call.within / 2)),
                Repeat::OnlyUnacted => left,
            };
            let request = self.dressed(&call, attempt);
            async move { self.answer(request?, attempt, call.what).await }
        })
        .await
    }

    fn dressed(&self, call: &Call<'_>, within: Duration) -> Result<Request, VendorError> {
        let request = Request::new(call.method.clone(), call.url.clone());
        let mut request = request.header("content-type", &call.kind)?;
        for (name, value) in &self.headers {
            request = request.header(name, value)?;
        }
        let request = request.body(call.body.clone());
        Ok(request.credential(Some(self.credential.clone())).first_byte(within))
    }

    async fn answer(
        &self,
        request: Request,
        within: Duration,
        what: &str,
    ) -> Result<Vec<u8>, VendorError> {
        let reply = self.net.send(request).await?;
        let (status, after) = (reply.status, retry_after(&reply));
        let body = reply.bytes(ANSWER_MAX, within).await?;
        if (200..300).contains(&status) {
            return Ok(body.to_vec());
        }
        Err(refusal(status, after, &body, what))
    }
}

/// An address below another.
pub(crate) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let whole = format!("{}/{path}", base.path().trim_end_matches('/'));
    url.set_path(&whole);
    url
}

/// An answer in JSON.
pub(crate) fn read<A: DeserializeOwned>(body: &[u8]) -> Result<A, VendorError> {
    serde_json::from_slice(body).map_err(|error| {
        let head: String = String::from_utf8_lossy(body).chars().take(120).collect();
        VendorError::Unknown { why: format!("the answer cannot be read: {error} in `{head}`") }
    })
}

fn retry_after(reply: &Reply) -> Option<Duration> {
    let text = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok());
    let seconds = text("retry-after").or_else(|| text("x-ratelimit-reset"))?;
    seconds.trim().parse().ok().map(Duration::from_secs).filter(|after| after.as_secs() < 86_400)
}

fn refusal(status: u16, after: Option<Duration>, body: &[u8], what: &str) -> VendorError {
    let said: Option<Value> = serde_json::from_slice(body).ok();
    // One vendor says `message`, another puts it into `error`.
    let message = said.as_ref().and_then(|said| {
        said.get("message").or_else(|| said.get("error").and_then(|error| error.get("message")))
    });
    let message =
        message.map(|message| message.as_str().map_or_else(|| message.to_string(), str::to_owned));
    let message: String = message.unwrap_or_default().chars().take(300).collect();
    let why = format!("`{what}` gave HTTP {status} {message}").trim().to_owned();
    match status {
        429 => VendorError::RateLimited { why, after },
        503 if after.is_some() => VendorError::RateLimited { why, after },
        401 | 403 => VendorError::Credential { why },
        404 => VendorError::Missing { why },
        408 | 500.. => VendorError::Unknown { why },
        _ => VendorError::Refused { why },
    }
}
