//! Files of a place that is not this machine, through its environment.
//!
//! File tools block; the environment awaits. Each operation waits on the runtime's handle, with
//! the call's deadline and cancellation.

use std::future::Future;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{
    EnvError, Environment, FileKind, Files, Launch, Process, Program, Sandbox, Stderr, Stdin, Step,
    WriteMode,
};
use petasos_contract::path::{TargetPath, is_user};
use petasos_contract::{CallContext, wait};
use tokio::runtime::Handle;

use super::About;
use crate::files::guard::Guard;
use crate::files::open::Unreadable;
use crate::files::place;
use crate::files::similar;
use crate::files::write::{Change, Done, WriteFault};

const CHUNK_BYTES: u64 = 1 << 20;

/// Nothing that only asks for a fact takes longer.
const BRIEF_MAX: Duration = Duration::from_secs(30);

/// Waits for an environment from a blocking thread, no longer than the call may take.
pub(crate) fn wait<T>(
    handle: &Handle,
    cx: &CallContext,
    what: &'static str,
    future: impl Future<Output = Result<T, EnvError>>,
) -> Result<T, EnvError> {
    handle.block_on(async {
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(EnvError::Limit("the call was cancelled".to_owned())),
            done = wait::until(cx.deadline, what, future) => {
                done.unwrap_or_else(|late| Err(EnvError::Limit(late.to_string())))
            }
        }
    })
}

/// What a program left.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit code.
    pub(crate) code: i32,
    /// What it wrote, up to a limit.
    pub(crate) output: Vec<u8>,
    /// Its errors, up to a limit.
    pub(crate) errors: String,
    /// Why there is no more, when it was stopped.
    pub(crate) stopped: Option<Stopped>,
}

/// Why a program was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It wrote more than was wanted.
    Long,
    /// Its time was over.
    Late,
}

/// A script for a place, and how much of it.
#[derive(Debug)]
pub(crate) struct Script<'a> {
    /// The text for `/bin/sh`.
    pub(crate) text: &'a str,
    /// What it reads.
    pub(crate) input: Option<Vec<u8>>,
    /// How many bytes it may write.
    pub(crate) output_max: usize,
    /// When it must have ended.
    pub(crate) until: Instant,
    /// How it is confined; not at all for what the tools do themselves.
    pub(crate) sandbox: Sandbox,
}

/// Runs a script in a place and gathers what it writes.
pub(crate) async fn run(
    environment: &dyn Environment,
    script: Script<'_>,
    cx: &CallContext,
) -> Result<Ran, EnvError> {
    let argv = ["/bin/sh", "-c", script.text].map(str::to_owned);
    let mut launch = Launch::of(Program::Argv(argv.into()), environment.facts().cwd.clone());
    launch.stderr = Stderr::Apart;
    launch.sandbox = script.sandbox;
    launch.stdin = script.input.map_or(Stdin::Closed, Stdin::Bytes);
    let mut process = environment.spawn(launch, cx).await?;
    let mut ran = Ran { code: -1, output: Vec::new(), errors: String::new(), stopped: None };
    let gathered = gather(&mut *process, &mut ran, script.output_max);
    match wait::until(script.until, "a program", gathered).await {
        Ok(ended) => ended?,
        Err(_) => ran.stopped = Some(Stopped::Late),
    }
    if ran.stopped.is_some() {
        process.control().kill(Duration::ZERO).await?;
    }
    Ok(ran)
}

async fn gather(process: &mut dyn Process, ran: &mut Ran, most: usize) -> Result<(), EnvError> {
    let (mut exited, mut closed) = (false, false);
    let mut bytes = Vec::new();
    while !(exited && closed) {
        bytes.clear();
        match process.next(&mut bytes).await? {
            Step::Output => {
                ran.output.extend_from_slice(&bytes);
                if ran.output.len() > most {
                    ran.output.truncate(most);
                    ran.stopped = Some(Stopped::Long);
                    return Ok(());
                }
            }
            Step::Errors if ran.errors.len() < 10_000 => {
                ran.errors.push_str(&String::from_utf8_lossy(&bytes));
            }
            Step::Errors => {}
            Step::Exited(exit) => {
                ran.code = exit.ending.code();
                exited = true;
            }
            Step::Closed => closed = true,
        }
    }
    Ok(())
}

/// One word for a shell.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A place that is not this machine, for one call.
pub(crate) struct There<'a> {
    environment: Arc<dyn Environment>,
    handle: Handle,
    cx: &'a CallContext,
}

impl<'a> There<'a> {
    pub(super) fn new(
        environment: Arc<dyn Environment>,
        handle: Handle,
        cx: &'a CallContext,
    ) -> Self {
        Self { environment, handle, cx }
    }

    fn files(&self) -> &dyn Files {
        self.environment.files()
    }

    /// Waits for one operation.
    fn wait<T>(&self, future: impl Future<Output = Result<T, EnvError>>) -> Result<T, EnvError> {
        wait(&self.handle, self.cx, "a file operation", future)
    }

    /// Runs a script there.
    pub(crate) fn run(&self, script: Script<'_>) -> Result<Ran, EnvError> {
        self.wait(run(&*self.environment, script, self.cx))
    }

    /// Runs a short script there that says little.
    fn brief(&self, text: &str) -> Result<Ran, EnvError> {
        let until = self.cx.deadline.min(Instant::now() + BRIEF_MAX);
        self.run(Script {
            text,
            input: None,
            output_max: 10_000,
            until,
            sandbox: Sandbox::default(),
        })
    }

    /// The home of another user there.
    pub(super) fn home_of(&self, name: &str) -> Option<PathBuf> {
        if !is_user(name) {
            return None;
        }
        let script = format!("getent passwd {name} 2>/dev/null || grep '^{name}:' /etc/passwd");
        let ran = self.brief(&script).ok()?;
        place::home_in(&String::from_utf8_lossy(&ran.output), name)
    }

    pub(super) fn look(&self, path: &Path, guard: &Guard) -> Result<About, Unreadable> {
        let refuse = |path: &Path| {
            guard.refuses(path).map_or(Ok(()), |protected| Err(Unreadable::Protected(protected)))
        };
        refuse(path)?;
        let stat = self.wait(self.files().stat(&TargetPath::new(path)))?;
        let real = stat.resolved.as_path().to_owned();
        refuse(&real)?;
        let is_folder = match stat.kind {
            FileKind::File => false,
            FileKind::Directory => true,
            FileKind::Link | FileKind::Special => return Err(Unreadable::Special),
        };
        Ok(About { real, size: stat.size, modified_ns: stat.modified_ns, is_folder })
    }

    pub(super) fn reader(&self, real: &Path) -> Chunks<'_> {
        Chunks { there: self, path: TargetPath::new(real), at: 0, chunk: io::Cursor::default() }
    }

    pub(super) fn beside(&self, missing: &Path) -> Vec<PathBuf> {
        let (Some(folder), Some(name)) = (missing.parent(), missing.file_name()) else {
            return Vec::new();
        };
        // A folder that cannot be listed has no help to give; the error itself is told anyway.
        let listed = self.wait(self.files().list(&TargetPath::new(folder)));
        let names = listed.unwrap_or_default().into_iter().map(|entry| entry.name);
        let alike = similar::alike(&name.to_string_lossy(), names);
        alike.into_iter().map(|name| folder.join(name)).collect()
    }

    pub(super) fn is_folder(&self, path: &Path) -> bool {
        let stat = self.wait(self.files().stat(&TargetPath::new(path)));
        stat.is_ok_and(|stat| stat.kind == FileKind::Directory)
    }

    /// Where a path really is, or would be once its folders are made.
    pub(super) fn target(&self, path: &Path) -> Result<PathBuf, WriteFault> {
        let mut rest = Vec::new();
        for at in path.ancestors() {
            match self.wait(self.files().stat(&TargetPath::new(at))) {
                Ok(stat) => {
                    let real = stat.resolved.as_path().to_owned();
                    return Ok(rest.iter().rev().fold(real, |real, part| real.join(part)));
                }
                Err(EnvError::File { missing: true, .. }) => {
                    rest.extend(at.file_name().map(PathBuf::from));
                }
                Err(error) => return Err(WriteFault::Environment(error)),
            }
        }
        Ok(path.to_owned())
    }

    /// One file after the other; when one fails, those before it get their old content back.
    pub(super) fn commit(&self, changes: &[Change<'_>]) -> Result<Done, WriteFault> {
        let mut done = Done::default();
        for (index, change) in changes.iter().enumerate() {
            done.dirs_created |= change.before.is_none()
                && change.real.parent().is_some_and(|parent| !self.is_folder(parent));
            if let Err(error) = self.put(change, change.after.as_deref()) {
                let undone: Result<Vec<()>, EnvError> = changes
                    .iter()
                    .take(index)
                    .rev()
                    .map(|change| self.put(change, change.before))
                    .collect();
                return Err(match undone {
                    Ok(_) => WriteFault::Environment(error),
                    Err(second) => {
                        WriteFault::HalfDone { why: error.to_string(), then: second.to_string() }
                    }
                });
            }
        }
        Ok(done)
    }

    fn put(&self, change: &Change<'_>, content: Option<&[u8]>) -> Result<(), EnvError> {
        let path = TargetPath::new(&change.real);
        match content {
            Some(content) => {
                self.wait(self.files().write(&path, content, WriteMode::Replace))?;
                self.like(change)
            }
            None => match self.wait(self.files().remove(&path)) {
                Err(EnvError::File { missing: true, .. }) => Ok(()),
                other => other,
            },
        }
    }

    /// A file under a new name keeps the permissions it had under the old one.
    fn like(&self, change: &Change<'_>) -> Result<(), EnvError> {
        let Some(like) = &change.like else { return Ok(()) };
        let stat = self.wait(self.files().stat(&TargetPath::new(like)));
        let Some(mode) = stat.ok().and_then(|stat| stat.mode) else { return Ok(()) };
        let path = quote(&change.real.to_string_lossy());
        self.brief(&format!("chmod {mode:o} {path}")).map(drop)
    }
}

/// A file as a stream, a piece at a time.
pub(super) struct Chunks<'a> {
    there: &'a There<'a>,
    path: TargetPath,
    at: u64,
    chunk: io::Cursor<Vec<u8>>,
}

impl Read for Chunks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.chunk.read(into)?;
        if length > 0 || into.is_empty() {
            return Ok(length);
        }
        let files = self.there.files();
        let chunk = self.there.wait(files.read(&self.path, self.at, CHUNK_BYTES));
        let chunk = chunk.map_err(io::Error::other)?;
        self.at += chunk.len() as u64;
        self.chunk = io::Cursor::new(chunk);
        self.chunk.read(into)
    }
}

impl From<EnvError> for Unreadable {
    fn from(error: EnvError) -> Self {
        match error {
            EnvError::File { missing: true, .. } => Self::Missing,
            other => Self::System(io::Error::other(other)),
        }
    }
}
