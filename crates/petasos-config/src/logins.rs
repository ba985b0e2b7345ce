//! The secrets of logins, which other crates keep as JSON in the home: read to be hidden, for
//! nothing else.

use std::path::Path;

use petasos_contract::Secret;
use serde_json::Value;

use crate::layers::file_bytes;

/// No file of logins is longer.
const BYTES_MAX: u64 = 1 << 20;
/// Files of the home that hold logins.
const FILES: [&str; 3] = ["auth.json", ".anthropic_oauth.json", "credentials.json"];
/// Folders of such files.
const FOLDERS: [&str; 1] = ["mcp-tokens"];
/// Shorter words are no tokens.
const CHARS_MIN: usize = 12;

/// Every token and key in them. What cannot be read is told by whoever needs it.
pub(crate) fn secrets(home: &Path) -> Vec<Secret> {
    let mut found = Vec::new();
    let below = FOLDERS.iter().flat_map(|folder| std::fs::read_dir(home.join(folder)));
    let below = below.flatten().flatten().map(|entry| entry.path());
    for file in FILES.iter().map(|name| home.join(name)).chain(below) {
        let bytes = file_bytes(&file, BYTES_MAX).ok().flatten().unwrap_or_default();
        if let Ok(value) = serde_json::from_slice::<Value>(&bytes) {
            gather("", &value, &mut found);
        }
    }
    found
}

fn gather(key: &str, value: &Value, into: &mut Vec<Secret>) {
    match value {
        Value::String(text) if is_secret(key) && text.chars().count() >= CHARS_MIN => {
            into.push(Secret::new(text.clone()));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(key, item, into)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| gather(key, value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Names of what logs somebody in.
fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let endings = ["token", "key", "secret", "password", "verifier", "assertion", "credential"];
    endings.iter().any(|ending| key.ends_with(ending))
}
