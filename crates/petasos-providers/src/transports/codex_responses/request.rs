//! Prompts as Responses requests.
//!
//! Nothing is stored at the provider. Encrypted reasoning goes back to the issuer that made it,
//! before the items it belongs to, and to nobody else.

use petasos_contract::message::{Content, Part};
use petasos_contract::model::{Effort, Prompt, ToolChoice};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::limits;
use crate::lower::{self, Lowering, Schemas};
use crate::transport::assemble::hex;
use crate::transport::history::{self, Call, Said, Turn};
use crate::transport::images::Images;
use crate::transport::node::{Body, canonical};
use crate::transport::target::{Repair, Target};
use crate::transport::{EncodeError, WireRequest};

/// Writes a request.
pub(super) fn encode(prompt: &Prompt, target: &Target) -> Result<WireRequest, EncodeError> {
    let turns = history::mend_for(&prompt.messages, Images::of(target, true), &target.issuer());
    if turns.is_empty() {
        return Err(EncodeError::Empty);
    }
    let lowered = lower::lower(&prompt.tools, Schemas::of(target), &target.repairs);
    let mut body = Body::default();
    body.put("model", json!(target.model));
    let instructions = history::clean(&prompt.system);
    if !instructions.is_empty() {
        body.put("instructions", json!(instructions));
    }
    body.put("input", Value::Array(turns.iter().flat_map(|turn| items(turn, target)).collect()));
    tools(&mut body, &lowered, &prompt.tool_choice);
    body.put("store", json!(false));
    if target.streams() || is_codex(target) {
        body.put("stream", json!(true));
    }
    reasoning(&mut body, prompt.effort, target);
    if !is_codex(target) {
        let tokens = limits::wanted(prompt, target).map(|tokens| limits::capped(tokens, target));
        let tokens = tokens.or(target.token_cap());
        body.put_some("max_output_tokens", tokens.map(|tokens| json!(tokens)));
        let warm = prompt.temperature.filter(|_| !thinks(target));
        body.put_some("temperature", warm.map(|warm| json!(warm)));
        let top = prompt.extra.get("top_p").filter(|_| !thinks(target));
        body.put_some("top_p", top.cloned());
        let format = prompt.extra.get("response_format").map(format);
        body.put_some("text", format.map(|format| json!({"format": format})));
    }
    if let Some(answer) = &prompt.answer {
        let format = json!({"type": "json_schema", "name": answer.name, "schema": answer.schema,
            "strict": true});
        body.put("text", json!({"format": format}));
    }
    if hosted(target) {
        body.put("prompt_cache_key", json!(cache_key(&instructions, &lowered)));
    }
    body.merge(&target.extra_body);
    for repair in &target.repairs {
        if let Repair::DropField(field) = repair {
            body.remove(field);
        }
    }
    Ok(WireRequest {
        url: target.below("responses"),
        headers: headers(target),
        body: body.bytes()?,
        offered: lowered.names(),
        quarantined: lowered.quarantined,
    })
}

fn is_codex(target: &Target) -> bool {
    target.provider == "openai-codex"
}

/// Whether the endpoint is a vendor's own and not an imitation with fewer fields.
fn hosted(target: &Target) -> bool {
    is_codex(target)
        || matches!(target.provider.as_str(), "xai" | "xai-oauth")
        || target.is_at("api.openai.com")
}

fn thinks(target: &Target) -> bool {
    let family = target.family();
    ["o1", "o3", "o4", "gpt-5"].iter().any(|start| family.starts_with(start))
        || family.contains("codex")
}

fn headers(target: &Target) -> Vec<(String, String)> {
    let mut headers = target.headers.clone();
    let mut put = |name: &str, value: &str| {
        if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    };
    if is_codex(target) {
        put("originator", "codex_cli_rs");
        if let Some(session) = &target.session {
            put("session_id", session);
            put("x-client-request-id", session);
        }
    }
    if let Some(session) = &target.session
        && target.provider.starts_with("xai")
    {
        put("x-grok-conv-id", session);
    }
    headers
}

fn tools(body: &mut Body, lowered: &Lowering, choice: &ToolChoice) {
    if lowered.tools.is_empty() {
        return;
    }
    let list = lowered.tools.iter().map(|tool| {
        json!({"type": "function", "name": tool.name, "description": tool.description,
            "strict": false, "parameters": tool.schema})
    });
    body.put("tools", Value::Array(list.collect()));
    let choice = match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Off => json!("none"),
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
    };
    body.put("tool_choice", choice);
    body.put("parallel_tool_calls", json!(true));
}

fn reasoning(body: &mut Body, effort: Option<Effort>, target: &Target) {
    let xai = target.provider.starts_with("xai");
    if effort == Some(Effort::Off) || !(thinks(target) || xai) {
        return;
    }
    if xai {
        const TAKES: [&str; 4] = ["grok-3-mini", "grok-4.20-multi-agent", "grok-4.3", "grok-4.5"];
        let family = target.family();
        if let Some(effort) = effort
            && TAKES.iter().any(|start| family.starts_with(start))
        {
            body.put("reasoning", json!({"effort": word(effort.min(Effort::High))}));
        }
    } else {
        let effort = effort.unwrap_or(Effort::Medium);
        let effort = if is_codex(target) { effort.max(Effort::Low) } else { effort };
        body.put("reasoning", json!({"effort": word(effort), "summary": "auto"}));
    }
    body.put("include", json!(["reasoning.encrypted_content"]));
}

fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::Off => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Xhigh | Effort::Max | Effort::Ultra => "xhigh",
    }
}

/// The same key for the same instructions and tools, so that turns of one kind share a cache.
fn cache_key(instructions: &str, lowered: &Lowering) -> String {
    let mut tools: Vec<String> = lowered
        .tools
        .iter()
        .map(|tool| canonical(&json!([tool.name, tool.description, tool.schema])).to_string())
        .collect();
    tools.sort_unstable();
    let digest = Sha256::digest(format!("{instructions}\0{}", tools.join("\0")));
    format!("pck_{}", hex(&digest, 12))
}

fn items(turn: &Turn, target: &Target) -> Vec<Value> {
    match turn {
        Turn::User(parts) => vec![json!({"role": "user", "content": content(parts)})],
        Turn::Results(given) => given
            .iter()
            .map(|given| {
                let output = match &given.content {
                    Content::Text(text) => json!(text),
                    Content::Parts(parts) => list(parts),
                };
                json!({"type": "function_call_output", "call_id": given.id, "output": output})
            })
            .collect(),
        Turn::Assistant(said) => replayed(said, target).unwrap_or_else(|| plain(said)),
    }
}

fn content(parts: &[Part]) -> Value {
    let texts = parts.iter().map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::ImageUrl { .. } => None,
    });
    match texts.collect::<Option<Vec<_>>>() {
        Some(texts) => json!(texts.join("\n\n")),
        None => list(parts),
    }
}

fn list(parts: &[Part]) -> Value {
    let each = parts.iter().map(|part| match part {
        Part::Text { text } => json!({"type": "input_text", "text": text}),
        Part::ImageUrl { image_url } => {
            json!({"type": "input_image", "image_url": image_url.url})
        }
    });
    Value::Array(each.collect())
}

fn plain(said: &Said) -> Vec<Value> {
    let text = (!said.text.is_empty()).then(|| json!({"role": "assistant", "content": said.text}));
    text.into_iter().chain(said.calls.iter().map(call_item)).collect()
}

fn call_item(call: &Call) -> Value {
    json!({"type": "function_call", "call_id": call.id, "name": call.name,
        "arguments": call.arguments_text()})
}

/// The stored items, when this issuer made them and the calls are still the same.
fn replayed(said: &Said, target: &Target) -> Option<Vec<Value>> {
    let replay = said.replay.as_ref().filter(|replay| replay.issuer == target.issuer())?;
    if target.repaired(&Repair::DropEncryptedReasoning) {
        return None;
    }
    let mut calls = said.calls.iter();
    let mut items = Vec::new();
    for raw in &replay.blocks {
        let mut item: Map<String, Value> = serde_json::from_str(raw).ok()?;
        let text = |item: &Map<String, Value>, key: &str| {
            item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        match text(&item, "type").as_str() {
            "reasoning" => {
                let transient = text(&item, "id").starts_with("rs_tmp_");
                if transient || text(&item, "encrypted_content").is_empty() {
                    continue;
                }
                item.shift_remove("id");
                item.shift_remove("status");
                items.push(Value::Object(item));
            }
            "message" => {
                item.shift_remove("status");
                if target.provider == "copilot" || text(&item, "id").len() > 64 {
                    item.shift_remove("id");
                }
                items.push(Value::Object(item));
            }
            "function_call" => {
                let call = calls.next().filter(|call| call.id == text(&item, "call_id"))?;
                items.push(call_item(call));
            }
            _ => {}
        }
    }
    if calls.next().is_some() { None } else { Some(items) }
}

/// The shape of an answer as this interface writes it: what chat completions nest lies flat here.
fn format(given: &Value) -> Value {
    let mut flat = given.clone();
    let nested = flat.as_object_mut().and_then(|flat| flat.shift_remove("json_schema"));
    if let (Some(flat), Some(Value::Object(nested))) = (flat.as_object_mut(), nested) {
        flat.extend(nested);
    }
    flat
}
