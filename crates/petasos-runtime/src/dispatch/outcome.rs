//! Whether a result is a failure, for display, guardrails and logs. Pure, by the shape of the text.

use petasos_contract::tool::FailureSign;
use serde_json::{Map, Value};

/// Results longer than this are judged by their beginning.
const GLANCE_CHARS: usize = 500;

/// How a result failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The tool says so.
    Plain,
    /// A store is full.
    Full,
}

/// Judges a text result. Multimodal results are never failures.
pub fn failure(sign: FailureSign, result: &str) -> Option<Failure> {
    let object = looks_like_object(result).then(|| parse(result)).flatten();
    match (sign, &object) {
        (FailureSign::NotMade, Some(object)) if landed(object) => return None,
        (FailureSign::ExitCode, object) => {
            let code = object.as_ref().and_then(|object| object.get("exit_code")?.as_i64());
            return code.filter(|code| *code != 0).map(|_| Failure::Plain);
        }
        (FailureSign::Full, Some(object)) if is_full(object) => return Some(Failure::Full),
        _ => {}
    }
    if let Some(object) = &object {
        let says_no = object.get("success") == Some(&Value::Bool(false));
        let has_error = object.contains_key("error");
        if has_error || (says_no && object.contains_key("message")) {
            // `"error": null` is how a success says that there was none.
            let empty = !says_no && object.get("error").is_some_and(Value::is_null);
            return (!empty).then_some(Failure::Plain);
        }
    }
    let end = result.char_indices().nth(GLANCE_CHARS).map_or(result.len(), |(at, _)| at);
    let glance = result.as_bytes().get(..end).unwrap_or_default();
    let fails =
        result.starts_with("Error") || says(glance, b"\"error\"") || says(glance, b"\"failed\"");
    fails.then_some(Failure::Plain)
}

/// Whether a text has the word, in any letter case, and not as a key whose value is null.
fn says(glance: &[u8], word: &[u8]) -> bool {
    let found = glance.windows(word.len()).enumerate();
    let same = |window: &[u8]| window.first() == word.first() && window.eq_ignore_ascii_case(word);
    found.filter(|(_, window)| same(window)).any(|(at, _)| {
        let behind = glance.get(at + word.len()..).unwrap_or_default();
        let value = behind.iter().filter(|byte| !byte.is_ascii_whitespace()).take(5);
        !value.eq(b":null")
    })
}

fn looks_like_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

fn parse(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// The write landed, whatever else the result mentions.
fn landed(object: &Map<String, Value>) -> bool {
    let has_error = object.get("error").is_some_and(|error| !error.is_null());
    object.get("success") == Some(&Value::Bool(true))
        || (object.contains_key("bytes_written") && !has_error)
}

fn is_full(object: &Map<String, Value>) -> bool {
    let error = object.get("error").and_then(Value::as_str).unwrap_or_default();
    object.get("success") == Some(&Value::Bool(false)) && error.contains("exceed")
}
