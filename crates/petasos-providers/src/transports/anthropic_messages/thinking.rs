//! What is asked about thinking, and which thinking blocks go back.
//!
//! A signed block is valid only where its issuer put it: it goes back to the same issuer, in the
//! last model message, in its original order, byte for byte; elsewhere it is left out.

use petasos_contract::model::{Effort, Prompt};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::request::{Block, object, text};
use crate::limits;
use crate::transport::history::{Call, Said};
use crate::transport::node::Body;
use crate::transport::target::{Repair, Target};

/// Where a model message stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Whether no model message follows.
    pub(super) is_last: bool,
}

/// How an endpoint wants thinking back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    /// Signed blocks of the last message.
    Last,
    /// Everything.
    All,
    /// Unsigned blocks only.
    Unsigned,
    /// Nothing.
    Nothing,
}

fn wants(target: &Target) -> Wants {
    if target.repaired(&Repair::DropThinking) {
        Wants::Nothing
    } else if target.is_at("anthropic.com") || super::bedrock::serves(target) {
        Wants::Last
    } else if target.is_at("api.kimi.com") || target.provider.starts_with("kimi") {
        Wants::All
    } else if target.is_at("deepseek.com") {
        Wants::Unsigned
    } else {
        Wants::Nothing
    }
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    signature: String,
    #[serde(default)]
    id: String,
}

/// The blocks of a model message.
pub(super) fn blocks(
    said: &Said,
    target: &Target,
    place: Place,
    id_of: &mut dyn FnMut(&str) -> String,
) -> Vec<Block> {
    // The mapping must know every identity, also those that a replayed block spells itself.
    let calls: Vec<Block> = said.calls.iter().map(|call| tool_use(call, id_of)).collect();
    if let Some(blocks) = replayed(said, target, place, &calls) {
        return blocks;
    }
    let mut blocks = Vec::new();
    if !said.text.trim().is_empty() {
        blocks.push(text(&said.text));
    }
    blocks.extend(calls);
    if blocks.is_empty() {
        blocks.push(text("(empty)"));
    }
    blocks
}

fn tool_use(call: &Call, id_of: &mut dyn FnMut(&str) -> String) -> Block {
    let id = id_of(&call.id);
    Block::Own(object(
        json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments}),
    ))
}

/// The stored sequence, when this endpoint wants it and nothing was edited since.
fn replayed(said: &Said, target: &Target, place: Place, calls: &[Block]) -> Option<Vec<Block>> {
    let replay = said.replay.as_ref().filter(|replay| replay.issuer == target.issuer())?;
    let wants = wants(target);
    if wants == Wants::Nothing || (wants == Wants::Last && !place.is_last) {
        return None;
    }
    let mut calls_left = calls.iter();
    let mut blocks = Vec::new();
    for raw in &replay.blocks {
        let head: Head = serde_json::from_str(raw).ok()?;
        match head.kind.as_str() {
            "thinking" if wants == Wants::Unsigned && !head.signature.is_empty() => {}
            "thinking" if wants == Wants::Last && head.signature.is_empty() => {}
            "tool_use" => {
                // The call must still be the one that was signed around.
                let ours = calls_left.next()?;
                let Block::Own(map) = ours else { return None };
                if map.get("id").and_then(Value::as_str) != Some(head.id.as_str()) {
                    return None;
                }
                blocks.push(Block::Raw(raw.clone()));
            }
            _ => blocks.push(Block::Raw(raw.clone())),
        }
    }
    if calls_left.next().is_some() || blocks.is_empty() {
        return None;
    }
    Some(blocks)
}

/// Puts what the model is told about thinking; gives what belongs into `output_config`.
pub(super) fn put(body: &mut Body, prompt: &Prompt, target: &Target) -> Map<String, Value> {
    let family = target.family();
    let Some(effort) = prompt.effort.filter(|effort| *effort != Effort::Off) else {
        return Map::new();
    };
    let kimi = family.starts_with("kimi");
    if limits::is_adaptive(&family) || kimi {
        body.put("thinking", json!({"type": "adaptive", "display": "summarized"}));
        let newest = limits::claude_version(&family).is_none_or(|version| version >= (4, 7));
        return object(json!({"effort": adaptive(effort, newest)}));
    }
    let budgeted = family.contains("claude") && !family.contains("haiku");
    if !budgeted || limits::claude_version(&family).is_some_and(|version| version < (3, 7)) {
        return Map::new();
    }
    let budget: u32 = match effort {
        Effort::Off | Effort::Minimal | Effort::Low => 4_000,
        Effort::Medium => 8_000,
        Effort::High => 16_000,
        Effort::Xhigh | Effort::Max | Effort::Ultra => 32_000,
    };
    body.put("thinking", json!({"type": "enabled", "budget_tokens": budget}));
    body.put("temperature", json!(1));
    let tokens = limits::messages(prompt, target).max(budget + 4_096);
    body.put("max_tokens", json!(tokens));
    Map::new()
}

fn adaptive(effort: Effort, newest: bool) -> &'static str {
    match effort {
        Effort::Off | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Xhigh if newest => "xhigh",
        Effort::Xhigh | Effort::Max | Effort::Ultra => "max",
    }
}
