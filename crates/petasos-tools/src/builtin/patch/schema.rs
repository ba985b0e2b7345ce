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
    &[Mention { words: " Better than sed in the terminal.", tools: &["terminal"] }];

pub(super) fn schema() -> Value {
    json!({
        "description": "Change files; shows a diff. `replace`: old_string, exact, with enough lines \
            to be unique, becomes new_string. `patch`: a V4A patch, applied whole or not at all:\n\
            *** Begin Patch\n*** Update File: path\n@@ a line before @@\n unchanged\n-removed\n\
            +added\n*** Add File: path\n+line\n*** Delete File: path\n*** Move File: old -> new\n\
            *** End Patch\n Better than sed in the terminal.",
        "parameters": {
            "type": "object",
            "properties": {
                "mode": { "type": "string", "enum": ["replace", "patch"], "default": "replace" },
                "path": { "type": "string" },
                "old_string": { "type": "string", "description": "Without line numbers" },
                "new_string": { "type": "string" },
                "replace_all": { "type": "boolean", "default": false },
                "patch": { "type": "string" },
                "cross_profile": {
                    "type": "boolean",
                    "default": false
                }
            },
            "required": ["mode"]
        }
    })
}
