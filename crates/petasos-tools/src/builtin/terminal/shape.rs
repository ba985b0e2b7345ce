//! Results as the JSON that the model reads.

use petasos_contract::CallContext;
use petasos_contract::context::Surface;
use petasos_contract::environment::EnvError;
use petasos_contract::jobs::Notify;
use petasos_contract::terminal::{Ended, Ran, Started, SudoNote};
use serde_json::{Map, Value, json};

use super::{Wishes, evidence, meaning, result};

/// A command that did not run.
pub(super) fn refused(message: &str, status: &str) -> Value {
    let mut told = result("", -1, Some(message));
    put(&mut told, "status", status);
    told
}

/// A program without a terminal.
pub(super) fn disabled() -> Value {
    refused("this program has no terminal to run commands in", "disabled")
}

/// A place that could not run it.
pub(super) fn failed(error: &EnvError) -> Value {
    let status = match error {
        EnvError::Sandbox { .. } => "blocked",
        EnvError::Unknown { .. } => "disabled",
        _ => "error",
    };
    refused(&error.to_string(), status)
}

/// A command that ran.
pub(super) fn ran(command: &str, ran: Ran, pty_note: Option<&str>, cx: &CallContext) -> Value {
    let mut output = ran.output;
    let mut extra = Map::new();
    let exit_code = match &ran.ended {
        Ended::Exited(code) => *code,
        Ended::TimedOut(after) => {
            line(&mut output, &format!("[Command timed out after {}s]", after.as_secs()));
            124
        }
        Ended::Backgrounded(job) => {
            line(&mut output, &format!("[Time is up; it goes on as background process {job}]"));
            extra.insert("session_id".to_owned(), json!(job));
            extra.insert("status".to_owned(), json!("running"));
            124
        }
        Ended::Interrupted => {
            line(&mut output, "[Command interrupted]");
            130
        }
        Ended::NeedsInput { job, prompt } => {
            extra.insert("session_id".to_owned(), json!(job));
            extra.insert("status".to_owned(), json!("needs_input"));
            extra.insert("needs_input".to_owned(), json!(prompt));
            let hint = "answer with the process tool: action submit, or end it with kill";
            extra.insert("hint".to_owned(), json!(hint));
            0
        }
        Ended::NoCwd(_) => 126,
    };
    sudo(ran.sudo, &mut output, &mut extra, cx);
    let error = match &ran.ended {
        Ended::NoCwd(why) => Some(why.as_str()),
        _ => None,
    };
    let mut told = result(&output, exit_code, error);
    let note = meaning::of(command, exit_code).filter(|_| matches!(ran.ended, Ended::Exited(_)));
    let evidence =
        evidence::of(command, exit_code).filter(|_| matches!(ran.ended, Ended::Exited(_)));
    let left = ran.left_running.map(|job| {
        json!({
            "session_id": job,
            "note": "the command left processes running; they end with this program or by the \
                process tool: action kill"
        })
    });
    let confined = ran.confinement != "off";
    if ran.denied.is_some() && !extra.contains_key("hint") {
        let hint = "if the task needs it, call once more with outside_sandbox=true: the user is \
                    asked to run this command once outside";
        extra.insert("hint".to_owned(), json!(hint));
    }
    let optional = [
        ("exit_code_meaning", note.map(Value::from)),
        ("verification_evidence", evidence),
        ("full_output", ran.whole.map(|path| json!(path))),
        ("left_running", left),
        ("sandbox", confined.then(|| json!(ran.confinement))),
        ("sandbox_denied", ran.denied.map(Value::from)),
        ("target", (ran.target != "local").then(|| json!(ran.target))),
        ("pty_note", pty_note.map(Value::from)),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            put(&mut told, key, value);
        }
    }
    extend(&mut told, extra);
    told
}

fn sudo(
    note: Option<SudoNote>,
    output: &mut String,
    extra: &mut Map<String, Value>,
    cx: &CallContext,
) {
    match note {
        Some(SudoNote::CacheCleared) => {
            extra.insert("sudo_auth_failed".to_owned(), json!(true));
            extra.insert("sudo_cache_cleared".to_owned(), json!(true));
        }
        Some(SudoNote::Refused) => {
            extra.insert("sudo_auth_failed".to_owned(), json!(true));
        }
        Some(SudoNote::Needed) if cx.surface == Surface::Gateway => {
            line(output, "[sudo needs a password: set SUDO_PASSWORD in the agent's .env file]");
        }
        Some(SudoNote::Needed) | None => {}
    }
}

/// What a background start tells besides its name.
pub(super) fn notes(wishes: &Wishes, notify: &Notify, hears_later: bool) -> Map<String, Value> {
    let mut notes = Map::new();
    let mut note = |key: &str, value: Value| {
        notes.insert(key.to_owned(), value);
    };
    let wanted = wishes.end || !wishes.lines.is_empty();
    match notify {
        Notify::OnComplete => note("notify_on_complete", json!(true)),
        Notify::Watch(patterns) => note("watch_patterns", json!(patterns)),
        Notify::Silent if wanted && !hears_later => note(
            "notify_unsupported",
            json!("this session cannot be told later: use the process tool to poll or wait"),
        ),
        Notify::Silent => note(
            "hint",
            json!(
                "nobody will tell when it ends: use notify_on_complete=true for that, or the \
                   process tool to poll or wait"
            ),
        ),
    }
    if wishes.end && !wishes.lines.is_empty() && hears_later {
        let why = "notify_on_complete was asked for too; patterns are dropped";
        note("watch_patterns_ignored", json!(why));
    }
    notes
}

/// A started job.
pub(super) fn started(started: &Started, notes: Map<String, Value>) -> Value {
    let mut told = result("Background process started", 0, None);
    put(&mut told, "session_id", json!(started.job));
    put(&mut told, "pid", json!(started.pid));
    if started.confinement != "off" {
        put(&mut told, "sandbox", json!(started.confinement));
    }
    extend(&mut told, notes);
    told
}

fn line(output: &mut String, text: &str) {
    if !output.is_empty() && !output.ends_with('\n') {
        output.push('\n');
    }
    output.push_str(text);
}

fn put(told: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(fields) = told.as_object_mut() {
        fields.insert(key.to_owned(), value.into());
    }
}

fn extend(told: &mut Value, more: Map<String, Value>) {
    if let Some(fields) = told.as_object_mut() {
        fields.extend(more);
    }
}
