//! One request to an HTTP interface of a vendor, and what its status means.
//!
//! Redirects are not followed: an interface has no reason to send anybody elsewhere, and what a
//! request carries is for this origin.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use petasos_contract::{Settings, wait};
use petasos_net::{
    Credential, Follow, HeaderMap, Method, Net, NetOptions, Origin, Reply, Request, Scheme, Scope,
    Url, checked_url,
};
use serde_json::Value;

use crate::fault::VendorError;
use crate::text::cut;

/// Vendor text that is passed on in an error.
const DETAIL_CHARS: usize = 300;

/// The way out of a snapshot.
pub(crate) fn net(settings: &Settings) -> Arc<Net> {
    settings.derived(|settings| Net::new(NetOptions::from_settings(settings)))
}

/// The text of a variable, if it says anything.
pub(crate) fn variable(settings: &Settings, name: &str) -> Option<petasos_contract::Secret> {
    let value = settings.variable(name).map(|variable| variable.value.clone())?;
    (!value.expose().trim().is_empty()).then_some(value)
}

/// An interface: where it is, whose key it gets, how long it may take.
#[derive(Debug, Clone)]
pub struct Service {
    /// What people call it.
    pub name: &'static str,
    base: Url,
    credential: Option<Credential>,
    net: Arc<Net>,
    /// How long one request may take, its body included.
    pub within: Duration,
    /// The largest answer that is read.
    pub bytes_max: usize,
}

/// What one request carries besides its path.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// The body with its type.
    pub body: Option<(&'static str, Bytes)>,
    /// Headers of its own.
    pub headers: Vec<(&'static str, String)>,
}

impl Sent {
    /// A JSON body.
    pub fn json(value: &Value) -> Self {
        let body = Some(("application/json", Bytes::from(value.to_string())));
        Self { body, headers: Vec::new() }
    }
}

/// An answer whose body was read.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl Service {
    /// An interface at a base address, with the answer limits of a plain read.
    pub fn new(name: &'static str, base: &str, settings: &Settings) -> Result<Self, VendorError> {
        let unusable = |why: String| {
            VendorError::new(
                "missing_setup",
                format!("the address of {name} cannot be used: {why}"),
            )
        };
        let base =
            checked_url(base.trim_end_matches('/')).map_err(|why| unusable(why.to_string()))?;
        if Origin::of(&base).is_none() {
            return Err(unusable(format!("it begins with `{}:`, not `https:`", base.scheme())));
        }
        Ok(Self {
            name,
            base,
            credential: None,
            net: net(settings),
            within: Duration::from_secs(15),
            bytes_max: 16 << 20,
        })
    }

    /// With a secret that goes to this origin and no other.
    #[must_use]
    pub fn with_key(mut self, secret: petasos_contract::Secret, scheme: Scheme) -> Self {
        let scope = Origin::of(&self.base).map(Scope::exactly).unwrap_or_default();
        let owner = self.name.to_owned();
        self.credential = Some(Credential { owner, secret, scope, scheme });
        self
    }

    /// The host, for policy and people.
    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The address of a path below the base.
    pub fn url(&self, path: &str) -> Result<Url, VendorError> {
        let whole = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        checked_url(&whole).map_err(|why| VendorError::argument(why.to_string()))
    }

    /// A request to a path, with the key.
    pub fn request(&self, method: Method, path: &str, sent: Sent) -> Result<Request, VendorError> {
        let mut request = Request::new(method, self.url(path)?)
            .first_byte(self.within)
            .credential(self.credential.clone());
        request.follow = Follow::Nowhere;
        if let Some((kind, body)) = sent.body {
            request = request.header("content-type", kind)?.body(body);
        }
        for (name, value) in sent.headers {
            request = request.header(name, &value)?;
        }
        Ok(request)
    }

    /// Sends a request and reads the whole answer, whatever its status.
    pub async fn ask(&self, method: Method, path: &str, sent: Sent) -> Result<Answer, VendorError> {
        let request = self.request(method, path, sent)?;
        let deadline = Instant::now() + self.within;
        let answering = Box::pin(async {
            let reply = self.net.send(request).await?;
            read(reply, self.bytes_max, self.within).await
        });
        match wait::until(deadline, "an answer of a service", answering).await {
            Ok(answer) => answer,
            Err(_) => Err(self.late()),
        }
    }

    /// The JSON of a good answer; other answers are failures.
    pub async fn json(&self, method: Method, path: &str, sent: Sent) -> Result<Value, VendorError> {
        let answer = self.ask(method, path, sent).await?;
        if !(200..300).contains(&answer.status) {
            return Err(self.failure(&answer));
        }
        self.parsed(&answer)
    }

    /// The body as JSON; an empty one is nothing.
    pub fn parsed(&self, answer: &Answer) -> Result<Value, VendorError> {
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|error| {
            let text = format!("{} gave an answer that is no JSON: {error}", self.name);
            VendorError::new("upstream", text)
        })
    }

    /// What a status means where the vendor has no words of its own.
    pub fn failure(&self, answer: &Answer) -> VendorError {
        let name = self.name;
        let (kind, why) = match answer.status {
            300..=399 => ("upstream", "sends us elsewhere; check its address"),
            401 => ("auth", "refuses the key; check it or make a new one"),
            402 => ("quota", "has no credit left"),
            403 => ("auth", "does not allow this for the key"),
            404 => ("not_found", "has no such thing"),
            413 => ("too_large", "does not take so much at once"),
            429 => ("rate_limited", "asks for fewer requests"),
            _ => ("upstream", "failed"),
        };
        let mut error = VendorError::new(kind, format!("{name} {why} ({})", answer.status))
            .with("status", answer.status);
        if let Some(seconds) = answer.retry_after().filter(|_| kind == "rate_limited") {
            error = error.with("retry_after_s", seconds);
        }
        match answer.detail() {
            Some(detail) => error.with("detail", detail),
            None => error,
        }
    }

    /// An answer that did not come in time.
    pub fn late(&self) -> VendorError {
        let seconds = self.within.as_secs();
        VendorError::new("timeout", format!("{} did not answer within {seconds} s", self.name))
    }

    /// The way out, for what is no single request.
    pub(crate) fn net(&self) -> &Net {
        &self.net
    }
}

async fn read(reply: Reply, bytes_max: usize, within: Duration) -> Result<Answer, VendorError> {
    let (status, headers) = (reply.status, reply.headers.clone());
    let body = reply.bytes(bytes_max, within).await?;
    Ok(Answer { status, headers, body })
}

impl Answer {
    /// After how many seconds the vendor wants to be asked again.
    pub fn retry_after(&self) -> Option<u64> {
        let text = self.headers.get("retry-after")?.to_str().ok()?;
        // Some vendors tell fractions; whoever waits a little longer is not refused again.
        let whole = text.split('.').next()?.trim().parse::<u64>().ok()?;
        Some(if text.contains('.') { whole + 1 } else { whole })
    }

    /// A few of the vendor's words about what went wrong.
    pub fn detail(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.body);
        let told = serde_json::from_str::<Value>(&text).ok().and_then(|value| {
            let at = |path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
            at("/message")
                .or_else(|| at("/error/message"))
                .or_else(|| at("/error_description"))
                .or_else(|| at("/error"))
                .or_else(|| at("/msg"))
        });
        let line = told.unwrap_or_else(|| text.split_whitespace().collect::<Vec<_>>().join(" "));
        (!line.is_empty()).then(|| cut(&line, DETAIL_CHARS))
    }
}
