//! `kanban_list`: tasks of a board.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use petasos_store::{Status, TaskFilter};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_list",
    toolset: "kanban",
    description: "List tasks of the board",
    emoji: "📋",
    core: true,
    check: Some(&board::ORCHESTRATOR),
    schema,
    examples: &[Example { title: "the whole board", args: "{}", shows: r#""count":"# }],
    build: |ports| BoardTool::changing(ports, list),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List tasks, most urgent first.",
        "parameters": {
            "type": "object",
            "properties": {
                "assignee": { "type": "string" },
                "status": {
                    "type": "string",
                    "enum": ["triage", "todo", "ready", "running", "blocked", "done", "archived"]
                },
                "tenant": { "type": "string" },
                "include_archived": { "type": "boolean" },
                "limit": { "type": "integer" },
                "board": board::board_parameter(),
            },
        },
    })
}

const LIMIT_USUAL: usize = 50;
const LIMIT_MAX: usize = 200;

#[derive(Deserialize)]
struct Input {
    assignee: Option<String>,
    status: Option<Status>,
    tenant: Option<String>,
    #[serde(default)]
    include_archived: bool,
    limit: Option<usize>,
}

fn list(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let input: Input = args.parse()?;
        let promoted = desk.store.promote(&desk.board, desk.who.at_ms).await?;
        let limit = input.limit.unwrap_or(LIMIT_USUAL).clamp(1, LIMIT_MAX);
        let filter = TaskFilter {
            board: desk.board.clone(),
            assignee: input.assignee,
            status: input.status,
            tenant: input.tenant,
            archived: input.include_archived,
            limit: limit + 1,
        };
        let mut tasks = desk.store.list_tasks(filter).await?;
        let truncated = tasks.len() > limit;
        tasks.truncate(limit);
        let mut shown = json!({
            "tasks": tasks.iter().map(board::row).collect::<Vec<_>>(),
            "count": tasks.len(),
            "limit": limit,
            "truncated": truncated,
            "promoted": promoted,
        });
        if truncated && limit < LIMIT_MAX {
            shown["next_limit"] = (limit * 2).min(LIMIT_MAX).into();
        }
        Ok(board::ok(shown))
    })
}
