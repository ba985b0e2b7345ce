//! Arguments: argument text becomes a JSON object, or a fault that says what was wrong.

use petasos_contract::Args;
use petasos_contract::call::{RawArguments, Refusal, RefusalKind, ToolCall};
use serde_json::Value;

use super::Parsed;

/// Reads the arguments of a call; nothing is repaired here.
pub(super) fn parse(call: ToolCall) -> Parsed {
    let args = match call.arguments {
        RawArguments::Object(object) => Ok(Args::new(object)),
        RawArguments::Text(text) => parse_arguments(&text),
    };
    Parsed { id: call.id, name: call.name, args }
}

/// Argument text as an object. Empty text means no arguments, as some models send it.
pub fn parse_arguments(text: &str) -> Result<Args, Refusal> {
    if text.trim().is_empty() {
        return Ok(Args::default());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Args::try_from(value).map_err(|other| fault(kind_of(&other))),
        Err(error) => Err(fault(&format!("invalid JSON ({error})"))),
    }
}

fn fault(what: &str) -> Refusal {
    let message = format!(
        "The arguments must be one JSON object, but they are {what}. The tool was not run: send \
         the call again with well-formed arguments."
    );
    Refusal::new(RefusalKind::BadArguments, "Invalid tool arguments").with("message", message)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
