//! A provider's error body taken apart, whatever its shape.

use serde_json::Value;

use crate::transport::decode::Fault;

/// How much of a page or message is kept.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Reads the shapes in use: `{"error": {...}}`, `{"error": "text"}`, flat, Google's and Amazon's.
pub fn fault(body: &Value) -> Fault {
    // A list around the object is what Google's streams answer with.
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let nested = ["/response/error", "/error"]
        .iter()
        .find_map(|path| body.pointer(path).filter(|error| error.is_object() || error.is_string()));
    let error = nested.unwrap_or(body);
    if let Some(text) = error.as_str() {
        let code = word(body, "code");
        return Fault { message: cut(text), code, ..Fault::default() };
    }
    let mut message = ["message", "Message", "detail", "msg"]
        .iter()
        .find_map(|key| word(error, key))
        .unwrap_or_default();
    // An aggregator wraps the upstream's own words.
    if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
        message = format!("{message}: {raw}");
    }
    // llama.cpp states the window beside its words.
    if let Some(window) = error.get("n_ctx").and_then(Value::as_u64) {
        message = format!("{message}; context size ({window})");
    }
    if message.is_empty() && !error.is_null() {
        message = error.to_string();
    }
    let number = error
        .get("code")
        .and_then(Value::as_u64)
        .or_else(|| error.get("status").and_then(Value::as_u64));
    let status = number.and_then(|number| u16::try_from(number).ok());
    let status = status.filter(|status| (400..600).contains(status));
    let kind =
        word(error, "type").or_else(|| word(error, "status")).or_else(|| word(error, "__type"));
    Fault {
        status,
        kind: kind.map(|kind| kind.rsplit('#').next().unwrap_or(&kind).to_owned()),
        code: reason(error).or_else(|| word(error, "code")),
        message: cut(&message),
        param: word(error, "param"),
    }
}

/// Google names the finer reason among the details.
fn reason(error: &Value) -> Option<String> {
    let details = error.get("details")?.as_array()?;
    details.iter().find_map(|detail| word(detail, "reason"))
}

fn word(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The title or the first words of a page that is no answer.
pub(super) fn page(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let end = lower.get(start..)?.find("</title>")? + start;
        text.get(start + "<title>".len()..end)
    });
    let said = title.unwrap_or(text).trim();
    let said: String = said.chars().take(200).collect();
    if said.is_empty() { "an empty body".to_owned() } else { format!("not JSON: {said}") }
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}
