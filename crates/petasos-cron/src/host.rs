//! What schedules ask of the program around, and its clock.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use petasos_contract::BoxFuture;
use petasos_contract::delivery::{Deliveries, Destination};
use petasos_contract::processes::Processes;
use petasos_contract::{Address, SessionId, Settings};
use petasos_session::{Choice, Sessions};
use serde_json::Value;

use crate::job::Job;

/// The wall clock.
pub trait Wall: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemWall;

impl Wall for SystemWall {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Where a run lives.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its occurrence: the first call of the run is noted there before it begins.
    pub run: String,
    /// Its working directory, where the job names one.
    pub workdir: Option<std::path::PathBuf>,
    /// Where its reply goes.
    pub address: Option<Address>,
}

/// The program around.
pub trait CronHost: Send + Sync {
    /// The settings.
    fn settings(&self) -> Arc<Settings>;

    /// Sessions on the surface of schedules: nobody can be asked there.
    fn sessions(&self) -> Result<Arc<Sessions>, String>;

    /// What a run of this job chooses: its toolsets, without those that are not for scheduled runs.
    fn choice(&self, job: &Job) -> Result<Choice, String>;

    /// The toolsets of these names that do not exist.
    fn unknown_toolsets(&self, names: &[String]) -> Vec<String>;

    /// A run of this session lives here.
    fn placed(&self, session: &SessionId, place: Place, job: &Job);

    /// A run is over.
    fn left(&self, session: &SessionId);

    /// Whether this provider and model can be asked; says who would answer.
    fn resolve<'a>(
        &'a self,
        provider: Option<&'a str>,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Whether asking this job's model may already do something, because another agent with tools of
    /// its own is behind it.
    fn acts_by_itself<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, bool>;

    /// What in a text looks like an attempt to give orders or to take secrets.
    fn findings(&self, text: &str) -> Vec<String>;

    /// Those of these skills that cannot be used, and why, a sentence each.
    fn missing_skills<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Vec<String>>;

    /// The texts of these skills for the session of a run; one that cannot be used fails it.
    fn skills<'a>(
        &'a self,
        names: &'a [String],
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<String>, String>>;

    /// Whether the person who made a job in a chat may still write there; says why not.
    fn may_still<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<(), String>>;

    /// Why nothing may run, when everything was stopped.
    fn stopped(&self) -> Option<String>;

    /// A text without secrets.
    fn redact(&self, text: &str) -> String;

    /// Puts a file in place, whole.
    fn save(&self, path: &Path, text: &str) -> Result<(), String>;

    /// Starts scripts.
    fn processes(&self) -> Option<Arc<dyn Processes>>;

    /// Sends to people.
    fn deliveries(&self) -> Option<Arc<dyn Deliveries>>;

    /// The rules of these names that do not exist, or that nobody can allow.
    fn unknown_rules(&self, names: &[String]) -> Vec<String>;

    /// Puts a text that is sent into the conversation that is held there, between two turns of
    /// it; a running one is waited for so long. The mark tells it from every other, so that it is
    /// put there once.
    fn attach<'a>(
        &'a self,
        to: &'a Destination,
        text: &'a str,
        mark: &'a str,
        patience: Duration,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// A run is over, and stored.
    fn finished<'a>(&'a self, job: &'a Job, run: Value) -> BoxFuture<'a, ()>;
}
