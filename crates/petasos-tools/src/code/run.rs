//! Owns one script from its start until it and everything it started is gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{
    EnvError, Environment, Exports, Launch, Process, Program, Sandbox, Stderr, Stdin, Step,
};
use petasos_contract::path::TargetPath;
use petasos_contract::ports::Door;
use petasos_contract::{CallContext, ToolError};
use tokio::net::UnixListener;

use super::capture::Capture;
use super::folder::{self, Own};
use super::gate::Gate;
use super::{CodeSettings, Mode, module, socket, spool};
use crate::files::directory::Directory;
use crate::files::site::there::{self, Script, quote};

const STDOUT_BYTES_MAX: usize = 50_000;
const STDERR_BYTES_MAX: usize = 10_000;

/// Last words after the script has ended; whoever still holds the pipe then was left running.
const DRAIN_MAX: Duration = Duration::from_millis(300);

/// Between asking a script to end and ending it.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// What is to be run.
pub(crate) struct Job<'a> {
    pub(crate) source: &'a str,
    pub(crate) settings: CodeSettings,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) door: Option<Arc<dyn Door>>,
    /// Where it runs in project mode.
    pub(crate) directory: Directory,
    /// How far commands of this call are confined; so is the script.
    pub(crate) sandbox: Sandbox,
    pub(crate) cx: &'a CallContext,
}

/// How a script ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// Its time was over.
    TimedOut,
    /// Nobody wanted it any more.
    Interrupted,
}

/// What a script left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) ended: Ended,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    pub(crate) calls: u32,
    pub(crate) refused: u32,
    /// Processes that it left running and that were ended.
    pub(crate) left: usize,
    pub(crate) confinement: String,
}

/// Runs a script to its end.
pub(crate) async fn run(job: Job<'_>) -> Result<Finished, ToolError> {
    let until = (Instant::now() + job.settings.timeout()).min(job.cx.deadline);
    let token = folder::random(32)?;
    let calls_max = job.settings.max_tool_calls;
    let gate = Gate::new(job.door.clone(), token.clone(), calls_max, until, job.cx);
    let line = Line::open(&job).await?;
    let module = module::text(gate.tools());
    folder::fill(&*job.environment, line.folder(), job.source, &module).await?;
    let mut process = job.environment.spawn(launch(&job, &line, &token), job.cx).await?;
    let confinement = process.confinement().to_owned();
    let mut watched = Watched::default();
    let ended = {
        let serving = line.serve(&*job.environment, &gate);
        tokio::pin!(serving);
        let watching = watched.watch(&mut *process, until, job.cx);
        tokio::pin!(watching);
        tokio::select! {
            biased;
            ended = &mut watching => ended?,
            lost = &mut serving => return Err(lost.into()),
        }
    };
    let left = match ended {
        Ended::Exited(_) => watched.settle(&mut *process).await?,
        Ended::TimedOut | Ended::Interrupted => {
            process.control().kill(KILL_GRACE).await?;
            0
        }
    };
    line.close(&job).await?;
    Ok(Finished {
        ended,
        stdout: watched.stdout,
        stderr: watched.stderr,
        calls: gate.calls(),
        refused: gate.refused(),
        left,
        confinement,
    })
}

/// How calls travel: over a socket on this machine, as files anywhere else.
enum Line {
    Socket { own: Own, folder: TargetPath, listener: UnixListener },
    Spool { folder: TargetPath },
}

impl Line {
    async fn open(job: &Job<'_>) -> Result<Self, ToolError> {
        let facts = job.environment.facts();
        if facts.backend == "local" {
            let own = Own::new(facts.temp.as_path())?;
            let listener = socket::open(&own.socket())?;
            return Ok(Self::Socket { folder: TargetPath::new(own.path()), own, listener });
        }
        let folder = facts.temp.join(format!("petasos-code-{}", folder::random(8)?));
        let ran = brief(job, &format!("mkdir -m 700 -p {}", quoted(&folder))).await?;
        if ran.code != 0 {
            let why = ran.errors.trim().to_owned();
            return Err(EnvError::File { path: folder, why, missing: false }.into());
        }
        Ok(Self::Spool { folder })
    }

    fn folder(&self) -> &TargetPath {
        match self {
            Self::Socket { folder, .. } | Self::Spool { folder } => folder,
        }
    }

    fn exports(&self, token: &str) -> Exports {
        let (name, value) = match self {
            Self::Socket { own, .. } => ("PETASOS_CODE_SOCKET", own.socket().display().to_string()),
            Self::Spool { folder } => ("PETASOS_CODE_FOLDER", folder.to_string()),
        };
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Exports::from([
            own(name, &value),
            own("PETASOS_CODE_TOKEN", token),
            own("PYTHONDONTWRITEBYTECODE", "1"),
            own("PYTHONIOENCODING", "utf-8"),
        ])
    }

    async fn serve(&self, environment: &dyn Environment, gate: &Gate) -> EnvError {
        match self {
            Self::Socket { listener, .. } => {
                socket::serve(listener, gate).await;
                EnvError::Limit("the connection to the script ended".to_owned())
            }
            Self::Spool { folder } => spool::serve(environment, folder, gate).await,
        }
    }

    async fn close(self, job: &Job<'_>) -> Result<(), EnvError> {
        match self {
            Self::Socket { own, .. } => {
                drop(own);
                Ok(())
            }
            Self::Spool { folder } => {
                brief(job, &format!("rm -rf {}", quoted(&folder))).await.map(drop)
            }
        }
    }
}

fn quoted(path: &TargetPath) -> String {
    quote(&path.to_string())
}

async fn brief(job: &Job<'_>, text: &str) -> Result<there::Ran, EnvError> {
    let until = job.cx.deadline.min(Instant::now() + Duration::from_secs(30));
    let script =
        Script { text, input: None, output_max: 10_000, until, sandbox: Sandbox::default() };
    there::run(&*job.environment, script, job.cx).await
}

/// The interpreter is looked for where the script runs; the active virtual environment's first.
fn launch(job: &Job<'_>, line: &Line, token: &str) -> Launch {
    let folder = line.folder();
    let project = TargetPath::new(job.directory.path.clone());
    let (cwd, directory, first, flags) = match job.settings.mode {
        Mode::Project => (project, job.directory.identity, "''", ""),
        Mode::Strict => (folder.clone(), None, "", "-I "),
    };
    let active =
        job.cx.settings.variable("VIRTUAL_ENV").filter(|_| job.settings.mode == Mode::Project);
    let active = active
        .map_or(String::new(), |active| quote(&format!("{}/bin/python", active.value.expose())));
    let paths = [quote(&folder.to_string()), quote(&folder.join(folder::SCRIPT).to_string())];
    let [folder_word, script_word] = paths;
    let start = format!(
        "import sys, runpy; sys.version_info < (3, 8) and sys.exit(\"Python 3.8 or newer is \
         needed\"); sys.path[:] = [sys.argv[1]] + [p for p in [{first}] + sys.path[1:] if \
         p != sys.argv[1]]; script = sys.argv[2]; sys.argv[:] = [script]; \
         runpy.run_path(script, run_name=\"__main__\")"
    );
    let text = format!(
        "for python in {active} python3 python; do\n\
         command -v \"$python\" >/dev/null 2>&1 || continue\n\
         exec \"$python\" {flags}-u -c {} {folder_word} {script_word}\ndone\n\
         echo 'no Python 3.8 or newer is installed there' >&2; exit 127",
        quote(&start)
    );
    let argv = ["/bin/sh", "-c", &text].map(str::to_owned);
    let mut launch = Launch::of(Program::Argv(argv.into()), cwd);
    launch.directory = directory;
    launch.exports = line.exports(token);
    launch.stdin = Stdin::Closed;
    launch.stderr = Stderr::Apart;
    launch.sandbox = job.sandbox.clone();
    // Its own folder can always be written.
    launch.sandbox.writable.push(folder.clone());
    launch
}

struct Watched {
    stdout: Capture,
    stderr: Capture,
    bytes: Vec<u8>,
    is_closed: bool,
    survivors: u32,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            stdout: Capture::new(STDOUT_BYTES_MAX),
            stderr: Capture::new(STDERR_BYTES_MAX),
            bytes: Vec::new(),
            is_closed: false,
            survivors: 0,
        }
    }
}

impl Watched {
    async fn watch(
        &mut self,
        process: &mut dyn Process,
        until: Instant,
        cx: &CallContext,
    ) -> Result<Ended, EnvError> {
        // What people take to agree to its calls is not the script's.
        let mut over = std::pin::pin!(cx.pauses.until(until));
        loop {
            let exited = tokio::select! {
                exited = self.step(process) => exited?,
                () = &mut over => return Ok(Ended::TimedOut),
                () = cx.cancel.cancelled() => return Ok(Ended::Interrupted),
            };
            if let Some(code) = exited {
                return Ok(Ended::Exited(code));
            }
        }
    }

    async fn step(&mut self, process: &mut dyn Process) -> Result<Option<i32>, EnvError> {
        self.bytes.clear();
        match process.next(&mut self.bytes).await? {
            Step::Output => self.stdout.push(&self.bytes),
            Step::Errors => self.stderr.push(&self.bytes),
            Step::Closed => self.is_closed = true,
            Step::Exited(exit) => {
                self.survivors = exit.survivors;
                return Ok(Some(exit.ending.code()));
            }
        }
        Ok(None)
    }

    /// Takes the last words and ends what the script left running.
    async fn settle(&mut self, process: &mut dyn Process) -> Result<usize, EnvError> {
        let until = tokio::time::Instant::now() + DRAIN_MAX;
        while !self.is_closed {
            match tokio::time::timeout_at(until, self.step(process)).await {
                Ok(step) => drop(step?),
                Err(_) => break,
            }
        }
        let control = process.control();
        let left = control.pids().len();
        if left == 0 && self.is_closed {
            return Ok(0);
        }
        control.kill(Duration::ZERO).await?;
        Ok(left.max(self.survivors as usize))
    }
}
