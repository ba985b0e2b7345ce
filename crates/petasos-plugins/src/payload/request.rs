//! Requests to a model and their replies as JSON, in both directions: hooks read them, middleware
//! may also change them.

use petasos_contract::hook::RequestMoment;
use petasos_contract::message::{Assistant, Message};
use petasos_contract::model::{Definition, ModelError, Prompt, Reply, ToolChoice};
use petasos_contract::reply::{Finish, Usage};
use serde_json::{Map, Value, json};

use super::trace;

/// A prompt as JSON.
pub fn prompt_json(prompt: &Prompt) -> Value {
    json!({
        "system": prompt.system,
        "messages": prompt.messages,
        "tools": tools(&prompt.tools),
        "tool_choice": match &prompt.tool_choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::Required => json!("required"),
            ToolChoice::Off => json!("none"),
            ToolChoice::Named(name) => json!({ "name": name }),
        },
        "model": prompt.model,
        "provider": prompt.provider,
        "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature,
        "effort": prompt.effort,
    })
}

fn tools(tools: &[Definition]) -> Value {
    tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            })
        })
        .collect()
}

/// The prompt with the fields that a middleware gave; the others stay. Tools are only ever taken
/// away: what the model is offered is the catalogue's to say.
pub fn prompt_with(prompt: &Prompt, changed: &Map<String, Value>) -> Result<Prompt, String> {
    let mut next = prompt.clone();
    for (name, value) in changed {
        let wrong = |error: serde_json::Error| format!("`{name}` does not fit: {error}");
        match name.as_str() {
            "system" => next.system = serde_json::from_value(value.clone()).map_err(wrong)?,
            "messages" => {
                let messages: Vec<Message> =
                    serde_json::from_value(value.clone()).map_err(wrong)?;
                next.messages = messages;
            }
            "model" => next.model = serde_json::from_value(value.clone()).map_err(wrong)?,
            "provider" => next.provider = serde_json::from_value(value.clone()).map_err(wrong)?,
            "max_tokens" => {
                next.max_tokens = serde_json::from_value(value.clone()).map_err(wrong)?;
            }
            "temperature" => {
                next.temperature = serde_json::from_value(value.clone()).map_err(wrong)?;
            }
            "effort" => next.effort = serde_json::from_value(value.clone()).map_err(wrong)?,
            "tools" => {
                let kept: Vec<&str> = value
                    .as_array()
                    .map(|tools| {
                        tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect()
                    })
                    .unwrap_or_default();
                let stays = |tool: &&Definition| kept.contains(&tool.name.as_str());
                next.tools = prompt.tools.iter().filter(stays).cloned().collect();
            }
            _ => {}
        }
    }
    Ok(next)
}

/// A reply as JSON.
pub fn reply_json(reply: &Reply) -> Value {
    json!({
        "message": reply.message,
        "finish_reason": reply.finish,
        "usage": reply.usage,
        "model": reply.model,
        "served": reply.served,
    })
}

/// A reply that a middleware gave: a changed one, or plain text. What it cost stays known.
pub fn reply_from(value: &Value, given: Option<Reply>) -> Result<Reply, String> {
    let base = given.unwrap_or_default();
    if let Some(text) = value.as_str() {
        let message = Assistant { content: Some(text.to_owned()), ..Assistant::default() };
        return Ok(Reply { message, finish: Finish::Stop, ..base });
    }
    let message = value.get("message").ok_or("a reply needs `message`, or be a text")?;
    let message: Assistant =
        serde_json::from_value(message.clone()).map_err(|error| format!("`message`: {error}"))?;
    let finish = value.get("finish_reason").cloned().unwrap_or(Value::Null);
    let finish = serde_json::from_value(finish).unwrap_or(base.finish);
    let usage = value.get("usage").cloned().unwrap_or(Value::Null);
    let usage: Usage = serde_json::from_value(usage).unwrap_or(base.usage);
    Ok(Reply { message, finish, usage, ..base })
}

fn common(about: &RequestMoment<'_>) -> Value {
    json!({
        "api_request_id": about.request_id,
        "role": about.role,
        "model": about.prompt.model,
        "provider": about.prompt.provider,
        "api_call_count": about.call_count,
        "message_count": about.prompt.messages.len(),
        "tool_count": about.prompt.tools.len(),
        "started_at": about.started_at,
        "max_tokens": about.prompt.max_tokens,
        "middleware_trace": trace(about.rewrites),
    })
}

pub(super) fn before(about: &RequestMoment<'_>) -> Value {
    let request = prompt_json(about.prompt);
    let chars = request.to_string().chars().count();
    let last = about.prompt.messages.iter().rev().find_map(|message| match message {
        Message::User { content } => Some(content.text()),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    super::with(
        common(about),
        json!({
            "request_messages": about.prompt.messages,
            "conversation_history": about.prompt.messages,
            "user_message": last,
            "request_char_count": chars,
            "approx_input_tokens": chars / 4,
            "request": request,
        }),
    )
}

pub(super) fn after(about: &RequestMoment<'_>, reply: &Reply) -> Value {
    super::with(
        common(about),
        json!({
            "api_duration": about.took.as_secs_f64(),
            "ended_at": about.started_at + about.took.as_secs_f64(),
            "finish_reason": reply.finish,
            "model": reply.served.model,
            "provider": reply.served.provider,
            "base_url": reply.served.base_url,
            "api_mode": reply.served.api_mode,
            "response_model": reply.model,
            "response": reply_json(reply),
            "usage": reply.usage,
            "assistant_message": reply.message,
            "assistant_content_chars": reply.message.text().chars().count(),
            "assistant_tool_call_count": reply.message.tool_calls.len(),
        }),
    )
}

pub(super) fn failed(about: &RequestMoment<'_>, error: &ModelError) -> Value {
    super::with(
        common(about),
        json!({
            "api_duration": about.took.as_secs_f64(),
            "status_code": error.status,
            "retry_count": error.path.len(),
            "retryable": false,
            "reason": error.reason,
            "error": { "type": error.reason, "message": error.line },
        }),
    )
}
