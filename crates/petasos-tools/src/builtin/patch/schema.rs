//! What the model is told about `patch`.

use petasos_contract::tool::Example;
use serde_json::{Value, json};

use crate::mention::Mention;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        title: "one place in a file",
        args: r#"{"mode":"replace","path":"src/main.rs","old_string":"let sample = 1;","new_string":"let sample = 2;"}"#,
        shows: "+    let sample = 2;",
    },
    Example {
        title: "several files at once",
        args: r#"{"mode":"patch","patch":"*** Begin Patch\n*** Update File: README.md\n-# Sample\n+# Example\n*** Add File: docs/new.md\n+text\n*** End Patch"}"#,
        shows: r#""files_created":["docs/new.md"]"#,
    },
    Example {
        title: "a text that is not there",
        args: r#"{"mode":"replace","path":"src/main.rs","old_string":"let simple = 1;","new_string":"x"}"#,
        shows: "was not found",
    },
];

/// What it says of other tools.
pub(super) const MENTIONS: &[Mention] =
    &[Mention { words: " Use this instead of sed or awk in the terminal.", tools: &["terminal"] }];

pub(super) fn schema() -> Value {
    json!({
        "description": "Change files without rewriting them. Mode `replace`: give path, \
            old_string (quoted exactly, with enough lines around it to be the only such place) \
            and new_string. Mode `patch`: give a V4A patch of one or more files, which is applied \
            whole or not at all:\n*** Begin Patch\n*** Update File: path\n@@ a line before the \
            change @@\n unchanged line\n-removed line\n+added line\n*** Add File: path\n+line\n\
            *** Delete File: path\n*** Move File: old -> new\n*** End Patch\nThe result shows a \
            diff. Use this instead of sed or awk in the terminal.",
        "parameters": {
            "type": "object",
            "properties": {
                "mode": {
                    "type": "string",
                    "enum": ["replace", "patch"],
                    "description": "One replacement in one file, or a V4A patch",
                    "default": "replace"
                },
                "path": { "type": "string", "description": "Mode replace: the file" },
                "old_string": {
                    "type": "string",
                    "description": "Mode replace: the text to replace, without line numbers"
                },
                "new_string": {
                    "type": "string",
                    "description": "Mode replace: what comes in its place; empty removes it"
                },
                "replace_all": {
                    "type": "boolean",
                    "description": "Mode replace: replace every occurrence",
                    "default": false
                },
                "patch": { "type": "string", "description": "Mode patch: the V4A patch" },
                "cross_profile": {
                    "type": "boolean",
                    "description": "Set only when the user asked for a change in another profile",
                    "default": false
                }
            },
            "required": ["mode"]
        }
    })
}
