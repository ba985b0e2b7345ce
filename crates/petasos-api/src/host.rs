//! What the server asks of the program around it.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::delivery::Deliveries;
use petasos_contract::{Address, BoxFuture, SessionId};
use petasos_session::{Choice, Sampling};
use serde_json::{Map, Value};

use crate::options::ModelRoute;

/// What a conversation over HTTP is to choose.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Whose tools: `api_server` or `webhook`.
    pub platform: &'static str,
    /// Only these toolsets, of those that the platform has.
    pub toolsets: Option<Vec<String>>,
    /// These toolsets instead of those that the platform has.
    pub instead: Option<Vec<String>>,
    /// Which model.
    pub route: ModelRoute,
    /// Text at the end of the system prompt.
    pub instructions: Option<String>,
    /// Whether the model may ask somebody.
    pub may_ask: bool,
    /// How commands are confined, where the key says so.
    pub sandbox: Option<String>,
    /// Whose notes it reads and writes; the home's own when absent.
    pub memory: Option<Address>,
    /// How replies are written.
    pub sampling: Sampling,
}

/// Where a conversation over HTTP is reached.
#[derive(Debug, Clone)]
pub struct Reached {
    /// Whose it is.
    pub address: Arc<Address>,
    /// Whether somebody can be asked.
    pub attended: bool,
    /// How commands are confined, where the key says so.
    pub sandbox: Option<String>,
}

/// What somebody wants of schedules; a job is meant by its id or its name.
#[derive(Debug, Clone, PartialEq)]
pub enum JobAsk {
    /// All of them.
    List,
    /// One.
    One(String),
    /// A new one of these fields.
    Create(Map<String, Value>),
    /// These fields of one are changed.
    Change(String, Map<String, Value>),
    /// One is forgotten.
    Remove(String),
    /// One rests, for this reason.
    Pause(String, String),
    /// One runs again.
    Resume(String),
    /// One runs now, beside its schedule; nobody waits for its end.
    Run(String),
    /// What became of so many of its runs, the newest first.
    Runs(String, u32),
}

/// Why nothing became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFault {
    /// Its word: `not_found`, `ambiguous`, `conflict`, `limit`, `scan`, `store`, `unavailable`, …
    pub kind: &'static str,
    /// What is wrong and what to do.
    pub message: String,
}

/// The program around the server.
pub trait ApiHost: Send + Sync {
    /// What a conversation chooses.
    fn wished(&self, wish: &Wish) -> Choice;

    /// Where a conversation is reached, and whether somebody can be asked. Commands of it are
    /// confined as those of an unattended one.
    fn reached(&self, session: &SessionId, place: Reached);

    /// Masks secrets.
    fn redact(&self, text: &str) -> String;

    /// Why no tool runs at the moment, when everything was stopped.
    fn halted(&self) -> Option<String>;

    /// Whether approvals are asked somewhere though nobody reads the run.
    fn routes_questions(&self) -> bool {
        false
    }

    /// Which of the fields `top_p`, `stop`, `seed` and `response_format` the wire of this model has
    /// a word for.
    fn takes<'a>(&'a self, _route: &'a ModelRoute) -> BoxFuture<'a, Vec<&'static str>> {
        Box::pin(async { Vec::new() })
    }

    /// The toolsets of the platform, for clients.
    fn toolsets(&self) -> Value;

    /// How the program is besides: accounts, queues, room on the disk.
    fn condition(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { Value::Null })
    }

    /// The skills of this home, for clients.
    fn skills(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { Value::Array(Vec::new()) })
    }

    /// The words of these skills, for a turn that begins with them; says which is missing.
    fn skill_words<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Err(format!("no skill is named {}", names.join(", "))) })
    }

    /// What the key of this name wants of schedules.
    fn jobs<'a>(&'a self, _ask: JobAsk, _by: &'a str) -> BoxFuture<'a, Result<Value, JobFault>> {
        let message = "this program keeps no schedules".to_owned();
        Box::pin(async { Err(JobFault { kind: "unavailable", message }) })
    }

    /// The boards of this home, or the tasks of one; why not, otherwise.
    fn boards<'a>(&'a self, _board: Option<&'a str>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async { Err("this program keeps no boards".to_owned()) })
    }

    /// Sends to people, where somebody does.
    fn deliveries(&self) -> Option<Arc<dyn Deliveries>> {
        None
    }

    /// Routes of webhooks that were subscribed at the machine, by name.
    fn subscriptions(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Runs a file of the home's `scripts` folder with this input; gives what it printed.
    fn script<'a>(
        &'a self,
        file: &'a str,
        _input: String,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Err(format!("this program cannot run `{file}`")) })
    }
}
