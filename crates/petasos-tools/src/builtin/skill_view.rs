//! `skill_view`: the instructions of a skill, or one of its files.

use std::sync::Arc;

use petasos_contract::tool::{Concurrency, Example, Limit};
use petasos_contract::{BoxFuture, CallContext, Cleared, Tool, ToolDef, ToolError, ToolOutput};
use petasos_skills::Library;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "skill_view",
    toolset: "skills",
    description: "Read a skill, or one of its files",
    emoji: "📚",
    core: true,
    concurrency: Concurrency::Safe,
    result_chars_max: Limit::Chars(120_000),
    schema,
    examples: &[
        Example {
            title: "one that comes with the program",
            args: r#"{"name":"plan"}"#,
            shows: r#""success":true"#,
        },
        Example {
            title: "a path is no name",
            args: r#"{"name":"../secrets"}"#,
            shows: "is no name of a skill",
        },
    ],
    build: |ports| Arc::new(SkillView(Library::of(ports))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Read the instructions of a skill, or one of its files.",
        "parameters": {
            "type": "object",
            "properties": {
                "name": {
                    "type": "string"
                },
                "file_path": {
                    "type": "string",
                    "description": "One of its linked_files"
                }
            },
            "required": ["name"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    name: String,
    file_path: Option<String>,
}

struct SkillView(Library);

impl Tool for SkillView {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let told = Box::pin(self.0.view(&input.name, input.file_path.as_deref(), cx)).await;
            Ok(ToolOutput::json(&told))
        })
    }
}
