//! Prompts as chat completion requests.

use petasos_contract::message::{Content, Part};
use petasos_contract::model::{CacheTtl, Prompt, ToolChoice};
use serde_json::{Map, Value, json};

use super::{TRANSPORT, reasoning};
use crate::lower::{self, Schemas};
use crate::transport::history::{self, Given, Said, Turn};
use crate::transport::images::Images;
use crate::transport::node::{Body, Node};
use crate::transport::target::{Repair, Target};
use crate::transport::{EncodeError, WireRequest};
use crate::{limits, markers};

/// Writes a request.
pub(super) fn encode(prompt: &Prompt, target: &Target) -> Result<WireRequest, EncodeError> {
    let turns = history::mend(&prompt.messages, Images::of(target, target.provider != "xiaomi"));
    if turns.is_empty() && prompt.system.is_empty() {
        return Err(EncodeError::Empty);
    }
    let lowered = lower::lower(&prompt.tools, Schemas::of(target), &target.repairs);
    let mut body = Body::default();
    body.put("model", json!(target.model));
    body.put("messages", messages(prompt, &turns, target)?);
    if !lowered.tools.is_empty() {
        let tools = lowered.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema}})
        });
        body.put("tools", Value::Array(tools.collect()));
        body.put_some("tool_choice", tool_choice(&prompt.tool_choice));
    }
    if target.streams() {
        body.put("stream", json!(true));
        body.put("stream_options", json!({"include_usage": true}));
    }
    if let Some(tokens) = limits::chat(prompt, target) {
        body.put(token_field(target), json!(tokens));
    }
    let warm = prompt.temperature.filter(|_| !reasoning::refuses_temperature(target));
    body.put_some("temperature", warm.map(|warm| json!(warm)));
    for field in TRANSPORT.takes {
        let refused = *field == "top_p" && reasoning::refuses_temperature(target);
        body.put_some(field, prompt.extra.get(*field).filter(|_| !refused).cloned());
    }
    if let Some(answer) = &prompt.answer {
        let schema = json!({"name": answer.name, "schema": answer.schema, "strict": true});
        body.put("response_format", json!({"type": "json_schema", "json_schema": schema}));
    }
    reasoning::put(&mut body, prompt.effort, target);
    extras(&mut body, target);
    body.merge(&target.extra_body);
    for repair in &target.repairs {
        if let Repair::DropField(field) = repair {
            body.remove(field);
        }
    }
    let mut headers = target.headers.clone();
    if let Some(session) = &target.session
        && target.family().starts_with("grok")
    {
        headers.push(("x-grok-conv-id".to_owned(), session.clone()));
    }
    Ok(WireRequest {
        url: target.below("chat/completions"),
        headers,
        body: body.bytes()?,
        offered: lowered.names(),
        quarantined: lowered.quarantined,
    })
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Off => Some(json!("none")),
        ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}

/// The field that the endpoint reads the token limit from.
fn token_field(target: &Target) -> &'static str {
    const NEWER: [&str; 6] = ["gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4"];
    let family = target.family();
    let newer = target.is_at("api.openai.com")
        || target.is_at("openai.azure.com")
        || target.provider == "copilot"
        || NEWER.iter().any(|prefix| family.starts_with(prefix));
    if newer == target.repaired(&Repair::RenameTokenLimit) {
        "max_tokens"
    } else {
        "max_completion_tokens"
    }
}

fn messages(prompt: &Prompt, turns: &[Turn], target: &Target) -> Result<Node, EncodeError> {
    let mut list: Vec<Map<String, Value>> = Vec::new();
    if !prompt.system.is_empty() {
        let family = target.family();
        let developer = family.starts_with("gpt-5") || family.contains("codex");
        let role = if developer { "developer" } else { "system" };
        list.push(object(json!({"role": role, "content": history::clean(&prompt.system)})));
    }
    for turn in turns {
        match turn {
            Turn::User(parts) => {
                list.push(object(json!({"role": "user", "content": content(parts)})));
            }
            Turn::Assistant(said) => list.push(assistant(said, target)),
            Turn::Results(given) => list.extend(given.iter().map(result)),
        }
    }
    if target.provider == "qwen-oauth" {
        list.iter_mut().for_each(as_part_list);
    }
    if markers::envelope(target) {
        mark(&mut list, target.ttl(prompt.cache));
    }
    nodes(list, turns, target)
}

fn content(parts: &[Part]) -> Value {
    let texts = parts.iter().map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::ImageUrl { .. } => None,
    });
    match texts.collect::<Option<Vec<_>>>() {
        Some(texts) => json!(texts.join("\n\n")),
        None => parts.iter().map(part).collect(),
    }
}

/// A part as this dialect writes it; films have a kind of their own.
fn part(part: &Part) -> Value {
    match part {
        Part::ImageUrl { image_url } if image_url.is_film() => {
            json!({"type": "video_url", "video_url": {"url": image_url.url}})
        }
        other => json!(other),
    }
}

fn assistant(said: &Said, target: &Target) -> Map<String, Value> {
    let text = if said.text.is_empty() { Value::Null } else { json!(said.text) };
    let mut message = object(json!({"role": "assistant", "content": text}));
    if !said.calls.is_empty() {
        let gemini = target.family().contains("gemini") || target.family().contains("gemma");
        let calls = said.calls.iter().map(|call| {
            let mut one = object(json!({"id": call.id, "type": "function", "function": {
                "name": call.name, "arguments": call.arguments_text()}}));
            let data = call.provider_data.as_deref().filter(|_| gemini);
            if let Some(data) = data.and_then(|data| serde_json::from_str::<Value>(data).ok()) {
                one.insert("extra_content".to_owned(), data);
            }
            Value::Object(one)
        });
        message.insert("tool_calls".to_owned(), Value::Array(calls.collect()));
        if reasoning::echoes(target) {
            let echo = said.reasoning.as_deref().filter(|text| !text.is_empty()).unwrap_or(" ");
            message.insert("reasoning_content".to_owned(), json!(echo));
        }
    }
    message
}

fn result(given: &Given) -> Map<String, Value> {
    let content = match &given.content {
        Content::Text(text) => json!(text),
        Content::Parts(parts) => json!(parts),
    };
    object(json!({"role": "tool", "tool_call_id": given.id, "content": content}))
}

/// Turns text content into a list of one part.
fn as_part_list(message: &mut Map<String, Value>) {
    let Some(Value::String(text)) = message.get("content") else { return };
    let parts = json!([{"type": "text", "text": text}]);
    message.insert("content".to_owned(), parts);
}

/// Marks the system message and the last three messages that have text.
fn mark(list: &mut [Map<String, Value>], ttl: CacheTtl) {
    let can = |message: &Map<String, Value>| match message.get("content") {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(parts)) => !parts.is_empty(),
        _ => false,
    };
    let is_system = |message: &Map<String, Value>| {
        matches!(message.get("role").and_then(Value::as_str), Some("system" | "developer"))
    };
    let (system, rest): (Vec<_>, Vec<_>) =
        list.iter_mut().filter(|message| can(message)).partition(|message| is_system(message));
    let newest = rest.into_iter().rev().take(markers::MESSAGES);
    for message in system.into_iter().chain(newest) {
        as_part_list(message);
        let part = message.get_mut("content").and_then(Value::as_array_mut);
        if let Some(Value::Object(part)) = part.and_then(|parts| parts.last_mut()) {
            part.insert("cache_control".to_owned(), markers::marker(ttl));
        }
    }
}

/// Adds what a provider wants back byte for byte; nothing else needs raw text.
fn nodes(
    list: Vec<Map<String, Value>>,
    turns: &[Turn],
    target: &Target,
) -> Result<Node, EncodeError> {
    let issuer = target.issuer();
    let mut said = turns.iter().filter_map(|turn| match turn {
        Turn::Assistant(said) => Some(said),
        _ => None,
    });
    let mut nodes = Vec::with_capacity(list.len());
    for message in list {
        let is_model = message.get("role").and_then(Value::as_str) == Some("assistant");
        let replay =
            if is_model { said.next().and_then(|said| said.replay.as_ref()) } else { None };
        let replay = replay
            .filter(|replay| replay.issuer == issuer && !target.repaired(&Repair::DropThinking));
        let Some(details) = replay.and_then(|replay| replay.blocks.first()) else {
            nodes.push(Node::Value(Value::Object(message)));
            continue;
        };
        let mut map: indexmap::IndexMap<String, Node> =
            message.into_iter().map(|(key, value)| (key, Node::Value(value))).collect();
        map.insert("reasoning_details".to_owned(), Node::raw(details)?);
        nodes.push(Node::Map(map));
    }
    Ok(Node::List(nodes))
}

fn extras(body: &mut Body, target: &Target) {
    let session = target.session.as_deref();
    match target.provider.as_str() {
        "openrouter" => body.put_some("session_id", session.map(|session| json!(session))),
        "qwen-oauth" => {
            body.put("vl_high_resolution_images", json!(true));
            let about = session.map(|session| json!({"sessionId": session, "promptId": session}));
            body.put_some("metadata", about);
        }
        _ => {}
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
