//! What the model is told about the tool.

use serde_json::{Value, json};

use crate::mention::Mention;

/// What it says of other tools.
pub(super) const MENTIONS: &[Mention] = &[
    Mention { words: " for the process tool", tools: &["process"] },
    Mention { words: "; the process tool answers", tools: &["process"] },
    Mention {
        words: " Prefer read_file and search_files to cat and grep.",
        tools: &["read_file", "search_files"],
    },
];

/// The function schema.
pub(super) fn schema() -> Value {
    json!({
        "description": "Run a shell command. Directory and exports carry over. Long output is cut \
            and kept in a file. Input is closed. What does not end by itself needs \
            background=true, never & or nohup: a session_id for the process tool. Prefer \
            read_file and search_files to cat and grep.",
        "parameters": {
            "type": "object",
            "properties": {
                "command": { "type": "string" },
                "background": { "type": "boolean", "default": false },
                "timeout": {
                    "type": "integer",
                    "description": "Seconds in the foreground: 180, at most 600",
                    "minimum": 1
                },
                "workdir": { "type": "string", "description": "For this command only" },
                "pty": {
                    "type": "boolean",
                    "description": "A terminal of its own, for programs that ask; the process tool \
                        answers",
                    "default": false
                },
                "notify_on_complete": {
                    "type": "boolean",
                    "description": "Tell me when it ends",
                    "default": false
                },
                "watch_patterns": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "Tell me of rare lines with these"
                },
                "outside_sandbox": {
                    "type": "boolean",
                    "description": "After sandbox_denied; a person must agree",
                    "default": false
                },
                "on_timeout": {
                    "type": "string",
                    "enum": ["kill", "background"],
                    "default": "kill"
                }
            },
            "required": ["command"]
        }
    })
}
