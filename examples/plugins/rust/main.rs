//! A plugin in Rust: one tool, JSON-RPC over standard input and output, one message a line.
//!
//! `cargo build -p petasos-plugins --example plugin_words`, then copy the program beside
//! `plugin.yaml` into `<home>/plugins/words`.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

fn send(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}

/// The one registration; its answer comes as a message with the same number.
fn register() -> io::Result<()> {
    let schema = json!({
        "description": "Count the words of a text",
        "parameters": { "type": "object", "properties": { "text": { "type": "string" } } },
    });
    let params = json!({ "name": "word_count", "toolset": "words", "schema": schema });
    send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ctx.register_tool", "params": params }))
}

fn count(params: &Value) -> Value {
    let text = params.pointer("/args/text").and_then(Value::as_str).unwrap_or_default();
    json!(json!({ "words": text.split_whitespace().count() }).to_string())
}

fn main() -> io::Result<()> {
    let mut greeting = None;
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        let id = message.get("id").cloned().unwrap_or_default();
        let params = message.get("params").cloned().unwrap_or_default();
        let result = match message.get("method").and_then(Value::as_str) {
            Some("initialize") => {
                register()?;
                greeting = Some(id);
                continue;
            }
            Some("tool.call") => count(&params),
            Some(_) => Value::Null,
            // The host took the registration: the greeting is answered now.
            None => match greeting.take() {
                Some(id) => {
                    let result = json!({ "protocol_version": 1 });
                    send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))?;
                    continue;
                }
                None => continue,
            },
        };
        if !id.is_null() {
            send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))?;
        }
    }
    Ok(())
}
