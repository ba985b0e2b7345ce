//! How the server is: health for everybody, readiness and numbers for those who may.

use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;
use petasos_session::ModelChoice;
use petasos_store::Filter;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer;
use crate::routes::Handled;
use crate::server::{Call, Inner};

/// Whether the server is there.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Health {
    status: &'static str,
    version: &'static str,
}

/// Whether turns can be made, and what stands in the way.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ready {
    status: &'static str,
    /// Who answers, or why nobody does.
    model: String,
    /// `ok`, or what the store says.
    store: String,
    /// `no`, or why nothing begins.
    closed: String,
    runs: usize,
    uptime_seconds: u64,
    /// Accounts of chats, queues, the oldest message that was not delivered, room on the disk.
    details: Value,
}

/// Answers by their status.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    classes: [AtomicU64; 6],
}

impl Requests {
    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100);
        if let Some(counter) = self.classes.get(class) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(crate) fn health(call: Call) -> Handled {
    Box::pin(async move {
        let version = call.server.version;
        Ok(answer::json(StatusCode::OK, &Health { status: "ok", version }))
    })
}

pub(crate) fn ready(call: Call) -> Handled {
    Box::pin(async move {
        let server = &call.server;
        let filter = Filter { limit: 1, ..Filter::default() };
        let store = server.conversations.store.list(&filter).await;
        let store = store.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
        let services = server.conversations.sessions.services();
        let choice = ModelChoice::default();
        let (model, answers) = match services.resolve(&choice).await {
            Ok(model) => (model, true),
            Err(why) => (why, false),
        };
        let closed = server.is_open().err().map(|error| error.message);
        let well = store == "ok" && answers && closed.is_none();
        let view = Ready {
            status: if well { "ok" } else { "not_ready" },
            model: server.host.redact(&model),
            store,
            closed: closed.unwrap_or_else(|| "no".to_owned()),
            runs: server.runs.running(),
            uptime_seconds: server.since.elapsed().as_secs(),
            details: server.host.condition().await,
        };
        let status = if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        Ok(answer::json(status, &view))
    })
}

pub(crate) fn metrics(call: Call) -> Handled {
    Box::pin(async move {
        let text = numbers(&call.server);
        Ok(answer::plain(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
    })
}

fn numbers(server: &Inner) -> String {
    let counted = &server.runs.counted;
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
    let ended = [
        ("completed", of(&counted.completed)),
        ("failed", of(&counted.failed)),
        ("stopped", of(&counted.stopped)),
    ];
    let tokens = [("input", of(&counted.input_tokens)), ("output", of(&counted.output_tokens))];
    let classes = server.counted.classes.iter().enumerate().skip(1);
    let answers: Vec<(String, String)> =
        classes.map(|(class, counter)| (format!("{class}xx"), of(counter))).collect();
    let mut lines: Vec<String> = Vec::new();
    let mut family = |name: &str, kind: &str, help: &str, rows: &[(String, String)]| {
        lines.push(format!("# HELP petasos_api_{name} {help}"));
        lines.push(format!("# TYPE petasos_api_{name} {kind}"));
        let row = |(label, value): &(String, String)| format!("petasos_api_{name}{label} {value}");
        lines.extend(rows.iter().map(row));
    };
    let bare = |value: String| vec![(String::new(), value)];
    let labelled = |key: &str, rows: &[(&str, String)]| -> Vec<(String, String)> {
        rows.iter()
            .map(|(label, value)| (format!("{{{key}=\"{label}\"}}"), value.clone()))
            .collect()
    };
    let answers: Vec<(&str, String)> =
        answers.iter().map(|(class, value)| (class.as_str(), value.clone())).collect();
    family("requests_total", "counter", "Answers by class", &labelled("class", &answers));
    family("runs_started_total", "counter", "Turns begun", &bare(of(&counted.begun)));
    family("runs_ended_total", "counter", "Turns ended", &labelled("end", &ended));
    family("runs_active", "gauge", "Turns that run", &bare(server.runs.running().to_string()));
    family("tokens_total", "counter", "Tokens used", &labelled("direction", &tokens));
    let uptime = server.since.elapsed().as_secs().to_string();
    family("uptime_seconds", "gauge", "Since the start", &bare(uptime));
    lines.push(String::new());
    lines.join("\n")
}

pub(crate) fn capabilities(call: Call) -> Handled {
    Box::pin(async move {
        let server = &call.server;
        let told = json!({
            "object": "capabilities",
            "version": server.version,
            "features": {
                "chat_completions": true, "chat_completions_streaming": true,
                "responses": true, "responses_streaming": true, "responses_stored": true,
                "runs": true, "run_events": true, "run_events_resume": true, "run_stop": true,
                "run_approval": true, "run_answer": true,
                "sessions": true, "session_fork": true, "session_continuity": true,
                "idempotency_keys": true, "tool_events": ["chunk", "event"],
                "client_tools": false, "embeddings": false, "audio": false, "files": false,
                "images_in": true, "jobs": true, "skills": true, "metrics": true, "openapi": true,
            },
            "limits": {
                "body_bytes": crate::body::BODY_MAX, "concurrent_runs": server.options.runs_max,
                "requests_per_minute": call.caller.rate.unwrap_or(server.options.rate),
            },
        });
        Ok(answer::json(StatusCode::OK, &told))
    })
}

pub(crate) fn toolsets(call: Call) -> Handled {
    Box::pin(async move {
        let data = call.server.host.toolsets();
        Ok(answer::json(StatusCode::OK, &json!({ "object": "list", "data": data })))
    })
}
