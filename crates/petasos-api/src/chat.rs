//! `/v1/chat/completions`: one turn, whole or in pieces, in the frames that the official clients
//! read.

use http::StatusCode;
use petasos_contract::BoxFuture;
use petasos_contract::model::Effort;
use petasos_session::Sampling;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answer::{self, data, named};
use crate::body;
use crate::content::said;
use crate::conversation::{Conversations, PLATFORM, Request};
use crate::error::{ApiError, ErrorFrame};
use crate::host::Wish;
use crate::keys::Caller;
use crate::options::ModelRoute;
use crate::routes::Handled;
use crate::run::{Read, Run, RunEvent, RunReader, Spent};
use crate::server::{Call, Inner};
use crate::stream::{Frames, early, frames};
use crate::turns::{Asked, Manner};

/// What limits the length of a reply, and what makes it free: handed to the model.
const LENGTHS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
const WARMTH: &str = "temperature";
/// What else is handed to the model, where its wire has a word for it.
const EXTRAS: [&str; 4] = ["top_p", "stop", "seed", "response_format"];

/// A request for a turn.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ChatRequest {
    /// A name of `/v1/models`.
    #[serde(default)]
    model: String,
    /// The conversation; the last message is the user's.
    #[serde(default)]
    messages: Vec<Value>,
    /// Whether the answer comes in pieces.
    #[serde(default)]
    stream: Option<Value>,
    /// `include_usage`.
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// How much the model thinks.
    #[serde(default)]
    reasoning_effort: Option<String>,
    /// What is refused or dropped.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// How tool calls are told in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolEvents {
    Untold,
    Chunk,
    Event,
}

pub(crate) fn create(mut call: Call) -> Handled {
    Box::pin(async move {
        let value = call.value().await?;
        let Call { server, caller, parts, .. } = call;
        let manner = Manner::read(&parts.headers)?;
        let tools = match parts.headers.get("x-hermes-tool-events").map(http::HeaderValue::as_bytes)
        {
            Some(b"chunk") => ToolEvents::Chunk,
            Some(b"event") => ToolEvents::Event,
            _ => ToolEvents::Untold,
        };
        let request: ChatRequest = body::shaped(value.clone())?;
        let streams = is_set(request.stream.as_ref(), "stream")?;
        let usage = request.stream_options.as_ref().is_some_and(|it| it.include_usage);
        let mut ignored = dropped(&request.rest, &server)?;
        let sampling = sampling(&request.rest)?;
        let route = routed(&server, &request.model)?;
        ignored.extend(unheard(&server, &route, &sampling).await);
        let said = said(&request.messages, "messages")?;
        let wanted = Request {
            from: manner.from(),
            history: said.history,
            instructions: said.instructions.clone(),
            input: said.input,
            effort: effort(request.reasoning_effort.as_deref(), "reasoning_effort")?,
            wish: Wish { sampling, ..wish(&caller, &manner, route, said.instructions) },
            attended: false,
        };
        let model = named_model(&server, &request.model);
        let asked = Asked { endpoint: "chat.completions", body: value, model, own: false };
        let mut reader = server.begin(&caller, &manner, asked, wanted).await?;
        let run = std::sync::Arc::clone(reader.run());
        let answer = if streams {
            let early = early(&mut reader).await?;
            let chunks = Chunks::new(&run, (usage, server.options.reasoning), tools);
            answer::events(frames(reader, early, chunks))
        } else {
            answer::json(StatusCode::OK, &whole(&mut reader, &run).await?)
        };
        Ok(manner.mark(answer, &run, &ignored))
    })
}

/// What a conversation of this key chooses.
pub(crate) fn wish(
    caller: &Caller,
    manner: &Manner,
    route: ModelRoute,
    instructions: Option<String>,
) -> Wish {
    let (toolsets, sandbox) = (caller.toolsets.clone(), caller.sandbox.clone());
    let memory = manner.memory.clone().map(|key| Conversations::memory(&caller.name, key));
    Wish { platform: PLATFORM, toolsets, sandbox, route, instructions, memory, ..Wish::default() }
}

/// How the reply is to be written, under the names of both interfaces.
pub(crate) fn sampling(rest: &Map<String, Value>) -> Result<Sampling, ApiError> {
    let mut sampling = Sampling::default();
    for (key, value) in rest.iter().filter(|(_, value)| !value.is_null()) {
        if LENGTHS.contains(&key.as_str()) {
            let most = value.as_u64().and_then(|most| u32::try_from(most).ok());
            let most = most.filter(|most| *most > 0);
            let wrong = || ApiError::field("max_tokens", format!("`{key}` is a number of tokens"));
            sampling.max_tokens = Some(most.ok_or_else(wrong)?);
        }
        if key == WARMTH {
            let warm = f32::deserialize(value).ok().filter(|warm| (0.0..=2.0).contains(warm));
            let wrong = || ApiError::field(WARMTH, format!("`{WARMTH}` is a number from 0 to 2"));
            sampling.temperature = Some(warm.ok_or_else(wrong)?);
        }
        if let Some(known) = EXTRAS.into_iter().find(|known| known == key) {
            sampling.extra.insert(key.clone(), extra(known, value)?);
        }
        // The other interface writes the shape of an answer flat, below `text`.
        if let ("text", Some(format)) = (key.as_str(), value.get("format")) {
            sampling.extra.insert("response_format".to_owned(), nested(format)?);
        }
    }
    sampling.extra.retain(|_, value| *value != json!({ "type": "text" }));
    Ok(sampling)
}

/// A field of [`EXTRAS`] that is what it should be.
fn extra(key: &'static str, value: &Value) -> Result<Value, ApiError> {
    let is_text = |one: &Value| one.as_str().is_some_and(|text| !text.is_empty());
    let (fits, wanted) = match key {
        "top_p" => {
            let part = value.as_f64().is_some_and(|part| (0.0..=1.0).contains(&part));
            (part, "a number from 0 to 1")
        }
        "seed" => (value.is_i64() || value.is_u64(), "a whole number"),
        "stop" => {
            let many =
                value.as_array().is_some_and(|all| all.len() <= 4 && all.iter().all(is_text));
            (is_text(value) || many, "a text, or up to four")
        }
        _ => {
            let kind = value["type"].as_str();
            let whole = kind != Some("json_schema") || value["json_schema"]["schema"].is_object();
            let known = matches!(kind, Some("text" | "json_object" | "json_schema"));
            (known && whole, "of type text, json_object or json_schema, with its schema")
        }
    };
    let wrong = || ApiError::field(key, format!("`{key}` is {wanted}"));
    fits.then(|| value.clone()).ok_or_else(wrong)
}

/// The shape of an answer as chat completions write it.
fn nested(format: &Value) -> Result<Value, ApiError> {
    if format["type"] != "json_schema" {
        return extra("response_format", format);
    }
    let mut schema = format.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.shift_remove("type");
    }
    extra("response_format", &json!({ "type": "json_schema", "json_schema": schema }))
}

/// Which of the fields that are handed on the model's wire has no word for.
pub(crate) async fn unheard(
    server: &Inner,
    route: &ModelRoute,
    sampling: &Sampling,
) -> Vec<String> {
    if sampling.extra.is_empty() {
        return Vec::new();
    }
    let taken = server.host.takes(route).await;
    let unheard = sampling.extra.keys().filter(|key| !taken.contains(&key.as_str()));
    unheard.cloned().collect()
}

/// The route of a model's name.
pub(crate) fn routed(server: &Inner, name: &str) -> Result<ModelRoute, ApiError> {
    server.options.route(name).ok_or_else(|| {
        let message = format!("no model is called `{name}`: see /v1/models");
        let error = ApiError::not_found("model_not_found", message);
        ApiError { param: Some("model"), ..error }
    })
}

/// What the model is called in answers.
pub(crate) fn named_model(server: &Inner, name: &str) -> String {
    if name.is_empty() { server.options.model.clone() } else { name.to_owned() }
}

/// A flag, also as text.
pub(crate) fn is_set(value: Option<&Value>, param: &'static str) -> Result<bool, ApiError> {
    match value {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(set)) => Ok(*set),
        Some(Value::String(text)) if text == "true" => Ok(true),
        Some(Value::String(text)) if text == "false" => Ok(false),
        Some(_) => Err(ApiError::field(param, format!("`{param}` must be true or false"))),
    }
}

pub(crate) fn effort(word: Option<&str>, param: &'static str) -> Result<Option<Effort>, ApiError> {
    let Some(word) = word else { return Ok(None) };
    let named = Value::from(if word == "none" { "off" } else { word });
    let found = serde_json::from_value(named);
    found.map(Some).map_err(|_| ApiError::field(param, format!("`{word}` is no effort")))
}

/// Refuses what cannot be meant, and names what is dropped.
pub(crate) fn dropped(rest: &Map<String, Value>, server: &Inner) -> Result<Vec<String>, ApiError> {
    let mut ignored = Vec::new();
    for (key, value) in rest {
        let empty = match value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if empty {
            continue;
        }
        match key.as_str() {
            "tools" | "functions" | "tool_choice" | "function_call" => {
                let auto = matches!(value.as_str(), Some("auto" | "none"));
                if !server.options.lenient.client_tools && !auto {
                    let message = "the agent has tools of its own: clients cannot bring any \
                                   (`extra.ignore_client_tools` drops them)";
                    return Err(ApiError::unsupported("tools", message));
                }
            }
            key if LENGTHS.contains(&key) || key == WARMTH => continue,
            key if EXTRAS.contains(&key) => continue,
            "text" if value.as_object().is_some_and(|text| text.keys().eq(["format"])) => continue,
            "n" if value == &json!(1) => continue,
            "n" => return Err(ApiError::unsupported("n", "there is one answer")),
            "logprobs" | "top_logprobs" => {
                return Err(ApiError::unsupported("logprobs", "there are no log probabilities"));
            }
            "audio" => return Err(ApiError::unsupported("audio", "there is no audio")),
            "modalities" if value == &json!(["text"]) => continue,
            "modalities" => {
                return Err(ApiError::unsupported("modalities", "answers are text"));
            }
            _ => {}
        }
        ignored.push(key.clone());
    }
    Ok(ignored)
}

fn id_of(run: &Run) -> String {
    format!("chatcmpl-{}", run.facts.id)
}

fn usage(used: &Spent) -> Value {
    json!({
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.total_tokens,
        "prompt_tokens_details": { "cached_tokens": used.cached_tokens, "audio_tokens": 0 },
        "completion_tokens_details": {
            "reasoning_tokens": used.reasoning_tokens, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0
        },
    })
}

/// The answer in one piece.
async fn whole(reader: &mut RunReader, run: &Run) -> Result<Value, ApiError> {
    let (output, used, finish) = outcome(reader).await?;
    Ok(json!({
        "id": id_of(run),
        "object": "chat.completion",
        "created": run.facts.created_ms / 1000,
        "model": run.facts.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": output, "refusal": null, "annotations": [] },
            "logprobs": null,
            "finish_reason": finish,
        }],
        "usage": usage(&used),
        "service_tier": null,
        "system_fingerprint": null,
    }))
}

/// Waits for the end of a run.
pub(crate) async fn outcome(reader: &mut RunReader) -> Result<(String, Spent, String), ApiError> {
    loop {
        match reader.next().await {
            Read::Event(_, event) => match &*event {
                RunEvent::Completed { output, usage, finish_reason } => {
                    return Ok((output.clone(), *usage, finish_reason.clone()));
                }
                RunEvent::Failed { error, status } => return Err(ApiError::told(error, *status)),
                RunEvent::Cancelled { .. } => return Err(cut_off()),
                _ => {}
            },
            Read::Lagged | Read::End => return Err(cut_off()),
        }
    }
}

/// A turn that was stopped before it had an answer.
pub(crate) fn cut_off() -> ApiError {
    let message = "the turn was stopped before its end";
    ApiError::new(StatusCode::BAD_GATEWAY, "agent_incomplete", message).begun()
}

/// The answer in chunks.
struct Chunks {
    id: String,
    created: i64,
    model: String,
    usage: bool,
    reasoning: bool,
    tools: ToolEvents,
}

impl Chunks {
    fn new(run: &Run, (usage, reasoning): (bool, bool), tools: ToolEvents) -> Self {
        let (id, created) = (id_of(run), run.facts.created_ms / 1000);
        Self { id, created, model: run.facts.model.clone(), usage, reasoning, tools }
    }

    fn chunk(&self, choices: &Value, more: Option<(&str, Value)>) -> Value {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created,
            "model": self.model, "system_fingerprint": null, "choices": choices,
        });
        if self.usage {
            chunk["usage"] = Value::Null;
        }
        if let Some((key, value)) = more {
            chunk[key] = value;
        }
        chunk
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> String {
        let choice =
            json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]);
        data(&self.chunk(&choice, None))
    }

    fn tool(&self, event: &RunEvent) -> String {
        let value = serde_json::to_value(event).unwrap_or_default();
        match self.tools {
            ToolEvents::Untold => String::new(),
            ToolEvents::Event => named("hermes.tool.progress", &value),
            ToolEvents::Chunk => {
                let choice =
                    json!([{ "index": 0, "delta": {}, "logprobs": null, "finish_reason": null }]);
                data(&self.chunk(&choice, Some(("hermes", value))))
            }
        }
    }

    fn frame(&self, event: &RunEvent) -> String {
        match event {
            RunEvent::Text { delta } => self.delta(&json!({ "content": delta }), None),
            RunEvent::Reasoning { text } if self.reasoning => {
                self.delta(&json!({ "reasoning_content": text }), None)
            }
            RunEvent::ToolStarted { .. } | RunEvent::ToolCompleted { .. } => self.tool(event),
            RunEvent::Completed { usage: used, finish_reason, .. } => {
                let mut frame = self.delta(&json!({}), Some(finish_reason));
                if self.usage {
                    frame.push_str(&data(&self.chunk(&json!([]), Some(("usage", usage(used))))));
                }
                frame.push_str("data: [DONE]\n\n");
                frame
            }
            RunEvent::Failed { error, .. } => data(&ErrorFrame { error: error.clone() }),
            RunEvent::Cancelled { .. } => failure(&cut_off()),
            _ => String::new(),
        }
    }
}

fn failure(error: &ApiError) -> String {
    data(&ErrorFrame { error: error.body(&|text| text.to_owned()) })
}

impl Frames for Chunks {
    fn open(&mut self) -> String {
        self.delta(&json!({ "role": "assistant", "content": "", "refusal": null }), None)
    }

    fn event<'a>(&'a mut self, _: i64, event: &'a RunEvent) -> BoxFuture<'a, String> {
        Box::pin(std::future::ready(self.frame(event)))
    }

    fn lagged(&mut self) -> String {
        let message = "the stream was read too slowly and broke off";
        failure(&ApiError::new(StatusCode::BAD_GATEWAY, "agent_incomplete", message).begun())
    }
}
