//! Prompts as Converse requests.

use petasos_contract::message::{Content, Part};
use petasos_contract::model::{Prompt, ToolChoice};
use serde_json::{Value, json};

use crate::limits;
use crate::lower::{self, Lowering, Schemas};
use crate::transport::history::{self, Given, Said, Turn};
use crate::transport::ids::Ids;
use crate::transport::images::Images;
use crate::transport::node::{Body, Node};
use crate::transport::target::{Repair, Target};
use crate::transport::{EncodeError, WireRequest};

/// Writes a request.
pub(super) fn encode(prompt: &Prompt, target: &Target) -> Result<WireRequest, EncodeError> {
    let turns = history::mend(&prompt.messages, Images::of(target, true));
    if turns.is_empty() {
        return Err(EncodeError::Empty);
    }
    if prompt.answer.is_some() {
        return Err(EncodeError::Answer);
    }
    let lowered = lower::lower(&prompt.tools, Schemas::Anthropic, &target.repairs);
    let mut body = Body::default();
    body.put("messages", messages(&turns, target)?);
    if !prompt.system.is_empty() {
        body.put("system", json!([{"text": history::clean(&prompt.system)}]));
    }
    let mut config = json!({});
    if let Some(tokens) = limits::chat(prompt, target) {
        config["maxTokens"] = json!(tokens);
    }
    if let Some(warm) = prompt.temperature {
        config["temperature"] = json!(warm);
    }
    if let Some(top) = prompt.extra.get("top_p") {
        config["topP"] = top.clone();
    }
    if let Some(stops) = history::stops(prompt) {
        config["stopSequences"] = Value::Array(stops);
    }
    if config.as_object().is_some_and(|config| !config.is_empty()) {
        body.put("inferenceConfig", config);
    }
    if takes_tools(&target.model) {
        tools(&mut body, &lowered, &prompt.tool_choice);
    }
    body.merge(&target.extra_body);
    for repair in &target.repairs {
        if let Repair::DropField(field) = repair {
            body.remove(field);
        }
    }
    let action = if target.streams() { "converse-stream" } else { "converse" };
    Ok(WireRequest {
        url: target.below(&format!("model/{}/{action}", escaped(&target.model))),
        headers: target.headers.clone(),
        body: body.bytes()?,
        offered: lowered.names(),
        quarantined: lowered.quarantined,
    })
}

/// Unknown models are assumed to take tools; these are known not to.
fn takes_tools(model: &str) -> bool {
    const WITHOUT: [&str; 5] =
        ["deepseek.r1", "deepseek-r1", "stability.", "cohere.embed", "amazon.titan-embed"];
    !WITHOUT.iter().any(|part| model.contains(part))
}

/// A model id as one path segment: ids hold colons, and inference profiles slashes.
fn escaped(model: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = model.bytes().map(|byte| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    });
    each.collect::<Vec<_>>().concat()
}

fn tools(body: &mut Body, lowered: &Lowering, choice: &ToolChoice) {
    if lowered.tools.is_empty() || *choice == ToolChoice::Off {
        return;
    }
    let list = lowered.tools.iter().map(|tool| {
        // A blank description is refused.
        let description =
            if tool.description.trim().is_empty() { &tool.name } else { &tool.description };
        json!({"toolSpec": {"name": tool.name, "description": description,
            "inputSchema": {"json": tool.schema}}})
    });
    let choice = match choice {
        ToolChoice::Auto | ToolChoice::Off => json!({"auto": {}}),
        ToolChoice::Required => json!({"any": {}}),
        ToolChoice::Named(name) => json!({"tool": {"name": name}}),
    };
    body.put("toolConfig", json!({"tools": list.collect::<Vec<_>>(), "toolChoice": choice}));
}

fn messages(turns: &[Turn], target: &Target) -> Result<Node, EncodeError> {
    let mut ids = Ids::default();
    let last_model = turns.iter().rposition(|turn| matches!(turn, Turn::Assistant(_)));
    let mut list: Vec<(&str, Vec<Node>)> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        let (role, mut blocks) = match turn {
            Turn::User(parts) if parts.is_empty() => ("user", vec![text("(empty)")]),
            Turn::User(parts) => ("user", parts.iter().map(part).map(Node::Value).collect()),
            Turn::Results(given) => {
                ("user", given.iter().map(|given| result(given, &mut ids)).collect())
            }
            Turn::Assistant(said) => {
                ("assistant", assistant(said, target, Some(at) == last_model, &mut ids)?)
            }
        };
        if list.is_empty() && role == "assistant" {
            list.push(("user", vec![text("(conversation continues)")]));
        }
        match list.last_mut() {
            Some((before, known)) if *before == role => known.append(&mut blocks),
            _ => list.push((role, blocks)),
        }
    }
    if list.last().is_some_and(|(role, _)| *role == "assistant") {
        list.push(("user", vec![text("(continue)")]));
    }
    let each = list.into_iter().map(|(role, blocks)| {
        let mut map = indexmap::IndexMap::new();
        map.insert("role".to_owned(), Node::Value(json!(role)));
        map.insert("content".to_owned(), Node::List(blocks));
        Node::Map(map)
    });
    Ok(Node::List(each.collect()))
}

fn text(text: &str) -> Node {
    Node::Value(json!({"text": text}))
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text { text } if text.trim().is_empty() => json!({"text": "(empty)"}),
        Part::Text { text } => json!({"text": text}),
        Part::ImageUrl { image_url } => match image_url.inline() {
            Some((kind, data)) => {
                let format = kind.strip_prefix("image/").unwrap_or(kind).replace("jpg", "jpeg");
                json!({"image": {"format": format, "source": {"bytes": data}}})
            }
            None => json!({"text": format!("[image at {}]", image_url.url)}),
        },
    }
}

fn result(given: &Given, ids: &mut Ids) -> Node {
    let content = match &given.content {
        content if content.is_blank() => json!([{"text": "(empty)"}]),
        Content::Text(text) => json!([{"text": text}]),
        Content::Parts(parts) => Value::Array(parts.iter().map(part).collect()),
    };
    let id = ids.of(&given.id);
    Node::Value(json!({"toolResult": {"toolUseId": id, "content": content}}))
}

fn assistant(
    said: &Said,
    target: &Target,
    is_last: bool,
    ids: &mut Ids,
) -> Result<Vec<Node>, EncodeError> {
    let mut blocks = Vec::new();
    // Signed reasoning comes first in a message and only the last one is still checked.
    let replay = said.replay.as_ref().filter(|replay| {
        is_last && replay.issuer == target.issuer() && !target.repaired(&Repair::DropThinking)
    });
    for block in replay.iter().flat_map(|replay| &replay.blocks) {
        blocks.push(Node::raw(block)?);
    }
    if !said.text.trim().is_empty() {
        blocks.push(text(&said.text));
    }
    for call in &said.calls {
        let id = ids.of(&call.id);
        blocks.push(Node::Value(
            json!({"toolUse": {"toolUseId": id, "name": call.name, "input": call.arguments}}),
        ));
    }
    if blocks.is_empty() {
        blocks.push(text("(empty)"));
    }
    Ok(blocks)
}
