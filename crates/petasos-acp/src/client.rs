//! The other direction: this program as the client of an agent.
//!
//! It offers the agent neither files nor terminals: what the agent does, it does by itself, and what
//! it asks permission for goes to whoever holds the connection.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    CancelNotification, ClientCapabilities, ContentBlock, Error, Implementation, InitializeRequest,
    InitializeResponse, NewSessionRequest, NewSessionResponse, PermissionOptionKind, PromptRequest,
    PromptResponse, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, SessionNotification, SessionUpdate, StopReason, TextContent,
    ToolCall, ToolCallContent, ToolKind,
};
use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_contract::wait::Owned;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::rpc::{Frame, Peer, PeerError, told};
use crate::wire::{Arrival, Transport};

/// How long an agent may take to say what it can do, and to begin a session.
const HANDSHAKE: Duration = Duration::from_mins(1);

/// What an agent wants to do, for whoever must agree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedAction {
    /// What it is about, in the agent's words.
    pub title: String,
    /// The command that it would run.
    pub command: Option<String>,
    /// The files that it would write.
    pub writes: Vec<PathBuf>,
    /// Whether it says that it only reads.
    pub reads_only: bool,
}

/// Hears what an agent does and decides what it may do.
pub trait AgentWatcher: Send + Sync {
    /// A piece of its answer.
    fn said(&self, text: &str);

    /// It uses a tool.
    fn used(&self, title: &str);

    /// Whether it may.
    fn permit<'a>(&'a self, action: &'a WantedAction) -> BoxFuture<'a, bool>;
}

/// How a prompt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentEnd {
    /// It answered.
    Done,
    /// It was stopped.
    Cancelled,
    /// It ran out of something.
    CutOff,
    /// It refused.
    Refused,
}

/// A connection to an agent.
pub struct AgentConnection {
    peer: Arc<Peer>,
    /// The name that the agent gives itself.
    pub name: Option<String>,
    _reader: Owned<()>,
}

impl std::fmt::Debug for AgentConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentConnection").field("name", &self.name).finish_non_exhaustive()
    }
}

impl AgentConnection {
    /// Connects and says hello.
    pub async fn open(
        transport: Transport,
        watcher: Arc<dyn AgentWatcher>,
        version: &str,
    ) -> Result<Self, PeerError> {
        let peer = Peer::new(transport.out.clone());
        let reader = Owned::start(listen(transport, Arc::clone(&peer), watcher));
        let mut connection = Self { peer, name: None, _reader: reader };
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new())
            .client_info(Implementation::new("petasos", version));
        let answer: InitializeResponse = connection.ask("initialize", &hello, HANDSHAKE).await?;
        connection.name = answer.agent_info.map(|info| info.name);
        Ok(connection)
    }

    /// Begins a session; gives its name.
    pub async fn begin(&self, cwd: &Path) -> Result<String, PeerError> {
        let request = NewSessionRequest::new(cwd);
        let answer: NewSessionResponse = self.ask("session/new", &request, HANDSHAKE).await?;
        Ok(answer.session_id.0.to_string())
    }

    /// Says something and waits for the end of the turn, for so long at most.
    pub async fn prompt(
        &self,
        session: &str,
        text: &str,
        within: Duration,
    ) -> Result<AgentEnd, PeerError> {
        let block = ContentBlock::Text(TextContent::new(text));
        let request = PromptRequest::new(session.to_owned(), vec![block]);
        let answer: PromptResponse = self.ask("session/prompt", &request, within).await?;
        Ok(match answer.stop_reason {
            StopReason::Cancelled => AgentEnd::Cancelled,
            StopReason::MaxTokens | StopReason::MaxTurnRequests => AgentEnd::CutOff,
            StopReason::Refusal => AgentEnd::Refused,
            _ => AgentEnd::Done,
        })
    }

    /// Stops the turn.
    pub async fn cancel(&self, session: &str) {
        let note = CancelNotification::new(session.to_owned());
        self.peer.notify("session/cancel", &note).await;
    }

    /// Asks anything of the agent.
    pub(crate) async fn ask<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &impl Serialize,
        within: Duration,
    ) -> Result<R, PeerError> {
        self.peer.request(method, params, within).await
    }
}

async fn listen(mut transport: Transport, peer: Arc<Peer>, watcher: Arc<dyn AgentWatcher>) {
    let asked: Mutex<Vec<Owned<()>>> = Mutex::default();
    let announced: Arc<Announced> = Arc::default();
    while let Some(arrival) = transport.lines.recv().await {
        let Arrival::Line(line) = arrival else { continue };
        match Frame::read(&line) {
            Frame::Response { id, result } => peer.answered(&id, result),
            Frame::Notification { method, params } if method == "session/update" => {
                heard(params, watcher.as_ref(), &announced);
            }
            Frame::Request { id, method, params } => {
                let (peer, watcher) = (Arc::clone(&peer), Arc::clone(&watcher));
                let announced = Arc::clone(&announced);
                let work = Owned::start(async move {
                    let answer = answer(&method, params, watcher.as_ref(), &announced).await;
                    peer.respond(&id, answer).await;
                });
                let mut asked = asked.lock();
                asked.retain(|work| !work.is_finished());
                asked.push(work);
            }
            Frame::Notification { .. } | Frame::Invalid { .. } => {}
        }
    }
    peer.close();
}

/// Calls that an agent announced: it may ask for permission by the name alone.
type Announced = Mutex<HashMap<String, ToolCall>>;

/// More calls than an agent has open at once; then the older ones are forgotten.
const ANNOUNCED_MAX: usize = 1024;

fn heard(params: Value, watcher: &dyn AgentWatcher, announced: &Announced) {
    let Ok(note) = serde_json::from_value::<SessionNotification>(params) else { return };
    match note.update {
        SessionUpdate::AgentMessageChunk(chunk) => {
            if let ContentBlock::Text(text) = chunk.content {
                watcher.said(&text.text);
            }
        }
        SessionUpdate::ToolCall(call) => {
            watcher.used(&call.title);
            let mut announced = announced.lock();
            if announced.len() >= ANNOUNCED_MAX {
                announced.clear();
            }
            announced.insert(call.tool_call_id.0.to_string(), call);
        }
        _ => {}
    }
}

async fn answer(
    method: &str,
    params: Value,
    watcher: &dyn AgentWatcher,
    announced: &Announced,
) -> Result<Value, Error> {
    if method != "session/request_permission" {
        return Err(told(Error::method_not_found(), &format!("`{method}` was not offered")));
    }
    let asked: RequestPermissionRequest = serde_json::from_value(params)
        .map_err(|error| told(Error::invalid_params(), &error.to_string()))?;
    let known = announced.lock().get(&*asked.tool_call.tool_call_id.0).cloned();
    let allowed = watcher.permit(&wanted(&asked, known.as_ref())).await;
    // Never wider than once: what lasts is decided here, not there.
    let kinds = if allowed {
        [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]
    } else {
        [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]
    };
    let found = kinds.iter().find_map(|kind| asked.options.iter().find(|it| it.kind == *kind));
    let outcome = match found {
        Some(option) => {
            let chosen = SelectedPermissionOutcome::new(option.option_id.clone());
            RequestPermissionOutcome::Selected(chosen)
        }
        None => RequestPermissionOutcome::Cancelled,
    };
    serde_json::to_value(RequestPermissionResponse::new(outcome))
        .map_err(|error| told(Error::internal_error(), &error.to_string()))
}

/// What an agent asks for, as far as it says: now, or when it announced the call.
fn wanted(asked: &RequestPermissionRequest, known: Option<&ToolCall>) -> WantedAction {
    let fields = &asked.tool_call.fields;
    let kind = fields.kind.or(known.map(|call| call.kind));
    let input = fields.raw_input.as_ref().or(known.and_then(|call| call.raw_input.as_ref()));
    let command = input.and_then(|input| input.get("command")).and_then(words);
    let shown = known.map(|call| call.content.as_slice()).unwrap_or_default();
    let content = fields.content.as_deref().unwrap_or(shown);
    let diffs = content.iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(diff.path.clone()),
        _ => None,
    });
    let mut writes: Vec<PathBuf> = diffs.collect();
    let changes = matches!(kind, Some(ToolKind::Edit | ToolKind::Delete | ToolKind::Move));
    if changes && writes.is_empty() {
        let places = known.map(|call| call.locations.as_slice()).unwrap_or_default();
        let places = fields.locations.as_deref().unwrap_or(places);
        writes = places.iter().map(|place| place.path.clone()).collect();
    }
    let harmless = matches!(kind, Some(ToolKind::Read | ToolKind::Search | ToolKind::Think));
    let reads_only = harmless && writes.is_empty() && command.is_none();
    let title = fields.title.clone().or_else(|| known.map(|call| call.title.clone()));
    let title = title.unwrap_or_else(|| "something that it does not name".to_owned());
    WantedAction { title, command, writes, reads_only }
}

/// A command as text or as its words.
fn words(command: &Value) -> Option<String> {
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(words.join(" "))
        }
        _ => None,
    }
}
