//! `memory`: short notes that later conversations find in their prompt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::tool::{Example, FailureSign, RoundKind, Route, Tool};
use petasos_contract::{BoxFuture, CallContext, Cleared, ToolDef, ToolError, ToolOutput, wait};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::Question;
use crate::memory::pending::{self, Pending};
use crate::memory::{Change, Kept, Memory, MemoryError, Target};
use crate::seat::{self, LoopSeat};

/// After so many refusals in a turn the model is told to leave it.
const REFUSED_MAX: u32 = 3;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "memory",
    toolset: "memory",
    description: "Keep short notes for later conversations",
    emoji: "🧠",
    core: true,
    route: Route::AgentLoop,
    schema,
    examples: &[Example {
        title: "a lasting fact",
        args: r#"{"action":"add","target":"user","content":"Likes felt hats."}"#,
        shows: r#""success":true"#,
    }],
    build: |_| Arc::new(Notes),
    round: RoundKind::Housekeeping,
    failure: FailureSign::Full,
    ..ToolDef::USUAL
};

/// How long consent is waited for.
const ASKED_MAX: Duration = Duration::from_mins(5);

fn schema() -> Value {
    let operation = json!({
        "action": { "type": "string", "enum": ["add", "replace", "remove"] },
        "content": { "type": "string" },
        "old_text": {
            "type": "string",
            "description": "A part of it alone"
        }
    });
    let mut properties = operation.as_object().cloned().unwrap_or_default();
    properties.insert(
        "target".to_owned(),
        json!({
            "type": "string",
            "enum": ["memory", "user"],
            "description": "Of the work, or the person"
        }),
    );
    properties.insert(
        "operations".to_owned(),
        json!({
            "type": "array",
            "description": "Together or not at all",
            "items": { "type": "object", "properties": operation, "required": ["action"] }
        }),
    );
    json!({
        "description": "Keep short, lasting facts for later conversations, not for the task at \
            hand. Replace or remove what is no longer true.",
        "parameters": { "type": "object", "properties": properties, "required": ["target"] }
    })
}

#[derive(Debug, Deserialize)]
struct Operation {
    action: Option<String>,
    content: Option<String>,
    old_text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Input {
    target: Option<String>,
    #[serde(flatten)]
    one: Operation,
    operations: Option<Vec<Operation>>,
}

struct Notes;

impl Tool for Notes {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input: Input = cleared.into_args().parse()?;
            let (target, name) = match input.target.as_deref() {
                Some("user") => (Target::User, "user"),
                Some("memory") | None => (Target::Memory, "memory"),
                Some(other) => {
                    let text = format!("`{other}` is no target: use `memory` or `user`");
                    return Ok(ToolOutput::plain_error(&text));
                }
            };
            let operations = input.operations.unwrap_or_else(|| vec![input.one]);
            let changes: Result<Vec<Change>, String> = operations.into_iter().map(change).collect();
            let seat = seat::of(cx)?;
            let allowed = match changes {
                Ok(changes) => agreed(&changes, seat, cx).await.map(|()| changes),
                Err(why) => Err(why),
            };
            let changes = match allowed {
                Ok(changes) => changes,
                Err(why) => {
                    return Ok(ToolOutput::json(&json!({ "success": false, "error": why })));
                }
            };
            let memory = seat.memory.clone();
            let changes = match pending::whose(&changes, cx) {
                None => changes,
                // Whoever is there has agreed to it already.
                Some(from) if pending::is_asked_in_place(cx) => {
                    changes.into_iter().map(|change| change.labelled(&from)).collect()
                }
                Some(from) => {
                    return Ok(staged(Pending::new(target, changes, from, cx), memory).await);
                }
            };
            let done = tokio::task::spawn_blocking(move || memory.change(target, &changes)).await;
            Ok(ToolOutput::json(&match done {
                Ok(Ok(kept)) => success(name, &kept),
                Ok(Err(error)) => failure(&error, seat.refuse_note(&cx.turn)),
                Err(error) => return Err(ToolError::new("Interrupted", error.to_string())),
            }))
        })
    }
}

/// Keeps a change for a person to decide, and says so.
async fn staged(change: Pending, memory: Memory) -> ToolOutput {
    let id = change.id.clone();
    let done = tokio::task::spawn_blocking(move || memory.stage(&change)).await;
    let error = match done {
        Ok(Ok(())) => {
            let message = format!(
                "It waits for the user, because this conversation has read text from outside: \
                 `/memory approve {id}` keeps it. Do not try again."
            );
            return ToolOutput::json(&json!({
                "success": true, "staged": true, "pending_id": id, "message": message
            }));
        }
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    ToolOutput::json(&json!({ "success": false, "error": error, "error_type": "busy" }))
}

/// Where notes need consent, the user is asked; without anybody to ask nothing is remembered.
async fn agreed(changes: &[Change], seat: &LoopSeat, cx: &CallContext) -> Result<(), String> {
    if cx.settings.get("memory.write_approval") != Some(&Value::Bool(true)) {
        return Ok(());
    }
    let Some(asker) = &seat.engine.asker else {
        return Err("notes need the user's consent here and nobody can be asked".to_owned());
    };
    let lines: Vec<String> = changes.iter().map(Change::line).collect();
    let text = format!("Change the notes for later conversations?\n{}", lines.join("\n"));
    let question = Question { text, choices: vec!["yes".to_owned(), "no".to_owned()] };
    let deadline = cx.deadline.min(Instant::now() + ASKED_MAX);
    let answer = cx.pauses.during(asker.ask(&question, cx));
    match wait::until(deadline, "consent to a note", answer).await {
        Ok(Ok(answer)) if answer.trim().eq_ignore_ascii_case("yes") => Ok(()),
        Ok(Ok(_)) => Err("the user did not want this remembered".to_owned()),
        Ok(Err(why)) => Err(why),
        Err(_) => Err("nobody answered in time: nothing was remembered".to_owned()),
    }
}

fn change(operation: Operation) -> Result<Change, String> {
    let need = |text: Option<String>, name: &str| {
        text.filter(|text| !text.trim().is_empty()).ok_or_else(|| format!("`{name}` is missing"))
    };
    match operation.action.as_deref() {
        Some("add") => Ok(Change::Add(need(operation.content, "content")?)),
        Some("replace") => Ok(Change::Replace(
            need(operation.old_text, "old_text")?,
            need(operation.content, "content")?,
        )),
        Some("remove") => Ok(Change::Remove(need(operation.old_text, "old_text")?)),
        _ => Err("`action` must be `add`, `replace` or `remove`".to_owned()),
    }
}

fn success(target: &str, kept: &Kept) -> Value {
    let message =
        if kept.changed { "Remembered." } else { "Nothing to change: it is there already." };
    json!({
        "success": true,
        "done": true,
        "target": target,
        "usage": format!("{}/{} characters", kept.used, kept.limit),
        "entry_count": kept.entries,
        "message": message,
        "note": "Later conversations will see it; the prompt of this one stays as it is."
    })
}

fn failure(error: &MemoryError, times: u32) -> Value {
    let mut value = json!({ "success": false, "error": error.to_string() });
    if times >= REFUSED_MAX {
        value["done"] = true.into();
        value["message"] = "This did not work several times. Go on without a note.".into();
    }
    if let MemoryError::Full { would, limit, entries } = error {
        value["usage"] = format!("{would}/{limit} characters").into();
        value["current_entries"] = entries.clone().into();
    }
    value
}
