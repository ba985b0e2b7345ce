//! Calling a tool of a server: breaker, deadline, cancel, one attempt to recover.
//!
//! A call is sent again only when the server never got it, or when its tool may be repeated: a
//! second order, mail or payment is worse than an error.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::{Tool, ToolError};
use petasos_contract::{Args, BoxFuture, CallContext, Cleared, ToolOutput};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, ReadResourceRequest, ReadResourceRequestParams, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value, json};

use super::faults::{Fate, fate, sign_in, words};
use super::list;
use super::register::Hints;
use super::results::{Given, Shelf, mask, told};
use super::shared::{Live, Shared};
use super::spec::{Launch, ServerSpec};
use super::state::State;
use crate::content::{Attached, Piece};

/// How long a call waits for a connection that is being made.
const RECONNECT: Duration = Duration::from_secs(5);
/// How long it waits for a program that was let go.
const WAKE: Duration = Duration::from_secs(15);

/// What a call does.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Calls a tool, by the server's name for it.
    Tool {
        name: String,
        hints: Hints,
    },
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl Kind {
    /// Whether doing it twice is the same as doing it once, by the server's own word.
    fn repeats(&self) -> bool {
        match self {
            Self::Tool { hints, .. } => hints.read_only || hints.idempotent,
            Self::ListResources | Self::ReadResource | Self::ListPrompts | Self::GetPrompt => true,
        }
    }
}

/// A tool of a server.
pub(super) struct Remote {
    shared: Arc<Shared>,
    server: String,
    kind: Kind,
    limit: Duration,
    alone: bool,
}

/// Why a call gave nothing.
#[derive(Debug)]
enum Trouble {
    /// The server never got it; a new connection may help.
    Unsent(String),
    /// It was sent and no answer came.
    Lost(String),
    /// The server answered that it failed itself.
    Faulty(String),
    /// Somebody has to sign in.
    Auth,
    /// The server's word on this call.
    Refused(String),
    /// It took too long.
    Late,
    /// Another call of this server took too long.
    Queued,
    /// The caller took it back.
    Interrupted,
}

impl Remote {
    pub(super) fn new(shared: Arc<Shared>, face: &ServerSpec, kind: Kind) -> Self {
        let alone = face.is_local() && !face.parallel;
        Self { shared, server: face.name.clone(), kind, limit: face.call, alone }
    }

    async fn call(&self, args: Args, cx: &CallContext) -> ToolOutput {
        let now = Instant::now();
        if let Err(left) = self.shared.breaker.pass(now) {
            return refused(&format!(
                "MCP server `{}` failed three times in a row and is left alone for {} more seconds: do not retry, use another way",
                self.server,
                left.as_secs() + 1
            ));
        }
        let _turn = match self.take_turn(cx).await {
            Ok(turn) => turn,
            Err(trouble) => return self.trouble(&trouble, now),
        };
        let outcome = match self.attempt(&args, cx).await {
            // One more try on a connection that works. A token that is too old was renewed on the
            // way already.
            Err(trouble) if self.may_repeat(&trouble) && self.renewed(cx).await => {
                self.attempt(&args, cx).await
            }
            outcome => outcome,
        };
        match outcome {
            Ok(text) => {
                self.shared.breaker.worked();
                ToolOutput::Text(text)
            }
            Err(trouble) => {
                match trouble {
                    Trouble::Interrupted | Trouble::Queued => {}
                    // An answer, if an unwelcome one: the server lives.
                    Trouble::Refused(_) => self.shared.breaker.worked(),
                    _ => self.shared.breaker.failed(Instant::now()),
                }
                self.trouble(&trouble, now)
            }
        }
    }

    /// A program that did not say that it takes several calls gets one at a time.
    async fn take_turn(
        &self,
        cx: &CallContext,
    ) -> Result<Option<tokio::sync::SemaphorePermit<'_>>, Trouble> {
        if !self.alone {
            return Ok(None);
        }
        tokio::select! {
            turn = self.shared.turn.acquire() => Ok(turn.ok()),
            () = cx.cancel.cancelled() => Err(Trouble::Interrupted),
            () = tokio::time::sleep(self.limit) => Err(Trouble::Queued),
        }
    }

    fn may_repeat(&self, trouble: &Trouble) -> bool {
        match trouble {
            Trouble::Unsent(_) => true,
            Trouble::Lost(_) => self.kind.repeats(),
            _ => false,
        }
    }

    async fn attempt(&self, args: &Args, cx: &CallContext) -> Result<String, Trouble> {
        let live = self.connection(cx).await?;
        let begun = self.shared.begin(cx);
        let listing = match &self.kind {
            Kind::ListResources => Some(list::resources(&live.peer).await),
            Kind::ListPrompts => Some(list::prompts(&live.peer).await),
            Kind::Tool { .. } | Kind::ReadResource | Kind::GetPrompt => None,
        };
        if let Some(listing) = listing {
            return listing
                .map(|items| json!({ "result": items }).to_string())
                .map_err(|e| trouble(&e));
        }
        let request = self.request(args);
        let options = PeerRequestOptions::no_options();
        let sent = live.peer.send_cancellable_request(request, options).await;
        // The connection was over before the request left us.
        let mut handle = sent.map_err(|error| Trouble::Unsent(words(&error)))?;
        begun.follow(json!(handle.progress_token).to_string(), cx);
        let limit = self.limit.min(cx.deadline.saturating_duration_since(Instant::now()));
        let answer = tokio::select! {
            answer = &mut handle.rx => answer,
            () = cx.cancel.cancelled() => {
                give_up(handle, "the call was interrupted").await;
                return Err(Trouble::Interrupted);
            }
            () = tokio::time::sleep(limit) => {
                give_up(handle, "the call took too long").await;
                return Err(Trouble::Late);
            }
        };
        let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
        let answer = answer.map_err(|error| self.noted(&error))?;
        self.read(answer).await
    }

    /// The trouble behind an error; what a server says about a sign-in is kept for it.
    fn noted(&self, error: &ServiceError) -> Trouble {
        if let Some(challenge) = sign_in(error) {
            *self.shared.challenge.lock() = Some(challenge);
        }
        trouble(error)
    }

    fn request(&self, args: &Args) -> ClientRequest {
        let text = |name: &str| args.text(name).unwrap_or_default().to_owned();
        match &self.kind {
            Kind::Tool { name, .. } => {
                let mut params = CallToolRequestParams::new(name.clone());
                params.arguments = Some(args.object().clone());
                ClientRequest::CallToolRequest(CallToolRequest::new(params))
            }
            Kind::GetPrompt => {
                let arguments = args.get("arguments").and_then(Value::as_object).cloned();
                let params = json!({ "name": text("name"), "arguments": as_texts(arguments) });
                let params = serde_json::from_value(params)
                    .unwrap_or_else(|_| GetPromptRequestParams::new(text("name")));
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
            Kind::ReadResource | Kind::ListResources | Kind::ListPrompts => {
                let params = ReadResourceRequestParams::new(text("uri"));
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
        }
    }

    /// The answer as the model reads it; media are written on the blocking pool.
    async fn read(&self, answer: ServerResult) -> Result<String, Trouble> {
        let home = self.shared.around.settings.home().to_path_buf();
        let reader = super::register::full_name(&self.server, "read_resource");
        let has_reader = self.shared.tools().get(&reader).is_some();
        let read = tokio::task::spawn_blocking(move || {
            let place = Shelf { home: &home, reader: has_reader.then_some(reader.as_str()) };
            answer_text(&answer, &place)
        });
        let read = read.await.map_err(|error| Trouble::Refused(error.to_string()))?;
        read.ok_or_else(|| {
            Trouble::Refused("the server answered something else than was asked".to_owned())
        })
    }

    /// The live connection; one that is being made is waited for a little.
    async fn connection(&self, cx: &CallContext) -> Result<Live, Trouble> {
        if let Some(live) = self.shared.live() {
            return Ok(live);
        }
        let state = self.shared.state.borrow().clone();
        if matches!(state, State::NeedsAuth(_)) {
            return Err(Trouble::Auth);
        }
        let patience = if state == State::Resting { WAKE } else { RECONNECT };
        self.shared.nudge.notify_one();
        let mut live = self.shared.live.subscribe();
        let known =
            async { live.wait_for(Option::is_some).await.ok().and_then(|live| live.clone()) };
        tokio::select! {
            known = known => known.ok_or_else(|| Trouble::Unsent("it was shut down".to_owned())),
            () = tokio::time::sleep(patience.min(self.limit)) => {
                let state = self.shared.state.borrow().clone();
                Err(Trouble::Unsent(format!("it is {state}; a new connection is being tried")))
            }
            () = cx.cancel.cancelled() => Err(Trouble::Interrupted),
        }
    }

    /// Whether there is a connection that was found to work after this one failed, within the
    /// usual patience.
    async fn renewed(&self, cx: &CallContext) -> bool {
        let old = self.shared.live().map(|live| live.proof);
        self.shared.nudge.notify_one();
        let mut live = self.shared.live.subscribe();
        let newer = live.wait_for(|live| live.as_ref().is_some_and(|live| Some(live.proof) != old));
        tokio::select! {
            newer = newer => newer.is_ok(),
            () = tokio::time::sleep(WAKE.min(self.limit)) => false,
            () = cx.cancel.cancelled() => false,
        }
    }

    fn trouble(&self, trouble: &Trouble, since: Instant) -> ToolOutput {
        let server = &self.server;
        match trouble {
            Trouble::Unsent(why) => refused(&format!(
                "MCP server `{server}` cannot be reached and did not get the call: {why}"
            )),
            Trouble::Lost(why) | Trouble::Faulty(why) => {
                self.unanswered(&format!("MCP server `{server}`: {why}"))
            }
            Trouble::Queued => refused(&format!(
                "MCP server `{server}` did not get the call: another one ran for {} s, and it takes one at a time (`mcp_servers.{server}.supports_parallel_tool_calls`)",
                self.limit.as_secs()
            )),
            Trouble::Auth => {
                let mut extra = Map::new();
                extra.insert("needs_reauth".to_owned(), true.into());
                extra.insert("server".to_owned(), server.as_str().into());
                let text = format!(
                    "MCP server `{server}` wants a sign-in: the user runs `petasos mcp login {server}`"
                );
                ToolOutput::error(text, extra)
            }
            Trouble::Refused(why) => refused(&format!("MCP server `{server}`: {why}")),
            Trouble::Late => self.unanswered(&format!(
                "MCP server `{server}` did not answer within {:.1} s (limit {} s, `mcp_servers.{server}.timeout`)",
                since.elapsed().as_secs_f64(),
                self.limit.as_secs()
            )),
            Trouble::Interrupted => refused("the call was interrupted"),
        }
    }

    /// A call that was sent and has no answer: a model that takes it for undone does it twice.
    fn unanswered(&self, what: &str) -> ToolOutput {
        if self.kind.repeats() {
            return refused(what);
        }
        let text = format!(
            "{what}. Whether the call was carried out is not known: find out before you repeat it"
        );
        let extra = Map::from_iter([("outcome".to_owned(), "unknown".into())]);
        ToolOutput::error(mask(&text), extra)
    }
}

async fn give_up(handle: rmcp::service::RequestHandle<rmcp::RoleClient>, why: &str) {
    let telling = handle.cancel(Some(why.to_owned()));
    if tokio::time::timeout(Duration::from_secs(2), telling).await.is_err() {
        tracing::debug!("an MCP server was not told that a call is over");
    }
}

/// Arguments of prompts are texts.
fn as_texts(arguments: Option<Map<String, Value>>) -> Value {
    let pairs = arguments.into_iter().flatten().map(|(name, value)| match value {
        Value::String(_) => (name, value),
        other => (name, Value::String(other.to_string())),
    });
    Value::Object(pairs.collect())
}

fn answer_text(answer: &ServerResult, shelf: &Shelf<'_>) -> Option<String> {
    match answer {
        ServerResult::CallToolResult(result) => {
            let given = Given {
                content: result.content.iter().map(Piece::from_wire).collect(),
                structured: result.structured_content.clone().filter(|value| !value.is_null()),
                is_error: result.is_error == Some(true),
            };
            Some(told(&given, shelf))
        }
        ServerResult::ReadResourceResult(result) => {
            let contents = result.contents.iter().map(Attached::from_wire);
            let lines: Vec<String> = contents.map(|content| shelf.resource(&content)).collect();
            Some(json!({ "result": lines.join("\n") }).to_string())
        }
        ServerResult::GetPromptResult(result) => {
            let messages: Vec<Value> = result
                .messages
                .iter()
                .map(|message| {
                    let piece = Piece::from_wire(&message.content);
                    json!({ "role": message.role, "content": shelf.written(&[piece]) })
                })
                .collect();
            Some(json!({ "result": messages, "description": result.description }).to_string())
        }
        _ => None,
    }
}

fn trouble(error: &ServiceError) -> Trouble {
    match error {
        ServiceError::McpError(error) => {
            let text = error.message.to_string();
            let lower = text.to_ascii_lowercase();
            let over = [
                "session expired",
                "expired session",
                "unknown session",
                "session not found",
                "session terminated",
                "invalid session",
            ];
            if over.iter().any(|phrase| lower.contains(phrase)) {
                return Trouble::Unsent(text);
            }
            // The SDK's own words for a call whose stream ended with the session.
            if lower.contains("re-initialized before the response arrived") {
                return Trouble::Lost("its session ended before it answered".to_owned());
            }
            Trouble::Refused(format!("{text} ({})", error.code.0))
        }
        ServiceError::TransportSend(_) if sign_in(error).is_some() => Trouble::Auth,
        ServiceError::Timeout { .. } => Trouble::Late,
        ServiceError::Cancelled { reason } => {
            Trouble::Refused(reason.clone().unwrap_or_else(|| "the server took it back".to_owned()))
        }
        other => match fate(other) {
            Fate::Unsent => Trouble::Unsent(words(other)),
            Fate::Status(status) if status < 500 => {
                Trouble::Refused(format!("it refused the call with HTTP status {status}"))
            }
            Fate::Status(status) => {
                Trouble::Faulty(format!("it answered with HTTP status {status}"))
            }
            Fate::Unreadable => {
                Trouble::Faulty(format!("its answer is of no use: {}", words(other)))
            }
            Fate::Unknown => Trouble::Lost(format!("it did not answer: {}", words(other))),
        },
    }
}

/// An error for the model, without what looks like a credential.
fn refused(message: &str) -> ToolOutput {
    ToolOutput::plain_error(&mask(message))
}

impl Tool for Remote {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(Box::pin(self.call(cleared.into_args(), cx)).await) })
    }

    /// Its turn, the call, and one more try on a new connection.
    fn time_limit(&self, _: &Args, _: &CallContext) -> Option<Duration> {
        Some(self.limit * 3)
    }

    fn effects(&self, _: &Args) -> Effects {
        match &self.shared.spec().launch {
            Launch::Http { url, .. } => {
                Effects::one(Effect::Reach(url.host_str().unwrap_or_default().to_owned()))
            }
            Launch::Stdio { .. } => Effects::none(),
        }
    }
}
