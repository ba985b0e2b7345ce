//! Webhooks in: a signed delivery becomes one turn of a session of its route.
//!
//! In this order: route, enabled, size, raw body, signature, rate, parse, event, filters, seen
//! before, prompt, turn. Nothing is parsed that was not signed.

mod options;
mod signature;
mod template;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;
use parking_lot::Mutex;
use petasos_net::serve::{ServeLimits, serve};
use petasos_session::{Sessions, WhenBusy};
use petasos_store::{ApiStore, SessionStore};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::answer::{self, Answer};
use crate::body;
use crate::conversation::{Conversations, From, Request as Wanted};
use crate::error::ApiError;
use crate::host::{ApiHost, Wish};
use crate::keys::{Caller, digest};
use crate::outgoing::Outgoing;
use crate::run::{Life, RunFacts};
use crate::runs::{Runs, ms, new_id, now_ms};
use crate::server::StartError;
use options::SessionBy;
pub use options::{WebhookOptions, WebhookRoute};
pub(crate) use signature::key_bytes;

/// The platform of these sessions, also their source.
const PLATFORM: &str = "webhook";
/// A delivery is known again for so long.
const SEEN: Duration = Duration::from_hours(24);
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
    /// When the minute of a route began, and how many deliveries came in it.
    rates: Mutex<HashMap<String, (Instant, u32)>>,
}

/// A listener that has its address.
pub struct WebhookServer {
    inner: Arc<Inner>,
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
}

impl WebhookRoute {
    /// What this payload would lead to: the same code as a delivery, without a turn.
    pub fn rehearse(&self, payload: &Value, event: Option<&str>) -> Rehearsal {
        let prompt = template::prompt(&self.prompt, payload, &self.name);
        let (session, more) = self.session_name(payload, "DELIVERY");
        Rehearsal {
            prompt: prompt.text,
            missing: [prompt.missing, more].concat(),
            session,
            ignored: self.ignores(payload, event),
            toolsets: self.toolsets.clone(),
        }
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
        let WebhookParts { options, store, conversations, sessions, host, outgoing } = parts;
        let address = options.address;
        let failed = |error| StartError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runs = Runs::new(store, Arc::clone(&host), outgoing, RUNS);
        let conversations = Conversations::new(sessions, conversations, Arc::clone(&host));
        let inner = Inner { options, runs, conversations, host, rates: Mutex::default() };
        Ok(Self { inner: Arc::new(inner), listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until somebody cancels.
    pub async fn run(self, stop: CancellationToken) {
        let inner = self.inner;
        serve(self.listener, ServeLimits::default(), stop, move |request, _| {
            let inner = Arc::clone(&inner);
            async move { inner.answered(request).await }
        })
        .await;
    }
}

fn refused(status: StatusCode, code: &'static str, message: &str) -> ApiError {
    ApiError::new(status, code, message)
}

impl Inner {
    async fn answered(&self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        let answer = self
            .handled(request)
            .await
            .unwrap_or_else(|error| answer::error(&error, &|text| self.host.redact(text)));
        tracing::info!(path, status = answer.status().as_u16(), "a delivery was answered");
        answer
    }

    async fn handled(&self, request: Request<Incoming>) -> Result<Answer, ApiError> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        if parts.method == Method::GET && path == "/health" {
            return Ok(answer::json(StatusCode::OK, &json!({ "status": "ok" })));
        }
        let name = path.strip_prefix("/webhooks/").filter(|_| parts.method == Method::POST);
        let route = name.and_then(|name| self.options.routes.get(name)).ok_or_else(|| {
            refused(StatusCode::NOT_FOUND, "unknown_route", "there is no such route")
        })?;
        if !route.enabled {
            return Err(refused(StatusCode::FORBIDDEN, "route_disabled", "this route is off"));
        }
        let raw = body::read(body, self.options.body_max).await?;
        let now = now_ms();
        let checked =
            signature::check(&parts.headers, &raw, &route.secrets, now / 1000, route.allow_v1);
        let signed = checked.map_err(|why| {
            tracing::warn!(route = route.name, why = why.0, "a delivery is refused");
            refused(StatusCode::UNAUTHORIZED, "invalid_signature", "the signature is not good")
        })?;
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
        let delivery = own.unwrap_or_else(|| hashed(&route.name, &raw));
        self.accepted(route, &payload, &delivery).await
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

    async fn accepted(
        &self,
        route: &WebhookRoute,
        payload: &Value,
        delivery: &str,
    ) -> Result<Answer, ApiError> {
        if let Some(why) = self.host.halted() {
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE, "halted", &why));
        }
        let (store, now) = (self.runs.store(), now_ms());
        if !store.first_delivery(&route.name, delivery, now, now - ms(SEEN)).await? {
            return Ok(told(StatusCode::OK, "duplicate", delivery, None));
        }
        match self.begin(route, payload, delivery).await {
            Ok(()) => Ok(told(StatusCode::ACCEPTED, "accepted", delivery, None)),
            Err(error) => {
                // The sender will try again, and must not be told that it was done.
                store.forget_delivery(&route.name, delivery).await?;
                Err(error)
            }
        }
    }

    async fn begin(
        &self,
        route: &WebhookRoute,
        payload: &Value,
        delivery: &str,
    ) -> Result<(), ApiError> {
        let place = self.runs.place()?;
        let prompt = template::prompt(&route.prompt, payload, &route.name);
        let short: String = hashed(&route.name, delivery.as_bytes()).chars().take(24).collect();
        let (session, _) = route.session_name(payload, &short);
        let caller =
            Caller { name: format!("webhook:{}", route.name), scopes: Vec::new(), toolsets: None };
        let wish = Wish { platform: PLATFORM, instead: route.toolsets.clone(), ..Wish::default() };
        let wanted = Wanted {
            from: From::Named(session),
            history: Vec::new(),
            instructions: None,
            input: prompt.text.as_str().into(),
            effort: None,
            wish,
            attended: false,
        };
        let (session, input) = self.conversations.open(wanted, &caller).await?;
        let facts = RunFacts {
            id: new_id("run_")?,
            owner: caller.name,
            session: session.id().clone(),
            created_ms: now_ms(),
            model: route.name.clone(),
            life: Life::OnItsOwn,
            kept: true,
            deadline: Some(route.deadline),
        };
        let run = self.runs.begin(place, facts, (session, input), WhenBusy::Queue).await?;
        tracing::info!(route = route.name, delivery, run = run.facts.id, "a delivery is worked on");
        Ok(())
    }
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
