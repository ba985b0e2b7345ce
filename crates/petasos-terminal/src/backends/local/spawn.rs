//! From a launch to a running tree: variables, script, descriptors, confinement, keeper.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{EnvError, Launch, Program};
use petasos_contract::{CallContext, wait};

use super::process::{LocalProcess, Parts};
use super::{Local, pipes, script, snapshot};
use crate::childenv::{self, Surroundings, Variables};
use crate::keeper::{self, FLAG_TTY, Failure, Line, Plan, Role, Stage, Tree};
use crate::sandbox::{self, Confinement};
use crate::search;
use crate::settings::TerminalSettings;

/// How long a sitter may take to report; it needs well under a millisecond.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// After so long it is asked whether anybody is there to report.
const START_USUAL: Duration = Duration::from_secs(2);

impl Local {
    /// Starts a launch; with `keeps_state` the shell's last words are read at its end.
    pub(super) async fn start(
        &self,
        launch: Launch,
        cx: &CallContext,
        keeps_state: bool,
    ) -> Result<LocalProcess, EnvError> {
        match self.try_start(&launch, cx, keeps_state).await? {
            Some(process) => Ok(process),
            // The keeper was killed from outside before it heard of us: nothing has run, because
            // a program says that it is ready before it begins. A new keeper may try.
            None => self.try_start(&launch, cx, keeps_state).await?.ok_or_else(|| {
                not_started(&io::Error::other("its keeper process was killed twice; try again"))
            }),
        }
    }

    async fn try_start(
        &self,
        launch: &Launch,
        cx: &CallContext,
        keeps_state: bool,
    ) -> Result<Option<LocalProcess>, EnvError> {
        let terminal = TerminalSettings::of(&cx.settings)?;
        let confinement = sandbox::prepare(launch, cx)?;
        let (argv, apart) = self.argv(launch, &terminal, cx).await;
        let mut variables = self.variables(launch, &terminal, cx).await;
        variables.extend(confinement.variables.iter().cloned());
        let plan = self.plan(launch, &confinement, &argv, &variables)?;
        let opened = pipes::open(launch).map_err(|error| not_started(&error))?;
        // A socket, because a file or pipe could be opened again by whoever finds it in `/proc`.
        let state = keeps_state.then(keeper::stream).transpose();
        let (state_ours, state) = state.map_err(|error| not_started(&error))?.unzip();
        let apart = apart.map(|text| keeper::memory("script", &text)).transpose();
        let extras = Extras { state, script: apart.map_err(|error| not_started(&error))? };
        let line = self.sit(&plan, &opened, &extras, &confinement).map_err(|e| not_started(&e))?;
        let parts = Parts {
            line: Arc::new(line),
            ours: opened.ours,
            state: state_ours,
            given: variables,
            confinement: confinement.label,
            folder: crate::jobs::folder(&cx.settings),
        };
        drop((opened.theirs, extras.state));
        let Some(tree) = self.begun(&parts.line).await? else { return Ok(None) };
        match (tree.ready, tree.failure) {
            (Some((pid, sitter)), _) => {
                LocalProcess::new(parts, pid, sitter).map(Some).map_err(|e| not_started(&e))
            }
            (None, Some(failure)) => Err(failed(failure, launch)),
            (None, None) => {
                self.forget_keeper();
                Ok(None)
            }
        }
    }

    /// Waits for a report; `None` when the keeper died and nobody took the request.
    async fn begun(&self, line: &Line) -> Result<Option<Tree>, EnvError> {
        let reported = || line.until(|tree| tree.ready.is_some() || tree.failure.is_some());
        let soon = Instant::now() + START_USUAL;
        if let Ok(tree) = wait::until(soon, "a process to start", reported()).await {
            return Ok(Some(tree));
        }
        let dead = self.keeper.lock().as_ref().is_none_or(|keeper| !keeper.lives());
        if dead {
            self.forget_keeper();
            return Ok(None);
        }
        let late = Instant::now() + START_PATIENCE;
        let tree = wait::until(late, "a process to start", reported()).await;
        tree.map(Some).map_err(|error| not_started(&io::Error::new(io::ErrorKind::TimedOut, error)))
    }

    async fn argv(
        &self,
        launch: &Launch,
        terminal: &TerminalSettings,
        cx: &CallContext,
    ) -> (Vec<String>, Option<Vec<u8>>) {
        match &launch.program {
            Program::Argv(argv) => (argv.clone(), None),
            Program::Shell(command) => {
                let prelude = &self.snapshot(terminal, cx).await.prelude;
                let is_bare = !launch.exports.contains_key("BASH_ENV");
                let wrapped = script::wrap(command, prelude, is_bare);
                (wrapped.argv, wrapped.apart)
            }
        }
    }

    pub(super) async fn snapshot(
        &self,
        terminal: &TerminalSettings,
        cx: &CallContext,
    ) -> &snapshot::Snapshot {
        // Boxed: taking a snapshot starts a launch, which may not contain itself.
        self.snapshot.get_or_init(|| Box::pin(snapshot::take(self, terminal, cx))).await
    }

    async fn variables(
        &self,
        launch: &Launch,
        terminal: &TerminalSettings,
        cx: &CallContext,
    ) -> Variables {
        let surroundings =
            Surroundings { install: self.install.as_deref(), terminal: launch.pty.is_some() };
        let mut variables = childenv::base(&cx.settings, terminal, &surroundings);
        if matches!(launch.program, Program::Shell(_)) {
            let snapshot = self.snapshot(terminal, cx).await;
            variables.extend(snapshot.exports.clone());
        }
        variables.extend(launch.exports.clone());
        for name in &launch.unset {
            variables.remove(name);
        }
        if let Some(programs) = &launch.programs {
            let path = variables.get("PATH").map_or("", String::as_str);
            variables.insert("PATH".to_owned(), format!("{programs}:{path}"));
        }
        variables.insert("PWD".to_owned(), launch.cwd.to_string());
        variables
    }

    fn plan(
        &self,
        launch: &Launch,
        confinement: &Confinement,
        argv: &[String],
        variables: &Variables,
    ) -> Result<Plan, EnvError> {
        let words: Vec<String> =
            confinement.wrapper.iter().cloned().chain(self.program(argv, variables)?).collect();
        let program = words.first().cloned().unwrap_or_default();
        let mut argv: Vec<String> = words;
        if confinement.wrapper.is_empty()
            && let (Some(first), Program::Shell(_)) = (argv.first_mut(), &launch.program)
        {
            "bash".clone_into(first);
        }
        let envp = variables.iter().map(|(name, value)| text(format!("{name}={value}")));
        let tty = if launch.pty.is_some() { FLAG_TTY } else { 0 };
        Ok(Plan {
            program: text(program)?,
            cwd: text(launch.cwd.as_path().as_os_str().as_bytes().to_vec())?,
            argv: argv.into_iter().map(text).collect::<Result<_, _>>()?,
            // A variable that cannot be written is left out rather than ending the command.
            envp: envp.filter_map(Result::ok).collect(),
            mounts: confinement.mounts.clone(),
            filter: confinement.filter.clone(),
            flags: tty | confinement.flags,
            directory: launch.directory,
        })
    }

    /// The program with its full path; a shell is always ours.
    fn program(&self, argv: &[String], variables: &Variables) -> Result<Vec<String>, EnvError> {
        let mut argv = argv.to_vec();
        if let Some(first) = argv.first_mut().filter(|first| !first.contains('/')) {
            *first = match first.as_str() {
                "bash" => self.shell.to_owned(),
                name => {
                    let path = variables.get("PATH").map_or("", String::as_str);
                    let found = search::program(name, path);
                    found.ok_or_else(|| missing(name))?.display().to_string()
                }
            };
        }
        Ok(argv)
    }

    fn sit(
        &self,
        plan: &Plan,
        opened: &pipes::Pipes,
        extras: &Extras,
        confinement: &Confinement,
    ) -> io::Result<Line> {
        let payload = keeper::memory("plan", &plan.block())?;
        let (line, theirs) = Line::open()?;
        let [stdin, stdout, stderr] = opened.theirs.three(&self.null);
        let mut fds = vec![
            (Role::Line, theirs.as_fd()),
            (Role::Payload, payload.as_fd()),
            (Role::Stdin, stdin),
            (Role::Stdout, stdout),
            (Role::Stderr, stderr),
        ];
        let optional = [
            (Role::State, &extras.state),
            (Role::Script, &extras.script),
            (Role::Ruleset, &confinement.ruleset),
            (Role::Filter, &confinement.handed),
        ];
        for (role, fd) in optional {
            fds.extend(fd.as_ref().map(|fd| (role, fd.as_fd())));
        }
        if self.keeper()?.sit(&fds).is_err() {
            // It was killed from outside; nothing was started, so a new one may try.
            self.forget_keeper();
            self.keeper()?.sit(&fds)?;
        }
        Ok(line)
    }
}

/// Descriptors that only some launches have.
struct Extras {
    state: Option<OwnedFd>,
    script: Option<OwnedFd>,
}

fn text(bytes: impl Into<Vec<u8>>) -> Result<CString, EnvError> {
    CString::new(bytes)
        .map_err(|_| not_started(&io::Error::other("a command may not contain a zero byte")))
}

fn missing(name: &str) -> EnvError {
    let why = format!("no program `{name}` in the search path: install it");
    EnvError::NotStarted { what: "the command".to_owned(), why }
}

fn not_started(error: &io::Error) -> EnvError {
    EnvError::NotStarted { what: "the command".to_owned(), why: error.to_string() }
}

fn failed(failure: Failure, launch: &Launch) -> EnvError {
    let why = io::Error::from_raw_os_error(failure.errno).to_string();
    let what = "the command".to_owned();
    match failure.stage {
        Some(Stage::Cwd) => EnvError::Cwd { path: launch.cwd.clone(), why },
        Some(Stage::Mounts | Stage::Landlock | Stage::Seccomp) => {
            EnvError::Sandbox { level: launch.sandbox.level.as_str(), why }
        }
        Some(Stage::Exec) => {
            EnvError::NotStarted { what, why: format!("the program cannot be executed: {why}") }
        }
        Some(Stage::Fork | Stage::Payload | Stage::Tty) | None => {
            EnvError::NotStarted { what, why }
        }
    }
}
