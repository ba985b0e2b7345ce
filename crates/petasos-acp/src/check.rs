//! `petasos acp --check`: a client of our own goes through the methods that need no model.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::wait::Owned;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::client::{AgentCall, AgentConnection, AgentWatcher, WantedAction};
use crate::serve::{ServerParts, serve};
use crate::wire::Transport;

const PATIENCE: Duration = Duration::from_secs(20);
const PIPE: usize = 64 * 1024;

/// One thing that was tried.
#[derive(Debug, Clone, Serialize)]
pub struct CheckStep {
    /// The method.
    pub name: &'static str,
    /// What came of it.
    pub detail: String,
    /// Why it did not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

struct Quiet;

impl AgentWatcher for Quiet {
    fn said(&self, _: &str) {}

    fn called(&self, _: &AgentCall, _: bool) {}

    fn permit<'a>(&'a self, _: &'a WantedAction) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }
}

/// Serves and asks, within one program.
pub async fn check(parts: ServerParts, cwd: &Path) -> Vec<CheckStep> {
    let (ours, theirs) = (tokio::io::duplex(PIPE), tokio::io::duplex(PIPE));
    let (agent, client) = (Transport::over(theirs.0, ours.0), Transport::over(ours.1, theirs.1));
    let stop = CancellationToken::new();
    let served = Owned::start(serve(parts, agent, stop.clone()));
    let mut steps = Vec::new();
    match AgentConnection::open(client, Arc::new(Quiet), "check").await {
        Ok(connection) => {
            steps.push(step("initialize", Ok(connection.name.clone().unwrap_or_default())));
            sessions(&connection, cwd, &mut steps).await;
        }
        Err(error) => steps.push(step("initialize", Err(error.to_string()))),
    }
    stop.cancel();
    // It ends by itself within two seconds.
    served.join().await.unwrap_or_default();
    steps
}

async fn sessions(connection: &AgentConnection, cwd: &Path, steps: &mut Vec<CheckStep>) {
    let session = connection.begin(cwd, None).await.map_err(|error| error.to_string());
    steps.push(step("session/new", session.clone()));
    let Ok(session) = session else { return };
    for (method, params) in [
        ("session/set_mode", json!({ "sessionId": session, "modeId": "plan" })),
        (
            "session/set_config_option",
            json!({ "sessionId": session, "configId": "mode", "value": "default" }),
        ),
        ("session/list", json!({})),
        ("session/close", json!({ "sessionId": session })),
    ] {
        let answer: Result<Value, _> = connection.ask(method, &params, PATIENCE).await;
        let told = answer.map(|answer| said(&answer)).map_err(|error| error.to_string());
        steps.push(step(method, told));
    }
}

fn said(answer: &Value) -> String {
    let listed = answer.get("sessions").and_then(Value::as_array);
    listed.map_or_else(|| "answered".to_owned(), |all| format!("{} sessions", all.len()))
}

fn step(name: &'static str, came: Result<String, String>) -> CheckStep {
    match came {
        Ok(detail) => CheckStep { name, detail, problem: None },
        Err(problem) => CheckStep { name, detail: String::new(), problem: Some(problem) },
    }
}
