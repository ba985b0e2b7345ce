//! The waist: the nouns everyone shares and the traits everyone implements.
//!
//! Its law: no behaviour and no input or output. Whatever enters here is used by at least two
//! crates that may not know each other.
//!
//! | file | what it holds |
//! |---|---|
//! | `id` | names and identities as types |
//! | `tool`, `output`, `args` | what a tool declares, does, takes and gives |
//! | `bridging` | synchronous handlers as tools |
//! | `check` | availability |
//! | `effect`, `plan` | what a call would do to the world, resolved once before it is judged |
//! | `environment`, `path` | where commands run and files live, and its paths |
//! | `terminal`, `jobs` | commands and background jobs of a session |
//! | `context`, `seat` | what travels with a call |
//! | `address`, `taint` | where a conversation is reached, and whose words it took in |
//! | `call` | a call, its one result, and refusals |
//! | `hook`, `middleware` | other people's code on the way |
//! | `approval` | judging and asking |
//! | `model`, `reply`, `message` | asking a model, and the conversation it is asked about |
//! | `ports` | how tools reach beside themselves |
//! | `delivery` | messages to people elsewhere |
//! | `processes` | helper programs of ours on the host |
//! | `settings`, `secret` | the snapshot, and values that cannot be printed |
//! | `event` | what happens, for surfaces |
//! | `wait`, `clock` | waiting with a deadline, time as a port |
//! | `define` | checks over families at compile time |

pub mod address;
pub mod approval;
pub mod args;
pub mod bridging;
pub mod call;
pub mod check;
pub mod clock;
pub mod context;
pub mod define;
pub mod delivery;
pub mod effect;
pub mod environment;
pub mod event;
pub mod hook;
pub mod id;
pub mod jobs;
pub mod message;
pub mod middleware;
pub mod model;
pub mod output;
pub mod path;
pub mod plan;
pub mod ports;
pub mod processes;
pub mod reply;
pub mod seat;
pub mod secret;
pub mod settings;
pub mod taint;
pub mod terminal;
pub mod tool;
pub mod wait;

use std::future::Future;
use std::pin::Pin;

pub use address::Address;
pub use args::Args;
pub use context::CallContext;
pub use id::{CallId, SessionId, TaskId, ToolName, TurnId};
pub use output::ToolOutput;
pub use plan::{Cleared, Plan};
pub use secret::Secret;
pub use settings::Settings;
pub use taint::{Heat, Provenance, Taint, Unheard};
pub use tool::{Tool, ToolDef, ToolError};

/// A future behind a trait object: one allocation a call, which is noise beside a tool.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
