//! `kanban_show`: one task with everything around it.

use petasos_contract::tool::{Example, InPlanMode};
use petasos_contract::{Args, BoxFuture, ToolDef};
use petasos_store::{Run, TaskView};
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_show",
    toolset: "kanban",
    description: "Show a task of the board",
    emoji: "📋",
    core: true,
    check: Some(&board::KANBAN),
    in_plan_mode: InPlanMode::ByEffects,
    schema,
    examples: &[
        Example {
            title: "one task",
            args: r#"{"task_id":"t_0a1b2c3d"}"#,
            shows: r#""worker_context":"#,
        },
        Example {
            title: "a task that is not there",
            args: r#"{"task_id":"t_00000000"}"#,
            shows: "not_found",
        },
    ],
    build: |ports| BoardTool::looking(ports, show),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Show a task, your own without task_id: `worker_context` has all that a worker needs.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": board::task_parameter(),
                "board": board::board_parameter(),
            },
        },
    })
}

const BODY_CHARS_MAX: usize = 8 << 10;

fn show(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let view = desk.store.view_task(&desk.board, &desk.task(&args)?).await?;
        board::noted(&view.attachments, desk.cx).await;
        let words = view.comments.iter().map(|comment| comment.label);
        let label = words.fold(view.task.label, petasos_contract::taint::Taint::with);
        let mut shown = json!({
            "task": view.task,
            "parents": view.parents.iter().map(board::row).collect::<Vec<_>>(),
            "children": view.children.iter().map(board::row).collect::<Vec<_>>(),
            "comments": view.comments,
            "events": view.events,
            "runs": view.runs,
            "attachments": view.attachments,
            "worker_context": context(&view),
        });
        if !label.is_clean() {
            shown["from_outside"] = true.into();
        }
        Ok(board::ok(shown))
    })
}

/// Everything that a worker has to know, as text.
fn context(view: &TaskView) -> String {
    let task = &view.task;
    let mut text = format!("# {} ({}, for {})\n", task.title, task.id, task.assignee);
    let body: String = task.body.chars().take(BODY_CHARS_MAX).collect();
    section(&mut text, "", &body);
    if !task.skills.is_empty() {
        section(&mut text, "Skills to load", &task.skills.join(", "));
    }
    let handed = view.parents.iter().map(|parent| {
        let said = parent.summary.as_deref().or(parent.result.as_deref()).unwrap_or("nothing yet");
        format!("- {} {}: {said}", parent.id, parent.title)
    });
    section(&mut text, "Handed over by what was done before", &lines(handed));
    section(&mut text, "Attempts so far", &lines(view.runs.iter().map(attempt)));
    section(
        &mut text,
        "Your latest work on other tasks",
        &lines(view.role_runs.iter().map(attempt)),
    );
    let comments = view.comments.iter().map(|it| format!("- {}: {}", it.author, it.body));
    section(&mut text, "Comments", &lines(comments));
    let files = view.attachments.iter().map(|it| format!("- {}", it.path.display()));
    section(&mut text, "Files", &lines(files));
    text
}

fn attempt(run: &Run) -> String {
    let outcome = run.outcome.as_deref().unwrap_or("running");
    let note = run.note.as_deref().unwrap_or_default();
    format!("- {} by {}: {outcome} {note}", run.task, run.profile).trim_end().to_owned()
}

fn lines(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join("\n")
}

fn section(text: &mut String, title: &str, body: &str) {
    if body.is_empty() {
        return;
    }
    if !title.is_empty() {
        text.extend(["\n## ", title, "\n"]);
    }
    text.extend([body, "\n"]);
}
