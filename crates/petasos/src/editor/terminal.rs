//! The terminal of a session in an editor: the editor's own, where it has one and the user wants
//! that; ours otherwise.
//!
//! Only foreground commands go there. Our sandbox does not reach into it, so nothing is judged as
//! if it did; jobs, typed input and commands that outlive their time stay with us.

use std::path::Path;
use std::sync::Arc;

use petasos_acp::{ClientTerminals, EditorRules, TerminalEnd, TerminalTask};
use petasos_contract::environment::{EnvError, Sandbox, SandboxLevel};
use petasos_contract::jobs::Notify;
use petasos_contract::path::TargetPath;
use petasos_contract::terminal::{
    Command, Ended, Lender, Limits, OnTimeout, Ran, Started, Terminal,
};
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use serde_json::Value;

const KEY: &str = "acp.use_client_terminal";
/// So much of what a command prints is asked for.
const BYTES_MAX: u64 = 1024 * 1024;
/// Who reads the script.
const SHELL: &str = "bash";

/// Commands of sessions, where they belong.
pub(crate) struct EditorTerminal {
    own: Arc<dyn Terminal>,
    editors: Arc<EditorRules>,
}

impl EditorTerminal {
    /// Beside our own.
    pub(crate) fn beside(own: Arc<dyn Terminal>, editors: &Arc<EditorRules>) -> Arc<Self> {
        Arc::new(Self { own, editors: Arc::clone(editors) })
    }

    /// The editor's terminals for this call.
    fn theirs(&self, cx: &CallContext) -> Option<Arc<ClientTerminals>> {
        let wanted = cx.settings.get(KEY) == Some(&Value::Bool(true));
        let here = cx.settings.text("terminal.backend").unwrap_or("local") == "local";
        (wanted && here).then(|| self.editors.terminals(cx)).flatten()
    }

    async fn run_there(
        &self,
        terminals: &ClientTerminals,
        command: Command,
        cx: &CallContext,
    ) -> Result<Ran, EnvError> {
        let limits = self.own.limits(cx)?;
        let at = command.at.as_ref();
        let cwd = command.workdir.or_else(|| at.map(|at| at.cwd.clone()));
        let cwd = cwd.unwrap_or_else(|| TargetPath::new(&*cx.workspace));
        let task = TerminalTask {
            program: SHELL.to_owned(),
            args: vec!["-c".to_owned(), command.script],
            cwd: cwd.as_path().to_owned(),
            env: at.map(|at| at.exports.clone()).unwrap_or_default().into_iter().collect(),
            bytes_max: BYTES_MAX,
            within: command.timeout.unwrap_or(limits.timeout_default).min(limits.timeout_max),
        };
        let within = task.within;
        let ran = terminals.run(task, cx).await.map_err(|error| EnvError::Lost {
            target: "editor's".to_owned(),
            why: format!("{error}; `{KEY}: false` runs commands here"),
        })?;
        let (mut output, whole) = petasos_terminal::cleaned(&ran.output, &cx.settings).await;
        if ran.cut {
            output.insert_str(0, "[the editor kept only the end of the output]\n");
        }
        let ended = match ran.end {
            TerminalEnd::Exited(code) => Ended::Exited(code),
            TerminalEnd::TimedOut => Ended::TimedOut(within),
            TerminalEnd::Cancelled => Ended::Interrupted,
        };
        Ok(Ran {
            output,
            whole,
            ended,
            left_running: None,
            target: "editor".to_owned(),
            confinement: "none: it ran in the editor's terminal".to_owned(),
            denied: None,
            sudo: None,
        })
    }
}

impl Terminal for EditorTerminal {
    fn usable(&self, settings: &Settings) -> Result<(), String> {
        self.own.usable(settings)
    }

    fn reachable<'a>(&'a self, settings: &'a Arc<Settings>) -> BoxFuture<'a, Result<(), String>> {
        self.own.reachable(settings)
    }

    fn sandbox(&self, cx: &CallContext) -> Result<Sandbox, EnvError> {
        self.own.sandbox(cx)
    }

    fn confines(&self, cx: &CallContext) -> bool {
        self.theirs(cx).is_none() && self.own.confines(cx)
    }

    fn held(&self, cx: &CallContext) -> Option<Sandbox> {
        if self.theirs(cx).is_some() { None } else { self.own.held(cx) }
    }

    fn refused(&self, sandbox: &Sandbox, cwd: &Path, output: &str) -> Option<String> {
        self.own.refused(sandbox, cwd, output)
    }

    fn lend(&self, session: &SessionId, from: &str, lender: Arc<dyn Lender>) {
        self.own.lend(session, from, lender);
    }

    fn take_back(&self, session: &SessionId, in_use: &dyn Fn(&str) -> bool) {
        self.own.take_back(session, in_use);
    }

    fn limits(&self, cx: &CallContext) -> Result<Limits, EnvError> {
        self.own.limits(cx)
    }

    fn run<'a>(
        &'a self,
        command: Command,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Ran, EnvError>> {
        let plain = command.stdin.is_none() && command.on_timeout == OnTimeout::Kill;
        let Some(terminals) = self.theirs(cx).filter(|_| plain) else {
            return self.own.run(command, cx);
        };
        Box::pin(async move {
            let sandbox = self.own.sandbox(cx)?;
            if sandbox.required && sandbox.level != SandboxLevel::Off && !command.unconfined {
                let why = format!("the editor's terminal has none: set `{KEY}: false`");
                return Err(EnvError::Sandbox { level: "required", why });
            }
            self.run_there(&terminals, command, cx).await
        })
    }

    fn start<'a>(
        &'a self,
        command: Command,
        notify: Notify,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Started, EnvError>> {
        self.own.start(command, notify, cx)
    }
}
