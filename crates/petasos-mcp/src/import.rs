//! Entries from the JSON files of other clients, as entries of ours.
//!
//! Claude Desktop, Claude Code, Cursor, Windsurf and Gemini keep `mcpServers`, VS Code keeps
//! `servers` with `inputs`. What has no counterpart here is named, not dropped in silence.

use serde_json::{Map, Value, json};

/// One entry, taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// The server.
    pub name: String,
    /// Its entry.
    pub entry: Map<String, Value>,
    /// What was left behind, or has to be filled in.
    pub notes: Vec<String>,
}

/// Why a text holds no entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Not JSON.
    #[error("the file is no JSON: {0}")]
    NotJson(String),
    /// JSON of another kind.
    #[error("the file has neither `mcpServers` nor `servers`")]
    NoServers,
}

/// Every entry of a file, in its order.
pub fn read(text: &str) -> Result<Vec<Taken>, ImportError> {
    let file: Value = serde_json::from_str(&without_comments(text))
        .map_err(|error| ImportError::NotJson(error.to_string()))?;
    let places = ["/mcpServers", "/servers", "/mcp/servers", "/context_servers"];
    let servers = places.iter().find_map(|place| file.pointer(place)?.as_object());
    let servers = servers.ok_or(ImportError::NoServers)?;
    Ok(servers.iter().map(|(name, entry)| take(name, entry)).collect())
}

fn take(name: &str, entry: &Value) -> Taken {
    let mut ours = Map::new();
    let mut notes = Vec::new();
    for (key, value) in entry.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("command" | "args" | "env" | "cwd" | "url" | "headers", _) => {
                ours.insert(key.clone(), placeholders(value, &mut notes));
            }
            ("serverUrl" | "httpUrl", _) => {
                ours.insert("url".to_owned(), placeholders(value, &mut notes));
            }
            ("type" | "transport", Value::String(kind)) => match kind.as_str() {
                "sse" => {
                    ours.insert("transport".to_owned(), json!("sse"));
                }
                "stdio" | "http" | "streamable-http" | "streamableHttp" => {}
                other => notes.push(format!("transport `{other}` is not known here")),
            },
            ("disabled", Value::Bool(disabled)) => {
                ours.insert("enabled".to_owned(), json!(!disabled));
            }
            ("enabled", Value::Bool(_)) => {
                ours.insert(key.clone(), value.clone());
            }
            ("timeout", Value::Number(number)) => {
                // Others count milliseconds; nobody means five minutes by a number this small.
                let given = number.as_f64().unwrap_or_default();
                let seconds = if given >= 1000.0 { given / 1000.0 } else { given };
                ours.insert("timeout".to_owned(), json!(seconds));
            }
            ("includeTools", _) => {
                set_tool_filter(&mut ours, "include", value);
            }
            ("excludeTools" | "disabledTools", _) => {
                set_tool_filter(&mut ours, "exclude", value);
            }
            (other, _) => notes.push(format!("`{other}` has no counterpart and is left out")),
        }
    }
    Taken { name: name.to_owned(), entry: ours, notes }
}

fn set_tool_filter(entry: &mut Map<String, Value>, key: &str, names: &Value) {
    let tools = entry.entry("tools").or_insert_with(|| json!({}));
    if let Value::Object(tools) = tools {
        tools.insert(key.to_owned(), names.clone());
    }
}

/// `${env:NAME}` is ours too; what a client asks its user for has to become a variable.
fn placeholders(value: &Value, notes: &mut Vec<String>) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            while let Some((before, name, after)) = input(&text) {
                let variable: String = name
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
                    .collect();
                notes
                    .push(format!("set {variable} in `.env`: the other client asked for `{name}`"));
                text = format!("{before}${{{variable}}}{after}");
            }
            Value::String(text.replace("${workspaceFolder}", "."))
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| placeholders(item, notes)).collect())
        }
        Value::Object(object) => {
            let pairs = object.iter().map(|(key, value)| (key.clone(), placeholders(value, notes)));
            Value::Object(pairs.collect())
        }
        other => other.clone(),
    }
}

fn input(text: &str) -> Option<(String, String, String)> {
    let (before, rest) = text.split_once("${input:")?;
    let (name, after) = rest.split_once('}')?;
    Some((before.to_owned(), name.to_owned(), after.to_owned()))
}

/// Editors allow comments and trailing commas.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = chars.next() {
        match (in_text, c, chars.peek()) {
            (true, '\\', _) => {
                plain.push(c);
                plain.extend(chars.next());
            }
            (_, '"', _) => {
                in_text = !in_text;
                plain.push(c);
            }
            (false, '/', Some('/')) => {
                for skipped in chars.by_ref() {
                    if skipped == '\n' {
                        plain.push('\n');
                        break;
                    }
                }
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                for skipped in chars.by_ref() {
                    if last == '*' && skipped == '/' {
                        break;
                    }
                    last = skipped;
                }
            }
            (false, '}' | ']', _) => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_clients_become_entries() {
        let claude = r#"{ "mcpServers": { "fs": { "command": "npx", "args": ["-y", "x"], "env": { "A": "b" }, "alwaysAllow": [] } } }"#;
        let taken = read(claude).unwrap();
        assert_eq!(
            Value::Object(taken[0].entry.clone()),
            json!({ "command": "npx", "args": ["-y", "x"], "env": { "A": "b" } })
        );
        assert!(taken[0].notes[0].contains("alwaysAllow"));
        let code = r#"{
            // servers of the editor
            "inputs": [{ "id": "api-key" }],
            "servers": { "hub": { "type": "sse", "url": "https://h/sse", "headers": { "X": "Bearer ${input:api-key}" }, }, },
        }"#;
        let taken = read(code).unwrap();
        let expected = json!({ "transport": "sse", "url": "https://h/sse", "headers": { "X": "Bearer ${API_KEY}" } });
        assert_eq!(Value::Object(taken[0].entry.clone()), expected);
        assert!(taken[0].notes[0].contains("API_KEY"));
        let cursor = r#"{ "mcpServers": { "a": { "serverUrl": "http://x/", "disabled": true, "timeout": 60000, "excludeTools": ["t"] } } }"#;
        let expected = json!({ "url": "http://x/", "enabled": false, "timeout": 60.0, "tools": { "exclude": ["t"] } });
        assert_eq!(Value::Object(read(cursor).unwrap()[0].entry.clone()), expected);
        assert_eq!(read("{}"), Err(ImportError::NoServers));
        assert!(matches!(read("{"), Err(ImportError::NotJson(_))));
    }
}
