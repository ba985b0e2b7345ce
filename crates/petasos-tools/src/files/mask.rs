//! Masks secrets in what a model reads: the values we know, and keys by their shape.
//!
//! Only what is shown is masked, never a file: an edit that quotes a mask simply does not fit.

use std::sync::LazyLock;

use petasos_contract::Settings;
use petasos_contract::settings::Source;
use regex::Regex;
use serde_json::Value;

/// Shorter values would mask ordinary words.
const VALUE_CHARS_MIN: usize = 8;

/// What stands in place of a secret.
pub(crate) const MASK: &str = "[masked]";

/// Words in a variable's name that make its value a secret.
const SECRET_WORDS: &[&str] =
    &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];

/// Only shapes that nothing but a key has: most of what is read is source code.
static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let shapes = [
        r"\bsk-(?:ant-|or-|proj-)?[A-Za-z0-9_-]{20,}",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,})",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"\bAIza[A-Za-z0-9_-]{35}",
        r"\b(?:hf|npm|gsk|nvapi)[_-][A-Za-z0-9]{30,}",
        r"\beyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ];
    Regex::new(&shapes.join("|")).ok()
});

/// A copy of a text without the secrets of these settings.
pub(crate) fn masked(text: String, settings: &Settings) -> String {
    let is_off = settings.get("security.redact_secrets").and_then(Value::as_bool);
    let mut text = text;
    for (name, variable) in settings.variables() {
        let is_secret = matches!(variable.source, Source::DotEnv { .. })
            || SECRET_WORDS.iter().any(|word| name.to_ascii_uppercase().contains(word));
        let value = variable.value.expose();
        if is_secret && value.chars().count() >= VALUE_CHARS_MIN && text.contains(value) {
            text = text.replace(value, MASK);
        }
    }
    if is_off == Some(false) {
        return text;
    }
    match &*SHAPES {
        Some(shapes) if shapes.is_match(&text) => shapes.replace_all(&text, MASK).into_owned(),
        Some(_) | None => text,
    }
}

/// Masks every text inside a value.
pub(crate) fn mask(value: &mut Value, settings: &Settings) {
    match value {
        Value::String(text) => *text = masked(std::mem::take(text), settings),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, settings)),
        Value::Object(fields) => fields.values_mut().for_each(|field| mask(field, settings)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use petasos_contract::Secret;
    use petasos_contract::settings::{Parts, Variable};

    use super::*;

    #[test]
    fn known_values_and_key_shapes_are_masked_and_code_is_not() {
        let source = Source::Environment { variable: "SERVICE_TOKEN".into() };
        let variable = Variable { value: Secret::new("hunter2hunter2"), source };
        let variables = [("SERVICE_TOKEN".to_owned(), variable)].into();
        let settings = Settings::new(Parts { variables, ..Parts::default() });
        let key = format!("key sk-{} end", "a1B2".repeat(8));
        for (text, shown) in [
            ("a = hunter2hunter2;", "a = [masked];"),
            (key.as_str(), "key [masked] end"),
            ("let sk-ip = token_count(KEY)", "let sk-ip = token_count(KEY)"),
            ("AKIAIOSFODNN7EXAMPLE", "[masked]"),
            (
                "x\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\ny",
                "x\n[masked]\ny",
            ),
        ] {
            assert_eq!(masked(text.to_owned(), &settings), shown);
        }
    }
}
