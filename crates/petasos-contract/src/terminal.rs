//! Running commands for a session: what the `terminal` tool asks for and what it is told.
//!
//! The engine behind it keeps working directories and exports, ends trees, decodes, masks and
//! cuts output. Checks of the command's text and the shape of results belong to the tool.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::BoxFuture;
use crate::context::CallContext;
use crate::environment::{EnvError, Located, Sandbox, SandboxLevel};
use crate::id::SessionId;
use crate::jobs::{JobId, Notify};
use crate::path::{HostPath, TargetPath};
use crate::secret::Secret;
use crate::settings::Settings;

/// What becomes of a command that runs out of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnTimeout {
    /// Its tree is ended.
    #[default]
    Kill,
    /// It goes on as a job.
    Background,
}

/// A command for a session's shell.
#[derive(Debug, Clone)]
pub struct Command {
    /// The text.
    pub script: String,
    /// Where, when not where the session is.
    pub workdir: Option<TargetPath>,
    /// Where the session was when the command was judged; found out now without it.
    pub at: Option<Arc<Located>>,
    /// The directory it must find there, by device and number; any without it.
    pub directory: Option<(u64, u64)>,
    /// How long it may take; the configured time when not said.
    pub timeout: Option<Duration>,
    /// Whether it needs a terminal of its own.
    pub pty: bool,
    /// What becomes of it when it runs out of time.
    pub on_timeout: OnTimeout,
    /// Bytes for its input.
    pub stdin: Option<Vec<u8>>,
    /// Whether it runs outside the sandbox, which somebody has agreed to.
    pub unconfined: bool,
}

/// How a foreground command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// Its time ran out; the tree is gone.
    TimedOut(Duration),
    /// Its time ran out; it goes on as this job.
    Backgrounded(JobId),
    /// The call was cancelled; the tree is gone.
    Interrupted,
    /// It waits for somebody to type; it goes on as this job.
    NeedsInput {
        /// The job to write to.
        job: JobId,
        /// The last line on its terminal.
        prompt: String,
    },
    /// The directory could not be entered.
    NoCwd(String),
}

/// What a foreground command left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its output: decoded, masked, without escapes, cut in the middle when long.
    pub output: String,
    /// Where the whole output is, when it was cut.
    pub whole: Option<HostPath>,
    /// How it ended.
    pub ended: Ended,
    /// The job that holds what it left running.
    pub left_running: Option<JobId>,
    /// Where it ran, such as `local`.
    pub target: String,
    /// The confinement it really had.
    pub confinement: String,
    /// What the sandbox seems to have refused.
    pub denied: Option<String>,
    /// What happened to a password.
    pub sudo: Option<SudoNote>,
}

/// What happened to a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SudoNote {
    /// It was refused, came from the cache, and has been forgotten.
    CacheCleared,
    /// It was refused.
    Refused,
    /// One is needed and nobody can be asked.
    Needed,
}

/// A started job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Its name.
    pub job: JobId,
    /// Its process number.
    pub pid: Option<u32>,
    /// The confinement it really has.
    pub confinement: String,
}

/// The limits that a tool tells the model about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// When nothing is said.
    pub timeout_default: Duration,
    /// The longest for a foreground command.
    pub timeout_max: Duration,
}

/// What is lent to commands: variables of this program, and files by their path below its home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lent {
    /// Names of variables.
    pub variables: Vec<String>,
    /// Files, for places that do not see the home.
    pub files: Vec<String>,
}

/// Whoever lends is asked before each command, so that what was taken back is not used again.
pub trait Lender: Send + Sync {
    /// What may be used now. May look at the disk.
    fn lent(&self) -> Lent;
}

/// Runs commands for sessions.
pub trait Terminal: Send + Sync {
    /// Whether commands could run with these settings, and why not; starts nothing.
    fn usable(&self, settings: &Settings) -> Result<(), String>;

    /// As [`usable`](Self::usable), and whether the place answers, found out by asking it. It
    /// answers within two seconds and makes nothing that stays.
    fn reachable<'a>(&'a self, settings: &'a Arc<Settings>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.usable(settings) })
    }

    /// The confinement that the commands of this call should have.
    fn sandbox(&self, cx: &CallContext) -> Result<Sandbox, EnvError>;

    /// The confinement that the commands of this call are sure to have on this machine, with real
    /// paths; nothing where a layer of it may be missing.
    fn held(&self, _cx: &CallContext) -> Option<Sandbox> {
        None
    }

    /// What such a confinement seems to have refused a program that failed in this directory.
    fn refused(&self, _sandbox: &Sandbox, _cwd: &Path, _output: &str) -> Option<String> {
        None
    }

    /// Whether the commands of this call are confined.
    fn confines(&self, cx: &CallContext) -> bool {
        // Settings that cannot be read refuse the command itself.
        self.sandbox(cx).is_ok_and(|sandbox| sandbox.level != SandboxLevel::Off)
    }

    /// Lends to the commands of a session what a skill that was loaded into it declares; takes the
    /// place of what was lent from there before. Credentials of model providers stay out all the
    /// same.
    fn lend(&self, session: &SessionId, from: &str, lender: Arc<dyn Lender>);

    /// Takes back what is lent to a session from places that are no longer in use.
    fn take_back(&self, session: &SessionId, in_use: &dyn Fn(&str) -> bool);

    /// The limits in force for this call.
    fn limits(&self, cx: &CallContext) -> Result<Limits, EnvError>;

    /// Runs a command to its end.
    fn run<'a>(
        &'a self,
        command: Command,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Ran, EnvError>>;

    /// Starts a command as a job.
    fn start<'a>(
        &'a self,
        command: Command,
        notify: Notify,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Started, EnvError>>;
}

/// Asks a person for a password. The answer bypasses model and log.
pub trait Passwords: Send + Sync {
    /// `None` when the person skips, is not there, or lets the deadline pass.
    fn ask<'a>(&'a self, prompt: &'a str, cx: &'a CallContext) -> BoxFuture<'a, Option<Secret>>;
}
