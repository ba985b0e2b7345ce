//! Which values of a settings snapshot are secrets.

use petasos_contract::Settings;
use petasos_contract::settings::Source;
use serde_json::Value;

use crate::names::is_secret_name;

/// Shorter values would hide ordinary words.
const VALUE_CHARS_MIN: usize = 8;
/// Keys are longer than the names of regions and versions.
const TOKEN_CHARS_MIN: usize = 16;

/// Every secret value of the snapshot: of the `.env` file, of variables and of configuration keys
/// whose name says so.
pub(crate) fn secrets(settings: &Settings) -> Vec<String> {
    let mut values = Vec::new();
    for (name, variable) in settings.variables() {
        let from_file = matches!(variable.source, Source::DotEnv { .. });
        if from_file || is_secret_name(name) {
            add(variable.value.expose(), &mut values);
        }
        if let Some(password) = password_in(variable.value.expose()) {
            add(password, &mut values);
        }
    }
    for secret in settings.secrets() {
        add(secret.expose(), &mut values);
    }
    for (key, value) in settings.values() {
        gather(key, value, &mut values);
    }
    // A server's variables are its own: their names need not tell.
    let servers = settings.get("mcp_servers").and_then(Value::as_object);
    for server in servers.into_iter().flat_map(|servers| servers.values()) {
        for given in ["env", "headers"].iter().filter_map(|part| server.get(part)?.as_object()) {
            let texts = given.values().filter_map(Value::as_str).filter(|text| is_token(text));
            texts.for_each(|text| add(text, &mut values));
        }
    }
    values.sort();
    values.dedup();
    values
}

fn gather(key: &str, value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if is_secret_name(key) => add(text, into),
        Value::String(text) => password_in(text).into_iter().for_each(|word| add(word, into)),
        Value::Array(items) => items.iter().for_each(|item| gather(key, item, into)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| gather(key, value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The password in an address: `scheme://user:password@host`.
fn password_in(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let (login, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
    login.split_once(':').map(|(_, password)| password)
}

/// Whether a value looks like a key and not like a word, a path or an address.
fn is_token(text: &str) -> bool {
    let has = |kind: fn(&char) -> bool| text.chars().any(|letter| kind(&letter));
    text.chars().count() >= TOKEN_CHARS_MIN
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !text.contains(['/', '\\', ' ', ':'])
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
