//! `kanban_attachments`: the files of a task.

use petasos_contract::tool::{Example, InPlanMode};
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_attachments",
    toolset: "kanban",
    description: "List the files of a task",
    emoji: "📎",
    core: true,
    check: Some(&board::KANBAN),
    in_plan_mode: InPlanMode::ByEffects,
    schema,
    examples: &[
        Example {
            title: "what is attached",
            args: r#"{"task_id":"t_0a1b2c3d"}"#,
            shows: r#""note.txt""#,
        },
        Example {
            title: "a task that is not there",
            args: r#"{"task_id":"t_00000000"}"#,
            shows: "not_found",
        },
    ],
    build: |ports| BoardTool::looking(ports, list),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List the files of a task.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": board::task_parameter(),
                "board": board::board_parameter(),
            },
        },
    })
}

fn list(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let view = desk.store.view_task(&desk.board, &desk.task(&args)?).await?;
        board::noted(&view.attachments, desk.cx).await;
        Ok(board::ok(json!({
            "task_id": view.task.id,
            "attachments": view.attachments,
            "count": view.attachments.len(),
        })))
    })
}
