//! `skills_list`: which skills there are, by name, line and category.

use std::sync::Arc;

use petasos_contract::bridging::{Blocking, SyncTool};
use petasos_contract::tool::{Concurrency, Example};
use petasos_contract::{Args, CallContext, ToolDef, ToolError, ToolOutput};
use petasos_skills::Library;
use serde_json::{Value, json};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "skills_list",
    toolset: "skills",
    description: "List skills by name, line and category",
    emoji: "📚",
    core: true,
    idempotent: true,
    concurrency: Concurrency::Safe,
    schema,
    examples: &[
        Example { title: "all of them", args: "{}", shows: r#""skills":["# },
        Example {
            title: "a category that is not there",
            args: r#"{"category":"no-such-category"}"#,
            shows: r#""count":0"#,
        },
    ],
    build: |ports| Arc::new(Blocking::new(SkillsList(Library::of(ports)))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List the installed skills. Read one before work it is about.",
        "parameters": {
            "type": "object",
            "properties": {
                "category": { "type": "string" }
            },
        },
    })
}

struct SkillsList(Library);

impl SyncTool for SkillsList {
    fn call(&self, args: Args, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let category = args.text("category").filter(|category| !category.is_empty());
        Ok(ToolOutput::json(&self.0.list(category, cx)))
    }
}
