//! `kanban_block`: a task that cannot go on.

use petasos_contract::hook::HookKind;
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_block",
    toolset: "kanban",
    description: "Block a task of the board",
    emoji: "⏸",
    core: true,
    check: Some(&board::KANBAN),
    schema,
    examples: &[
        Example {
            title: "a person is needed",
            args: r#"{"task_id":"t_0a1b2c3d","reason":"Which hats are meant?","kind":"needs_input"}"#,
            shows: r#""status":"blocked""#,
        },
        Example {
            title: "without a reason nothing is blocked",
            args: r#"{"task_id":"t_00000000","reason":" "}"#,
            shows: "say what is missing",
        },
    ],
    build: |ports| BoardTool::changing(ports, block),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Stop work: `dependency` waits for tasks, the rest for a person.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": board::task_parameter(),
                "reason": { "type": "string" },
                "kind": {
                    "type": "string",
                    "enum": KINDS
                },
                "board": board::board_parameter(),
            },
            "required": ["reason"],
        },
    })
}

const KINDS: [&str; 4] = ["dependency", "needs_input", "capability", "transient"];

fn block(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let reason = args.text("reason").unwrap_or_default().trim();
        if reason.is_empty() {
            return Err(Trouble::new("bad_argument", "say what is missing: `reason` is empty"));
        }
        let kind = args.text("kind").unwrap_or("needs_input");
        if !KINDS.contains(&kind) {
            let why = format!("`{kind}` is no kind: {}", KINDS.join(", "));
            return Err(Trouble::new("bad_argument", why));
        }
        let on = desk.on(desk.task(&args)?)?;
        let goal = desk.store.view_task(&on.board, &on.task).await?.task.goal;
        if goal.is_some() && !matches!(kind, "dependency" | "needs_input") {
            let why = "a goal waits for a dependency or for input; go on otherwise";
            return Err(Trouble::new("bad_argument", why));
        }
        let reason = desk.masked(reason);
        let (task, run) = desk.store.block(on, kind.to_owned(), reason.clone()).await?;
        desk.tell(HookKind::KanbanTaskBlocked, &task, run, &reason).await;
        Ok(board::ok(json!({
            "task_id": task.id,
            "run_id": run,
            "status": task.status,
            "block_kind": kind,
        })))
    })
}
