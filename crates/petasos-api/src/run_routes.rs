//! `/v1/runs`: turns that go on by themselves, with events for any number of readers.

use std::sync::Arc;

use http::StatusCode;
use petasos_contract::BoxFuture;
use petasos_store::RunRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answer;
use crate::body;
use crate::chat::{dropped, effort, named_model, routed, sampling, unheard, wish};
use crate::content::{content, said};
use crate::conversation::{From, Request, checked_name};
use crate::error::ApiError;
use crate::host::Wish;
use crate::keys::{ApiScope, Caller};
use crate::routes::Handled;
use crate::run::{Run, RunEvent, RunStatus, Spent, Stop};
use crate::runs::Found;
use crate::server::{Call, Inner};
use crate::stream::{Early, Frames, frames};
use crate::turns::{Asked, Manner};

/// A request for a run.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RunRequest {
    /// What is said: text, or messages of which the last is the user's.
    #[serde(alias = "message", alias = "prompt", alias = "messages")]
    input: Value,
    /// A name of `/v1/models`.
    #[serde(default)]
    model: String,
    /// The session to go on with.
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    /// Text at the end of the system prompt.
    #[serde(default)]
    instructions: Option<String>,
    /// How much the model thinks.
    #[serde(default)]
    reasoning_effort: Option<String>,
    /// What is refused or dropped.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// How a run is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunView {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) status: RunStatus,
    pub(crate) session_id: String,
    pub(crate) model: String,
    /// Seconds since 1970.
    pub(crate) created_at: i64,
    /// The answer, once there is one.
    pub(crate) output: Option<String>,
    /// What it used, once it is over.
    pub(crate) usage: Option<Spent>,
}

/// The words of a request for a run.
pub(crate) async fn wanted(
    request: &RunRequest,
    from: From,
    (caller, manner): (&Caller, &Manner),
    server: &Inner,
) -> Result<(Request, Vec<String>), ApiError> {
    let mut ignored = dropped(&request.rest, server)?;
    let route = routed(server, &request.model)?;
    let sampling = sampling(&request.rest)?;
    ignored.extend(unheard(server, &route, &sampling).await);
    let (history, input, told) = match &request.input {
        Value::Array(messages) => {
            let said = said(messages, "input")?;
            (said.history, said.input, said.instructions)
        }
        text => (Vec::new(), content(text, "input")?, None),
    };
    if input.is_blank() {
        return Err(ApiError::field("input", "`input` is empty"));
    }
    let parts = [request.instructions.clone(), told];
    let instructions: Vec<String> = parts.into_iter().flatten().collect();
    let instructions = (!instructions.is_empty()).then(|| instructions.join("\n\n"));
    let request = Request {
        from,
        history,
        instructions: instructions.clone(),
        input,
        effort: effort(request.reasoning_effort.as_deref(), "reasoning_effort")?,
        wish: Wish {
            may_ask: caller.may(ApiScope::Approvals),
            sampling,
            ..wish(caller, manner, route, instructions)
        },
        attended: true,
    };
    Ok((request, ignored))
}

pub(crate) fn create(mut call: Call) -> Handled {
    Box::pin(async move {
        let value = call.value().await?;
        let Call { server, caller, parts, .. } = call;
        let manner = Manner::read(&parts.headers)?;
        let request: RunRequest = body::shaped(value.clone())?;
        let named = request.session_id.as_deref().map(|id| checked_name(id, "session_id"));
        let from = named.transpose()?.map_or_else(|| manner.from(), From::Named);
        let (wanted, ignored) = wanted(&request, from, (&caller, &manner), &server).await?;
        let model = named_model(&server, &request.model);
        let asked = Asked { endpoint: "runs", body: value, model, own: true };
        let reader = server.begin(&caller, &manner, asked, wanted).await?;
        let run = Arc::clone(reader.run());
        let answer = answer::json(StatusCode::ACCEPTED, &view(&run));
        Ok(manner.mark(answer, &run, &ignored))
    })
}

/// How a run in memory is.
pub(crate) fn view(run: &Run) -> RunView {
    let facts = &run.facts;
    RunView {
        id: facts.id.clone(),
        object: "run",
        status: run.status(),
        session_id: facts.session.to_string(),
        model: facts.model.clone(),
        created_at: facts.created_ms / 1000,
        output: run.output(),
        usage: run.used(),
    }
}

async fn found(call: &Call) -> Result<Found, ApiError> {
    let id = call.place(0);
    let found = call.server.runs.find(id, &call.caller.name).await?;
    found.ok_or_else(|| missing(id))
}

pub(crate) fn missing(id: &str) -> ApiError {
    ApiError::not_found("run_not_found", format!("no run `{id}`: they are kept for an hour"))
}

pub(crate) fn one(call: Call) -> Handled {
    Box::pin(async move {
        let view = match found(&call).await? {
            Found::Live(run) => view(&run),
            Found::Ended(row) if row.ended_ms.is_none() => stored_view(&row),
            Found::Ended(row) => {
                let reader = call.server.runs.reader(&row.id, &row.owner, 0).await?;
                view(reader.ok_or_else(|| missing(&row.id))?.run())
            }
        };
        Ok(answer::json(StatusCode::OK, &view))
    })
}

/// How a run of another process is.
fn stored_view(row: &RunRow) -> RunView {
    RunView {
        id: row.id.clone(),
        object: "run",
        status: RunStatus::named(&row.status).unwrap_or(RunStatus::Running),
        session_id: row.session.to_string(),
        model: row.about.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        created_at: row.created_ms / 1000,
        output: None,
        usage: None,
    }
}

pub(crate) fn stop(call: Call) -> Handled {
    Box::pin(async move {
        match found(&call).await? {
            Found::Live(run) => {
                run.stop(Stop::Asked);
                Ok(answer::json(StatusCode::OK, &view(&run)))
            }
            Found::Ended(row) if row.ended_ms.is_none() => {
                let message = "another process works on this run: stop it there";
                Err(ApiError::conflict("run_elsewhere", message))
            }
            Found::Ended(row) => Ok(answer::json(StatusCode::OK, &stored_view(&row))),
        }
    })
}

pub(crate) fn events(call: Call) -> Handled {
    Box::pin(async move {
        let id = call.place(0);
        let header = call.parts.headers.get("last-event-id");
        let after = header.and_then(|value| value.to_str().ok()).or_else(|| call.query("after"));
        let after = match after.filter(|text| !text.is_empty()) {
            None => 0,
            Some(text) => text
                .parse()
                .map_err(|_| ApiError::field("Last-Event-ID", "it must be the id of an event"))?,
        };
        let reader = call.server.runs.reader(id, &call.caller.name, after).await?;
        let reader = reader.ok_or_else(|| missing(id))?;
        let told = RunFrames { run: reader.run().facts.id.clone() };
        Ok(answer::events(frames(reader, Early::new(), told)))
    })
}

/// Events as they are.
pub(crate) struct RunFrames {
    pub(crate) run: String,
}

impl Frames for RunFrames {
    fn open(&mut self) -> String {
        String::new()
    }

    fn event<'a>(&'a mut self, number: i64, event: &'a RunEvent) -> BoxFuture<'a, String> {
        let mut value = serde_json::to_value(event).unwrap_or_default();
        value["run_id"] = json!(self.run);
        let frame = format!("id: {number}\n{}", answer::named(event.name(), &value));
        Box::pin(std::future::ready(frame))
    }

    fn lagged(&mut self) -> String {
        answer::named("lagged", &json!({ "event": "lagged", "run_id": self.run }))
    }
}
