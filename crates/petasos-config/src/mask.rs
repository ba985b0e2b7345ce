//! What of a configuration value may be shown.
//!
//! Decided by the name of the key and of the maps around it, so that free-form parts (headers of an
//! endpoint, variables of a server) are covered without a row of their own.

use petasos_contract::Secret;
use serde_json::Value;

/// Whether the value at this path must not be shown.
pub(crate) fn is_secret_path<S: AsRef<str>>(path: &[S]) -> bool {
    let Some((last, around)) = path.split_last() else { return false };
    is_secret_name(last.as_ref()) || around.iter().any(|name| is_secret_map(name.as_ref()))
}

/// Ends of names that hold a secret. `key_env` and its kin name a variable and are not among them.
const SECRET_ENDS: [&str; 16] = [
    "api_key",
    "api-key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "authorization",
    "bearer",
    "cookie",
    "private_key",
    "private-key",
    "access_key",
    "access-key",
];

fn is_secret_name(name: &str) -> bool {
    SECRET_ENDS.iter().any(|end| {
        let tail = name.len().checked_sub(end.len()).and_then(|start| name.get(start..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    })
}

fn is_secret_map(name: &str) -> bool {
    let plain = name.replace('_', "").to_ascii_lowercase();
    matches!(plain.as_str(), "headers" | "env" | "dockerenv" | "extraheaders" | "defaultheaders")
}

/// A text that must not be shown.
pub(crate) fn hidden(text: &str) -> Value {
    if text.is_empty() {
        return Value::String(String::new());
    }
    Value::String(Secret::new(text).masked())
}

/// A text that may be shown but for a password inside an address.
pub(crate) fn shown(text: &str) -> Value {
    let masked = text.split_once("://").and_then(|(scheme, rest)| {
        let (authority, tail) = match rest.find(['/', '?', '#']) {
            Some(end) => rest.split_at_checked(end)?,
            None => (rest, ""),
        };
        let (user, host) = authority.rsplit_once('@')?;
        let (name, _) = user.split_once(':')?;
        Some(format!("{scheme}://{name}:••••@{host}{tail}"))
    });
    Value::String(masked.unwrap_or_else(|| text.to_owned()))
}

/// Any value at a path, fit to be shown.
pub(crate) fn masked(path: &mut Vec<String>, value: &Value) -> Value {
    match value {
        Value::String(text) if is_secret_path(path) => hidden(text),
        Value::String(text) => shown(text),
        Value::Number(_) if is_secret_path(path) => hidden(&value.to_string()),
        Value::Array(items) => items.iter().map(|item| masked(path, item)).collect(),
        Value::Object(entries) => entries
            .iter()
            .map(|(name, value)| {
                path.push(name.clone());
                let shown = masked(path, value);
                path.pop();
                (name.clone(), shown)
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_decide_what_is_hidden() {
        let value = json!({
            "api_key": "sk-0123456789abcdef",
            "key_env": "BOX_KEY",
            "base_url": "https://ada:pass@box.test/v1?x=1",
            "headers": {"X-Anything": "0123456789abcdef"},
            "extraHeaders": {"X-Anything": "0123456789abcdef"},
            "models": [{"id": "m", "client_secret": "short"}],
            "max_tokens": 5,
        });
        assert_eq!(
            masked(&mut Vec::new(), &value),
            json!({
                "api_key": "••••cdef",
                "key_env": "BOX_KEY",
                "base_url": "https://ada:••••@box.test/v1?x=1",
                "headers": {"X-Anything": "••••cdef"},
                "extraHeaders": {"X-Anything": "••••cdef"},
                "models": [{"id": "m", "client_secret": "••••"}],
                "max_tokens": 5,
            })
        );
    }
}
