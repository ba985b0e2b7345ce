//! `todo`: the list of tasks of this conversation.

use std::sync::Arc;

use petasos_contract::bridging::{Inline, SyncTool};
use petasos_contract::tool::{Example, InPlanMode, RoundKind, Route};
use petasos_contract::{Args, CallContext, ToolDef, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::seat;
use crate::todo::Given;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "todo",
    toolset: "todo",
    description: "Read or write the list of tasks",
    emoji: "📋",
    core: true,
    route: Route::AgentLoop,
    schema,
    examples: &[Example {
        title: "two steps",
        args: r#"{"todos":[{"id":"1","content":"Count the hats","status":"in_progress"},{"id":"2","content":"Brush them","status":"pending"}]}"#,
        shows: r#""todos":["#,
    }],
    build: |_| Arc::new(Inline::new(Todo)),
    round: RoundKind::Housekeeping,
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Keep a list of steps: shows it, replaces it with `todos`, or with `merge` \
            changes items by id. One is in progress; mark what is done at once.",
        "parameters": {
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": { "type": "string" },
                            "content": { "type": "string" },
                            "status": {
                                "type": "string",
                                "enum": ["pending", "in_progress", "completed", "cancelled"]
                            }
                        },
                        "required": ["id", "content", "status"]
                    }
                },
                "merge": { "type": "boolean", "default": false }
            }
        }
    })
}

#[derive(Debug, Deserialize)]
struct Input {
    todos: Option<Vec<Given>>,
    #[serde(default)]
    merge: bool,
}

struct Todo;

impl SyncTool for Todo {
    fn call(&self, args: Args, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let input: Input = args.parse()?;
        let mut list = seat::of(cx)?.todo.lock();
        if let Some(given) = input.todos {
            list.write(given, input.merge);
        }
        Ok(ToolOutput::json(&list.to_json()))
    }
}
