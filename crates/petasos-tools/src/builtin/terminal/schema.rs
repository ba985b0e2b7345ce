//! What the model is told about the tool.

use serde_json::{Value, json};

use crate::mention::Mention;

/// What it says of other tools.
pub(super) const MENTIONS: &[Mention] = &[
    Mention { words: " for the process tool", tools: &["process"] },
    Mention { words: " and the process tool can answer", tools: &["process"] },
    Mention {
        words: " Prefer read_file and search_files to cat, head, grep and find.",
        tools: &["read_file", "search_files"],
    },
];

/// The function schema.
pub(super) fn schema() -> Value {
    json!({
        "description": "Run a shell command. The working directory and exported variables carry \
            over to the next command. Output is joined from stdout and stderr; a long one is cut \
            in the middle and kept whole in a file. Input is closed: for programs that ask, use \
            pty=true. Servers, watchers and anything that does not end by itself go into the \
            background: background=true returns at once with a session_id for the process tool. \
            Do not use shell backgrounding (&, nohup, setsid) in the foreground. Prefer read_file \
            and search_files to cat, head, grep and find.",
        "parameters": {
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "The command line for bash" },
                "background": {
                    "type": "boolean",
                    "description": "Start it as a background process and return at once",
                    "default": false
                },
                "timeout": {
                    "type": "integer",
                    "description": "Seconds until a foreground command is ended; 180 when not \
                        given, at most 600",
                    "minimum": 1
                },
                "workdir": {
                    "type": "string",
                    "description": "Directory for this command only; relative to the current one"
                },
                "pty": {
                    "type": "boolean",
                    "description": "Give the command a terminal of its own, for interactive \
                        programs. If it asks something, the result says needs_input and the \
                        process tool can answer",
                    "default": false
                },
                "notify_on_complete": {
                    "type": "boolean",
                    "description": "With background: tell me once when it ends",
                    "default": false
                },
                "watch_patterns": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "With background: tell me about output lines that contain one \
                        of these texts. For rare lines such as errors; not together with \
                        notify_on_complete"
                },
                "outside_sandbox": {
                    "type": "boolean",
                    "description": "Run outside the sandbox, after it refused what the command \
                        needs (see sandbox_denied); a person must agree each time",
                    "default": false
                },
                "on_timeout": {
                    "type": "string",
                    "enum": ["kill", "background"],
                    "description": "When the time is up: end the command, or let it go on as a \
                        background process",
                    "default": "kill"
                }
            },
            "required": ["command"]
        }
    })
}
