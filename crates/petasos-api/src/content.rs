//! Messages of OpenAI's interfaces as ours: roles, parts, limits.

use petasos_contract::message::{Assistant, Content, ImageUrl, Message, Part, RequestedCall};
use serde_json::Value;

use crate::error::ApiError;

/// The longest text of one part, in characters.
const TEXT_MAX: usize = 1_000_000;
/// Messages of a request, and parts of a message.
const MESSAGES_MAX: usize = 2_000;
const PARTS_MAX: usize = 1_000;
/// The largest image inside a request.
const IMAGE_MAX: usize = 20 * 1024 * 1024;

/// What a list of messages says.
#[derive(Debug)]
pub(crate) struct Said {
    /// System and developer texts, joined.
    pub(crate) instructions: Option<String>,
    pub(crate) history: Vec<Message>,
    pub(crate) input: Content,
}

/// Takes a list of messages apart: the last of the user is the input.
pub(crate) fn said(messages: &[Value], param: &'static str) -> Result<Said, ApiError> {
    if messages.is_empty() {
        let error = ApiError::bad("missing_messages", format!("`{param}` is empty"));
        return Err(ApiError { param: Some(param), ..error });
    }
    if messages.len() > MESSAGES_MAX {
        let message = format!("`{param}` has more than {MESSAGES_MAX} entries");
        return Err(ApiError::field(param, message));
    }
    let mut instructions: Vec<String> = Vec::new();
    let mut history: Vec<Message> = Vec::new();
    for message in messages {
        match one(message, param)? {
            One::Instruction(text) => instructions.push(text),
            One::Message(message) => history.push(message),
            One::Nothing => {}
        }
    }
    let Some(Message::User { content }) = history.pop() else {
        let message = format!("the last entry of `{param}` must be the user's");
        let error = ApiError::bad("missing_messages", message);
        return Err(ApiError { param: Some(param), ..error });
    };
    if content.is_blank() {
        let error = ApiError::bad("missing_messages", "the user's message is empty");
        return Err(ApiError { param: Some(param), ..error });
    }
    paired(&history, param)?;
    let instructions = (!instructions.is_empty()).then(|| instructions.join("\n\n"));
    Ok(Said { instructions, history, input: content })
}

enum One {
    Instruction(String),
    Message(Message),
    /// Something that carries no words: reasoning of an earlier response.
    Nothing,
}

fn one(message: &Value, param: &'static str) -> Result<One, ApiError> {
    let text = |key: &str| message.get(key).and_then(Value::as_str);
    match text("type") {
        Some("function_call") => return Ok(One::Message(call(message))),
        Some("function_call_output") => {
            let output = message.get("output").unwrap_or(&Value::Null);
            let output = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            let id = text("call_id").unwrap_or_default();
            return Ok(One::Message(Message::tool(id, output)));
        }
        Some("reasoning" | "item_reference") => return Ok(One::Nothing),
        _ => {}
    }
    let content = content(message.get("content").unwrap_or(&Value::Null), param);
    Ok(match text("role") {
        Some("system" | "developer") => One::Instruction(content?.text()),
        Some("user") => One::Message(Message::User { content: content? }),
        Some("assistant") => One::Message(Message::Assistant(assistant(message, content)?)),
        Some("tool") => {
            let id = text("tool_call_id").unwrap_or_default();
            One::Message(Message::tool(id, content?.text()))
        }
        role => {
            let message = format!("`{}` is no role", role.unwrap_or("(nothing)"));
            return Err(ApiError::field(param, message));
        }
    })
}

fn assistant(message: &Value, content: Result<Content, ApiError>) -> Result<Assistant, ApiError> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let tool_calls = calls.into_iter().flatten().map(|call| {
        let function = call.get("function").unwrap_or(&Value::Null);
        let text = |from: &Value, key: &str| {
            from.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        RequestedCall {
            id: text(call, "id").into(),
            name: text(function, "name").into(),
            arguments: text(function, "arguments"),
            provider_data: None,
        }
    });
    Ok(Assistant {
        content: Some(content?.text()).filter(|text| !text.is_empty()),
        tool_calls: tool_calls.collect(),
        ..Assistant::default()
    })
}

fn call(item: &Value) -> Message {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Message::Assistant(Assistant {
        tool_calls: vec![RequestedCall {
            id: text("call_id").into(),
            name: text("name").into(),
            arguments: text("arguments"),
            provider_data: None,
        }],
        ..Assistant::default()
    })
}

/// Every call has its result and every result its call, or no provider takes the history.
fn paired(history: &[Message], param: &'static str) -> Result<(), ApiError> {
    let mut open: Vec<&str> = Vec::new();
    let torn = |id: &str| {
        let message = format!("the call `{id}` of `{param}` has no result, or the result no call");
        ApiError::field(param, message)
    };
    for message in history {
        match message {
            Message::Tool(result) => {
                let id = result.tool_call_id.as_str();
                let at = open.iter().position(|open| *open == id).ok_or_else(|| torn(id))?;
                open.remove(at);
            }
            Message::Assistant(said) if !said.tool_calls.is_empty() => {
                open.extend(said.tool_calls.iter().map(|call| call.id.as_str()));
            }
            _ => {
                if let Some(id) = open.first() {
                    return Err(torn(id));
                }
            }
        }
    }
    open.first().map_or(Ok(()), |id| Err(torn(id)))
}

/// Text, or parts.
pub(crate) fn content(value: &Value, param: &'static str) -> Result<Content, ApiError> {
    match value {
        Value::Null => Ok(Content::Text(String::new())),
        Value::String(text) => Ok(Content::Text(within(text, param)?)),
        Value::Array(parts) if parts.len() > PARTS_MAX => {
            Err(ApiError::field(param, format!("a message has more than {PARTS_MAX} parts")))
        }
        Value::Array(parts) => {
            let parts: Vec<Part> =
                parts.iter().map(|it| part(it, param)).collect::<Result<_, _>>()?;
            let texts = parts.iter().all(|part| matches!(part, Part::Text { .. }));
            let content = Content::Parts(parts);
            Ok(if texts { Content::Text(content.text()) } else { content })
        }
        _ => Err(ApiError::field(param, "`content` must be text or a list of parts")),
    }
}

fn within(text: &str, param: &'static str) -> Result<String, ApiError> {
    if text.len() > TEXT_MAX && text.chars().count() > TEXT_MAX {
        return Err(ApiError::field(param, format!("a text has more than {TEXT_MAX} characters")));
    }
    Ok(text.to_owned())
}

fn part(value: &Value, param: &'static str) -> Result<Part, ApiError> {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "text" | "input_text" | "output_text" | "refusal" => {
            let key = if kind == "refusal" { "refusal" } else { "text" };
            let text = value.get(key).and_then(Value::as_str);
            let text = text.ok_or_else(|| ApiError::field(param, "a text part has no text"))?;
            Ok(Part::Text { text: within(text, param)? })
        }
        "image_url" | "input_image" => {
            let image = value.get("image_url").unwrap_or(&Value::Null);
            let url = image.as_str().or_else(|| image.get("url").and_then(Value::as_str));
            let detail = image.get("detail").or_else(|| value.get("detail"));
            let detail = detail.and_then(Value::as_str).map(str::to_owned);
            let url = image_url(url.unwrap_or_default())?;
            Ok(Part::ImageUrl { image_url: ImageUrl { url, detail } })
        }
        kind => {
            let message = format!("parts of type `{kind}` are not supported: text and images are");
            let error = ApiError::bad("unsupported_content_type", message);
            Err(ApiError { param: Some(param), ..error })
        }
    }
}

fn image_url(url: &str) -> Result<String, ApiError> {
    let bad = |message: &str| ApiError::bad("invalid_image_url", message);
    if url.len() > IMAGE_MAX {
        return Err(bad("the image has more than 20 MiB"));
    }
    let inline = url.starts_with("data:image/") && url.contains(";base64,");
    let remote = url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
    if inline || remote {
        Ok(url.to_owned())
    } else {
        Err(bad("an image is an https: address or data:image/…;base64,…"))
    }
}
