//! `kanban_complete`: a task is done.

use std::path::Path;
use std::sync::Arc;

use petasos_contract::effect::Effects;
use petasos_contract::hook::HookKind;
use petasos_contract::message::Message;
use petasos_contract::model::{Prompt, Role};
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use petasos_redact::Redactor;
use petasos_store::{ATTACHMENT_BYTES_MAX, Completion, NewFile, Task};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::board::{self, BoardTool, Desk};
use crate::files::judged;
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "kanban_complete",
    toolset: "kanban",
    description: "Finish a task of the board",
    emoji: "✔",
    core: true,
    check: Some(&board::KANBAN),
    schema,
    examples: &[
        Example {
            title: "it is done",
            args: r#"{"task_id":"t_0a1b2c3d","summary":"There are three hats."}"#,
            shows: r#""ok":true"#,
        },
        Example {
            title: "a task needs a word at its end",
            args: r#"{"task_id":"t_00000000"}"#,
            shows: "say what was done",
        },
    ],
    build: |ports| Arc::new(BoardTool { ports: ports.clone(), effects, handle: complete }),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Finish a task: summary or result, and files.",
        "parameters": {
            "type": "object",
            "properties": {
                "task_id": board::task_parameter(),
                "summary": { "type": "string" },
                "metadata": { "type": "object" },
                "result": { "type": "string" },
                "created_cards": {
                    "type": "array",
                    "items": { "type": "string" }
                },
                "artifacts": {
                    "type": "array",
                    "items": { "type": "string" }
                },
                "board": board::board_parameter(),
            },
        },
    })
}

#[derive(Deserialize)]
struct Input {
    summary: Option<String>,
    #[serde(default)]
    metadata: Value,
    result: Option<String>,
    #[serde(default)]
    created_cards: Vec<String>,
    #[serde(default)]
    artifacts: Vec<String>,
}

fn effects(args: &mut Args, cx: &CallContext) -> Effects {
    let paths = args.object_mut().get_mut("artifacts").and_then(Value::as_array_mut);
    let reads = paths.into_iter().flatten().filter_map(|path| judged::pin(path, cx));
    std::iter::once(board::kept()).chain(reads).collect()
}

fn complete(desk: Desk<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let on = desk.on(desk.task(&args)?)?;
        let input: Input = args.parse()?;
        let said = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(|it| desk.masked(it))
        };
        let (summary, result) = (said(&input.summary), said(&input.result));
        let Some(note) = summary.clone().or_else(|| result.clone()) else {
            let why = "say what was done: `summary` or `result` is needed";
            return Err(Trouble::new("bad_argument", why));
        };
        let mut metadata = input.metadata;
        Redactor::of(&desk.cx.settings).value(&mut metadata);
        let mut artifacts = Vec::new();
        for path in &input.artifacts {
            artifacts.push(artifact(path, &desk).await?);
        }
        let task = desk.store.view_task(&on.board, &on.task).await?.task;
        let judged = match &task.goal {
            Some(_) => Some(judge(&desk, &task, &note).await?),
            None => None,
        };
        let created_cards = input.created_cards;
        let done = Completion { summary, result, metadata, created_cards, artifacts };
        let run = desk.store.complete(on, done).await?;
        desk.tell(HookKind::KanbanTaskCompleted, &task, run, &note).await;
        let mut told = json!({ "task_id": task.id, "run_id": run });
        if let Some(Some(remark)) = judged {
            told["note"] = remark.into();
        }
        Ok(board::ok(told))
    })
}

async fn artifact(path: &str, desk: &Desk<'_>) -> Result<NewFile, Trouble> {
    let workspace = petasos_fs::real(&desk.cx.workspace);
    let named = Path::new(path).strip_prefix(workspace).unwrap_or(Path::new(path)).display();
    let content = judged::bytes(path, ATTACHMENT_BYTES_MAX as u64).await.map_err(|error| {
        let large = error.kind() == std::io::ErrorKind::FileTooLarge;
        let (kind, what) = if large {
            ("too_large", "is larger than 25 MB".to_owned())
        } else {
            ("not_found", format!("cannot be read ({error})"))
        };
        Trouble::new(kind, format!("the artifact `{named}` {what}; nothing was changed"))
    })?;
    Ok(NewFile { filename: named.to_string(), content, ..NewFile::default() })
}

/// Whether the goal is met. A judge that cannot be asked does not stand in the way, and is named.
async fn judge(desk: &Desk<'_>, task: &Task, note: &str) -> Result<Option<String>, Trouble> {
    let Some(model) = &desk.ports.model else {
        return Ok(Some("no judge was asked: this program has no model".to_owned()));
    };
    let question = format!(
        "Goal: {}\n{}\n\nWhat the worker says it did:\n{note}\n\nIs the goal met? Begin your \
         answer with YES or NO, then one sentence.",
        task.title, task.body
    );
    let prompt = Prompt {
        system: "You judge whether a goal is met, by what is reported and nothing else.".to_owned(),
        messages: vec![Message::user(question)],
        max_tokens: Some(200),
        ..Prompt::default()
    };
    match model.ask(&prompt, Role::GoalJudge, desk.cx).await {
        Err(error) => Ok(Some(format!("the judge could not be asked: {}", error.line))),
        Ok(reply) => {
            let answer = reply.message.text();
            let answer = answer.trim();
            if !answer.to_ascii_uppercase().starts_with("NO") {
                return Ok(None);
            }
            let why = format!("the judge says that the goal is not met: {answer}; go on with it");
            Err(Trouble::new("not_actionable", why))
        }
    }
}
