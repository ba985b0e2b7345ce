//! Values as YAML text that every reader takes for the same value.

use serde_json::{Number, Value};

use crate::yaml::is_safe_plain;

/// On one line.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(on) => on.to_string(),
        Value::Number(number) => written(number),
        Value::String(text) => word(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let pairs =
                entries.iter().map(|(name, value)| format!("{}: {}", word(name), inline(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Whether a value is best written below its key rather than beside it.
pub(super) fn is_tall(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Lines for a key, with the maps on the way.
pub(super) fn block(path: &[String], value: &Value, indent: usize, newline: &str) -> String {
    let Some((name, rest)) = path.split_first() else { return String::new() };
    let head = format!("{}{}:", " ".repeat(indent), word(name));
    if !rest.is_empty() {
        return format!("{head}{newline}{}", block(rest, value, indent + 2, newline));
    }
    if is_tall(value) {
        format!("{head}{newline}{}", below(value, indent + 2, newline))
    } else {
        format!("{head} {}{newline}", inline(value))
    }
}

/// Lines for a list or map below its key.
pub(super) fn below(value: &Value, indent: usize, newline: &str) -> String {
    match value {
        Value::Array(items) => items.iter().fold(String::new(), |lines, item| {
            lines + &" ".repeat(indent) + "- " + &inline(item) + newline
        }),
        Value::Object(entries) => entries
            .iter()
            .map(|(name, value)| block(std::slice::from_ref(name), value, indent, newline))
            .collect(),
        other => format!("{}{}{newline}", " ".repeat(indent), inline(other)),
    }
}

/// A text, bare where no reader can take it for something else.
pub(super) fn word(text: &str) -> String {
    if is_safe_plain(text) {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            // Not printable in YAML, or a line break to some readers.
            '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let escaped = format!("\\u{:04x}", u32::from(character));
                quoted.push_str(&escaped);
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// An exponent needs a point and a sign to be a number to the older readers.
fn written(number: &Number) -> String {
    let text = number.to_string();
    let Some((size, exponent)) = text.split_once('e') else { return text };
    let size = if size.contains('.') { size.to_owned() } else { format!("{size}.0") };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{size}e{sign}{exponent}")
}
