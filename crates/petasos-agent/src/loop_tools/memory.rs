//! `memory`: short notes that later conversations find in their prompt.

use std::sync::Arc;

use petasos_contract::bridging::{Blocking, SyncTool};
use petasos_contract::tool::Route;
use petasos_contract::{Args, CallContext, ToolDef, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::memory::{Change, Kept, MemoryError, Target};
use crate::seat;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "memory",
    toolset: "memory",
    description: "Keep short notes for later conversations",
    emoji: "🧠",
    core: true,
    route: Route::AgentLoop,
    schema,
    build: |_| Arc::new(Blocking::new(Notes)),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    let operation = json!({
        "action": { "type": "string", "enum": ["add", "replace", "remove"] },
        "content": { "type": "string", "description": "The text of the entry" },
        "old_text": {
            "type": "string",
            "description": "A part of the entry to replace or remove, found in no other entry"
        }
    });
    let mut properties = operation.as_object().cloned().unwrap_or_default();
    properties.insert(
        "target".to_owned(),
        json!({
            "type": "string",
            "enum": ["memory", "user"],
            "description": "memory: facts about the work; user: facts about the person"
        }),
    );
    properties.insert(
        "operations".to_owned(),
        json!({
            "type": "array",
            "description": "Several changes, made together or not at all",
            "items": { "type": "object", "properties": operation, "required": ["action"] }
        }),
    );
    json!({
        "description": "Remember short, lasting facts. They are shown at the start of later \
            conversations, not of this one. Keep entries compact; replace or remove what is no \
            longer true. Not for what belongs to the current task only.",
        "parameters": { "type": "object", "properties": properties, "required": ["target"] }
    })
}

#[derive(Debug, Deserialize)]
struct Operation {
    action: Option<String>,
    content: Option<String>,
    old_text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Input {
    target: Option<String>,
    #[serde(flatten)]
    one: Operation,
    operations: Option<Vec<Operation>>,
}

struct Notes;

impl SyncTool for Notes {
    fn call(&self, args: Args, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let input: Input = args.parse()?;
        let (target, name) = match input.target.as_deref() {
            Some("user") => (Target::User, "user"),
            Some("memory") | None => (Target::Memory, "memory"),
            Some(other) => {
                let text = format!("`{other}` is no target: use `memory` or `user`");
                return Ok(ToolOutput::plain_error(&text));
            }
        };
        let operations = input.operations.unwrap_or_else(|| vec![input.one]);
        let changes: Result<Vec<Change>, String> = operations.into_iter().map(change).collect();
        let changes = match changes {
            Ok(changes) => changes,
            Err(why) => return Ok(ToolOutput::json(&json!({ "success": false, "error": why }))),
        };
        let memory = &seat::of(cx)?.memory;
        Ok(ToolOutput::json(&match memory.change(target, &changes) {
            Ok(kept) => success(name, &kept),
            Err(error) => failure(&error),
        }))
    }
}

fn change(operation: Operation) -> Result<Change, String> {
    let need = |text: Option<String>, name: &str| {
        text.filter(|text| !text.trim().is_empty()).ok_or_else(|| format!("`{name}` is missing"))
    };
    match operation.action.as_deref() {
        Some("add") => Ok(Change::Add(need(operation.content, "content")?)),
        Some("replace") => Ok(Change::Replace(
            need(operation.old_text, "old_text")?,
            need(operation.content, "content")?,
        )),
        Some("remove") => Ok(Change::Remove(need(operation.old_text, "old_text")?)),
        _ => Err("`action` must be `add`, `replace` or `remove`".to_owned()),
    }
}

fn success(target: &str, kept: &Kept) -> Value {
    let message =
        if kept.changed { "Remembered." } else { "Nothing to change: it is there already." };
    json!({
        "success": true,
        "done": true,
        "target": target,
        "usage": format!("{}/{} characters", kept.used, kept.limit),
        "entry_count": kept.entries,
        "message": message,
        "note": "Later conversations will see it; the prompt of this one stays as it is."
    })
}

fn failure(error: &MemoryError) -> Value {
    let mut value = json!({ "success": false, "error": error.to_string() });
    if let MemoryError::Full { would, limit, entries } = error {
        value["usage"] = format!("{would}/{limit} characters").into();
        value["current_entries"] = entries.clone().into();
    }
    value
}
