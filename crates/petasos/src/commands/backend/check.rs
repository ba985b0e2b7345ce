//! `petasos backend check`: the whole way, step by step, with the time that each took.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::environment::{Environments as _, Health, WriteMode};
use petasos_contract::terminal::{Command, Ended, OnTimeout, Terminal as _};
use petasos_contract::{CallContext, wait};
use serde::Serialize;
use serde_json::json;

use super::{configured, own_place};
use crate::command::Session;
use crate::host::Host;
use crate::out::Style;
use crate::report::Report;

/// How long one step may take; a first start may fetch an image.
const STEP: Duration = Duration::from_mins(10);
/// How large the file is that travels.
const FILE_BYTES: usize = 1_000_000;

#[derive(Debug, Args)]
pub(super) struct Check {
    /// The backend (default: the configured one)
    name: Option<String>,
}

/// One step.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Step {
    #[serde(rename = "step")]
    pub(in crate::commands) name: &'static str,
    pub(in crate::commands) ok: bool,
    pub(in crate::commands) what: String,
    pub(in crate::commands) milliseconds: u128,
}

impl Check {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let name = self.name.unwrap_or_else(|| configured(host).to_owned());
        let steps = tried(host, &name)?;
        let well = steps.iter().all(|step| step.ok);
        if out.is_json() {
            out.value(&json!({ "backend": name, "ok": well, "steps": steps }));
        } else {
            for step in &steps {
                let mark = if step.ok { out.paint(Style::Good, "✓") } else { "✗".to_owned() };
                let (name, what) = (step.name, &step.what);
                out.line(format!("{mark} {name:<8} {:>7} ms  {what}", step.milliseconds));
            }
        }
        Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Tries a backend in a place of its own.
pub(in crate::commands) fn tried(host: &Host, backend: &str) -> Result<Vec<Step>, Report> {
    let task = own_place(host, backend, true)?;
    let mut cx = host.call_context(Surface::OneShot, SessionId::new("backend-check"));
    cx.task = task;
    Ok(host.wait(steps(host, &cx))?)
}

async fn steps(host: &Host, cx: &CallContext) -> Vec<Step> {
    let mut steps = Vec::new();
    let opened = timed("start", &mut steps, async {
        let place = host.terminal().of(cx).await.map_err(|error| error.to_string())?;
        let told = match place.health().await {
            Health::Ready { detail } => detail,
            Health::Degraded { reason } => format!("works, with something missing: {reason}"),
            Health::Lost { reason } => return Err(reason),
        };
        Ok((format!("{}: {told}", place.facts().target), place))
    })
    .await;
    if let Some(place) = opened {
        timed("command", &mut steps, command(host, cx)).await;
        // Again, without what the first one pays for.
        timed("again", &mut steps, command(host, cx)).await;
        let file = place.facts().temp.join(format!("petasos-check-{}", std::process::id()));
        let content: Vec<u8> = (0..FILE_BYTES).map(|at| (at % 251).to_le_bytes()[0]).collect();
        timed("file", &mut steps, async {
            let files = place.files();
            let sent = files.write(&file, &content, WriteMode::Replace).await;
            sent.map_err(|error| error.to_string())?;
            let read = files.read(&file, 0, u64::MAX).await.map_err(|error| error.to_string())?;
            files.remove(&file).await.map_err(|error| error.to_string())?;
            if read == content {
                Ok((format!("{FILE_BYTES} bytes there and back"), ()))
            } else {
                Err(format!("{} of {FILE_BYTES} bytes came back", read.len()))
            }
        })
        .await;
    }
    timed("clean up", &mut steps, async {
        let failed = host.terminal().close_places().await;
        match failed.first() {
            None => Ok(("nothing is left".to_owned(), ())),
            Some(error) => Err(error.to_string()),
        }
    })
    .await;
    steps
}

async fn command(host: &Host, cx: &CallContext) -> Result<(String, ()), String> {
    let command = Command {
        script: "echo hello".to_owned(),
        workdir: None,
        at: None,
        directory: None,
        timeout: Some(Duration::from_mins(1)),
        pty: false,
        on_timeout: OnTimeout::Kill,
        stdin: None,
        unconfined: true,
    };
    let ran = host.terminal().run(command, cx).await.map_err(|error| error.to_string())?;
    if ran.ended == Ended::Exited(0) && ran.output == "hello\n" {
        return Ok(("`echo hello`".to_owned(), ()));
    }
    Err(format!("`echo hello` did not print hello but: {}", ran.output))
}

async fn timed<T>(
    step: &'static str,
    steps: &mut Vec<Step>,
    act: impl Future<Output = Result<(String, T), String>>,
) -> Option<T> {
    let begun = Instant::now();
    let done = wait::until(begun + STEP, "a step of the check", act).await;
    let done = done.unwrap_or_else(|late| Err(late.to_string()));
    let milliseconds = begun.elapsed().as_millis();
    let (ok, what, value) = match done {
        Ok((what, value)) => (true, what, Some(value)),
        Err(what) => (false, what, None),
    };
    steps.push(Step { name: step, ok, what, milliseconds });
    value
}
