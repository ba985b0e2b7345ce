//! Webhooks in: a signed delivery becomes one turn of a session of its route.
//!
//! In this order: route, enabled, size, raw body, signature, rate, parse, event, filters, script,
//! seen before, prompt, turn. Nothing is parsed that was not signed.

mod accept;
mod options;
mod reading;
mod signature;
mod template;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;
use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use petasos_net::serve::{ServeLimits, serve};
use petasos_session::Sessions;
use petasos_store::{ApiStore, OutboxStore, SessionStore};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::answer::{self, Answer};
use crate::conversation::Conversations;
use crate::error::{ApiError, draining};
use crate::host::ApiHost;
use crate::keys::digest;
use crate::outgoing::Outgoing;
use crate::profiles::Profiles;
use crate::runs::{RunLimits, Runs, now_ms};
use crate::server::{StartError, settle};
use options::{SessionBy, Takes};
pub use options::{WebhookOptions, WebhookRoute};
use reading::Reading;
pub(crate) use signature::key_bytes;

const MINUTE: Duration = Duration::from_mins(1);
/// Turns of webhooks at once.
const RUNS: usize = 10;

/// What webhooks are served with.
pub struct WebhookParts {
    /// How they are set up.
    pub options: WebhookOptions,
    /// Its own rows.
    pub store: Arc<dyn ApiStore>,
    /// Conversations.
    pub conversations: Arc<dyn SessionStore>,
    /// The sessions of the program.
    pub sessions: Arc<Sessions>,
    /// The program.
    pub host: Arc<dyn ApiHost>,
    /// Who is told what happens.
    pub outgoing: Option<Arc<Outgoing>>,
    /// What goes out to people.
    pub outbox: Arc<dyn OutboxStore>,
    /// A turn in which nothing happens for so long is over.
    pub silence: Option<Duration>,
}

impl std::fmt::Debug for WebhookParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookParts").field("options", &self.options).finish_non_exhaustive()
    }
}

struct Inner {
    options: WebhookOptions,
    runs: Arc<Runs>,
    conversations: Conversations,
    host: Arc<dyn ApiHost>,
    outbox: Arc<dyn OutboxStore>,
    /// The end was asked for.
    closing: CancellationToken,
    /// When the minute of a route began, and how many deliveries came in it.
    rates: Mutex<HashMap<String, (Instant, u32)>>,
}

/// A listener that has its address.
pub struct WebhookServer {
    inner: Arc<Inner>,
    /// Other profiles of this machine, by name.
    beside: Profiles<Inner>,
    listener: TcpListener,
    address: SocketAddr,
}

impl std::fmt::Debug for WebhookServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What a payload would lead to, for somebody who tries a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    /// What the model would be told.
    pub prompt: String,
    /// Places of the templates that the payload does not have.
    pub missing: Vec<String>,
    /// The session that it would belong to.
    pub session: String,
    /// Why nothing would happen, when nothing would.
    pub ignored: Option<String>,
    /// The toolsets; those of the platform when absent.
    pub toolsets: Option<Vec<String>>,
    /// Where the answer would go.
    pub deliver: String,
    /// Why it could not go there, if so.
    pub trouble: Option<String>,
}

impl WebhookRoute {
    /// What this payload would lead to: the same code as a delivery, without a turn.
    pub fn rehearse(&self, payload: &Value, event: Option<&str>) -> Rehearsal {
        let prompt = if self.direct {
            template::message(&self.prompt, payload)
        } else {
            template::prompt(&self.prompt, payload, &self.name)
        };
        let (session, more) = self.session_name(payload, "DELIVERY");
        let target = accept::target(&self.deliver, payload);
        Rehearsal {
            prompt: prompt.text,
            missing: [prompt.missing, more].concat(),
            session,
            ignored: self.ignores(payload, event),
            toolsets: self.toolsets.clone(),
            trouble: target.as_ref().err().cloned(),
            deliver: target.ok().flatten().unwrap_or_else(|| "log".to_owned()),
        }
    }

    /// The file of the home's `scripts` folder that sees a payload first.
    pub fn script(&self) -> Option<&str> {
        self.script.as_deref()
    }

    /// Why a payload leads to nothing.
    fn ignores(&self, payload: &Value, event: Option<&str>) -> Option<String> {
        let event = event.unwrap_or_default();
        if !self.events.is_empty() && !self.events.iter().any(|known| known == event) {
            return Some(format!("the event `{event}` is not listed"));
        }
        let fits = |(path, wanted): (&String, &Value)| {
            let found = template::at(payload, path).unwrap_or(&Value::Null);
            match wanted {
                Value::Array(any) => any.contains(found),
                one => one == found,
            }
        };
        let other = self.filters.iter().find(|filter| !fits(*filter));
        other.map(|(path, _)| format!("the filter `{path}` does not fit"))
    }

    fn session_name(&self, payload: &Value, delivery: &str) -> (String, Vec<String>) {
        match &self.session {
            SessionBy::Delivery => (format!("webhook-{}-{delivery}", self.name), Vec::new()),
            SessionBy::Route => (format!("webhook-{}", self.name), Vec::new()),
            SessionBy::Template(text) => {
                let filled = template::name(text, payload);
                (format!("webhook-{}-{}", self.name, filled.text), filled.missing)
            }
        }
    }
}

impl WebhookServer {
    /// Takes the address; nobody is served yet.
    pub async fn bind(parts: WebhookParts) -> Result<Self, StartError> {
        let address = parts.options.address;
        let failed = |error| StartError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let inner = Inner::new(parts).await;
        Ok(Self { inner, beside: Profiles::default(), listener, address })
    }

    /// Takes deliveries of another profile below `/p/NAME`.
    pub async fn add_profile(&mut self, name: &str, parts: WebhookParts) {
        self.beside.add(name, Inner::new(parts).await);
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until somebody cancels.
    pub async fn run(self, stop: CancellationToken) {
        let Self { inner, beside, listener, .. } = self;
        let all: Vec<Arc<Inner>> = [Arc::clone(&inner)].into_iter().chain(beside.all()).collect();
        let beside = Arc::new(beside);
        let asked = stop.clone();
        let _closing = Owned::start(async move {
            asked.cancelled().await;
            for one in &all {
                one.closing.cancel();
            }
        });
        // All profiles share the connections, and so the places of bodies.
        let reading = Arc::<Reading>::default();
        serve(listener, ServeLimits::default(), stop, move |mut request, _| {
            let inner = beside.led(&mut request).unwrap_or_else(|| Arc::clone(&inner));
            let reading = Arc::clone(&reading);
            async move { inner.answered(request, &reading).await }
        })
        .await;
    }
}

/// A delivery: what its sender calls it, and what it is known by when it comes again.
struct Delivery {
    id: String,
    once: String,
    /// The same under any name, where the name is not signed.
    bytes: Option<String>,
}

fn refused(status: StatusCode, code: &'static str, message: &str) -> ApiError {
    ApiError::new(status, code, message)
}

impl Inner {
    async fn new(parts: WebhookParts) -> Arc<Self> {
        let WebhookParts { options, store, conversations, sessions, host, .. } = parts;
        let (outgoing, outbox) = (parts.outgoing, parts.outbox);
        let limits = RunLimits { most: RUNS, silence: parts.silence };
        let runs = Runs::new(store, Arc::clone(&host), outgoing, limits);
        let conversations = Conversations::new(sessions, conversations, Arc::clone(&host));
        settle(&runs, &conversations, Duration::ZERO).await;
        let (closing, rates) = (CancellationToken::new(), Mutex::default());
        Arc::new(Self { options, runs, conversations, host, outbox, closing, rates })
    }

    async fn answered(&self, request: Request<Incoming>, reading: &Reading) -> Answer {
        let path = request.uri().path().to_owned();
        let answer = self
            .handled(request, reading)
            .await
            .unwrap_or_else(|error| answer::error(&error, &|text| self.host.redact(text)));
        tracing::info!(path, status = answer.status().as_u16(), "a delivery was answered");
        answer
    }

    async fn handled(
        &self,
        request: Request<Incoming>,
        reading: &Reading,
    ) -> Result<Answer, ApiError> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        if parts.method == Method::GET && path == "/health" {
            return Ok(answer::json(StatusCode::OK, &json!({ "status": "ok" })));
        }
        if self.closing.is_cancelled() {
            return Err(draining());
        }
        let name = path.strip_prefix("/webhooks/").filter(|_| parts.method == Method::POST);
        let route = name.and_then(|name| self.route(name)).ok_or_else(|| {
            refused(StatusCode::NOT_FOUND, "unknown_route", "there is no such route")
        })?;
        if !route.enabled {
            return Err(refused(StatusCode::FORBIDDEN, "route_disabled", "this route is off"));
        }
        let raw = reading.read(body, self.options.body_max).await?;
        let signed = signed(&route, &parts.headers, &raw)?;
        self.within_rate(&route.name)?;
        let payload = parsed(&raw)?;
        let event = event(&parts.headers, &payload);
        if let Some(why) = route.ignores(&payload, event.as_deref()) {
            return Ok(told(StatusCode::OK, "ignored", "", Some(&why)));
        }
        let own = signed.delivery.or_else(|| {
            let id = payload.get("id").and_then(Value::as_str);
            id.filter(|_| signed.scheme == "stripe").map(str::to_owned)
        });
        let body = hashed(&route.name, &raw);
        let id = own.clone().unwrap_or_else(|| body.clone());
        // GitHub signs the body alone: under another id it is the same delivery all the same.
        let once = own.filter(|_| signed.scheme != "github").unwrap_or_else(|| body.clone());
        let bytes = signed.at.map(|at| format!("{at}.{body}"));
        let delivery = Delivery { id, once, bytes };
        let Some(payload) = self.scripted(&route, payload).await? else {
            return Ok(told(
                StatusCode::OK,
                "ignored",
                "",
                Some("the script of the route says so"),
            ));
        };
        if let Some(why) = self.host.halted() {
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE, "halted", &why));
        }
        if route.direct {
            return self.direct(&route, &payload, &delivery).await;
        }
        self.accepted(&route, &payload, &delivery).await
    }

    /// The route of a name: one of the settings, else one that was subscribed.
    fn route(&self, name: &str) -> Option<Arc<WebhookRoute>> {
        if let Some(route) = self.options.routes.get(name) {
            return Some(Arc::new(route.clone()));
        }
        let subscribed = self.host.subscriptions();
        match self.options.subscribed(name, subscribed.get(name)?) {
            Ok(route) => Some(Arc::new(route)),
            Err(error) => {
                tracing::warn!(%error, route = name, "a subscription cannot be used");
                None
            }
        }
    }

    /// Counts one more delivery of this minute.
    fn within_rate(&self, route: &str) -> Result<(), ApiError> {
        let mut rates = self.rates.lock();
        let rate = rates.entry(route.to_owned()).or_insert((Instant::now(), 0));
        if rate.0.elapsed() > MINUTE {
            *rate = (Instant::now(), 0);
        }
        rate.1 += 1;
        if rate.1 > self.options.rate {
            let message = "too many deliveries in this minute";
            let error = refused(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", message);
            return Err(error.after(MINUTE.saturating_sub(rate.0.elapsed()).as_secs().max(1)));
        }
        Ok(())
    }
}

/// Who signed a delivery, and how.
fn signed(
    route: &WebhookRoute,
    headers: &HeaderMap,
    raw: &[u8],
) -> Result<signature::Signed, ApiError> {
    if route.takes == Takes::All {
        return Ok(signature::Signed { scheme: "none", delivery: None, at: None });
    }
    let (now, old) = (now_ms() / 1000, route.takes == Takes::SignedOnce);
    signature::check(headers, raw, &route.secrets, now, old).map_err(|why| {
        tracing::warn!(route = route.name, why = why.0, "a delivery is refused");
        refused(StatusCode::UNAUTHORIZED, "invalid_signature", "the signature is not good")
    })
}

fn told(status: StatusCode, word: &str, delivery: &str, why: Option<&str>) -> Answer {
    let mut body = json!({ "status": word, "delivery_id": delivery });
    if let Some(why) = why {
        body["why"] = json!(why);
    }
    answer::json(status, &body)
}

fn hashed(route: &str, bytes: &[u8]) -> String {
    let digest = digest(&[route.as_bytes(), b"\0", bytes].concat());
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// JSON, else a form.
fn parsed(raw: &[u8]) -> Result<Value, ApiError> {
    if let Ok(value) = serde_json::from_slice::<Value>(raw) {
        return Ok(value);
    }
    let text = std::str::from_utf8(raw).ok().filter(|text| text.contains('='));
    let text = text.ok_or_else(|| ApiError::bad("invalid_body", "neither JSON nor a form"))?;
    let pairs = text.split('&').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        let plain = |part: &str| crate::routes::decoded(&part.replace('+', " "));
        Some((plain(key)?, Value::from(plain(value)?)))
    });
    Ok(Value::Object(pairs.collect()))
}

/// What the sender calls what happened.
fn event(headers: &HeaderMap, payload: &Value) -> Option<String> {
    let names = ["x-github-event", "x-gitlab-event", "x-webhook-event", "x-event-type"];
    let header = names.iter().find_map(|name| headers.get(*name)?.to_str().ok());
    let inside = ["type", "event", "event_type"].iter().find_map(|key| payload.get(*key)?.as_str());
    header.or(inside).map(str::to_owned)
}
