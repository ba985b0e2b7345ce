//! The other direction: this program as the client of an agent.
//!
//! It offers the agent neither files nor terminals: what the agent does, it does by itself, and what
//! it asks permission for goes to whoever holds the connection.

mod calls;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    CancelNotification, CancelRequestNotification, ClientCapabilities, ContentBlock, Error,
    ImageContent, Implementation, InitializeRequest, InitializeResponse, NewSessionRequest,
    NewSessionResponse, PermissionOption, PermissionOptionKind, PromptRequest, RequestId,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, SessionNotification, SessionUpdate, SetSessionModeRequest,
    SetSessionModeResponse, TextContent,
};
use petasos_contract::BoxFuture;
use petasos_contract::wait::Owned;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::rpc::{CANCEL, Frame, Peer, PeerError, told};
use crate::wire::{Arrival, Transport};
use calls::Calls;
pub use calls::{AgentCall, AgentCallState, WantedAction};

/// How long an agent may take to say what it can do, and to begin a session.
const HANDSHAKE: Duration = Duration::from_mins(1);

/// Hears what an agent does and decides what it may do.
pub trait AgentWatcher: Send + Sync {
    /// A piece of its answer.
    fn said(&self, text: &str);

    /// A piece of what it thinks.
    fn thought(&self, _text: &str) {}

    /// It uses a tool: for the first time, or there is more to tell of it.
    fn called(&self, call: &AgentCall, is_new: bool);

    /// How much of its window is used, in tokens.
    fn measured(&self, _used: u64, _window: u64) {}

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
    /// Whether it looks at pictures.
    pub sees: bool,
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
        let mut connection = Self { peer, name: None, sees: false, _reader: reader };
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new())
            .client_info(Implementation::new("petasos", version));
        let answer: InitializeResponse = connection.ask("initialize", &hello, HANDSHAKE).await?;
        connection.name = answer.agent_info.map(|info| info.name);
        connection.sees = answer.agent_capabilities.prompt_capabilities.image;
        Ok(connection)
    }

    /// Begins a session, in one of the agent's own modes where one is named; gives its name.
    pub async fn begin(&self, cwd: &Path, mode: Option<&str>) -> Result<String, PeerError> {
        let request = NewSessionRequest::new(cwd);
        let answer: NewSessionResponse = self.ask("session/new", &request, HANDSHAKE).await?;
        if let Some(mode) = mode {
            let set = SetSessionModeRequest::new(answer.session_id.clone(), mode.to_owned());
            let chosen = self.ask("session/set_mode", &set, HANDSHAKE).await;
            chosen.map(|_: SetSessionModeResponse| ())?;
        }
        Ok(answer.session_id.0.to_string())
    }

    /// Says something and waits for the end of the turn, for so long at most. Pictures are `data:`
    /// addresses; an agent that does not look at them is not given any.
    pub async fn prompt(
        &self,
        session: &str,
        text: &str,
        pictures: &[String],
        within: Duration,
    ) -> Result<AgentEnd, PeerError> {
        let mut blocks = vec![ContentBlock::Text(TextContent::new(text))];
        let pictures = pictures.iter().filter(|_| self.sees);
        blocks.extend(pictures.filter_map(|url| {
            let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
            Some(ContentBlock::Image(ImageContent::new(data, kind)))
        }));
        let request = PromptRequest::new(session.to_owned(), blocks);
        let answer: Value = self.ask("session/prompt", &request, within).await?;
        // A reason of a later version is an end like any other.
        Ok(match answer.get("stopReason").and_then(Value::as_str) {
            Some("cancelled") => AgentEnd::Cancelled,
            Some("max_tokens" | "max_turn_requests") => AgentEnd::CutOff,
            Some("refusal") => AgentEnd::Refused,
            _ => AgentEnd::Done,
        })
    }

    /// Stops the turn.
    pub async fn cancel(&self, session: &str) {
        let note = CancelNotification::new(session.to_owned());
        self.peer.notify("session/cancel", &note).await;
    }

    /// Stops the turn, from where nothing can be waited for.
    pub fn stop(&self, session: &str) {
        self.peer.tell("session/cancel", &CancelNotification::new(session.to_owned()));
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
    let mut asked: Vec<(RequestId, Owned<()>)> = Vec::new();
    let calls: Arc<Calls> = Arc::default();
    while let Some(arrival) = transport.lines.recv().await {
        let Arrival::Line(line) = arrival else { continue };
        match Frame::read(&line) {
            Frame::Response { id, result } => peer.answered(&id, result),
            Frame::Notification { method, params } if method == "session/update" => {
                heard(params, watcher.as_ref(), &calls);
            }
            Frame::Request { id, method, params } => {
                let (peer, watcher) = (Arc::clone(&peer), Arc::clone(&watcher));
                let calls = Arc::clone(&calls);
                let name = id.clone();
                let work = Owned::start(async move {
                    let answer = answer(&method, params, watcher.as_ref(), &calls).await;
                    peer.respond(&id, answer).await;
                });
                asked.retain(|(_, work)| !work.is_finished());
                asked.push((name, work));
            }
            Frame::Notification { method, params } if method == CANCEL => {
                withdrawn(params, &mut asked, &peer).await;
            }
            Frame::Notification { .. } | Frame::Invalid { .. } => {}
        }
    }
    peer.close();
}

/// The agent does not want to know any more: nobody is asked on its behalf.
async fn withdrawn(params: Value, asked: &mut Vec<(RequestId, Owned<()>)>, peer: &Peer) {
    let Ok(note) = serde_json::from_value::<CancelRequestNotification>(params) else { return };
    let open = |(id, work): &(RequestId, Owned<()>)| *id == note.request_id && !work.is_finished();
    if let Some(at) = asked.iter().position(open) {
        drop(asked.remove(at));
        peer.respond(&note.request_id, Err(Error::request_cancelled())).await;
    }
}

/// What is not known, or cannot be read, is of a later version and passes.
fn heard(params: Value, watcher: &dyn AgentWatcher, calls: &Calls) {
    let Ok(note) = serde_json::from_value::<SessionNotification>(params) else { return };
    match note.update {
        SessionUpdate::AgentMessageChunk(chunk) => {
            if let ContentBlock::Text(text) = chunk.content {
                watcher.said(&text.text);
            }
        }
        SessionUpdate::AgentThoughtChunk(chunk) => {
            if let ContentBlock::Text(text) = chunk.content {
                watcher.thought(&text.text);
            }
        }
        SessionUpdate::ToolCall(call) => {
            let (call, is_new) = calls.announced(call);
            watcher.called(&call, is_new);
        }
        SessionUpdate::ToolCallUpdate(update) => {
            let (call, is_new) = calls.updated(update);
            watcher.called(&call, is_new);
        }
        SessionUpdate::UsageUpdate(usage) => watcher.measured(usage.used, usage.size),
        _ => {}
    }
}

async fn answer(
    method: &str,
    params: Value,
    watcher: &dyn AgentWatcher,
    calls: &Calls,
) -> Result<Value, Error> {
    if method != "session/request_permission" {
        return Err(told(Error::method_not_found(), &format!("`{method}` was not offered")));
    }
    let mut params = params;
    if let Some(options) = params.get_mut("options").and_then(Value::as_array_mut) {
        // Kinds of a later version are not chosen, and do not make the question unreadable.
        options.retain(|it| serde_json::from_value::<PermissionOption>(it.clone()).is_ok());
    }
    let asked: RequestPermissionRequest = serde_json::from_value(params)
        .map_err(|error| told(Error::invalid_params(), &error.to_string()))?;
    let (call, is_new) = calls.updated(asked.tool_call);
    watcher.called(&call, is_new);
    let allowed = watcher.permit(&calls.wanted(&call)).await;
    // Never wider than once: what lasts is decided here, not there.
    let kinds: &[PermissionOptionKind] = if allowed {
        &[PermissionOptionKind::AllowOnce]
    } else {
        &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]
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
