//! What the model is told about the tool.

use serde_json::{Value, json};

use crate::mention::Mention;

/// What it says of other tools.
pub(super) const MENTIONS: &[Mention] = &[Mention { words: " of terminal", tools: &["terminal"] }];

/// The function schema.
pub(super) fn schema() -> Value {
    json!({
        "description": "Look after background processes of terminal: list, poll (state and last \
            output), log, wait, kill (with all it started), write, submit (adds a newline), close \
            (ends its input).",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["list", "poll", "log", "wait", "kill", "write", "submit", "close"]
                },
                "session_id": { "type": "string" },
                "data": { "type": "string", "description": "What is typed" },
                "timeout": { "type": "integer", "minimum": 1 },
                "offset": { "type": "integer", "description": "Of log; the end without" },
                "limit": { "type": "integer", "description": "Of log: 200 lines", "minimum": 1 }
            },
            "required": ["action"]
        }
    })
}
