//! `terminal`: a shell command in the session's place, in the foreground or as a job.
//!
//! The command's text is checked here, before anybody is asked whether it may run; running it is
//! the engine's part behind the port. What does not pass the checks has no effects, so no
//! approval is wasted on it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::environment::Located;
use petasos_contract::hook::{HookKind, Moment, Moments, TerminalMoment};
use petasos_contract::jobs::Notify;
use petasos_contract::path::TargetPath;
use petasos_contract::ports::Ports;
use petasos_contract::terminal::{Command, Ended, OnTimeout, Ran, Terminal};
use petasos_contract::tool::{
    Concurrency, Example, FailureSign, FileChanges, InPlanMode, Limit, Patch, Tool,
};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, ToolDef, ToolError, ToolName, ToolOutput,
};
use serde_json::{Value, json};

use crate::files::confine;
use crate::files::directory::Directory;
use crate::files::site::Sites;
use crate::mention;

mod evidence;
mod meaning;
mod schema;
mod servers;
mod shape;
#[cfg(test)]
pub(super) mod tests;
mod words;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "terminal",
    toolset: "terminal",
    description: "Run a shell command, in the foreground or as a background process",
    emoji: "💻",
    core: true,
    concurrency: Concurrency::ByCommand {
        script: "command",
        alone: &["background", "pty", "workdir"],
    },
    changes: FileChanges::Programs,
    failure: FailureSign::ExitCode,
    result_chars_max: Limit::Chars(100_000),
    check: Some(&CHECK),
    schema: schema::schema,
    examples: EXAMPLES,
    build: |ports| Arc::new(Shell::new(ports)),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

/// Whether commands could run.
pub(super) static CHECK: CheckDef = CheckDef {
    id: "terminal",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            let Some(terminal) = &cx.ports.terminal else {
                return Availability::Missing("this program has no terminal".to_owned());
            };
            match terminal.reachable(&cx.settings).await {
                Ok(()) => Availability::Ready,
                Err(reason) => Availability::Missing(reason),
            }
        })
    },
};

const EXAMPLES: &[Example] = &[
    Example { title: "a command", args: r#"{"command":"echo three hats"}"#, shows: "three hats" },
    Example {
        title: "a server is started in the background",
        args: r#"{"command":"npm run dev"}"#,
        shows: "background=true",
    },
    Example {
        title: "a directory with odd characters is refused",
        args: r#"{"command":"ls","workdir":"a;b"}"#,
        shows: "workdir",
    },
];

struct Shell {
    terminal: Option<Arc<dyn Terminal>>,
    sites: Sites,
    moments: Option<Arc<dyn Moments>>,
}

/// Arguments that passed the checks.
#[derive(Debug)]
struct Asked {
    command: String,
    place: Place,
    timeout: Option<Duration>,
    /// The directory that was named for this command.
    workdir: Option<String>,
    pty: bool,
    pty_note: Option<&'static str>,
    on_timeout: OnTimeout,
    unconfined: bool,
}

/// Where a command runs, and what its owner wants to hear of it there.
#[derive(Debug)]
enum Place {
    Foreground,
    Background(Wishes),
}

#[derive(Debug, Clone, Default)]
struct Wishes {
    end: bool,
    lines: Vec<String>,
}

impl Wishes {
    /// What will be told: the end before the lines, and nothing where nobody hears it.
    fn granted(&self, hears_later: bool) -> Notify {
        if !hears_later {
            Notify::Silent
        } else if self.end {
            Notify::OnComplete
        } else if self.lines.is_empty() {
            Notify::Silent
        } else {
            Notify::Watch(self.lines.clone())
        }
    }
}

impl Shell {
    fn new(ports: &Ports) -> Self {
        Self {
            terminal: ports.terminal.clone(),
            sites: Sites::new(ports),
            moments: ports.moments.clone(),
        }
    }

    /// Reads and checks the arguments, in the order of what is cheapest to put right.
    fn asked(&self, args: &Args, cx: &CallContext) -> Result<Asked, String> {
        let Some(command) = args.text("command") else {
            return Err("`command` must be a text".to_owned());
        };
        let flag = |name: &str| args.get(name).and_then(Value::as_bool).unwrap_or(false);
        let background = flag("background");
        let timeout = args.get("timeout").and_then(Value::as_f64).filter(|value| *value > 0.0);
        let timeout = timeout.and_then(|value| Duration::try_from_secs_f64(value).ok());
        if !background && let Some(refused) = self.too_long(timeout, cx) {
            return Err(refused);
        }
        if !background && let Some(refused) = servers::refusal(command) {
            return Err(refused);
        }
        let workdir = args.text("workdir").filter(|text| !text.trim().is_empty());
        if let Some(workdir) = workdir
            && let Some(odd) = workdir.chars().find(|letter| !may_be_in_path(*letter))
        {
            return Err(format!("`workdir` may not contain {odd:?}: give a plain path"));
        }
        let wants_pty = flag("pty");
        let needs_pipe = wants_pty && reads_secret_from_pipe(command);
        let note = "this command reads a secret from a pipe, so it got no terminal";
        Ok(Asked {
            command: command.to_owned(),
            place: if background {
                Place::Background(Wishes { end: flag("notify_on_complete"), lines: patterns(args) })
            } else {
                Place::Foreground
            },
            timeout,
            workdir: workdir.map(str::to_owned),
            pty: wants_pty && !needs_pipe,
            pty_note: needs_pipe.then_some(note),
            unconfined: flag("outside_sandbox")
                && self.terminal.as_ref().is_some_and(|terminal| terminal.confines(cx)),
            on_timeout: match args.text("on_timeout") {
                Some("background") => OnTimeout::Background,
                Some(_) | None => OnTimeout::Kill,
            },
        })
    }

    fn too_long(&self, timeout: Option<Duration>, cx: &CallContext) -> Option<String> {
        let limits = self.terminal.as_ref()?.limits(cx).ok()?;
        let (asked, most) = (timeout?, limits.timeout_max);
        (asked > most).then(|| {
            format!(
                "timeout {} s is above the {} s that a foreground command may take: use \
                 background=true with notify_on_complete=true",
                asked.as_secs(),
                most.as_secs()
            )
        })
    }

    async fn foreground(&self, planned: PlannedCommand, cx: &CallContext) -> Value {
        let Some(terminal) = &self.terminal else { return shape::disabled() };
        let (command, pty_note) = (planned.asked.command.clone(), planned.asked.pty_note);
        match terminal.run(planned.into_command(), cx).await {
            Ok(mut ran) => {
                self.show_hooks(&command, &mut ran, cx).await;
                shape::ran(&command, ran, pty_note, cx)
            }
            Err(error) => shape::failed(&error),
        }
    }

    /// A hook may put other text in the place of the output; what it gives is cut like any other.
    async fn show_hooks(&self, command: &str, ran: &mut Ran, cx: &CallContext) {
        let Some(moments) = &self.moments else { return };
        if !moments.wants(HookKind::TransformTerminalOutput) {
            return;
        }
        let returncode = match ran.ended {
            Ended::Exited(code) => code,
            _ => 124,
        };
        let about = TerminalMoment {
            cx,
            command,
            output: &ran.output,
            returncode,
            env_type: cx.settings.text("terminal.backend").unwrap_or("local"),
        };
        let replaced = moments.replace(&Moment::TransformTerminalOutput(&about)).await;
        if let Some(text) = replaced {
            let most = cx.settings.get("tool_output.max_bytes").and_then(Value::as_u64);
            let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(50_000);
            ran.output = text.chars().take(most).collect();
        }
    }

    async fn background(
        &self,
        planned: PlannedCommand,
        wishes: &Wishes,
        cx: &CallContext,
    ) -> Value {
        let Some(terminal) = &self.terminal else { return shape::disabled() };
        let hears_later = cx.surface.outlives_turn();
        let notify = wishes.granted(hears_later);
        let mut notes = shape::notes(wishes, &notify, hears_later);
        if let Some(note) = planned.asked.pty_note {
            notes.insert("pty_note".to_owned(), json!(note));
        }
        match terminal.start(planned.into_command(), notify, cx).await {
            Ok(started) => shape::started(&started, notes),
            Err(error) => shape::failed(&error),
        }
    }
}

/// A command that was planned, or what the model is told instead.
type Work = Result<PlannedCommand, Value>;

/// A command with the place and the directory that it was judged in.
struct PlannedCommand {
    asked: Asked,
    at: Option<Arc<Located>>,
    directory: Directory,
}

impl PlannedCommand {
    fn into_command(self) -> Command {
        let Self { asked, at, directory } = self;
        Command {
            script: asked.command,
            workdir: asked.workdir.map(|_| TargetPath::new(directory.path)),
            at,
            directory: directory.identity,
            timeout: asked.timeout,
            pty: asked.pty,
            on_timeout: asked.on_timeout,
            stdin: None,
            unconfined: asked.unconfined,
        }
    }
}

impl Tool for Shell {
    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(mention::patch(schema::schema, schema::MENTIONS, granted))
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let refused = |args, told| Ok(Plan::new(args).with_work::<Work>(Err(told)));
            let asked = match self.asked(&args, cx) {
                Ok(asked) => asked,
                Err(why) => return refused(args, shape::refused(&why, "error")),
            };
            let place = match self.sites.locate(cx).await {
                Ok(place) => place,
                Err(error) => return refused(args, shape::failed(&error)),
            };
            let directory = place.directory(asked.workdir.clone(), cx).await?;
            let (script, cwd) = (asked.command.clone(), directory.real.clone());
            let mut effects = Effects::one(Effect::Command { script, cwd });
            if asked.unconfined {
                effects = effects.and(Effect::Unconfined);
            }
            let confined = self.terminal.as_ref().filter(|_| !asked.unconfined && place.is_here());
            let confined = confined.and_then(|terminal| terminal.held(cx));
            let mut plan = place.plan(args).with_effects(effects).with_pins(directory.pin.clone());
            plan.confined = confined;
            let at = place.located().cloned();
            Ok(plan.with_work::<Work>(Ok(PlannedCommand { asked, at, directory })))
        })
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let result = match cleared.into_work::<Work>()? {
                Err(told) => told,
                Ok(planned) => match &planned.asked.place {
                    Place::Foreground => self.foreground(planned, cx).await,
                    Place::Background(wishes) => {
                        let wishes = wishes.clone();
                        self.background(planned, &wishes, cx).await
                    }
                },
            };
            Ok(ToolOutput::json(&result))
        })
    }

    /// What the command was given, and a minute to end it and to gather its output.
    fn time_limit(&self, args: &Args, cx: &CallContext) -> Option<Duration> {
        let limits = self.terminal.as_ref()?.limits(cx).ok()?;
        let asked = args.get("timeout").and_then(Value::as_f64).filter(|value| *value > 0.0);
        let asked = asked.and_then(|value| Duration::try_from_secs_f64(value).ok());
        let most = asked.unwrap_or(limits.timeout_default).min(limits.timeout_max);
        Some(most + Duration::from_mins(1))
    }

    fn outside(
        &self,
        args: &Args,
        output: &ToolOutput,
        cx: &CallContext,
    ) -> Option<(Args, String)> {
        confine::outside(self.terminal.as_deref()?, args, output, cx)
    }

    fn refused(&self, refusal: &Refusal) -> ToolOutput {
        let judged = matches!(
            refusal.kind,
            RefusalKind::Policy
                | RefusalKind::PlanMode
                | RefusalKind::Denied
                | RefusalKind::Expired
                | RefusalKind::Undeliverable
                | RefusalKind::ReviewerUnavailable
                | RefusalKind::Altered
                | RefusalKind::Hook
        );
        if !judged {
            return refusal.output();
        }
        let mut result = shape::refused(&refusal.message, "blocked");
        if let Some(fields) = result.as_object_mut() {
            fields.extend(refusal.extra.clone());
        }
        ToolOutput::json(&result)
    }
}

fn may_be_in_path(letter: char) -> bool {
    letter.is_alphanumeric() || "/\\:_-.~ +@=,".contains(letter)
}

/// Commands that take a secret from a pipe would wait for a person on a terminal.
fn reads_secret_from_pipe(command: &str) -> bool {
    ["--with-token", "--password-stdin", "--secret-stdin"].iter().any(|word| command.contains(word))
}

fn patterns(args: &Args) -> Vec<String> {
    match args.get("watch_patterns") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(_) | None => Vec::new(),
    }
    .into_iter()
    .filter(|pattern| !pattern.is_empty())
    .collect()
}

/// The keys that every result has.
fn result(output: &str, exit_code: i32, error: Option<&str>) -> Value {
    json!({ "output": output, "exit_code": exit_code, "error": error })
}
