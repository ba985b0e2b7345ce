//! Which values of a settings snapshot are secrets.

use petasos_contract::Settings;
use petasos_contract::settings::Source;
use serde_json::Value;

use crate::names::is_secret_name;

/// Shorter values would hide ordinary words.
const VALUE_CHARS_MIN: usize = 8;

/// Every secret value of the snapshot: of the `.env` file, of variables and of configuration keys
/// whose name says so.
pub(crate) fn secrets(settings: &Settings) -> Vec<String> {
    let mut values = Vec::new();
    for (name, variable) in settings.variables() {
        let from_file = matches!(variable.source, Source::DotEnv { .. });
        if from_file || is_secret_name(name) {
            add(variable.value.expose(), &mut values);
        }
    }
    for (key, value) in settings.values() {
        gather(key, value, &mut values);
    }
    values.sort();
    values.dedup();
    values
}

fn gather(key: &str, value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if is_secret_name(key) => add(text, into),
        Value::Array(items) => items.iter().for_each(|item| gather(key, item, into)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| gather(key, value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A header's scheme is no part of its secret, and a reference to a variable is none at all.
fn add(value: &str, into: &mut Vec<String>) {
    let value = value.trim();
    let secret = ["Bearer ", "Basic ", "Token "]
        .iter()
        .find_map(|scheme| value.strip_prefix(scheme))
        .map_or(value, str::trim);
    let is_reference = secret.starts_with("${") && secret.ends_with('}');
    let is_plain_address =
        secret.starts_with("http") && secret.contains("://") && !secret.contains('@');
    if secret.chars().count() >= VALUE_CHARS_MIN && !is_reference && !is_plain_address {
        into.push(secret.to_owned());
    }
}
