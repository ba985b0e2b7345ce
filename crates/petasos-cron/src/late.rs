//! What becomes of instants that were missed, and of one that meets a run that is still going.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::schedule::Schedule;

/// So late everything still runs.
pub const GRACE_MIN: Duration = Duration::from_mins(2);
/// Later than this nothing runs under `grace`.
pub const GRACE_MAX: Duration = Duration::from_hours(2);

/// What a job does about instants that were missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misfire {
    /// One run within half a period, between two minutes and two hours; later ones are skipped.
    #[default]
    Grace,
    /// One run however late, older ones folded into it.
    Once,
    /// Nothing that is later than two minutes.
    Skip,
}

/// What a job does when it is due while it still runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The new one is skipped.
    #[default]
    Skip,
    /// One waits for the end of the running one; further ones are skipped.
    Queue,
    /// They run beside each other.
    Parallel,
}

macro_rules! words {
    ($name:ident: $($variant:ident = $word:literal),+) => {
        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The one of this word.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }
    };
}
words!(Misfire: Grace = "grace", Once = "once", Skip = "skip");
words!(Overlap: Skip = "skip", Queue = "queue", Parallel = "parallel");

/// How late an instant may still run; nothing is no limit.
pub fn grace(schedule: &Schedule, at: Timestamp, misfire: Misfire) -> Option<Duration> {
    match misfire {
        Misfire::Once => None,
        Misfire::Skip => Some(GRACE_MIN),
        Misfire::Grace => Some(match schedule.gap_after(at) {
            Some(gap) => (gap / 2).clamp(GRACE_MIN, GRACE_MAX),
            None => GRACE_MIN,
        }),
    }
}

/// Instants of a schedule that have come since the last one that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Instants that are too late to run: the first and the last of them, and how many.
    pub missed: Option<Missed>,
    /// The one to run.
    pub run: Option<DueRun>,
}

/// Instants that do not run any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// The first.
    pub first: Timestamp,
    /// The last.
    pub last: Timestamp,
    /// How many, both counted.
    pub count: u64,
}

/// An instant that runs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueRun {
    /// When it was due.
    pub at: Timestamp,
    /// How late that is.
    pub late_by: Duration,
    /// The first of the instants that are folded into it; itself without any.
    pub first: Timestamp,
    /// How many others are folded into it.
    pub folded: u64,
}

/// What a schedule asks for at this moment: at most one run, and one account of what was missed.
///
/// The newest instant decides: when it may still run, it does. Older ones are folded into it where
/// the job wants one run however late, and missed otherwise.
pub fn due(schedule: &Schedule, last: Timestamp, now: Timestamp, misfire: Misfire) -> Option<Due> {
    let first = schedule.next_after(last).filter(|at| *at <= now)?;
    let (mut newest, mut before, mut count) = (first, None, 1_u64);
    while let Some(next) = schedule.next_after(newest).filter(|at| *at <= now) {
        before = Some(newest);
        newest = next;
        count += 1;
    }
    let late_by = Duration::try_from(now.duration_since(newest)).unwrap_or_default();
    let runs = grace(schedule, newest, misfire).is_none_or(|grace| late_by <= grace);
    let (missed, folds) = match (runs, before) {
        (false, _) => (Some(Missed { first, last: newest, count }), 0),
        (true, Some(last)) if misfire != Misfire::Once => {
            (Some(Missed { first, last, count: count - 1 }), 0)
        }
        (true, _) => (None, count - 1),
    };
    let run = runs.then(|| {
        let first = if folds > 0 { first } else { newest };
        DueRun { at: newest, late_by, first, folded: folds }
    });
    Some(Due { missed, run })
}

/// What becomes of an instant while runs of its job are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// It runs.
    Run,
    /// It waits for the running one to end.
    Wait,
    /// It is skipped.
    Skip,
}

/// Decides for an instant of a job of which so many run and so many wait.
pub fn meeting(overlap: Overlap, running: usize, waiting: usize) -> Meeting {
    match overlap {
        _ if running == 0 && waiting == 0 => Meeting::Run,
        Overlap::Parallel => Meeting::Run,
        Overlap::Queue if waiting == 0 => Meeting::Wait,
        Overlap::Queue | Overlap::Skip => Meeting::Skip,
    }
}
