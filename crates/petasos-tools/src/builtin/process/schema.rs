//! What the model is told about the tool.

use serde_json::{Value, json};

use crate::mention::Mention;

/// What it says of other tools.
pub(super) const MENTIONS: &[Mention] = &[
    Mention { words: " that terminal started", tools: &["terminal"] },
    Mention { words: ", as terminal named it", tools: &["terminal"] },
];

/// The function schema.
pub(super) fn schema() -> Value {
    json!({
        "description": "Look after background processes that terminal started: list them, poll \
            one for its state and last output, page through its log, wait for its end, kill it \
            with everything it started, or type to it with write, submit (adds a newline) and \
            close (ends its input).",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["list", "poll", "log", "wait", "kill", "write", "submit", "close"],
                    "description": "What to do"
                },
                "session_id": {
                    "type": "string",
                    "description": "The process, as terminal named it; for every action but list"
                },
                "data": { "type": "string", "description": "What write and submit type" },
                "timeout": {
                    "type": "integer",
                    "description": "Seconds that wait waits at most",
                    "minimum": 1
                },
                "offset": {
                    "type": "integer",
                    "description": "For log: lines to skip from the start; without it the last \
                        lines are shown"
                },
                "limit": {
                    "type": "integer",
                    "description": "For log: lines to show; 200 when not given",
                    "minimum": 1
                }
            },
            "required": ["action"]
        }
    })
}
