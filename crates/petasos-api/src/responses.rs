//! `/v1/responses`: turns that can be gone on from by their name, whole or as events.

mod items;

use std::sync::Arc;

use http::StatusCode;
use petasos_contract::BoxFuture;
use petasos_store::{ApiStore, ResponseRow, SessionStore};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answer;
use crate::body;
use crate::chat::{dropped, effort, is_set, named_model, routed, sampling, unheard, wish};
use crate::content::{Said, content, said};
use crate::conversation::{From, Request, checked_name};
use crate::error::ApiError;
use crate::host::Wish;
use crate::keys::Caller;
use crate::routes::Handled;
use crate::run::{Read, Run, RunEvent};
use crate::runs::now_ms;
use crate::server::{Call, Inner};
use crate::stream::{Frames, early, frames};
use crate::turns::{Asked, Manner};
use items::Items;

/// So many are kept; those that were not used for longest leave.
const KEPT: u32 = 1_000;

/// A request for a response.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ResponseRequest {
    /// A name of `/v1/models`.
    #[serde(default)]
    model: String,
    /// Text, or items of which the last is the user's.
    input: Value,
    /// Text at the end of the system prompt.
    #[serde(default)]
    instructions: Option<String>,
    /// The response to go on from.
    #[serde(default)]
    previous_response_id: Option<String>,
    /// A session to go on with, by its name or as `{"id": …}`.
    #[serde(default)]
    conversation: Option<Value>,
    /// Whether it can be gone on from; true unless said otherwise.
    #[serde(default)]
    store: Option<bool>,
    /// Whether it comes as events.
    #[serde(default)]
    stream: Option<Value>,
    /// `effort`.
    #[serde(default)]
    reasoning: Option<Reasoning>,
    /// Given back as it came.
    #[serde(default)]
    metadata: Option<Value>,
    /// What is refused or dropped.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Reasoning {
    #[serde(default)]
    effort: Option<String>,
}

pub(crate) fn create(mut call: Call) -> Handled {
    Box::pin(async move {
        let value = call.value().await?;
        let Call { server, caller, parts, .. } = call;
        let manner = Manner::read(&parts.headers)?;
        let request: ResponseRequest = body::shaped(value.clone())?;
        let streams = is_set(request.stream.as_ref(), "stream")?;
        let mut ignored = dropped(&request.rest, &server)?;
        let route = routed(&server, &request.model)?;
        let sampling = sampling(&request.rest)?;
        ignored.extend(unheard(&server, &route, &sampling).await);
        let Said { instructions, history, input } = words(&request.input)?;
        let told = [request.instructions.clone(), instructions];
        let told: Vec<String> = told.into_iter().flatten().collect();
        let told = (!told.is_empty()).then(|| told.join("\n\n"));
        let reasoning = request.reasoning.as_ref().and_then(|it| it.effort.as_deref());
        let wanted = Request {
            from: from(&request, &manner, &caller, &server).await?,
            history,
            instructions: told.clone(),
            input,
            effort: effort(reasoning, "reasoning.effort")?,
            wish: Wish { sampling, ..wish(&caller, &manner, route, told) },
            attended: false,
        };
        let model = named_model(&server, &request.model);
        let asked = Asked { endpoint: "responses", body: value, model, own: false };
        let mut reader = server.begin(&caller, &manner, asked, wanted).await?;
        let run = Arc::clone(reader.run());
        let mut told = Told::new(&request, &run, &server);
        let answer = if streams {
            let early = early(&mut reader).await?;
            answer::events(frames(reader, early, told))
        } else {
            loop {
                match reader.next().await {
                    Read::Event(number, event) => {
                        if let RunEvent::Failed { error, status } = &*event {
                            return Err(ApiError::told(error, *status));
                        }
                        told.event(number, &event).await;
                        if matches!(&*event, RunEvent::Cancelled { .. }) {
                            return Err(crate::chat::cut_off());
                        }
                    }
                    Read::End => break,
                    Read::Lagged => return Err(crate::chat::cut_off()),
                }
            }
            answer::json(StatusCode::OK, &told.items.response())
        };
        Ok(manner.mark(answer, &run, &ignored))
    })
}

fn words(input: &Value) -> Result<Said, ApiError> {
    match input {
        Value::Array(items) => said(items, "input"),
        text => {
            let input = content(text, "input")?;
            if input.is_blank() {
                return Err(ApiError::field("input", "`input` is empty"));
            }
            Ok(Said { instructions: None, history: Vec::new(), input })
        }
    }
}

/// Where the history of a response comes from.
async fn from(
    request: &ResponseRequest,
    manner: &Manner,
    caller: &Caller,
    server: &Inner,
) -> Result<From, ApiError> {
    let conversation = request.conversation.as_ref().filter(|value| !value.is_null());
    match (&request.previous_response_id, conversation) {
        (Some(_), Some(_)) => {
            let message = "`previous_response_id` and `conversation` exclude each other";
            Err(ApiError::field("conversation", message))
        }
        (Some(id), None) => {
            let found = server.runs.store().response(id, &caller.name, now_ms()).await?;
            let found = found.ok_or_else(|| missing(id))?;
            Ok(From::At(found.session, found.seq))
        }
        (None, Some(value)) => {
            let name = value.as_str().or_else(|| value.get("id").and_then(Value::as_str));
            Ok(From::Named(checked_name(name.unwrap_or_default(), "conversation")?))
        }
        (None, None) => Ok(manner.from()),
    }
}

fn missing(id: &str) -> ApiError {
    ApiError::not_found("response_not_found", format!("no response `{id}`"))
}

pub(crate) fn one(call: Call) -> Handled {
    Box::pin(async move {
        let (id, owner) = (call.place(0), &call.caller.name);
        let found = call.server.runs.store().response(id, owner, now_ms()).await?;
        Ok(answer::json(StatusCode::OK, &found.ok_or_else(|| missing(id))?.body))
    })
}

pub(crate) fn remove(call: Call) -> Handled {
    Box::pin(async move {
        let id = call.place(0);
        if !call.server.runs.store().delete_response(id, &call.caller.name).await? {
            return Err(missing(id));
        }
        let gone = json!({ "id": id, "object": "response.deleted", "deleted": true });
        Ok(answer::json(StatusCode::OK, &gone))
    })
}

/// A response as it comes to be.
struct Told {
    items: Items,
    kept: Option<Kept>,
}

/// Where it is kept.
struct Kept {
    run: Arc<Run>,
    store: Arc<dyn ApiStore>,
    conversations: Arc<dyn SessionStore>,
}

impl Told {
    fn new(request: &ResponseRequest, run: &Arc<Run>, server: &Inner) -> Self {
        let stored = request.store != Some(false);
        let kept = stored.then(|| Kept {
            run: Arc::clone(run),
            store: Arc::clone(server.runs.store()),
            conversations: Arc::clone(&server.conversations.store),
        });
        let effort = request.reasoning.as_ref().and_then(|it| it.effort.clone());
        let about = json!({
            "id": format!("resp_{}", run.facts.id),
            "object": "response",
            "created_at": run.facts.created_ms / 1000,
            "background": false,
            "error": null,
            "incomplete_details": null,
            "instructions": request.instructions,
            "max_output_tokens": request.rest.get("max_output_tokens"),
            "model": run.facts.model,
            "parallel_tool_calls": true,
            "previous_response_id": request.previous_response_id,
            "conversation": { "id": run.facts.session.as_str() },
            "reasoning": { "effort": effort, "summary": null },
            "store": stored,
            "temperature": request.rest.get("temperature"),
            "text": request.rest.get("text").cloned().unwrap_or_else(|| json!({ "format": { "type": "text" } })),
            "tool_choice": "auto",
            "tools": [],
            "top_p": request.rest.get("top_p"),
            "truncation": "disabled",
            "user": null,
            "metadata": request.metadata.clone().unwrap_or_else(|| json!({})),
        });
        Self { items: Items::new(about), kept }
    }

    /// Keeps the whole response before the client hears that it is whole.
    async fn keep(&self) {
        let Some(Kept { run, store, conversations }) = &self.kept else { return };
        let body = self.items.response();
        let id = body.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let kept = async {
            let seq = conversations.load(&run.facts.session).await?.last;
            let (owner, session) = (run.facts.owner.clone(), run.facts.session.clone());
            // A request that came twice has kept it already.
            if store.response(&id, &owner, now_ms()).await?.is_some() {
                return Ok(());
            }
            store.put_response(ResponseRow { id, owner, session, seq, body }, KEPT, now_ms()).await
        };
        if let Err(error) = kept.await {
            tracing::warn!(%error, "a response is not kept");
        }
    }
}

impl Frames for Told {
    fn open(&mut self) -> String {
        self.items.open()
    }

    fn event<'a>(&'a mut self, _: i64, event: &'a RunEvent) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let frame = self.items.event(event);
            if matches!(event, RunEvent::Completed { .. }) {
                self.keep().await;
            }
            frame
        })
    }

    fn lagged(&mut self) -> String {
        self.items.failed("the stream was read too slowly and broke off", "agent_incomplete")
    }
}
