//! Commands of a session, in the foreground and as jobs.
//!
//! A foreground command is over when its program is, plus a short grace for its last words.
//! What it left running becomes a job, so that nothing runs that nobody can name and end.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{
    EnvError, Environment, Environments, Exit, Launch, Lifetime, Located, Process, Sandbox,
    SandboxLevel, Size, Stdin, Step,
};
use petasos_contract::jobs::{JobId, Jobs, Notify};
use petasos_contract::terminal::{
    Command, Ended, Lender, Limits, OnTimeout, Ran, Started, Terminal,
};
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings, wait};

use crate::engine::Engine;
use crate::jobs::{Adopted, DRAIN_MAX, DRAIN_QUIET, Until};
use crate::output::{Collected, Collector};
use crate::prompt::{QUIET, Screen};
use crate::sandbox;
use crate::settings::TerminalSettings;
use crate::shell;
use crate::sudo::Prepared;
use petasos_redact::{Redactor, redact_assignments};

/// How long a start that is no longer wanted may take to come up.
const SETTLING: Duration = Duration::from_secs(1);
/// Between TERM and KILL for a command whose time is up.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// A command that is about to run.
struct Run {
    environment: Arc<dyn Environment>,
    launch: Launch,
    prepared: Prepared,
    command: String,
    redactor: Arc<Redactor>,
}

/// Why watching a foreground command stopped.
enum Stop {
    Exited(Exit, Drained),
    TimedOut,
    Cancelled,
    Asks(String),
}

/// Whether the output was at its end.
#[derive(PartialEq, Eq)]
enum Drained {
    Whole,
    /// Somebody still holds the pipe.
    Held,
}

impl Terminal for Engine {
    fn usable(&self, settings: &Settings) -> Result<(), String> {
        let terminal = TerminalSettings::of(settings).map_err(|error| error.to_string())?;
        let backend = self.backend(&terminal.backend).map_err(|error| error.to_string())?;
        (backend.usable)(settings)
    }

    fn reachable<'a>(&'a self, settings: &'a Arc<Settings>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.reach(settings))
    }

    fn sandbox(&self, cx: &CallContext) -> Result<Sandbox, EnvError> {
        let terminal = TerminalSettings::of(&cx.settings)?;
        Ok(sandbox::wanted(&terminal, cx))
    }

    fn held(&self, cx: &CallContext) -> Option<Sandbox> {
        sandbox::attained(&TerminalSettings::of(&cx.settings).ok()?, cx)
    }

    fn refused(&self, sandbox: &Sandbox, cwd: &Path, output: &str) -> Option<String> {
        sandbox::denial(sandbox, cwd, output)
    }

    fn lend(&self, session: &SessionId, from: &str, lender: Arc<dyn Lender>) {
        self.shells.lend(session, from, lender);
    }

    fn take_back(&self, session: &SessionId, in_use: &dyn Fn(&str) -> bool) {
        self.shells.take_back(session, in_use);
    }

    fn limits(&self, cx: &CallContext) -> Result<Limits, EnvError> {
        let terminal = TerminalSettings::of(&cx.settings)?;
        Ok(Limits { timeout_default: terminal.timeout(), timeout_max: terminal.timeout_max() })
    }

    fn run<'a>(
        &'a self,
        command: Command,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Ran, EnvError>> {
        Box::pin(self.foreground(command, cx))
    }

    fn start<'a>(
        &'a self,
        command: Command,
        notify: Notify,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Started, EnvError>> {
        Box::pin(self.background(command, notify, cx))
    }
}

impl Engine {
    async fn foreground(&self, command: Command, cx: &CallContext) -> Result<Ran, EnvError> {
        let limits = self.limits(cx)?;
        let timeout = command.timeout.unwrap_or(limits.timeout_default);
        // One deadline for opening, starting and running.
        let deadline = (Instant::now() + timeout).min(cx.deadline);
        let on_timeout = command.on_timeout;
        // A directory that was named for this command is nobody else's.
        let moves = command.workdir.is_none();
        let mut run = self.prepare(command, Lifetime::Call, cx).await?;
        let mut collector =
            Collector::new(&cx.settings, Arc::clone(&run.redactor)).telling(&run.command, cx);
        let Some(spawned) = run.begun(deadline, cx).await else {
            let cancelled = cx.cancel.is_cancelled();
            let ended = if cancelled { Ended::Interrupted } else { Ended::TimedOut(timeout) };
            return Ok(self.told(&run, Collected::nothing(), ended, cx));
        };
        let mut process = match spawned {
            Ok(process) => process,
            Err(EnvError::Cwd { path, why }) => {
                let ended = Ended::NoCwd(format!(
                    "cannot enter `{path}`: {why}; go elsewhere with `cd` and an absolute path, \
                     or give `workdir`"
                ));
                return Ok(self.told(&run, Collected::nothing(), ended, cx));
            }
            Err(error) => return Err(error),
        };
        run.launch.stdin = Stdin::Closed;
        let stop = run.watch(&mut *process, &mut collector, deadline, cx).await?;
        let confinement = process.confinement().to_owned();
        let mut left = None;
        let ended = match stop {
            Stop::Exited(exit, drained) => {
                let code = exit.ending.code();
                let lives_on = exit.survivors > 0 || drained == Drained::Held;
                if let Some(mut session) = exit.session {
                    session.cwd = session.cwd.filter(|_| moves);
                    if let Some(askpass) = &run.prepared.askpass {
                        askpass.forget(&mut session.exports);
                    }
                    self.shells.note(cx, session);
                }
                if lives_on && !process.control().pids().is_empty() {
                    left = Some(self.leave(process, &run, code, cx).await?);
                }
                Ended::Exited(code)
            }
            Stop::TimedOut if on_timeout == OnTimeout::Background => {
                let collected = collector.finish().await;
                let job = self.keep(process, &mut run, collected.text.clone(), cx).await?;
                return Ok(self.told(&run, collected, Ended::Backgrounded(job), cx));
            }
            Stop::Asks(prompt) => {
                let collected = collector.finish().await;
                let job = self.keep(process, &mut run, collected.text.clone(), cx).await?;
                return Ok(self.told(&run, collected, Ended::NeedsInput { job, prompt }, cx));
            }
            Stop::TimedOut => {
                end(&mut *process, &mut collector).await?;
                Ended::TimedOut(timeout)
            }
            Stop::Cancelled => {
                end(&mut *process, &mut collector).await?;
                Ended::Interrupted
            }
        };
        let collected = collector.finish().await;
        let told = self.told(&run, collected, ended, cx);
        Ok(Ran { left_running: left, confinement, ..told })
    }

    async fn background(
        &self,
        command: Command,
        notify: Notify,
        cx: &CallContext,
    ) -> Result<Started, EnvError> {
        self.jobs.room()?;
        let mut run = self.prepare(command, Lifetime::Job, cx).await?;
        let typed = std::mem::take(&mut run.prepared.typed);
        let askpass = run.prepared.askpass.take();
        let process = run.environment.spawn(run.launch.clone(), cx).await?;
        let (pid, confinement) = (process.pid(), process.confinement().to_owned());
        let adopted =
            Adopted { askpass, ..run.adopted(process, notify, Until::Exit, String::new()) };
        let job = self.jobs.adopt(adopted, &run.redactor, cx).await?;
        if !typed.is_empty() {
            self.jobs.write(&job, typed, cx).await?;
        }
        Ok(Started { job, pid, confinement })
    }

    async fn prepare(
        &self,
        command: Command,
        lifetime: Lifetime,
        cx: &CallContext,
    ) -> Result<Run, EnvError> {
        let located = match command.at {
            Some(at) => Located::clone(&at),
            None => self.locate(cx).await?,
        };
        let is_here = located.is_here();
        let environment = Arc::clone(&located.environment);
        let (cwd, directory) = match &command.workdir {
            Some(workdir) => (shell::within(&located, workdir), command.directory),
            None => shell::entered(&located, &command.script, command.directory),
        };
        let mut launch = Launch::shell(command.script.clone(), cwd);
        launch.directory = directory;
        let lent = self.shells.lent(cx).await;
        launch.exports = shell::values(&lent.variables, cx);
        launch.exports.extend(located.exports);
        launch.lent = shell::files(lent.files, cx);
        launch.unset = located.unset;
        launch.pty = command.pty.then_some(Size::USUAL);
        launch.lifetime = lifetime;
        launch.sandbox = self.sandbox(cx)?;
        if command.unconfined {
            if launch.sandbox.required {
                let why = "`terminal.sandbox_require` is `required`".to_owned();
                return Err(EnvError::Sandbox { level: launch.sandbox.level.as_str(), why });
            }
            launch.sandbox.level = SandboxLevel::Off;
        }
        let passwords = self.passwords.clone();
        let prepared = self.sudo.prepare(&mut launch, is_here, passwords, cx).await;
        launch.stdin = stdin(&prepared, command.stdin, lifetime);
        let redactor = Redactor::of(&cx.settings);
        Ok(Run { environment, launch, prepared, command: command.script, redactor })
    }

    /// What a finished command left running becomes a job that ends with this program.
    async fn leave(
        &self,
        process: Box<dyn Process>,
        run: &Run,
        code: i32,
        cx: &CallContext,
    ) -> Result<JobId, EnvError> {
        let adopted = Adopted {
            keep_in: None,
            ..run.adopted(process, Notify::Silent, Until::Empty(code), String::new())
        };
        self.jobs.adopt(adopted, &run.redactor, cx).await
    }

    /// A running command becomes a job.
    async fn keep(
        &self,
        process: Box<dyn Process>,
        run: &mut Run,
        said: String,
        cx: &CallContext,
    ) -> Result<JobId, EnvError> {
        let askpass = run.prepared.askpass.take();
        let adopted =
            Adopted { askpass, ..run.adopted(process, Notify::Silent, Until::Exit, said) };
        self.jobs.adopt(adopted, &run.redactor, cx).await
    }

    fn told(&self, run: &Run, collected: Collected, ended: Ended, cx: &CallContext) -> Ran {
        let mut output = collected.text;
        if prints_environment(&run.command) {
            output = redact_assignments(&output);
        }
        output = run.prepared.hide(output);
        let calls = run.command.contains("sudo");
        let sudo = calls.then(|| self.sudo.judge(&output, &run.prepared, cx)).flatten();
        let failed = !matches!(ended, Ended::Exited(0));
        let (confined, cwd) = (&run.launch.sandbox, run.launch.cwd.as_path());
        let denied = failed.then(|| sandbox::denial(confined, cwd, &output)).flatten();
        Ran {
            output,
            whole: collected.whole,
            ended,
            left_running: None,
            target: run.environment.facts().target.clone(),
            confinement: run.launch.sandbox.level.as_str().to_owned(),
            denied,
            sudo,
        }
    }
}

impl Run {
    /// Starts it. A start that is no longer wanted has a moment to succeed, so that it is ended as
    /// a command is and seen to be gone; nothing when it takes longer than that.
    async fn begun(
        &self,
        deadline: Instant,
        cx: &CallContext,
    ) -> Option<Result<Box<dyn Process>, EnvError>> {
        let mut spawning = self.environment.spawn(self.launch.clone(), cx);
        tokio::select! {
            spawned = &mut spawning => return Some(spawned),
            () = tokio::time::sleep_until(deadline.into()) => {}
            () = cx.cancel.cancelled() => {}
        }
        tokio::time::timeout(SETTLING, spawning).await.ok()
    }

    /// Watches a command until it is over, its time is, or it asks.
    async fn watch(
        &self,
        process: &mut dyn Process,
        collector: &mut Collector,
        deadline: Instant,
        cx: &CallContext,
    ) -> Result<Stop, EnvError> {
        let control = process.control();
        let mut screen = Screen::default();
        let mut bytes = Vec::new();
        let mut closed = Drained::Held;
        let is_terminal = self.launch.pty.is_some();
        let mut looked = !is_terminal;
        // A person who types a password takes no time from the command.
        let mut overdue = std::pin::pin!(cx.pauses.until(deadline));
        loop {
            bytes.clear();
            let step = tokio::select! {
                step = process.next(&mut bytes) => step?,
                () = &mut overdue => return Ok(Stop::TimedOut),
                () = cx.cancel.cancelled() => return Ok(Stop::Cancelled),
                () = tokio::time::sleep(QUIET), if !looked => {
                    looked = true;
                    match screen.question(&collector.open_line(), control.echoes()) {
                        Some(question) => return Ok(Stop::Asks(question)),
                        None => continue,
                    }
                }
            };
            match step {
                Step::Output | Step::Errors => {
                    looked = !is_terminal;
                    screen.see(&bytes);
                    collector.push(&bytes).await;
                }
                Step::Closed => closed = Drained::Whole,
                Step::Exited(exit) if closed == Drained::Whole => {
                    return Ok(Stop::Exited(exit, closed));
                }
                Step::Exited(exit) => {
                    let drained = drain(process, collector).await;
                    return Ok(Stop::Exited(exit, drained));
                }
            }
        }
    }

    fn adopted(
        &self,
        process: Box<dyn Process>,
        notify: Notify,
        until: Until,
        said: String,
    ) -> Adopted {
        Adopted {
            process,
            command: self.command.clone(),
            cwd: self.launch.cwd.to_string(),
            notify,
            until,
            is_terminal: self.launch.pty.is_some(),
            said,
            keep_in: Some(self.environment.facts().backend),
            place: Arc::clone(&self.environment),
            askpass: None,
        }
    }
}

/// A foreground command reads what it is given and nothing else; a job can be typed to.
fn stdin(prepared: &Prepared, given: Option<Vec<u8>>, lifetime: Lifetime) -> Stdin {
    let mut bytes = prepared.typed.clone();
    match (lifetime, given) {
        (Lifetime::Job, _) => Stdin::Open,
        (Lifetime::Call, given) => {
            bytes.extend(given.unwrap_or_default());
            if bytes.is_empty() { Stdin::Closed } else { Stdin::Bytes(bytes) }
        }
    }
}

/// Reads the last words of a program that is gone.
async fn drain(process: &mut dyn Process, collector: &mut Collector) -> Drained {
    let end = Instant::now() + DRAIN_MAX;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let deadline = end.min(Instant::now() + DRAIN_QUIET);
        match wait::until(deadline, "the last output", process.next(&mut bytes)).await {
            Ok(Ok(Step::Output | Step::Errors)) => collector.push(&bytes).await,
            Ok(Ok(Step::Closed)) => return Drained::Whole,
            Ok(Ok(Step::Exited(_))) => {}
            Ok(Err(_)) | Err(_) => return Drained::Held,
        }
    }
}

/// Ends a tree and reads what it still said.
async fn end(process: &mut dyn Process, collector: &mut Collector) -> Result<(), EnvError> {
    let control = process.control();
    let killing = control.kill(KILL_GRACE);
    tokio::pin!(killing);
    let mut bytes = Vec::new();
    let mut open = true;
    loop {
        bytes.clear();
        tokio::select! {
            killed = &mut killing => {
                killed?;
                if open {
                    drain(process, collector).await;
                }
                return Ok(());
            }
            // A program that says its last words must not wait for us to read them.
            step = process.next(&mut bytes), if open => match step {
                Ok(Step::Output | Step::Errors) => collector.push(&bytes).await,
                Ok(Step::Closed) | Err(_) => open = false,
                Ok(Step::Exited(_)) => {}
            }
        }
    }
}

/// Whether a command prints variables, whose secrets have no shape but a name.
pub(crate) fn prints_environment(command: &str) -> bool {
    // A long text is cut up only when there is something to find.
    if !["env", "set", "export", "declare"].iter().any(|word| command.contains(word)) {
        return false;
    }
    command.split(['|', ';', '&', '\n']).any(|part| {
        let mut words = part.split_whitespace();
        matches!(
            (words.next(), words.next()),
            (Some("env" | "printenv" | "set"), None | Some("|"))
                | (Some("export" | "declare"), None | Some("-p" | "-x"))
        ) || part.contains("/environ")
    })
}
