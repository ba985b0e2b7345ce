//! `kanban_attach`: a file for a task.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use petasos_store::NewFile;
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_attach",
    toolset: "kanban",
    description: "Attach a file to a task",
    emoji: "📎",
    core: true,
    check: Some(&board::KANBAN),
    schema,
    examples: &[
        Example {
            title: "a small file",
            args: r#"{"task_id":"t_0a1b2c3d","filename":"note.txt","content_base64":"aGF0cwo="}"#,
            shows: r#""size":5"#,
        },
        Example {
            title: "what is no base64 is not kept",
            args: r#"{"task_id":"t_00000000","filename":"a.txt","content_base64":"?"}"#,
            shows: "no base64",
        },
    ],
    build: |ports| BoardTool::changing(ports, attach),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Attach a file to a task, at most 25 MB.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": board::task_parameter(),
                "filename": { "type": "string" },
                "content_base64": { "type": "string" },
                "content_type": { "type": "string" },
                "board": board::board_parameter(),
            },
            "required": ["filename", "content_base64"],
        },
    })
}

fn attach(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let text = args.text("content_base64").unwrap_or_default();
        let content = STANDARD.decode(text).map_err(|error| {
            Trouble::new("bad_argument", format!("`content_base64` is no base64: {error}"))
        })?;
        let on = desk.on(desk.task(&args)?)?;
        let file = NewFile {
            filename: args.text("filename").unwrap_or_default().to_owned(),
            content_type: args.text("content_type").map(str::to_owned),
            source: None,
            content,
        };
        let kept = desk.store.attach(on, file, desk.cx.label()).await?;
        board::noted(std::slice::from_ref(&kept), desk.cx).await;
        Ok(board::ok(json!({ "attachment_id": kept.attachment_id, "size": kept.size })))
    })
}
