//! A job: what is run, when, and where its reply goes.

use std::path::PathBuf;

use jiff::Timestamp;
use petasos_contract::Address;
use petasos_contract::taint::Taint;
use petasos_store::{JobRow, JobState, OccurrenceRow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::late::{Misfire, Overlap};
use crate::schedule::{Schedule, StoredSchedule};

/// Which replies are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// All of them.
    #[default]
    Always,
    /// Only word of failures.
    Failure,
    /// Those that differ from the one before.
    Change,
}

impl Notify {
    /// The one of this word.
    pub fn named(word: &str) -> Option<Self> {
        serde_json::from_value(Value::from(word)).ok()
    }
}

/// How often a job runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeat {
    /// So often; for ever when absent.
    pub times: Option<u32>,
    /// How often it has.
    pub completed: u32,
}

/// What a store keeps of a job besides its name, state and times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobBody {
    /// What the agent is told.
    pub prompt: String,
    /// Skills that it reads first, in order.
    pub skills: Vec<String>,
    /// The model, where the job names one.
    pub model: Option<String>,
    /// The provider, where the job names one.
    pub provider: Option<String>,
    /// The configured provider when the job was made.
    pub provider_snapshot: Option<String>,
    /// The configured model when the job was made.
    pub model_snapshot: Option<String>,
    /// A file in the home's `scripts` folder that is run first.
    pub script: Option<String>,
    /// Only the script runs, and its output is the reply.
    pub no_agent: bool,
    /// Jobs whose newest output the agent is shown.
    pub context_from: Vec<String>,
    /// When.
    pub schedule: Option<StoredSchedule>,
    /// How often.
    pub repeat: Repeat,
    /// Where the reply goes: `origin`, `local`, `all`, targets, with commas.
    pub deliver: String,
    /// The chat in which the job was made.
    pub origin: Option<Address>,
    /// Its toolsets instead of the configured ones.
    pub enabled_toolsets: Option<Vec<String>>,
    /// Its working directory.
    pub workdir: Option<PathBuf>,
    /// What becomes of instants that were missed.
    pub misfire: Misfire,
    /// What becomes of an instant that meets a running one.
    pub overlap: Overlap,
    /// Which replies are sent.
    pub notify: Notify,
    /// The longest that a run may take, in seconds.
    pub timeout: Option<u64>,
    /// Its starts are spread over so many seconds.
    pub jitter: u64,
    /// Whether its reply becomes part of the conversation that it is delivered to; as the settings
    /// say when absent.
    pub attach_to_session: Option<bool>,
    /// The most that a run may cost, in US dollars.
    pub max_cost: Option<f64>,
    /// Rules that a person at the machine allowed this job to break.
    pub grants: Vec<String>,
    /// Who made it.
    pub created_by: String,
    /// Whose words the conversation had taken in that made it.
    pub label: Taint,
}

impl JobBody {
    /// As JSON.
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }

    /// Whether the job names who answers.
    pub fn is_pinned(&self) -> bool {
        self.model.is_some() || self.provider.is_some()
    }
}

/// A kept job that can be read.
#[derive(Debug, Clone)]
pub struct Job {
    /// Twelve hexadecimal digits.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is about to do.
    pub state: JobState,
    /// Why it is paused, held or failed.
    pub why: String,
    /// Counts changes.
    pub revision: i64,
    /// The last instant that was looked at, in milliseconds since 1970.
    pub cursor_ms: i64,
    /// The next one.
    pub next_ms: Option<i64>,
    /// When it was made.
    pub created_ms: i64,
    /// Everything else.
    pub body: JobBody,
    /// When it is due.
    pub schedule: Schedule,
    /// Its newest run.
    pub last: Option<Box<OccurrenceRow>>,
}

impl Job {
    /// Reads a row; says why it is no job.
    pub fn read(row: JobRow) -> Result<Self, String> {
        let JobRow { job, why, revision, last, .. } = row;
        let body: JobBody =
            serde_json::from_value(Value::Object(job.body)).map_err(|error| error.to_string())?;
        let stored = body.schedule.as_ref().ok_or("it has no schedule")?;
        let schedule = Schedule::restore(stored).map_err(|error| error.to_string())?;
        Ok(Self {
            id: job.id,
            name: job.name,
            state: job.state,
            why,
            revision,
            cursor_ms: job.cursor_ms,
            next_ms: job.next_ms,
            created_ms: job.created_ms,
            body,
            schedule,
            last,
        })
    }

    /// The next instants.
    pub fn upcoming(&self, now: Timestamp, count: usize) -> Vec<String> {
        let zone = &self.schedule.zone;
        let list = self.schedule.upcoming(now, count);
        list.into_iter().map(|at| zone.iso(at)).collect()
    }
}

/// A moment of the store.
pub fn moment(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}
