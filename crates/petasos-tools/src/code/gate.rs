//! Decides over each call of a script: the right token, a tool it has, within the limit; then
//! through the one door, in the script's name and with no more than its caller may.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use petasos_contract::call::{RawArguments, ToolCall};
use petasos_contract::context::{Grant, Principal};
use petasos_contract::ports::Door;
use petasos_contract::{CallContext, CallId, ToolName};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq;

use super::TOOLS;

/// What a script's terminal calls may not ask for: it could not look after it.
const TERMINAL_DENIED: &[&str] = &["background", "pty", "notify_on_complete", "watch_patterns"];

/// One request of a script.
#[derive(Debug, Deserialize)]
struct Request {
    tool: String,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    token: String,
}

/// The gate of one run.
pub(super) struct Gate {
    door: Option<Arc<dyn Door>>,
    token: String,
    tools: BTreeSet<ToolName>,
    cx: CallContext,
    calls_max: u32,
    calls: AtomicU32,
    refused: AtomicU32,
}

impl Gate {
    /// A gate for a script of this call, until then.
    pub(super) fn new(
        door: Option<Arc<dyn Door>>,
        token: String,
        calls_max: u32,
        until: Instant,
        cx: &CallContext,
    ) -> Self {
        let tools = allowed(&cx.grant);
        let grant = cx.grant.intersect(&Grant::Only(tools.clone()));
        let cx = CallContext {
            principal: Principal::Code,
            grant: Arc::new(grant),
            deadline: cx.deadline.min(until),
            // The loop's own state is not lent on.
            seat: None,
            ..cx.clone()
        };
        let (calls, refused) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { door, token, tools, cx, calls_max, calls, refused }
    }

    /// The tools that the script has.
    pub(super) fn tools(&self) -> &BTreeSet<ToolName> {
        &self.tools
    }

    /// How many calls went through.
    pub(super) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed).min(self.calls_max)
    }

    /// How many were turned away.
    pub(super) fn refused(&self) -> u32 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Answers one request; always with one line of JSON.
    pub(super) async fn answer(&self, request: &[u8]) -> String {
        match self.call(request).await {
            Ok(result) => json!({ "result": result }).to_string(),
            Err(why) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                json!({ "refused": why }).to_string()
            }
        }
    }

    async fn call(&self, request: &[u8]) -> Result<String, String> {
        let request: Request = serde_json::from_slice(request)
            .map_err(|error| format!("the request is not understood: {error}"))?;
        if !bool::from(request.token.as_bytes().ct_eq(self.token.as_bytes())) {
            return Err("the token is not that of this run".to_owned());
        }
        if !self.tools.contains(request.tool.as_str()) {
            let have: Vec<&str> = self.tools.iter().map(ToolName::as_str).collect();
            let tool = &request.tool;
            return Err(format!(
                "`{tool}` is not a tool of this script: it has [{}]",
                have.join(", ")
            ));
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if number > self.calls_max {
            return Err(format!(
                "this script has made its {} tool calls: print what you have and go on in another",
                self.calls_max
            ));
        }
        let door = self.door.as_ref().ok_or("there is no way to call tools here")?;
        let mut args = request.args;
        if request.tool == "terminal" {
            args.retain(|name, _| !TERMINAL_DENIED.contains(&name.as_str()));
        }
        let id = CallId::new(format!("{}-code-{number}", self.cx.call));
        let cx = self.cx.for_call(id.clone());
        let name = ToolName::new(request.tool);
        let call = ToolCall { id, name, arguments: RawArguments::Object(args) };
        Ok(door.dispatch(call, &cx).await.content.text())
    }
}

/// What a script of a caller with this grant may call; nothing when they have nothing in common.
pub(crate) fn allowed(grant: &Grant) -> BTreeSet<ToolName> {
    TOOLS.iter().filter(|tool| grant.allows(tool)).map(|tool| ToolName::new(*tool)).collect()
}
