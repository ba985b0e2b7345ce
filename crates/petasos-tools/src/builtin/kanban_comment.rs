//! `kanban_comment`: a word about a task.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_comment",
    toolset: "kanban",
    description: "Comment on a task",
    emoji: "💬",
    core: true,
    check: Some(&board::KANBAN),
    schema,
    examples: &[
        Example {
            title: "a remark",
            args: r#"{"task_id":"t_0a1b2c3d","body":"Straw hats are not meant."}"#,
            shows: r#""comment_id":"#,
        },
        Example {
            title: "an empty comment is not kept",
            args: r#"{"task_id":"t_00000000","body":" "}"#,
            shows: "nothing to say",
        },
    ],
    build: |ports| BoardTool::changing(ports, comment),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Add a comment to a task.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": { "type": "string" },
                "body": { "type": "string" },
                "board": board::board_parameter(),
            },
            "required": ["task_id", "body"],
        },
    })
}

fn comment(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let body = args.text("body").unwrap_or_default().trim();
        if body.is_empty() {
            return Err(Trouble::new("bad_argument", "there is nothing to say: `body` is empty"));
        }
        let on = desk.on(desk.task(&args)?)?;
        let id = desk.store.comment(on, desk.masked(body), desk.cx.label()).await?;
        Ok(board::ok(json!({ "comment_id": id })))
    })
}
