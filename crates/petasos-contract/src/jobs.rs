//! Background jobs as objects: found by name, owned by a session, told about when they end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::context::CallContext;
use crate::environment::EnvError;
use crate::id::SessionId;

/// The name of a job: `proc_` and twelve hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(String);

impl JobId {
    /// Names it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for JobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a session wants to be told about a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// Nothing.
    #[default]
    Silent,
    /// Its end.
    OnComplete,
    /// Lines that contain one of these texts.
    Watch(Vec<String>),
}

/// Whether a job lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// It does.
    Running,
    /// It does not.
    Exited,
}

/// Why a job is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// It returned.
    Exited,
    /// It was ended.
    Killed,
    /// Its place is gone.
    Lost,
    /// It never began.
    FailedStart,
    /// It was over before it was ended.
    AlreadyExited,
}

/// By what a job reads what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypedBy {
    /// A pipe, byte by byte.
    #[default]
    Pipe,
    /// A terminal of its own, whose keys edit the line.
    Terminal,
    /// A terminal that hides the line, as for a password.
    HiddenLine,
}

/// What is known about a job. Texts are masked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobView {
    /// Its name.
    pub session_id: JobId,
    /// Whose it is.
    #[serde(skip)]
    pub owner: SessionId,
    /// What runs.
    pub command: String,
    /// Where it began.
    pub cwd: String,
    /// Its process number.
    pub pid: Option<u32>,
    /// When it began, in seconds since the epoch.
    pub started_at: f64,
    /// How long it has been there.
    pub uptime_seconds: u64,
    /// Whether it lives.
    pub status: JobStatus,
    /// The end of its output.
    pub output_preview: String,
    /// What it is watched for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watch_patterns: Vec<String>,
    /// The pattern of the last watched line that was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_hit: Option<String>,
    /// Whether its end will be told.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub notify_on_complete: bool,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_reason: Option<Completion>,
    /// Who ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_source: Option<String>,
    /// It was found again after a restart: status, log and kill only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// By what it is typed to.
    #[serde(skip)]
    pub typed_by: TypedBy,
    /// It waits for input; the last line on its terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_input: Option<String>,
}

/// A piece of a job's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogPage {
    /// The lines.
    pub output: String,
    /// How many there are in all, those rolled away included.
    pub total_lines: u64,
    /// Which ones these are: `1-200`.
    pub showing: String,
}

/// Which lines of a log are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// So many at the end.
    Last(u64),
    /// So many after skipping some from the start.
    From {
        /// How many are skipped.
        offset: u64,
        /// How many are wanted.
        limit: u64,
    },
}

/// How a wait for a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Waited {
    /// The job is over.
    Exited,
    /// The time is.
    Timeout,
    /// The call was cancelled.
    Interrupted,
}

/// Something a session should be told, as a new turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobEvent {
    /// A job is over.
    Completion {
        /// Which.
        session_id: JobId,
        /// Whose.
        session_key: SessionId,
        /// What ran.
        command: String,
        /// How it ended.
        exit_code: i32,
        /// Why it is over.
        completion_reason: Completion,
        /// Who ended it.
        #[serde(skip_serializing_if = "Option::is_none")]
        termination_source: Option<String>,
        /// The end of its output.
        output: String,
        /// When it began.
        started_at: f64,
    },
    /// Watched lines were seen.
    WatchMatch {
        /// Which.
        session_id: JobId,
        /// Whose.
        session_key: SessionId,
        /// What ran.
        command: String,
        /// Which text.
        pattern: String,
        /// The lines.
        output: String,
        /// How many matches were not told since the last time.
        suppressed: u64,
    },
    /// Too many matches: the job is no longer watched, its end will be told.
    WatchDisabled {
        /// Which.
        session_id: JobId,
        /// Whose.
        session_key: SessionId,
        /// What ran.
        command: String,
    },
    /// Too many matches in this session: they pause.
    WatchOverflowTripped {
        /// For how long.
        pause_s: u64,
    },
    /// Matches are told again.
    WatchOverflowReleased {
        /// How many were not.
        suppressed: u64,
    },
}

/// The jobs of all sessions. A call sees those of its own session; an unknown or foreign name is
/// `None`.
pub trait Jobs: Send + Sync {
    /// The session may have been at work before, in another program: finds its jobs again. Costs
    /// nothing the second time.
    fn recall<'a>(&'a self, _cx: &'a CallContext) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Every job of the session.
    fn list(&self, cx: &CallContext) -> Vec<JobView>;

    /// Every job, for a person at this machine.
    fn list_all(&self) -> Vec<JobView>;

    /// How a job is now.
    fn poll(&self, job: &JobId, cx: &CallContext) -> Option<JobView>;

    /// Some of its log, from disk.
    fn log<'a>(
        &'a self,
        job: &'a JobId,
        lines: Lines,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<LogPage>, EnvError>>;

    /// Waits for its end; consumes the notice of it.
    fn wait<'a>(
        &'a self,
        job: &'a JobId,
        timeout: Duration,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<(Waited, JobView)>>;

    /// Ends it with its tree; `false` when it was over. Consumes the notice of its end.
    fn kill<'a>(
        &'a self,
        job: &'a JobId,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<(bool, JobView)>, EnvError>>;

    /// Writes its input.
    fn write<'a>(
        &'a self,
        job: &'a JobId,
        bytes: Vec<u8>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<usize>, EnvError>>;

    /// Ends its input.
    fn close_input<'a>(
        &'a self,
        job: &'a JobId,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<()>, EnvError>>;

    /// Takes what a session should be told, oldest first; others' events stay.
    fn drain(&self, session: &SessionId) -> Vec<JobEvent>;

    /// Tells a session of work that was no command of its own, such as a film at a vendor.
    fn tell(&self, _session: &SessionId, _event: JobEvent) {}

    /// Comes back when the session has something to drain.
    fn changed<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()>;
}
