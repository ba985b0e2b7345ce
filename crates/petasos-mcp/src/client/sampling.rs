//! A server asks for a completion: its request becomes a prompt, the reply becomes its result.

use std::sync::Arc;
use std::time::Instant;

use petasos_contract::context::Surface;
use petasos_contract::message::{Assistant, Content, Message, Part, RequestedCall, ToolMessage};
use petasos_contract::model::{Definition, Finish, Model, Prompt, Reply, Role};
use petasos_contract::{CallContext, SessionId, wait};
use serde_json::{Value, json};

use super::results::mask;
use super::shared::Around;
use super::spec::Sampling;

/// Asks the model; both sides in the protocol's shape.
pub(super) async fn answer(
    model: &dyn Model,
    limits: &Sampling,
    request: &Value,
    cx: Option<CallContext>,
    around: &Around,
) -> Result<Value, String> {
    let prompt = prompt(limits, request)?;
    let cx = cx.unwrap_or_else(|| {
        CallContext::new(Arc::clone(&around.settings), Surface::Mcp, SessionId::new("mcp-sampling"))
    });
    let asking = model.ask(&prompt, Role::Mcp, &cx);
    let deadline = Instant::now() + limits.timeout;
    match wait::until(deadline, "a model to answer an MCP server", asking).await {
        Ok(Ok(reply)) => Ok(result(&reply)),
        Ok(Err(error)) => Err(mask(&error.to_string())),
        Err(error) => Err(error.to_string()),
    }
}

fn prompt(limits: &Sampling, request: &Value) -> Result<Prompt, String> {
    let model = chosen(limits, request)?;
    let messages = request.get("messages").and_then(Value::as_array).into_iter().flatten();
    let mut prompt =
        Prompt { system: text_at(request, "systemPrompt"), model, ..Prompt::default() };
    prompt.messages = messages.flat_map(message).collect();
    let rounds = prompt.messages.iter().filter(
        |message| matches!(message, Message::Assistant(said) if !said.tool_calls.is_empty()),
    );
    let asked =
        request.get("maxTokens").and_then(Value::as_u64).unwrap_or(u64::from(limits.max_tokens));
    prompt.max_tokens = Some(u32::try_from(asked).unwrap_or(u32::MAX).min(limits.max_tokens));
    if rounds.count() < limits.max_tool_rounds {
        let tools = request.get("tools").and_then(Value::as_array).into_iter().flatten();
        prompt.tools = tools.map(definition).collect();
    }
    Ok(prompt)
}

/// The model to insist on: the configured one, else one of the allowed ones; without either the
/// usual model answers, whatever the server would like.
fn chosen(limits: &Sampling, request: &Value) -> Result<Option<String>, String> {
    let allowed = &limits.allowed_models;
    if let Some(model) = &limits.model {
        if !allowed.is_empty() && !allowed.contains(model) {
            return Err(format!(
                "`sampling.model: {model}` is not among `sampling.allowed_models`"
            ));
        }
        return Ok(Some(model.clone()));
    }
    let Some(first) = allowed.first() else { return Ok(None) };
    let hints = request.pointer("/modelPreferences/hints").and_then(Value::as_array);
    let mut hints = hints.into_iter().flatten().filter_map(|hint| hint.get("name")?.as_str());
    let mut named = hints.clone().peekable();
    if named.peek().is_none() {
        return Ok(Some(first.clone()));
    }
    match hints.find(|hint| allowed.iter().any(|model| model == hint)) {
        Some(hint) => Ok(Some(hint.to_owned())),
        None => Err(format!(
            "only these models may be asked (`sampling.allowed_models`): {}",
            allowed.join(", ")
        )),
    }
}

fn text_at(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn definition(tool: &Value) -> Definition {
    Definition {
        name: text_at(tool, "name").into(),
        description: text_at(tool, "description"),
        parameters: tool.get("inputSchema").cloned().unwrap_or_else(|| json!({ "type": "object" })),
    }
}

/// A message of theirs as ours; results of tools are messages of their own.
fn message(value: &Value) -> Vec<Message> {
    let blocks = match value.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(block) => vec![block.clone()],
        None => Vec::new(),
    };
    let is = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    let mut made = Vec::new();
    for block in blocks.iter().filter(|block| is(block, "tool_result")) {
        let texts = block.get("content").and_then(Value::as_array).into_iter().flatten();
        let text: Vec<String> = texts.map(|text| text_at(text, "text")).collect();
        made.push(Message::Tool(ToolMessage {
            tool_call_id: text_at(block, "toolUseId").into(),
            name: None,
            content: Content::Text(text.join("\n")),
        }));
    }
    let parts: Vec<Part> = blocks.iter().filter_map(part).collect();
    if text_at(value, "role") == "assistant" {
        let calls =
            blocks.iter().filter(|block| is(block, "tool_use")).map(|block| RequestedCall {
                id: text_at(block, "id").into(),
                name: text_at(block, "name").into(),
                arguments: block.get("input").map(Value::to_string).unwrap_or_default(),
                provider_data: None,
            });
        let content = Some(Content::Parts(parts).text()).filter(|text| !text.is_empty());
        made.push(Message::Assistant(Assistant {
            content,
            tool_calls: calls.collect(),
            ..Assistant::default()
        }));
    } else if !parts.is_empty() {
        made.push(Message::User { content: Content::Parts(parts) });
    }
    made
}

fn part(block: &Value) -> Option<Part> {
    match block.get("type")?.as_str()? {
        "text" => Some(Part::text(text_at(block, "text"))),
        "image" => {
            let (kind, data) = (text_at(block, "mimeType"), text_at(block, "data"));
            Some(Part::image(format!("data:{kind};base64,{data}")))
        }
        _ => None,
    }
}

fn result(reply: &Reply) -> Value {
    let said = &reply.message;
    let mut blocks = Vec::new();
    if let Some(text) = said.content.as_deref().filter(|text| !text.is_empty()) {
        blocks.push(json!({ "type": "text", "text": text }));
    }
    for call in &said.tool_calls {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        blocks.push(json!({
            "type": "tool_use", "id": call.id.as_str(), "name": call.name.as_str(), "input": input,
        }));
    }
    let stop = match reply.finish {
        Finish::Length => "maxTokens",
        Finish::ToolCalls => "toolUse",
        _ => "endTurn",
    };
    let content = match blocks.len() {
        0 => json!({ "type": "text", "text": "" }),
        1 => blocks.remove(0),
        _ => Value::Array(blocks),
    };
    json!({
        "role": "assistant", "content": content, "model": reply.served.model, "stopReason": stop,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    type Chosen = Result<Option<&'static str>, &'static str>;

    #[test]
    fn only_an_allowed_model_is_ever_asked() {
        let limits = |model: Option<&str>, allowed: &[&str]| Sampling {
            enabled: true,
            max_rpm: 10,
            timeout: Duration::from_secs(1),
            max_tokens: 10,
            max_tool_rounds: 1,
            allowed_models: allowed.iter().map(ToString::to_string).collect(),
            model: model.map(str::to_owned),
        };
        let asks = |names: &[&str]| {
            let hints: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
            json!({ "messages": [], "modelPreferences": { "hints": hints } })
        };
        let rows: [(Sampling, Value, Chosen); 7] = [
            (limits(None, &[]), json!({ "messages": [] }), Ok(None)),
            (limits(None, &[]), asks(&["x"]), Ok(None)),
            (limits(None, &["a", "b"]), json!({ "messages": [] }), Ok(Some("a"))),
            (limits(None, &["a", "b"]), asks(&["x", "b"]), Ok(Some("b"))),
            (limits(None, &["a", "b"]), asks(&["x"]), Err("a, b")),
            (limits(Some("a"), &["a"]), asks(&["x"]), Ok(Some("a"))),
            (limits(Some("c"), &["a"]), asks(&["a"]), Err("not among")),
        ];
        for (limits, request, expected) in rows {
            match (prompt(&limits, &request), expected) {
                (Ok(prompt), Ok(model)) => assert_eq!(prompt.model.as_deref(), model, "{request}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (given, _) => panic!("{request}: {:?}", given.map(|prompt| prompt.model)),
            }
        }
    }
}
