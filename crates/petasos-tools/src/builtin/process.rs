//! `process`: the session's background processes, to be looked at, waited for, typed to and ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::environment::EnvError;
use petasos_contract::jobs::{JobId, JobView, Jobs, Lines, Waited};
use petasos_contract::terminal::Terminal;
use petasos_contract::tool::{Example, Patch, Tool};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, ToolDef, ToolError, ToolName, ToolOutput,
};
use serde_json::{Value, json};
use typed::{Input, Judged, Typed};

use crate::mention;

mod schema;
#[cfg(test)]
mod tests;
mod typed;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "process",
    toolset: "terminal",
    description: "List, poll, read, wait for, stop or type to background processes",
    emoji: "⚙️",
    core: true,
    check: Some(&CHECK),
    schema: schema::schema,
    examples: EXAMPLES,
    build: |ports| {
        Arc::new(Processes {
            jobs: ports.jobs.clone(),
            terminal: ports.terminal.clone(),
            typed: Typed::default(),
        })
    },
    ..ToolDef::USUAL
};

static CHECK: CheckDef = CheckDef {
    id: "jobs",
    scope: CheckScope::Process,
    probe: |cx| {
        let has_jobs = cx.ports.jobs.is_some();
        Box::pin(async move {
            Availability::when(has_jobs, "this program keeps no background processes")
        })
    },
};

const EXAMPLES: &[Example] = &[
    Example {
        title: "what runs in the background",
        args: r#"{"action":"list"}"#,
        shows: r#""processes":["#,
    },
    Example {
        title: "an action that needs a name",
        args: r#"{"action":"poll"}"#,
        shows: "session_id",
    },
];

/// Lines of a log when nothing is said.
const LOG_LINES: u64 = 200;

struct Processes {
    jobs: Option<Arc<dyn Jobs>>,
    terminal: Option<Arc<dyn Terminal>>,
    typed: Typed,
}

impl Tool for Processes {
    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(mention::patch(schema::schema, schema::MENTIONS, granted))
    }

    /// Waiting takes as long as a command may.
    fn time_limit(&self, _: &Args, cx: &CallContext) -> Option<Duration> {
        let limits = self.terminal.as_ref()?.limits(cx).ok()?;
        Some(limits.timeout_default + Duration::from_mins(1))
    }

    /// What is typed into a program is what that program would read: a command for a shell, code
    /// for an interpreter, an answer for anything else.
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let job = job_id(&args).filter(|_| input(&args).is_some());
            let (Some(job), Some(jobs)) = (job, &self.jobs) else {
                return Ok(Plan::new(args).with_work(None::<Judged>));
            };
            jobs.recall(cx).await;
            let (Some(view), Some(given)) = (jobs.poll(&job, cx), input(&args)) else {
                return Ok(Plan::new(args).with_work(None::<Judged>));
            };
            let (effects, judged) = self.typed.effects(&job, &view, &given);
            Ok(Plan::new(args).with_effects(effects).with_work(Some(judged)))
        })
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = cleared.args().clone();
            let judged = cleared.into_work::<Option<Judged>>()?;
            let told = match self.act(&args, judged, cx).await {
                Ok(told) => told,
                Err(Trouble::Message(message)) => json!({ "status": "error", "error": message }),
                Err(Trouble::NotFound(job)) => json!({
                    "status": "not_found",
                    "error": format!("no background process `{job}` in this session: use action \
                                      list to see them"),
                }),
            };
            Ok(ToolOutput::json(&told))
        })
    }
}

/// What a call gives to a job, if it does.
fn input(args: &Args) -> Option<Input<'_>> {
    let data = args.text("data").unwrap_or_default();
    match args.text("action")? {
        "write" => Some(Input::Keys(data)),
        "submit" => Some(Input::Line(data)),
        "close" => Some(Input::End),
        _ => None,
    }
}

/// Why an action did not happen.
enum Trouble {
    Message(String),
    NotFound(String),
}

impl From<EnvError> for Trouble {
    fn from(error: EnvError) -> Self {
        Self::Message(error.to_string())
    }
}

impl Processes {
    /// Acts; `judged` is how a program was when what is typed was judged.
    async fn act(
        &self,
        args: &Args,
        judged: Option<Judged>,
        cx: &CallContext,
    ) -> Result<Value, Trouble> {
        let action = args.text("action").unwrap_or_default();
        let known = ["list", "poll", "log", "wait", "kill", "write", "submit", "close"];
        if !known.contains(&action) {
            let all = known.join(", ");
            return Err(Trouble::Message(format!("unknown action `{action}`: use one of {all}")));
        }
        let id = job_id(args).filter(|_| action != "list");
        if action != "list" && id.is_none() {
            let message = format!("`session_id` is required for action `{action}`");
            return Err(Trouble::Message(message));
        }
        let jobs = self.jobs.as_deref().ok_or_else(|| {
            Trouble::Message("this program keeps no background processes".to_owned())
        })?;
        jobs.recall(cx).await;
        let Some(id) = id else {
            return Ok(
                json!({ "processes": jobs.list(cx).iter().map(listed).collect::<Vec<_>>() }),
            );
        };
        let missing = || Trouble::NotFound(id.as_str().to_owned());
        match action {
            "poll" => jobs.poll(&id, cx).map(|view| json!(view)).ok_or_else(missing),
            "log" => log(jobs, &id, args, cx).await,
            "wait" => self.wait(jobs, &id, args, cx).await,
            "kill" => {
                let (was_running, view) = jobs.kill(&id, cx).await?.ok_or_else(missing)?;
                let status = if was_running { "killed" } else { "already_exited" };
                Ok(ended(&view, status))
            }
            "close" => {
                jobs.poll(&id, cx).ok_or_else(missing)?;
                self.note(&id, args, judged)?;
                jobs.close_input(&id, cx).await?.ok_or_else(missing)?;
                Ok(json!({ "status": "ok", "session_id": id }))
            }
            _ => {
                let mut data = args.text("data").unwrap_or_default().to_owned();
                if action == "submit" {
                    data.push('\n');
                }
                jobs.poll(&id, cx).ok_or_else(missing)?;
                self.note(&id, args, judged)?;
                let count = jobs.write(&id, data.into_bytes(), cx).await?.ok_or_else(missing)?;
                Ok(json!({ "status": "ok", "session_id": id, "bytes_written": count }))
            }
        }
    }

    /// Notes what is about to be typed, as it was judged.
    fn note(&self, id: &JobId, args: &Args, judged: Option<Judged>) -> Result<(), Trouble> {
        let noted = judged.zip(input(args));
        if noted.is_some_and(|(judged, given)| self.typed.note(id, &judged, &given)) {
            return Ok(());
        }
        let message = "something else was typed to it after this was judged: look at its output and \
                       type again";
        Err(Trouble::Message(message.to_owned()))
    }

    async fn wait(
        &self,
        jobs: &dyn Jobs,
        id: &JobId,
        args: &Args,
        cx: &CallContext,
    ) -> Result<Value, Trouble> {
        let limits = self.terminal.as_ref().and_then(|terminal| terminal.limits(cx).ok());
        let most = limits.map_or(Duration::from_mins(3), |limits| limits.timeout_default);
        let asked = number(args, "timeout").map_or(most, Duration::from_secs);
        let waited = jobs.wait(id, asked.min(most), cx).await;
        let (waited, view) = waited.ok_or_else(|| Trouble::NotFound(id.as_str().to_owned()))?;
        let mut told = ended(
            &view,
            match waited {
                Waited::Exited => "exited",
                Waited::Timeout => "timeout",
                Waited::Interrupted => "interrupted",
            },
        );
        if waited == Waited::Timeout
            && let Some(fields) = told.as_object_mut()
        {
            let note = format!(
                "it still runs after {} s, the most that is waited at a time: wait again, poll, or \
                 kill it",
                asked.min(most).as_secs()
            );
            fields.insert("timeout_note".to_owned(), json!(note));
        }
        Ok(told)
    }
}

async fn log(jobs: &dyn Jobs, id: &JobId, args: &Args, cx: &CallContext) -> Result<Value, Trouble> {
    let limit = number(args, "limit");
    let lines = match number(args, "offset") {
        Some(offset) => Lines::From { offset, limit: limit.unwrap_or(LOG_LINES) },
        None => Lines::Last(limit.unwrap_or(LOG_LINES)),
    };
    let missing = || Trouble::NotFound(id.as_str().to_owned());
    let page = jobs.log(id, lines, cx).await?.ok_or_else(missing)?;
    let view = jobs.poll(id, cx).ok_or_else(missing)?;
    Ok(json!({
        "session_id": id,
        "command": view.command,
        "status": view.status,
        "output": page.output,
        "total_lines": page.total_lines,
        "showing": page.showing,
    }))
}

/// A row of the list: the command is cut, the rest is as it is.
fn listed(view: &JobView) -> Value {
    let command: String = view.command.chars().take(200).collect();
    let mut row = json!(view);
    if let Some(fields) = row.as_object_mut() {
        fields.insert("command".to_owned(), json!(command));
        fields.insert("session_scoped".to_owned(), json!(true));
    }
    row
}

fn ended(view: &JobView, status: &str) -> Value {
    let mut told = json!({
        "status": status,
        "session_id": view.session_id,
        "output": view.output_preview,
    });
    let Some(fields) = told.as_object_mut() else { return told };
    if let Some(code) = view.exit_code {
        fields.insert("exit_code".to_owned(), json!(code));
    }
    if let Some(reason) = view.completion_reason {
        fields.insert("completion_reason".to_owned(), json!(reason));
    }
    if let Some(question) = &view.needs_input {
        fields.insert("needs_input".to_owned(), json!(question));
    }
    told
}

/// Models write numbers where a text is meant.
fn job_id(args: &Args) -> Option<JobId> {
    match args.get("session_id")? {
        Value::String(text) if !text.trim().is_empty() => Some(JobId::new(text.trim())),
        Value::Number(number) => Some(JobId::new(number.to_string())),
        _ => None,
    }
}

fn number(args: &Args, name: &str) -> Option<u64> {
    args.get(name)?.as_u64()
}
