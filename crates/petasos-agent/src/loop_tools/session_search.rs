//! `session_search`: what was said in other conversations. Reads the store, asks no model.

use std::sync::Arc;

use petasos_contract::message::Message;
use petasos_contract::tool::{Concurrency, Example, InPlanMode, Route, Tool};
use petasos_contract::{BoxFuture, CallContext, Cleared, ToolDef, ToolError, ToolOutput};
use petasos_store::{
    Filter, Hit, LoadedRow, Query, SessionHead, SessionScope, SessionStore, Slice, Sort, StoreError,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::seat::{self, LoopSeat};

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "session_search",
    toolset: "session_search",
    description: "Search earlier conversations",
    emoji: "🔍",
    core: true,
    idempotent: true,
    route: Route::AgentLoop,
    concurrency: Concurrency::Safe,
    schema,
    examples: &[Example {
        title: "what was said before",
        args: r#"{"query":"hats"}"#,
        shows: r#""results":[{"#,
    }],
    build: |_| Arc::new(SessionSearch),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

const LIMIT_USUAL: usize = 3;
const LIMIT_MAX: usize = 10;
const WINDOW_USUAL: usize = 5;
const WINDOW_MAX: usize = 20;
const FIRST: usize = 20;
const LAST: usize = 10;
/// How much of one message is shown.
const MESSAGE_CHARS_MAX: usize = 2000;

fn schema() -> Value {
    json!({
        "description": "Find earlier conversations: by `query` (words, \"phrases\", OR, NOT, \
            prefix*), the messages around one, a `session_id` alone, or the latest.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "limit": { "type": "integer", "default": LIMIT_USUAL, "maximum": LIMIT_MAX },
                "sort": { "type": "string", "enum": ["newest", "oldest"] },
                "session_id": { "type": "string" },
                "around_message_id": { "type": "integer" },
                "window": { "type": "integer", "default": WINDOW_USUAL, "maximum": WINDOW_MAX },
                "role_filter": { "type": "string" },
                "profile": { "type": "string" }
            }
        }
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    query: Option<String>,
    limit: Option<u64>,
    sort: Option<Sort>,
    session_id: Option<String>,
    around_message_id: Option<i64>,
    window: Option<u64>,
    role_filter: Option<String>,
    profile: Option<String>,
}

struct SessionSearch;

impl Tool for SessionSearch {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let seat = seat::of(cx)?;
            if let Some(profile) = input.profile.as_deref().filter(|name| !name.is_empty()) {
                let why = format!("profile `{profile}` cannot be opened here: leave `profile` out");
                return Ok(ToolOutput::plain_error(&why));
            }
            let answer = answer(&input, seat).await;
            Ok(match answer {
                Ok(value) => ToolOutput::json(&value),
                Err(error) => ToolOutput::plain_error(&error.to_string()),
            })
        })
    }
}

async fn answer(input: &Input, seat: &LoopSeat) -> Result<Value, StoreError> {
    let store = &*seat.engine.store;
    let bounded = |value: Option<u64>, usual: usize, most: usize| {
        value.and_then(|value| usize::try_from(value).ok()).unwrap_or(usual).clamp(1, most)
    };
    let limit = bounded(input.limit, LIMIT_USUAL, LIMIT_MAX);
    // Whose conversation this is decides what may be read; nothing that the model writes does.
    let own = store.find(seat.session.as_str(), &SessionScope::Everyone).await?;
    let scope = SessionScope::of(own.owner.as_ref());
    if let Some(handle) = &input.session_id {
        let head = store.find(handle, &scope).await?;
        let slice = match input.around_message_id {
            Some(seq) => {
                Slice::Around { seq, radius: bounded(input.window, WINDOW_USUAL, WINDOW_MAX) }
            }
            None => Slice::Ends { first: FIRST, last: LAST },
        };
        let rows = store.read(&head.session(), slice).await?;
        let messages: Vec<Value> = rows.iter().map(shown).collect();
        return Ok(json!({ "session": brief(&head), "messages": messages }));
    }
    match input.query.as_deref().map(str::trim).filter(|query| !query.is_empty()) {
        Some(query) => {
            let scoped = Query { scope, limit, text: query.to_owned(), ..Query::default() };
            discover(input, scoped, seat).await
        }
        None => recent(store, limit, scope, seat).await,
    }
}

async fn discover(input: &Input, scoped: Query, seat: &LoopSeat) -> Result<Value, StoreError> {
    let roles = input.role_filter.as_deref().unwrap_or("user,assistant");
    let roles = roles.split(',').map(|role| role.trim().to_owned());
    let query = Query {
        roles: roles.filter(|role| !role.is_empty()).collect(),
        sort: input.sort.unwrap_or_default(),
        one_per_lineage: true,
        except: Some(seat.session.clone()),
        ..scoped
    };
    let hits = seat.engine.store.search(&query).await?;
    let one = |hit: &Hit| {
        json!({
            "session": brief(&hit.session),
            "message_id": hit.seq,
            "role": hit.role,
            "snippet": hit.snippet,
        })
    };
    let results: Vec<Value> = hits.iter().map(one).collect();
    let mut answer = json!({ "query": query.text, "count": results.len(), "results": results });
    if hits.is_empty() {
        answer["hint"] = "Nothing was found: try fewer or other words, OR, or a prefix*.".into();
    }
    Ok(answer)
}

async fn recent(
    store: &dyn SessionStore,
    limit: usize,
    scope: SessionScope,
    seat: &LoopSeat,
) -> Result<Value, StoreError> {
    let filter = Filter { limit: limit + 1, scope, ..Filter::default() };
    let heads = store.list(&filter).await?;
    let others = heads.iter().filter(|head| head.id != seat.session.as_str()).take(limit);
    Ok(json!({ "recent": others.map(brief).collect::<Vec<_>>() }))
}

fn brief(head: &SessionHead) -> Value {
    json!({
        "id": head.id,
        "title": head.title,
        "preview": head.preview,
        "source": head.source,
        "messages": head.messages,
        "updated_ms": head.updated_ms,
    })
}

fn shown(row: &LoadedRow) -> Value {
    let (role, text) = match &row.stored.message {
        Message::User { content } => ("user", content.text()),
        Message::Tool(result) => ("tool", result.content.text()),
        Message::Assistant(said) => {
            let calls = said.tool_calls.iter().map(|call| format!("[calls {}]", call.name));
            let parts = std::iter::once(said.text().to_owned()).chain(calls);
            ("assistant", parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "))
        }
    };
    let mut short: String = text.chars().take(MESSAGE_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    json!({ "id": row.seq, "role": role, "text": short })
}
