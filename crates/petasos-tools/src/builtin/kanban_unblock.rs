//! `kanban_unblock`: a blocked task goes on.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_unblock",
    toolset: "kanban",
    description: "Let a blocked task go on",
    emoji: "▶",
    core: true,
    check: Some(&board::ORCHESTRATOR),
    schema,
    examples: &[
        Example {
            title: "it can go on",
            args: r#"{"task_id":"t_0a1b2c3d"}"#,
            shows: r#""ok":true"#,
        },
        Example {
            title: "a task that is not there",
            args: r#"{"task_id":"t_00000000"}"#,
            shows: "not_found",
        },
    ],
    build: |ports| BoardTool::changing(ports, unblock),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Let a blocked task go on.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": { "type": "string" },
                "board": board::board_parameter(),
            },
            "required": ["task_id"],
        },
    })
}

fn unblock(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let task = desk.store.unblock(desk.on(desk.task(&args)?)?).await?;
        Ok(board::ok(json!({ "task_id": task.id, "status": task.status })))
    })
}
