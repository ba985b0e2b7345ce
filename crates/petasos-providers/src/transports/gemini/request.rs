//! Prompts as generateContent requests.

use petasos_contract::message::{Content, Part};
use petasos_contract::model::{Effort, Prompt, ToolChoice};
use serde_json::{Map, Value, json};

use crate::limits;
use crate::lower::{self, Lowering, Schemas};
use crate::transport::history::{self, Given, Said, Turn};
use crate::transport::images::Images;
use crate::transport::node::Body;
use crate::transport::target::{Repair, Target};
use crate::transport::{EncodeError, WireRequest};

const OUTPUT_DEFAULT: u32 = 65_535;
/// The documented stand-in for a call that another model made: without any signature the newest
/// models refuse the whole history.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Writes a request.
pub(super) fn encode(prompt: &Prompt, target: &Target) -> Result<WireRequest, EncodeError> {
    let turns = history::mend(&prompt.messages, Images::of(target, true));
    if turns.is_empty() {
        return Err(EncodeError::Empty);
    }
    let lowered = lower::lower(&prompt.tools, Schemas::Gemini, &target.repairs);
    let mut body = Body::default();
    body.put("contents", contents(&turns, target));
    if !prompt.system.is_empty() {
        let text = history::clean(&prompt.system);
        body.put("systemInstruction", json!({"parts": [{"text": text}]}));
    }
    tools(&mut body, &lowered, &prompt.tool_choice);
    body.put("generationConfig", generation(prompt, target));
    body.merge(&target.extra_body);
    for repair in &target.repairs {
        if let Repair::DropField(field) = repair {
            body.remove(field);
        }
    }
    let model = target.model.trim_start_matches("models/").trim_start_matches("google/");
    let action = if target.streams() { "streamGenerateContent?alt=sse" } else { "generateContent" };
    Ok(WireRequest {
        url: target.below(&format!("models/{model}:{action}")),
        headers: target.headers.clone(),
        body: body.bytes()?,
        offered: lowered.names(),
        quarantined: lowered.quarantined,
    })
}

fn tools(body: &mut Body, lowered: &Lowering, choice: &ToolChoice) {
    if lowered.tools.is_empty() {
        return;
    }
    let list = lowered.tools.iter().map(|tool| {
        let mut one = Map::new();
        one.insert("name".to_owned(), json!(tool.name));
        one.insert("description".to_owned(), json!(tool.description));
        // An object without properties is refused; no parameters at all is the accepted spelling.
        let empty =
            tool.schema.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty);
        if !empty {
            one.insert("parameters".to_owned(), tool.schema.clone());
        }
        Value::Object(one)
    });
    body.put("tools", json!([{"functionDeclarations": list.collect::<Vec<_>>()}]));
    let calling = match choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        ToolChoice::Off => json!({"mode": "NONE"}),
    };
    body.put("toolConfig", json!({"functionCallingConfig": calling}));
}

fn generation(prompt: &Prompt, target: &Target) -> Value {
    let tokens = limits::wanted(prompt, target).or(target.default_max_tokens);
    let tokens = limits::capped(tokens.unwrap_or(OUTPUT_DEFAULT), target);
    let mut config = json!({"maxOutputTokens": tokens});
    if let Some(warm) = prompt.temperature {
        config["temperature"] = json!(warm);
    }
    for (ours, theirs) in [("top_p", "topP"), ("seed", "seed")] {
        if let Some(value) = prompt.extra.get(ours) {
            config[theirs] = value.clone();
        }
    }
    if let Some(stops) = history::stops(prompt) {
        config["stopSequences"] = Value::Array(stops);
    }
    if let Some(answer) = &prompt.answer {
        config["responseMimeType"] = json!("application/json");
        config["responseJsonSchema"] = answer.schema.clone();
    }
    if let Some(effort) = prompt.effort {
        let mut thinking = json!({"includeThoughts": effort != Effort::Off});
        if let Some(level) = limits::gemini_level(effort, &target.family()) {
            thinking["thinkingLevel"] = json!(level);
        }
        config["thinkingConfig"] = thinking;
    }
    config
}

fn contents(turns: &[Turn], target: &Target) -> Value {
    let mut list: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in turns {
        let (role, mut parts) = match turn {
            Turn::User(parts) => ("user", user(parts)),
            Turn::Assistant(said) => ("model", model(said, target)),
            Turn::Results(given) => ("user", given.iter().flat_map(result).collect()),
        };
        match list.last_mut() {
            Some((before, known)) if *before == role => known.append(&mut parts),
            None if role == "model" => {
                list.push(("user", vec![json!({"text": "(conversation continues)"})]));
                list.push((role, parts));
            }
            _ => list.push((role, parts)),
        }
    }
    let each = list.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts}));
    Value::Array(each.collect())
}

fn user(parts: &[Part]) -> Vec<Value> {
    if parts.is_empty() {
        return vec![json!({"text": "(empty message)"})];
    }
    parts.iter().map(part).collect()
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text { text } => json!({"text": text}),
        Part::ImageUrl { image_url } => match image_url.inline() {
            Some((kind, data)) => json!({"inlineData": {"mimeType": kind, "data": data}}),
            None => json!({"fileData": {"fileUri": image_url.url}}),
        },
    }
}

fn model(said: &Said, target: &Target) -> Vec<Value> {
    let mut parts = Vec::new();
    if !said.text.is_empty() {
        parts.push(json!({"text": said.text}));
    }
    for (at, call) in said.calls.iter().enumerate() {
        let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments}});
        let data = call.provider_data.as_deref();
        let data = data.and_then(|data| serde_json::from_str::<Value>(data).ok());
        let signature = data.and_then(|data| data.get("thoughtSignature").cloned());
        let needs = at == 0 && target.family().starts_with("gemini-3");
        let signature = signature.or(needs.then(|| json!(FOREIGN_SIGNATURE)));
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature;
        }
        parts.push(part);
    }
    parts
}

/// A result is an object, or text below `output`; its images follow as parts of their own.
fn result(given: &Given) -> Vec<Value> {
    let text = given.content.text();
    let response = match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ => json!({"output": text}),
    };
    let mut parts = vec![json!({"functionResponse": {"name": given.name, "response": response}})];
    if let Content::Parts(inner) = &given.content {
        let images = inner.iter().filter(|part| matches!(part, Part::ImageUrl { .. }));
        parts.extend(images.map(part));
    }
    parts
}
