//! `/api/sessions`: the conversations of a key.

use std::sync::Arc;

use http::StatusCode;
use petasos_contract::SessionId;
use petasos_contract::message::Message;
use petasos_session::EndReason;
use petasos_store::{Amend, Filter, LoadedRow, NewSession, SessionHead, SessionScope, Slice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::{self, Answer};
use crate::body;
use crate::chat::{named_model, outcome};
use crate::conversation::{Conversations, FRESH, From, PLATFORM, checked_name};
use crate::error::ApiError;
use crate::routes::Handled;
use crate::run::RunReader;
use crate::run_routes::{RunFrames, RunRequest, RunView, view, wanted};
use crate::runs::new_id;
use crate::server::Call;
use crate::stream::{early, frames};
use crate::turns::{Asked, Manner};

/// So many are listed when nobody says how many, and at most.
const PAGE: usize = 50;
const PAGE_MAX: usize = 200;

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionBody {
    id: String,
    object: &'static str,
    title: Option<String>,
    model: Option<String>,
    parent_id: Option<String>,
    archived: bool,
    messages: u64,
    /// The beginning of its first message.
    preview: String,
    /// Seconds since 1970.
    created_at: i64,
    updated_at: i64,
    input_tokens: u64,
    output_tokens: u64,
}

/// Some of them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionList {
    object: &'static str,
    data: Vec<SessionBody>,
    has_more: bool,
}

/// A session that is to begin.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct NewSessionBody {
    /// Its name; made up when absent.
    #[serde(default, alias = "session_id")]
    id: Option<String>,
    /// What people call it.
    #[serde(default)]
    title: Option<String>,
}

/// What is changed of a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// What people call it.
    #[serde(default)]
    title: Option<String>,
    /// Out of the usual lists, or back.
    #[serde(default)]
    archived: Option<bool>,
}

/// How a copy is made.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ForkBody {
    /// What people call it.
    #[serde(default)]
    title: Option<String>,
    /// Up to this message; whole when absent.
    #[serde(default)]
    until: Option<i64>,
}

/// What was said.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MessageBody {
    /// Its place; grows.
    id: i64,
    role: &'static str,
    content: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    /// Seconds since 1970.
    created_at: i64,
}

/// Some of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MessageList {
    object: &'static str,
    data: Vec<MessageBody>,
    has_more: bool,
}

fn shown(head: SessionHead) -> SessionBody {
    SessionBody {
        id: head.id,
        object: "session",
        title: head.title,
        model: head.model,
        parent_id: head.parent,
        archived: head.archived,
        messages: head.messages,
        preview: head.preview,
        created_at: head.started_ms / 1000,
        updated_at: head.updated_ms / 1000,
        input_tokens: head.usage.prompt(),
        output_tokens: head.usage.output,
    }
}

fn number(call: &Call, key: &'static str, usual: usize) -> Result<usize, ApiError> {
    let Some(text) = call.query(key) else { return Ok(usual) };
    text.parse().map_err(|_| ApiError::field(key, format!("`{key}` must be a number")))
}

pub(crate) fn list(call: Call) -> Handled {
    Box::pin(async move {
        let limit = number(&call, "limit", PAGE)?.clamp(1, PAGE_MAX);
        let filter = Filter {
            scope: SessionScope::Chat(Conversations::owner(&call.caller.name)),
            source: Some(PLATFORM.to_owned()),
            archived: call.query("archived") == Some("true"),
            limit: limit + 1,
            offset: number(&call, "offset", 0)?,
            ..Filter::default()
        };
        let mut heads = call.server.conversations.store.list(&filter).await?;
        let has_more = heads.len() > limit;
        heads.truncate(limit);
        let data = heads.into_iter().map(shown).collect();
        Ok(answer::json(StatusCode::OK, &SessionList { object: "list", data, has_more }))
    })
}

pub(crate) fn create(mut call: Call) -> Handled {
    Box::pin(async move {
        let body: NewSessionBody = body::shaped(call.value().await?)?;
        let id = match body.id {
            Some(id) => checked_name(&id, "id")?,
            None => new_id(FRESH)?,
        };
        let store = &call.server.conversations.store;
        if store.find(&id, &SessionScope::Everyone).await.is_ok_and(|head| head.id == id) {
            return Err(ApiError::conflict("session_exists", format!("there is a session `{id}`")));
        }
        let new = NewSession {
            id: Some(SessionId::new(id)),
            source: PLATFORM.to_owned(),
            title: body.title,
            owner: Some(Conversations::owner(&call.caller.name)),
            ..NewSession::default()
        };
        Ok(answer::json(StatusCode::CREATED, &shown(store.create(new).await?)))
    })
}

async fn head(call: &Call) -> Result<SessionHead, ApiError> {
    call.server.conversations.head(call.place(0), &call.caller).await
}

pub(crate) fn one(call: Call) -> Handled {
    Box::pin(async move { Ok(answer::json(StatusCode::OK, &shown(head(&call).await?))) })
}

pub(crate) fn change(mut call: Call) -> Handled {
    Box::pin(async move {
        let change: Change = body::shaped(call.value().await?)?;
        let id = head(&call).await?.session();
        let store = &call.server.conversations.store;
        if let Some(title) = change.title {
            let title = Some(title).filter(|title| !title.trim().is_empty());
            store.amend(&id, Amend::Title(title)).await?;
        }
        if let Some(archived) = change.archived {
            store.amend(&id, Amend::Archive(archived)).await?;
        }
        Ok(answer::json(StatusCode::OK, &shown(head(&call).await?)))
    })
}

pub(crate) fn remove(call: Call) -> Handled {
    Box::pin(async move {
        let id = head(&call).await?.session();
        let conversations = &call.server.conversations;
        let mut busy = conversations.is_held_elsewhere(&id).await?;
        let open = conversations.sessions.find(&id);
        if let Some(session) = &open {
            busy |= session.view().await?.busy;
        }
        if busy {
            let message = "a turn of this session runs: stop it first";
            return Err(ApiError::conflict("session_busy", message));
        }
        if let Some(session) = open {
            session.end(EndReason::Expired).await?;
        }
        conversations.store.delete(&id).await?;
        let gone = json!({ "id": id.as_str(), "object": "session.deleted", "deleted": true });
        Ok(answer::json(StatusCode::OK, &gone))
    })
}

pub(crate) fn messages(call: Call) -> Handled {
    Box::pin(async move {
        let id = head(&call).await?.session();
        let limit = number(&call, "limit", PAGE)?.clamp(1, PAGE_MAX);
        let after = i64::try_from(number(&call, "after", 0)?).unwrap_or(i64::MAX);
        let rows = call.server.conversations.store.read(&id, Slice::After(after)).await?;
        // What was undone and what only the model reads is left out.
        let seen = |row: &LoadedRow| {
            row.active && row.stored.note.as_deref().is_none_or(|note| note != "nudge")
        };
        let mut data: Vec<MessageBody> = rows.iter().filter(|row| seen(row)).map(message).collect();
        let has_more = data.len() > limit;
        data.truncate(limit);
        Ok(answer::json(StatusCode::OK, &MessageList { object: "list", data, has_more }))
    })
}

fn message(row: &LoadedRow) -> MessageBody {
    let value = serde_json::to_value(&row.stored.message).unwrap_or_default();
    let role = match &row.stored.message {
        Message::User { .. } => "user",
        Message::Assistant(_) => "assistant",
        Message::Tool(_) => "tool",
    };
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    MessageBody {
        id: row.seq,
        role,
        content: value.get("content").cloned().unwrap_or_default(),
        tool_calls: value.get("tool_calls").and_then(Value::as_array).cloned().unwrap_or_default(),
        tool_call_id: text("tool_call_id"),
        created_at: row.at_ms / 1000,
    }
}

pub(crate) fn fork(mut call: Call) -> Handled {
    Box::pin(async move {
        let body: ForkBody = body::shaped(call.value().await?)?;
        let id = head(&call).await?.session();
        let conversations = &call.server.conversations;
        let copy = conversations.fork(&id, body.until, &call.caller, body.title).await?;
        let head = conversations.head(&copy.id, &call.caller).await?;
        Ok(answer::json(StatusCode::CREATED, &shown(head)))
    })
}

/// Begins a turn in the session of the path.
async fn begun(call: &mut Call) -> Result<(RunReader, Manner, Vec<String>), ApiError> {
    let value = call.value().await?;
    let request: RunRequest = body::shaped(value.clone())?;
    let id = head(call).await?.id;
    let manner = Manner::read(&call.parts.headers)?;
    let by = (&call.caller, &manner);
    let (mut wanted, ignored) = wanted(&request, From::Named(id), by, &call.server).await?;
    wanted.attended = false;
    let model = named_model(&call.server, "");
    let asked = Asked { endpoint: "sessions.chat", body: value, model, own: false };
    let reader = call.server.begin(&call.caller, &manner, asked, wanted).await?;
    Ok((reader, manner, ignored))
}

pub(crate) fn chat(mut call: Call) -> Handled {
    Box::pin(async move {
        let (mut reader, manner, ignored) = begun(&mut call).await?;
        let run = Arc::clone(reader.run());
        let (output, usage, _) = outcome(&mut reader).await?;
        let done = RunView { output: Some(output), usage: Some(usage), ..view(&run) };
        Ok(manner.mark(answer::json(StatusCode::OK, &done), &run, &ignored))
    })
}

pub(crate) fn chat_stream(mut call: Call) -> Handled {
    Box::pin(async move {
        let (mut reader, manner, ignored) = begun(&mut call).await?;
        let run = Arc::clone(reader.run());
        let early = early(&mut reader).await?;
        let told = RunFrames { run: run.facts.id.clone() };
        let answer: Answer = answer::events(frames(reader, early, told));
        Ok(manner.mark(answer, &run, &ignored))
    })
}
