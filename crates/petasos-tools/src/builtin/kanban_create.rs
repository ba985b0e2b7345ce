//! `kanban_create`: a task for another profile.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use petasos_store::{Goal, NewTask, Status, Workspace};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_create",
    toolset: "kanban",
    description: "Put a task on the board",
    emoji: "➕",
    core: true,
    check: Some(&board::KANBAN),
    schema,
    examples: &[Example {
        title: "a task that can begin at once",
        args: r#"{"title":"Write the release notes","assignee":"writer"}"#,
        shows: "\"status\":\"ready\"",
    }],
    build: |ports| BoardTool::changing(ports, create),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let plain = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "description": "Put a task on the board; it waits for its parents.",
        "parameters": {
            "type": "object",
            "properties": {
                "title": plain(),
                "assignee": plain(),
                "body": text("All it must know"),
                "parents": texts(),
                "tenant": plain(),
                "priority": { "type": "integer" },
                "workspace_kind": {
                    "type": "string",
                    "enum": ["scratch", "dir", "worktree"]
                },
                "workspace_path": plain(),
                "project": plain(),
                "triage": { "type": "boolean" },
                "idempotency_key": plain(),
                "max_runtime_seconds": { "type": "integer" },
                "initial_status": {
                    "type": "string",
                    "enum": ["running", "blocked"]
                },
                "skills": texts(),
                "goal_mode": { "type": "boolean" },
                "goal_max_turns": { "type": "integer" },
                "board": board::board_parameter(),
            },
            "required": ["title", "assignee"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    title: String,
    assignee: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    parents: Vec<String>,
    tenant: Option<String>,
    #[serde(default)]
    priority: i64,
    workspace_kind: Option<String>,
    workspace_path: Option<String>,
    project: Option<String>,
    #[serde(default)]
    triage: bool,
    idempotency_key: Option<String>,
    max_runtime_seconds: Option<u32>,
    initial_status: Option<String>,
    #[serde(default)]
    skills: Vec<String>,
    #[serde(default)]
    goal_mode: bool,
    goal_max_turns: Option<u32>,
}

impl Input {
    fn workspace(&self) -> Result<Option<Workspace>, Trouble> {
        let path = self.workspace_path.clone();
        let kind = match (self.workspace_kind.as_deref(), &path) {
            (None, None) => return Ok(None),
            (None, Some(_)) => "dir",
            (Some(kind), _) => kind,
        };
        if matches!(kind, "dir" | "worktree") && path.is_none() {
            let why = format!("a workspace of kind `{kind}` needs `workspace_path`");
            return Err(Trouble::new("bad_argument", why));
        }
        if !matches!(kind, "scratch" | "dir" | "worktree") {
            let why = format!("`{kind}` is no kind of workspace: scratch, dir or worktree");
            return Err(Trouble::new("bad_argument", why));
        }
        Ok(Some(Workspace { kind: kind.to_owned(), path }))
    }

    fn begins(&self) -> Result<Option<Status>, Trouble> {
        match self.initial_status.as_deref() {
            _ if self.triage => Ok(Some(Status::Triage)),
            None | Some("running") => Ok(None),
            Some("blocked") => Ok(Some(Status::Blocked)),
            Some(other) => {
                let why = format!("`{other}` is no state to begin in: running or blocked");
                Err(Trouble::new("bad_argument", why))
            }
        }
    }
}

fn create(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let input: Input = args.parse()?;
        let (workspace, begins) = (input.workspace()?, input.begins()?);
        if input.title.trim().is_empty() || input.assignee.trim().is_empty() {
            return Err(Trouble::new("bad_argument", "a task needs a title and an assignee"));
        }
        let new = NewTask {
            board: desk.board.clone(),
            title: desk.masked(input.title.trim()),
            body: desk.masked(&input.body),
            assignee: input.assignee.trim().to_owned(),
            parents: input.parents,
            tenant: input.tenant,
            priority: input.priority,
            workspace,
            project: input.project,
            begins,
            idempotency_key: input.idempotency_key,
            max_runtime_s: input.max_runtime_seconds,
            skills: input.skills,
            goal: input.goal_mode.then_some(Goal { max_turns: input.goal_max_turns }),
            by: desk.who.profile.clone(),
            session: Some(desk.cx.session.clone()),
            label: desk.cx.label(),
            at_ms: desk.who.at_ms,
        };
        let created = desk.store.create_task(new).await?;
        let mut told = json!({
            "task_id": created.task.id,
            "status": created.task.status,
            "subscribed": desk.is_told(),
        });
        if !created.is_new {
            told["existing"] = true.into();
        }
        Ok(board::ok(told))
    })
}
