//! Whether a word fits what a key takes, and what it is then.
//!
//! Files are read generously (`"180"` is a number where one is expected, `off` a word where a word
//! is); variables follow the truth table of the specification.

use serde_json::Value;

use crate::keys::{Key, Kind};
use crate::yaml::{self, Scalar};

/// The value of a scalar, or what was expected.
pub(super) fn scalar(kind: Kind, scalar: &Scalar) -> Result<Value, String> {
    let text = scalar.text.trim();
    let fit = match kind {
        Kind::Flag => switch(text).map(Value::Bool),
        Kind::Integer => number(text).filter(|value| value.is_i64() || value.is_u64()),
        Kind::Number => number(text),
        Kind::Text | Kind::Secret => Some(Value::String(scalar.text.clone())),
        Kind::Choice(words) => choice(words, text).map(|word| Value::String(word.to_owned())),
        Kind::Names => Some(Value::Array(vec![Value::String(scalar.text.clone())])),
        Kind::Any => Some(scalar.value()),
        Kind::List | Kind::Map => None,
    };
    fit.ok_or_else(|| expected(kind))
}

/// What a key takes, for a message.
pub(super) fn expected(kind: Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Integer => "a whole number".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::Text | Kind::Secret => "text".to_owned(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Names => "a list of texts".to_owned(),
        Kind::List => "a list".to_owned(),
        Kind::Map => "a map".to_owned(),
        Kind::Any => "a value".to_owned(),
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn number(text: &str) -> Option<Value> {
    let scalar = Scalar::plain(text);
    Some(scalar.value()).filter(Value::is_number)
}

/// A writer that took `off` for a switch leaves `false` behind; it still means the word. Not so
/// where the words are themselves like switches: there `false` could mean either end.
fn choice(words: &'static [&'static str], text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let same = |other: &str| words.iter().copied().find(|word| *word == other);
    let switch_like = words.contains(&"yes");
    match lower.as_str() {
        "true" if !switch_like => same("auto").or_else(|| same("on")),
        "false" if !switch_like => same("off"),
        word => same(word),
    }
}

/// A value from a variable or the command line.
pub(crate) fn from_text(key: &Key, text: &str, variable: bool) -> Result<Value, String> {
    match key.kind {
        Kind::Flag if variable => Ok(Value::Bool(truth(key.path, text))),
        Kind::Names | Kind::List | Kind::Map if variable => {
            let value: Value = serde_json::from_str(text.trim())
                .map_err(|_| format!("{}, as JSON", expected(key.kind)))?;
            let fits = match key.kind {
                Kind::Map => value.is_object(),
                Kind::Names => {
                    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
                }
                _ => value.is_array(),
            };
            if fits { Ok(value) } else { Err(format!("{}, as JSON", expected(key.kind))) }
        }
        Kind::Any if variable => {
            // Free-form settings are JSON where they are lists or maps, and text otherwise.
            Ok(serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::from(text)))
        }
        Kind::Names | Kind::List | Kind::Map | Kind::Any => typed_text(key, text),
        _ => scalar(key.kind, &Scalar::plain(text)),
    }
}

/// On the command line a list or map is YAML, as it would stand in the file.
fn typed_text(key: &Key, text: &str) -> Result<Value, String> {
    let lookup = |_: &str| None;
    let document = yaml::parse(text).map_err(|fault| fault.problem)?;
    let Some(root) = document.root else { return Ok(Value::Null) };
    let mut walk = super::Walk {
        file: std::path::Path::new("command line"),
        lookup: &lookup,
        found: super::Checked::default(),
        path: Vec::new(),
    };
    let (value, _) = walk.plain(&root);
    match (key.kind, value) {
        (Kind::Names, Value::Array(items)) => items
            .into_iter()
            .map(|item| match item {
                Value::String(_) => Ok(item),
                Value::Bool(_) | Value::Number(_) => Ok(Value::String(item.to_string())),
                _ => Err(expected(key.kind)),
            })
            .collect(),
        (Kind::Names, Value::Object(_) | Value::Null) => Err(expected(key.kind)),
        (Kind::Names, _) => Ok(Value::Array(vec![Value::from(text)])),
        (Kind::List, value) if !value.is_array() => Err(expected(key.kind)),
        (Kind::Map, value) if !value.is_object() => Err(expected(key.kind)),
        (_, value) => Ok(value),
    }
}

/// A switch in a variable is on for a few words and off otherwise; for the terminal they are fewer.
fn truth(key: &str, text: &str) -> bool {
    let word = text.trim().to_ascii_lowercase();
    matches!(word.as_str(), "1" | "true" | "yes") || (word == "on" && !key.starts_with("terminal."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;
    use serde_json::json;

    fn row(path: &str) -> &'static Key {
        keys::all().find(|key| key.path == path).unwrap()
    }

    #[test]
    fn variables_follow_the_truth_table() {
        let cases = [
            ("security.redact_secrets", "on", json!(true)),
            ("security.redact_secrets", " YES ", json!(true)),
            ("security.redact_secrets", "maybe", json!(false)),
            ("terminal.container_persistent", "on", json!(false)),
            ("terminal.container_persistent", "True", json!(true)),
            ("terminal.timeout", "30", json!(30)),
            ("terminal.docker_volumes", "[\"/a:/b\"]", json!(["/a:/b"])),
            ("terminal.docker_env", "{\"A\": \"b\"}", json!({"A": "b"})),
        ];
        for (path, text, value) in cases {
            assert_eq!(from_text(row(path), text, true), Ok(value), "{path}={text}");
        }
        assert!(from_text(row("terminal.docker_volumes"), "/a:/b", true).is_err());
        assert!(from_text(row("terminal.timeout"), "soon", true).is_err());
    }

    #[test]
    fn the_command_line_is_read_as_the_file_is() {
        assert_eq!(from_text(row("toolsets"), "[a, b]", false), Ok(json!(["a", "b"])));
        assert_eq!(from_text(row("toolsets"), "a", false), Ok(json!(["a"])));
        assert_eq!(from_text(row("approvals.mode"), "off", false), Ok(json!("off")));
        assert_eq!(from_text(row("approvals.mode"), "false", false), Ok(json!("off")));
        assert!(from_text(row("approvals.mode"), "perhaps", false).is_err());
        assert!(from_text(row("approvals.cron_mode"), "false", false).is_err());
        assert_eq!(from_text(row("model.default"), "4.5", false), Ok(json!("4.5")));
    }
}
