//! Scheduled jobs and their occurrences: each due time once, in whichever process, and nothing that
//! a dead process left is taken for done or done again in silence.

use std::fmt;

use petasos_contract::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Later, NewDelivery, OutboxRow};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$one:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$one])* $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The one of this word.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What a job is about to do.
    JobState {
        /// It runs when it is due.
        Scheduled = "scheduled",
        /// A person paused it.
        Paused = "paused",
        /// It has no instant left.
        Completed = "completed",
        /// Its schedule cannot be read.
        Failed = "failed",
        /// Something must be looked at by a person first.
        Held = "held",
    }
}

words! {
    /// What has become of an occurrence.
    OccurrenceState {
        /// It waits for a run of the same job to end.
        Due = "due",
        /// Somebody took it, and nothing of it has begun.
        Claimed = "claimed",
        /// It runs.
        Running = "running",
        /// It did what it should.
        Succeeded = "succeeded",
        /// It did not.
        Failed = "failed",
        /// A limit ended it.
        TimedOut = "timed_out",
        /// It ended before it had called anything.
        Interrupted = "interrupted",
        /// Its process died in the middle; nobody knows how far it came.
        Unknown = "unknown",
        /// It was not run; its reason says why.
        Skipped = "skipped",
    }
}

impl OccurrenceState {
    /// Whether nothing more becomes of it.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Due | Self::Claimed | Self::Running)
    }
}

words! {
    /// Why an occurrence is.
    Trigger {
        /// Its time came.
        Schedule = "schedule",
        /// Somebody asked for it.
        Manual = "manual",
    }
}

words! {
    /// Whether the reply of a run was to be sent.
    DeliveryWish {
        /// There was nothing to send, or nowhere to.
        None = "none",
        /// The run asked for silence.
        Silent = "silent",
        /// It was handed over; the deliveries say what became of it.
        Queued = "queued",
        /// No place could be found for it.
        Failed = "failed",
    }
}

/// A job that is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// Twelve hexadecimal digits.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is about to do.
    pub state: JobState,
    /// Everything else, as whoever runs it understands it.
    pub body: Map<String, Value>,
    /// The last instant that was looked at, in milliseconds since 1970.
    pub cursor_ms: i64,
    /// The next one.
    pub next_ms: Option<i64>,
    /// The conversation that made it.
    pub maker: String,
    /// When, in milliseconds since 1970.
    pub created_ms: i64,
}

/// How many jobs there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// In all.
    pub jobs: u32,
    /// Made by one conversation within a day.
    pub by_maker: u32,
}

/// What keeping a job came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobReceipt {
    /// It is kept.
    Kept,
    /// There are as many as there may be.
    TooMany,
    /// Its conversation made as many today as it may.
    TooManyToday,
}

/// A kept job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    /// The job.
    pub job: NewJob,
    /// Why it is paused, held or failed.
    pub why: String,
    /// Counts changes.
    pub revision: i64,
    /// When it was last changed.
    pub changed_ms: i64,
    /// The newest occurrence that was run.
    pub last: Option<Box<OccurrenceRow>>,
}

/// What is changed about a job; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobChange {
    /// Its name.
    pub name: Option<String>,
    /// Its state, and why.
    pub state: Option<(JobState, String)>,
    /// Everything else.
    pub body: Option<Map<String, Value>>,
    /// The last instant that was looked at, and the next one.
    pub times: Option<(i64, Option<i64>)>,
}

/// An occurrence that is to be noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOccurrence {
    /// Whose.
    pub job: String,
    /// Why it is.
    pub trigger: Trigger,
    /// When it was due, in milliseconds since 1970.
    pub scheduled_ms: i64,
    /// Counts tries for one due time, from one.
    pub attempt: u32,
    /// `claimed`, `due` or `skipped`.
    pub state: OccurrenceState,
    /// Why it is skipped.
    pub reason: String,
    /// The first of the due times that it stands for.
    pub first_ms: i64,
    /// How many other due times it stands for.
    pub folded: u64,
    /// How late it is, in milliseconds.
    pub late_ms: i64,
}

/// A kept occurrence.
#[derive(Debug, Clone, PartialEq)]
pub struct OccurrenceRow {
    /// Tells it from every other.
    pub id: String,
    /// What it was noted as; its state and reason are those of now.
    pub new: NewOccurrence,
    /// The conversation in which it runs.
    pub session: Option<SessionId>,
    /// Whether the model or a tool has been called.
    pub called: bool,
    /// When its owner last said that it lives.
    pub beat_ms: i64,
    /// When it began.
    pub started_ms: Option<i64>,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// Whether its reply was to be sent.
    pub wish: DeliveryWish,
    /// What else is known: error, output, model, cost.
    pub detail: Map<String, Value>,
}

/// Moves a job past the instants that have come. All of it happens, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Advance {
    /// Which job.
    pub job: String,
    /// Its revision, as the caller saw it.
    pub revision: i64,
    /// The last instant that was looked at, from now on.
    pub cursor_ms: i64,
    /// The next one.
    pub next_ms: Option<i64>,
    /// How many occurrences of the job are about, as the caller saw it.
    pub active: u32,
    /// What is noted; at most one of them is claimed.
    pub notes: Vec<NewOccurrence>,
    /// What else of the job changes with this.
    pub body: Option<Map<String, Value>>,
    /// The job is over after this.
    pub completes: bool,
}

/// How an occurrence ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// How.
    pub state: OccurrenceState,
    /// Whether its reply is to be sent.
    pub wish: DeliveryWish,
    /// What is sent; planned in the same transaction.
    pub deliveries: Vec<NewDelivery>,
    /// What else is known.
    pub detail: Map<String, Value>,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Somebody who looks for due jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchedulerRow {
    /// Where: `gateway`, `daemon`, `tick`.
    pub kind: String,
    /// The process.
    pub pid: u32,
    /// When it last looked, in milliseconds since 1970.
    pub woke_ms: i64,
    /// Whether its process lives, as far as this machine can tell.
    pub alive: bool,
}

/// The token of a delivery of an occurrence begins like this.
pub fn delivery_prefix(occurrence: &str) -> String {
    format!("cron:{occurrence}:")
}

/// Keeps jobs and their occurrences.
pub trait ScheduleStore: Send + Sync {
    /// Keeps a job, within limits.
    fn add_job(&self, job: NewJob, limits: JobLimits) -> Later<'_, JobReceipt>;

    /// Changes a job that is as the caller saw it; whether it was.
    fn change_job<'a>(
        &'a self,
        id: &'a str,
        revision: i64,
        change: JobChange,
        now_ms: i64,
    ) -> Later<'a, bool>;

    /// Forgets a job; its occurrences stay. Whether it was there.
    fn remove_job<'a>(&'a self, id: &'a str) -> Later<'a, bool>;

    /// Every job, the oldest first.
    fn jobs(&self) -> Later<'_, Vec<JobRow>>;

    /// One job.
    fn job<'a>(&'a self, id: &'a str) -> Later<'a, Option<JobRow>>;

    /// Jobs that are due, the longest due first.
    fn due_jobs(&self, now_ms: i64, limit: u32) -> Later<'_, Vec<JobRow>>;

    /// When the next job is due.
    fn next_job(&self) -> Later<'_, Option<i64>>;

    /// Moves a job on; the claimed occurrence is ours. Nothing when somebody else was first, when
    /// the job was changed, or when another number of its occurrences is about.
    fn advance(&self, advance: Advance, now_ms: i64) -> Later<'_, Option<Advanced>>;

    /// Notes an occurrence that somebody asked for, and claims it.
    fn demand(&self, occurrence: NewOccurrence, now_ms: i64) -> Later<'_, Option<OccurrenceRow>>;

    /// Claims one that waits, where nothing of its job runs any more.
    fn claim_waiting(&self, now_ms: i64) -> Later<'_, Option<OccurrenceRow>>;

    /// It runs now, in this conversation. Whether it is still ours.
    fn begin<'a>(
        &'a self,
        id: &'a str,
        session: Option<&'a SessionId>,
        now_ms: i64,
    ) -> Later<'a, bool>;

    /// The model or a tool is about to be called. Whether it is still ours.
    fn called<'a>(&'a self, id: &'a str) -> Later<'a, bool>;

    /// Says that we live; gives those of these that are still ours.
    fn beat(&self, ids: Vec<String>, now_ms: i64) -> Later<'_, Vec<String>>;

    /// Ends an occurrence of ours with everything that follows from it. Whether it was still ours.
    fn finish<'a>(&'a self, id: &'a str, finish: Finish) -> Later<'a, bool>;

    /// Ends what dead processes left, and what these heartbeats are still the last of: `unknown`, or
    /// `interrupted` where nothing had been called. Gives what was ended.
    fn abandon(&self, silent: Vec<(String, i64)>, now_ms: i64) -> Later<'_, Vec<OccurrenceRow>>;

    /// Occurrences whose owner was last heard of before this, with that moment.
    fn silent(&self, before_ms: i64) -> Later<'_, Vec<(String, i64)>>;

    /// Occurrences, the newest first, of one job or of all.
    fn occurrences<'a>(&'a self, job: Option<&'a str>, limit: u32)
    -> Later<'a, Vec<OccurrenceRow>>;

    /// Due times that ended before anything was called and were not tried again, the longest due
    /// first.
    fn interrupted(&self, limit: u32) -> Later<'_, Vec<OccurrenceRow>>;

    /// Occurrences of a job that are not settled.
    fn active<'a>(&'a self, job: &'a str) -> Later<'a, Vec<OccurrenceRow>>;

    /// One occurrence.
    fn occurrence<'a>(&'a self, id: &'a str) -> Later<'a, Option<OccurrenceRow>>;

    /// What became of the deliveries of an occurrence.
    fn deliveries_of<'a>(&'a self, id: &'a str) -> Later<'a, Vec<OutboxRow>>;

    /// Says that this process looks for due jobs.
    fn note_scheduler<'a>(&'a self, kind: &'a str, now_ms: i64) -> Later<'a, ()>;

    /// Who looks for due jobs, the last one first.
    fn schedulers(&self) -> Later<'_, Vec<SchedulerRow>>;
}

/// What a job that was moved on came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Advanced {
    /// The occurrence that is ours to run.
    pub claimed: Option<OccurrenceRow>,
    /// Notes that were there before: their due times had been noted already.
    pub known: u32,
}
