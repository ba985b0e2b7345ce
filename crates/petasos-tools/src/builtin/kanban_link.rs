//! `kanban_link`: one task waits for another.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_link",
    toolset: "kanban",
    description: "Make a task wait for another",
    emoji: "🔗",
    core: true,
    check: Some(&board::KANBAN),
    schema,
    examples: &[
        Example {
            title: "one after the other",
            args: r#"{"parent_id":"t_0a1b2c3d","child_id":"t_4e5f6071"}"#,
            shows: r#""ok":true"#,
        },
        Example {
            title: "tasks that are not there",
            args: r#"{"parent_id":"t_00000000","child_id":"t_00000001"}"#,
            shows: "not_found",
        },
    ],
    build: |ports| BoardTool::changing(ports, link),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Make a child wait for its parent.",
        "parameters": {
            "type": "object",
            "properties": {
                "parent_id": { "type": "string" },
                "child_id": { "type": "string" },
                "board": board::board_parameter(),
            },
            "required": ["parent_id", "child_id"],
        },
    })
}

fn link(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let named = |name: &str| args.text(name).unwrap_or_default().to_owned();
        let (parent, child) = (named("parent_id"), named("child_id"));
        desk.store.link(desk.on(child.clone())?, &parent).await?;
        Ok(board::ok(json!({ "parent_id": parent, "child_id": child })))
    })
}
