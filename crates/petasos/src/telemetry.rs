//! Traces of conversations for an OpenTelemetry collector: OTLP over HTTP, in its JSON encoding.
//!
//! Off unless `telemetry.enabled`. Spans carry who, how long and how many tokens, by the names of
//! the generative-AI conventions; what was said only with `telemetry.content`, masked. They are
//! sent at the end of a turn, within a deadline; a collector that is away costs a warning, and one
//! that hangs is left alone for a while, so that it does not slow every turn down.

mod spans;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use petasos_agent::watch::Watcher;
use petasos_contract::event::Event;
use petasos_contract::{BoxFuture, Settings, wait};
use petasos_net::client::Net;
use petasos_net::{Method, Request, Url};
use petasos_redact::Redactor;
use serde_json::{Value, json};
use tracing::warn;

use self::spans::Spans;

/// A turn that has ended does not wait longer for a collector.
const SEND_DEADLINE: Duration = Duration::from_secs(2);
/// A failure that took longer than this is not met again in the next turn.
const SLOW: Duration = Duration::from_millis(500);
/// How long such a collector is left alone.
const REST: Duration = Duration::from_mins(1);
/// Where collectors listen when nobody says otherwise.
const USUAL: &str = "http://127.0.0.1:4318";

/// Sends traces.
pub(crate) struct Telemetry {
    net: Arc<Net>,
    url: Url,
    headers: Vec<(String, String)>,
    service: String,
    content: Option<Arc<Redactor>>,
    spans: Mutex<Spans>,
    /// Until when nothing is sent.
    resting: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telemetry").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

impl Telemetry {
    /// As configured; nothing when it is off or its address cannot be used.
    pub(crate) fn of(
        settings: &Settings,
        net: impl FnOnce() -> Arc<Net>,
        redactor: impl FnOnce() -> Arc<Redactor>,
    ) -> Option<Self> {
        let on = |key: &str| settings.get(key) == Some(&Value::Bool(true));
        if !on("telemetry.enabled") {
            return None;
        }
        let base = settings.text("telemetry.endpoint").unwrap_or(USUAL).trim_end_matches('/');
        let url = match Url::parse(&format!("{base}/v1/traces")) {
            Ok(url) => url,
            Err(error) => {
                warn!("`telemetry.endpoint` is not an address, nothing is traced: {error}");
                return None;
            }
        };
        let headers = settings.get("telemetry.headers").and_then(Value::as_object);
        let text = |(name, value): (&String, &Value)| {
            value.as_str().map(|value| (name.clone(), value.to_owned()))
        };
        Some(Self {
            net: net(),
            url,
            headers: headers.into_iter().flatten().filter_map(text).collect(),
            service: settings.text("telemetry.service_name").unwrap_or("petasos").to_owned(),
            content: on("telemetry.content").then(redactor),
            spans: Mutex::default(),
            resting: Mutex::default(),
        })
    }

    async fn send(&self, spans: Vec<Value>) -> Result<(), String> {
        let service = json!({ "key": "service.name", "value": { "stringValue": self.service } });
        let body = json!({ "resourceSpans": [{
            "resource": { "attributes": [service] },
            "scopeSpans": [{
                "scope": { "name": "petasos", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans,
            }],
        }] });
        let mut request = Request::new(Method::POST, self.url.clone()).first_byte(SEND_DEADLINE);
        let own = [("content-type".to_owned(), "application/json".to_owned())];
        for (name, value) in own.iter().chain(&self.headers) {
            request = request.header(name, value).map_err(|error| error.to_string())?;
        }
        let sent = self.net.send(request.body(body.to_string())).await;
        let reply = sent.map_err(|error| error.to_string())?;
        if (200..300).contains(&reply.status) {
            return Ok(());
        }
        Err(format!("the collector answered {}", reply.status))
    }
}

impl Watcher for Telemetry {
    fn take(&self, event: &Event) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.take(event, self.content.as_deref());
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner).ended();
            if spans.is_empty() {
                return;
            }
            let resting = || self.resting.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            if resting().is_some_and(|until| now < until) {
                warn!("{} spans were not sent: the collector was too slow before", spans.len());
                return;
            }
            let until = now + SEND_DEADLINE;
            let sending = wait::until(until, "a collector", self.send(spans));
            let why = match sending.await {
                Ok(Ok(())) => return,
                Ok(Err(why)) => why,
                Err(_) => "the collector took too long".to_owned(),
            };
            warn!("a trace was not sent: {why}");
            if now.elapsed() > SLOW {
                *resting() = Some(Instant::now() + REST);
            }
        })
    }
}
