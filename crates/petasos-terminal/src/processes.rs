//! Helper programs of ours on this machine: pipes, a safe environment, a tree that is owned.
//!
//! They share the keeper's way of owning trees with commands, and nothing else: no shell, no
//! session, no job. A helper is not started through a backend, so it never runs elsewhere.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::context::Surface;
use petasos_contract::environment::{Ending, EnvError, Launch, Program, Sandbox};
use petasos_contract::path::TargetPath;
use petasos_contract::processes::{Helper, HelperHand, HelperSandbox, HelperSpec, Processes};
use petasos_contract::{BoxFuture, CallContext, SessionId, wait};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::childenv::{self, Surroundings, Variables};
use crate::keeper::{self, Failure, Keeper, Line, Plan, Role, Stage};
use crate::sandbox::{self, Confinement};
use crate::search;
use crate::settings::TerminalSettings;
use crate::tree;

/// How long a sitter may take to report; it needs well under a millisecond.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// After so long it is asked whether anybody is there to report.
const START_USUAL: Duration = Duration::from_secs(2);

/// Starts helpers. The keeper is made with the first one.
#[derive(Debug, Default)]
pub struct Helpers {
    keeper: Mutex<Option<Arc<Keeper>>>,
}

impl Helpers {
    /// None started yet.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn keeper(&self) -> io::Result<Arc<Keeper>> {
        let mut keeper = self.keeper.lock();
        if let Some(keeper) = keeper.as_ref().filter(|keeper| keeper.lives()) {
            return Ok(Arc::clone(keeper));
        }
        let new = Arc::new(Keeper::start()?);
        *keeper = Some(Arc::clone(&new));
        Ok(new)
    }

    fn forget_keeper(&self) {
        let old = self.keeper.lock().take();
        drop(old);
    }

    async fn begin(&self, spec: &HelperSpec) -> Result<Helper, EnvError> {
        let prepared = Prepared::of(spec)?;
        // A keeper that was killed from outside has started nothing: a new one may try, once.
        match self.attempt(spec, &prepared).await? {
            Some(helper) => Ok(helper),
            None => self
                .attempt(spec, &prepared)
                .await?
                .ok_or_else(|| not_started(spec, "its keeper process was killed twice; try again")),
        }
    }

    async fn attempt(
        &self,
        spec: &HelperSpec,
        prepared: &Prepared,
    ) -> Result<Option<Helper>, EnvError> {
        let io = |error: io::Error| not_started(spec, &error.to_string());
        let pipes = Pipes::open().map_err(io)?;
        let line = self.sit(prepared, &pipes).map_err(io)?;
        let Pipes { theirs, ours: [stdin, stdout, stderr] } = pipes;
        drop(theirs);
        let Some((pid, sitter)) = self.begun(spec, &line).await? else { return Ok(None) };
        let hand = Hand {
            line,
            pid,
            sitter,
            name: spec.name.clone(),
            confinement: prepared.confinement.label.clone(),
        };
        Ok(Some(Helper {
            stdin: Box::new(Sender::from_owned_fd(stdin).map_err(io)?),
            stdout: Box::new(Receiver::from_owned_fd(stdout).map_err(io)?),
            stderr: Box::new(Receiver::from_owned_fd(stderr).map_err(io)?),
            hand: Arc::new(hand),
        }))
    }

    fn sit(&self, prepared: &Prepared, pipes: &Pipes) -> io::Result<Line> {
        let payload = keeper::memory("plan", &prepared.plan.block())?;
        let (line, theirs) = Line::open()?;
        let [stdin, stdout, stderr] = &pipes.theirs;
        let mut fds = vec![
            (Role::Line, theirs.as_fd()),
            (Role::Payload, payload.as_fd()),
            (Role::Stdin, stdin.as_fd()),
            (Role::Stdout, stdout.as_fd()),
            (Role::Stderr, stderr.as_fd()),
        ];
        let Confinement { ruleset, handed, .. } = &prepared.confinement;
        for (role, fd) in [(Role::Ruleset, ruleset), (Role::Filter, handed)] {
            fds.extend(fd.as_ref().map(|fd| (role, fd.as_fd())));
        }
        if self.keeper()?.sit(&fds).is_err() {
            self.forget_keeper();
            self.keeper()?.sit(&fds)?;
        }
        Ok(line)
    }

    /// Waits for a report; `None` when the keeper died and nobody took the request.
    async fn begun(&self, spec: &HelperSpec, line: &Line) -> Result<Option<(u32, u32)>, EnvError> {
        let reported = || line.until(|tree| tree.ready.is_some() || tree.failure.is_some());
        let soon = Instant::now() + START_USUAL;
        let known = match wait::until(soon, "a helper to start", reported()).await {
            Ok(known) => known,
            Err(_) if self.keeper.lock().as_ref().is_none_or(|keeper| !keeper.lives()) => {
                self.forget_keeper();
                return Ok(None);
            }
            Err(_) => {
                let late = Instant::now() + START_PATIENCE;
                let known = wait::until(late, "a helper to start", reported()).await;
                known.map_err(|error| not_started(spec, &error.to_string()))?
            }
        };
        match (known.ready, known.failure) {
            (_, Some(failure)) => Err(failed(spec, failure)),
            (Some(ready), None) => Ok(Some(ready)),
            (None, None) => {
                self.forget_keeper();
                Ok(None)
            }
        }
    }
}

impl Processes for Helpers {
    fn start(&self, spec: HelperSpec) -> BoxFuture<'_, Result<Helper, EnvError>> {
        Box::pin(async move { self.begin(&spec).await })
    }
}

/// The plan of a launch with what confines it.
struct Prepared {
    plan: Plan,
    confinement: Confinement,
}

impl Prepared {
    fn of(spec: &HelperSpec) -> Result<Self, EnvError> {
        let confinement = confinement(spec)?;
        let mut variables = variables(spec)?;
        variables.extend(confinement.variables.iter().cloned());
        let program = found(spec, variables.get("PATH").map_or("", String::as_str))?;
        let mut argv: Vec<String> = confinement.wrapper.clone();
        let own = spec.argv.iter().skip(usize::from(!argv.is_empty() || spec.argv.is_empty()));
        if argv.is_empty() {
            argv.extend(own.cloned());
        } else {
            argv.push(program.display().to_string());
            argv.extend(own.cloned());
        }
        let first = confinement.wrapper.first().map_or(program, PathBuf::from);
        let text = |bytes: Vec<u8>| {
            CString::new(bytes).map_err(|_| not_started(spec, "a zero byte is in its description"))
        };
        let envp = variables.iter().map(|(name, value)| text(format!("{name}={value}").into()));
        let plan = Plan {
            program: text(first.as_os_str().as_bytes().to_vec())?,
            cwd: text(spec.cwd.as_os_str().as_bytes().to_vec())?,
            argv: argv.into_iter().map(|word| text(word.into())).collect::<Result<_, _>>()?,
            envp: envp.collect::<Result<_, _>>()?,
            mounts: confinement.mounts.clone(),
            filter: confinement.filter.clone(),
            flags: confinement.flags,
            directory: None,
        };
        Ok(Self { plan, confinement })
    }
}

fn confinement(spec: &HelperSpec) -> Result<Confinement, EnvError> {
    let session = SessionId::new("helper");
    let cx = CallContext::new(Arc::clone(&spec.settings), Surface::Embedded, session);
    let wanted = match &spec.sandbox {
        HelperSandbox::Off => Sandbox::default(),
        HelperSandbox::Given(sandbox) => sandbox.clone(),
        HelperSandbox::LikeCommands { attended } => {
            let terminal = TerminalSettings::of(&spec.settings)?;
            sandbox::wanted(&terminal, &cx.clone().attended(*attended))
        }
    };
    let cwd = TargetPath::new(spec.cwd.clone());
    let launch = Launch { sandbox: wanted, ..Launch::of(Program::Argv(Vec::new()), cwd) };
    sandbox::prepare(&launch, &cx)
}

/// The safe base, then what was granted by name, then what was given by value.
fn variables(spec: &HelperSpec) -> Result<Variables, EnvError> {
    let mut terminal = TerminalSettings::of(&spec.settings)?;
    // What commands may see was granted to commands.
    terminal.env_passthrough.clear();
    let surroundings = Surroundings { install: None, terminal: false };
    let mut variables = childenv::base(&spec.settings, &terminal, &surroundings);
    for name in &spec.grants {
        if let Some(variable) = spec.settings.variable(name) {
            variables.insert(name.clone(), variable.value.expose().to_owned());
        }
    }
    variables.insert("PWD".to_owned(), spec.cwd.display().to_string());
    variables.extend(spec.env.clone());
    Ok(variables)
}

/// The program as a path: looked for in the child's search path unless it is one already.
fn found(spec: &HelperSpec, path: &str) -> Result<PathBuf, EnvError> {
    let Some(program) = spec.argv.first().filter(|program| !program.is_empty()) else {
        return Err(not_started(spec, "no program is named"));
    };
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    search::program(program, path).ok_or_else(|| {
        not_started(spec, &format!("no program `{program}` in the search path: install it"))
    })
}

/// Input, output and error output; the program's ends and ours.
struct Pipes {
    theirs: [OwnedFd; 3],
    ours: [OwnedFd; 3],
}

impl Pipes {
    fn open() -> io::Result<Self> {
        let (stdin, input) = pipe_with(PipeFlags::CLOEXEC)?;
        let (output, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (errors, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { theirs: [stdin, stdout, stderr], ours: [input, output, errors] })
    }
}

fn not_started(spec: &HelperSpec, why: &str) -> EnvError {
    EnvError::NotStarted { what: spec.name.clone(), why: why.to_owned() }
}

fn failed(spec: &HelperSpec, failure: Failure) -> EnvError {
    let why = io::Error::from_raw_os_error(failure.errno).to_string();
    match failure.stage {
        Some(Stage::Cwd) => EnvError::Cwd { path: TargetPath::new(spec.cwd.clone()), why },
        Some(Stage::Mounts | Stage::Landlock | Stage::Seccomp) => {
            EnvError::Sandbox { level: "sandbox", why }
        }
        Some(Stage::Exec) => {
            let program = spec.argv.first().map_or("", String::as_str);
            not_started(spec, &format!("`{program}` cannot be executed: {why}"))
        }
        Some(Stage::Fork | Stage::Payload | Stage::Tty) | None => not_started(spec, &why),
    }
}

/// The life of a helper; dropping it breaks the line, which ends the tree.
#[derive(Debug)]
struct Hand {
    line: Line,
    pid: u32,
    sitter: u32,
    name: String,
    confinement: String,
}

impl Hand {
    fn lost(&self, why: &str) -> EnvError {
        EnvError::Lost { target: self.name.clone(), why: why.to_owned() }
    }
}

impl HelperHand for Hand {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn exited(&self) -> BoxFuture<'_, Result<Ending, EnvError>> {
        Box::pin(async move {
            let known =
                self.line.until(|tree| tree.exited.is_some() || tree.failure.is_some()).await;
            match (known.exited, known.failure) {
                (Some((ending, _)), _) => Ok(ending),
                // It said that it was ready, and then could not be executed.
                (None, Some(failure)) => {
                    let why = io::Error::from_raw_os_error(failure.errno);
                    Err(self.lost(&format!("the program cannot be executed: {why}")))
                }
                (None, None) => Err(self.lost("the process that watched over it was killed")),
            }
        })
    }

    fn kill(&self, grace: Duration) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            let killed = self.line.kill(grace).await;
            killed.map_err(|error| self.lost(&format!("{} may still run: {error}", self.pid)))
        })
    }

    fn pids(&self) -> Vec<u32> {
        tree::descendants(self.sitter)
    }

    fn confinement(&self) -> &str {
        &self.confinement
    }
}
