//! `kanban_heartbeat`: a sign of life.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_heartbeat",
    toolset: "kanban",
    description: "Tell the board that work goes on",
    emoji: "💓",
    core: true,
    check: Some(&board::KANBAN),
    schema,
    examples: &[
        Example {
            title: "still at work",
            args: r#"{"task_id":"t_0a1b2c3d","note":"half of them are counted"}"#,
            shows: r#""ok":true"#,
        },
        Example {
            title: "a task that is not there",
            args: r#"{"task_id":"t_00000000"}"#,
            shows: "not_found",
        },
    ],
    build: |ports| BoardTool::changing(ports, beat),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Say that you still work, every 15 minutes.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": board::task_parameter(),
                "note": { "type": "string" },
                "board": board::board_parameter(),
            },
        },
    })
}

fn beat(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let task = desk.task(&args)?;
        let note = args.text("note").map(|note| desk.masked(note));
        desk.store.beat(desk.on(task.clone())?, note).await?;
        Ok(board::ok(json!({ "task_id": task })))
    })
}
