//! Prompts as Messages requests.

use petasos_contract::message::{Content, Part};
use petasos_contract::model::{CacheTtl, Prompt, ToolChoice};
use serde_json::{Map, Value, json};

use super::{bedrock, thinking, vertex};
use crate::lower::{self, Lowering, Schemas};
use crate::transport::history::{self, Given, Turn};
use crate::transport::ids::Ids;
use crate::transport::images::{self, Images};
use crate::transport::node::{Body, Node};
use crate::transport::target::{Repair, Target};
use crate::transport::{EncodeError, WireRequest};
use crate::{limits, markers};

/// Screenshots are large and grow old quickly.
const RESULT_IMAGES_MAX: usize = 3;

/// A block: ours, or theirs byte for byte.
#[derive(Debug, Clone)]
pub(super) enum Block {
    /// Ours.
    Own(Map<String, Value>),
    /// Theirs.
    Raw(String),
}

/// A message under construction.
#[derive(Debug)]
struct Spoken {
    role: &'static str,
    blocks: Vec<Block>,
}

/// Writes a request.
pub(super) fn encode(prompt: &Prompt, target: &Target) -> Result<WireRequest, EncodeError> {
    let mut turns = history::mend(&prompt.messages, Images::of(target, true));
    images::newest_in_results(&mut turns, RESULT_IMAGES_MAX);
    if turns.is_empty() {
        return Err(EncodeError::Empty);
    }
    let lowered = lower::lower(&prompt.tools, Schemas::Anthropic, &target.repairs);
    let mut spoken = speak(&turns, target);
    let marks = markers::native(target);
    if marks {
        mark(&mut spoken, target.ttl(prompt.cache));
    }
    let mut body = Body::default();
    if bedrock::serves(target) {
        bedrock::put(&mut body);
    } else if vertex::serves(target) {
        vertex::put(&mut body);
    } else {
        body.put("model", json!(model(target)));
    }
    body.put("max_tokens", json!(limits::messages(prompt, target)));
    if !prompt.system.is_empty() {
        let text = history::clean(&prompt.system);
        let system = if marks {
            json!([{"type": "text", "text": text, "cache_control": markers::marker(target.ttl(prompt.cache))}])
        } else {
            json!(text)
        };
        body.put("system", system);
    }
    body.put("messages", nodes(spoken)?);
    tools(&mut body, &lowered, &prompt.tool_choice);
    if target.streams() && !bedrock::serves(target) {
        body.put("stream", json!(true));
    }
    if let Some(warm) = prompt.temperature
        && limits::claude_version(&target.family()).is_none_or(|version| version < (4, 7))
    {
        body.put("temperature", json!(warm));
    }
    sampled(&mut body, prompt, target);
    let mut output = thinking::put(&mut body, prompt, target);
    if let Some(answer) = &prompt.answer {
        let format = json!({"type": "json_schema", "schema": answer.schema});
        output.insert("format".to_owned(), format);
    }
    if !output.is_empty() {
        body.put("output_config", Value::Object(output));
    }
    body.merge(&target.extra_body);
    for repair in &target.repairs {
        if let Repair::DropField(field) = repair {
            body.remove(field);
        }
    }
    Ok(WireRequest {
        url: endpoint(target),
        headers: headers(target),
        body: body.bytes()?,
        offered: lowered.names(),
        quarantined: lowered.quarantined,
    })
}

fn endpoint(target: &Target) -> String {
    if bedrock::serves(target) {
        return bedrock::endpoint(target);
    }
    if vertex::serves(target) {
        return vertex::endpoint(target);
    }
    let versioned = target.base_url.contains("api-version=");
    let query =
        if target.is_at("azure.com") && !versioned { "?api-version=2025-04-15" } else { "" };
    let stem = target.address().trim_end_matches('/');
    let path = if stem.ends_with("/v1") { "messages" } else { "v1/messages" };
    target.below(&format!("{path}{query}"))
}

fn headers(target: &Target) -> Vec<(String, String)> {
    if bedrock::serves(target) {
        return target.headers.clone();
    }
    let minimax = target.provider.starts_with("minimax");
    let mut betas = vec!["interleaved-thinking-2025-05-14"];
    if !minimax {
        betas.push("fine-grained-tool-streaming-2025-05-14");
    }
    if target.oauth && target.is_at("anthropic.com") {
        betas.push("oauth-2025-04-20");
    }
    if target.is_at("azure.com") && !target.repaired(&Repair::DropLongContextBeta) {
        betas.push("context-1m-2025-08-07");
    }
    if target.extra_body.contains_key("speed") {
        betas.push("fast-mode-2026-02-01");
    }
    let own = [("anthropic-version", "2023-06-01".to_owned()), ("anthropic-beta", betas.join(","))];
    // Google reads the version in the body alone.
    let own = own.into_iter().skip(usize::from(vertex::serves(target)));
    let mut headers: Vec<(String, String)> =
        own.map(|(name, value)| (name.to_owned(), value)).collect();
    headers.extend(target.headers.iter().cloned());
    headers
}

/// The name as the endpoint spells it: no vendor prefix, hyphens in Claude's versions.
fn model(target: &Target) -> String {
    let bare = target.model.strip_prefix("anthropic/").unwrap_or(&target.model);
    if bare.starts_with("claude-") { bare.replace('.', "-") } else { bare.to_owned() }
}

fn tools(body: &mut Body, lowered: &Lowering, choice: &ToolChoice) {
    if lowered.tools.is_empty() || *choice == ToolChoice::Off {
        return;
    }
    let list = lowered.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
    });
    body.put("tools", Value::Array(list.collect()));
    let choice = match choice {
        ToolChoice::Auto | ToolChoice::Off => json!({"type": "auto"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
    };
    body.put("tool_choice", choice);
}

fn speak(turns: &[Turn], target: &Target) -> Vec<Spoken> {
    let mut ids = Ids::default();
    let last_model = turns.iter().rposition(|turn| matches!(turn, Turn::Assistant(_)));
    let mut spoken: Vec<Spoken> = Vec::new();
    if matches!(turns.first(), Some(Turn::Assistant(_))) {
        spoken.push(Spoken { role: "user", blocks: vec![text("(conversation continues)")] });
    }
    for (at, turn) in turns.iter().enumerate() {
        let (role, mut blocks) = match turn {
            Turn::User(parts) => {
                let blocks: Vec<Block> = parts.iter().map(part).map(Block::Own).collect();
                ("user", if blocks.is_empty() { vec![text("(empty message)")] } else { blocks })
            }
            Turn::Results(given) => {
                ("user", given.iter().map(|given| result(given, &mut ids)).collect())
            }
            Turn::Assistant(said) => {
                let place = thinking::Place { is_last: Some(at) == last_model };
                ("assistant", thinking::blocks(said, target, place, &mut |id| ids.of(id)))
            }
        };
        match spoken.last_mut() {
            Some(before) if before.role == role => before.blocks.append(&mut blocks),
            _ => spoken.push(Spoken { role, blocks }),
        }
    }
    spoken
}

pub(super) fn text(text: &str) -> Block {
    Block::Own(object(json!({"type": "text", "text": text})))
}

fn part(part: &Part) -> Map<String, Value> {
    match part {
        Part::Text { text } if text.trim().is_empty() => {
            object(json!({"type": "text", "text": "(empty message)"}))
        }
        Part::Text { text } => object(json!({"type": "text", "text": text})),
        Part::ImageUrl { image_url } => {
            let source = match image_url.inline() {
                Some((kind, data)) => json!({"type": "base64", "media_type": kind, "data": data}),
                None => json!({"type": "url", "url": image_url.url}),
            };
            object(json!({"type": "image", "source": source}))
        }
    }
}

fn result(given: &Given, ids: &mut Ids) -> Block {
    let content = match &given.content {
        content if content.is_blank() => json!("(no output)"),
        Content::Text(text) => json!(text),
        Content::Parts(parts) => Value::Array(parts.iter().map(part).map(Value::Object).collect()),
    };
    let id = ids.of(&given.id);
    Block::Own(object(json!({"type": "tool_result", "tool_use_id": id, "content": content})))
}

/// Marks the last block of the last three messages; thinking never carries a marker.
fn mark(spoken: &mut [Spoken], ttl: CacheTtl) {
    for message in spoken.iter_mut().rev().take(markers::MESSAGES) {
        let last = message.blocks.iter_mut().rev().find_map(|block| match block {
            Block::Own(block) if block.get("type") != Some(&json!("thinking")) => Some(block),
            _ => None,
        });
        if let Some(block) = last {
            block.insert("cache_control".to_owned(), markers::marker(ttl));
        }
    }
}

fn nodes(spoken: Vec<Spoken>) -> Result<Node, EncodeError> {
    let mut list = Vec::with_capacity(spoken.len());
    for message in spoken {
        let mut map = indexmap::IndexMap::new();
        map.insert("role".to_owned(), Node::Value(json!(message.role)));
        map.insert("content".to_owned(), content(message.blocks)?);
        list.push(Node::Map(map));
    }
    Ok(Node::List(list))
}

/// One plain text block is written as text alone.
fn content(blocks: Vec<Block>) -> Result<Node, EncodeError> {
    if let [Block::Own(only)] = blocks.as_slice()
        && only.len() == 2
        && let (Some("text"), Some(text)) =
            (only.get("type").and_then(Value::as_str), only.get("text"))
    {
        return Ok(Node::Value(text.clone()));
    }
    let nodes = blocks.into_iter().map(|block| match block {
        Block::Own(block) => Ok(Node::Value(Value::Object(block))),
        Block::Raw(raw) => Node::raw(&raw),
    });
    nodes.collect::<Result<Vec<_>, _>>().map(Node::List)
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// What a client asked for besides. Claude takes a temperature or `top_p`, not both, and newer ones
/// take neither.
fn sampled(body: &mut Body, prompt: &Prompt, target: &Target) {
    let older = limits::claude_version(&target.family()).is_none_or(|version| version < (4, 7));
    let top = prompt.extra.get("top_p").filter(|_| older && prompt.temperature.is_none());
    body.put_some("top_p", top.cloned());
    body.put_some("stop_sequences", history::stops(prompt).map(Value::Array));
}
