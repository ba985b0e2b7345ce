//! Sessions: many conversations, and any number of surfaces on each of them.
//!
//! Its law: one task owns a conversation, and everybody else holds a [`Session`], which is cheap and
//! can do no harm. A surface implements nothing: it submits, shows the events it is given, and
//! answers the questions among them.
//!
//! | file | what it holds |
//! |---|---|
//! | `sessions` | the service: opens sessions, finds those that are open, ends them |
//! | `session` | the handle |
//! | `limits` | how many live and work at once, and when one goes cold |
//! | `owner`, `live` | the task behind a handle, and what it owns |
//! | `event`, `ring` | what happens, and how any number of watchers follow it |
//! | `question`, `questions` | questions to a person, and the one port that asks them |
//! | `desk`, `record` | where the questions of a session are put, and how they are kept |
//! | `follow` | what other processes do to a session that is open here |
//! | `command`, `commands/` | what a slash command is, and one a file |
//! | `table` | which slash commands there are, and who may run one when |
//! | `shell` | commands that the person runs |
//! | `attach` | files that go along with a message |
//! | `offers` | models, conversations and checkpoints to choose from |
//! | `services` | what the program around must offer |
//! | `correspondent` | a surface whose people do not watch all the time |
//! | `state` | engines that keep something for a session, and are told when it ends |

pub mod attach;
pub mod command;
mod commands;
mod correspondent;
mod desk;
pub mod event;
mod follow;
pub mod limits;
mod live;
pub mod offers;
mod owner;
pub mod question;
pub mod questions;
mod record;
pub mod ring;
pub mod services;
pub mod session;
pub mod sessions;
mod shell;
pub mod state;
mod table;

pub use command::{
    AfterCommand, CommandClass, CommandInfo, CommandOutcome, Extra, MidRun, Page, built_in,
};
pub use correspondent::{Correspondent, Letter};
pub use event::{Envelope, SessionEvent, SubmissionId};
pub use limits::SessionLimits;
pub use offers::{Offer, OfferKind};
pub use question::{Answerer, Closed, Question, QuestionId, QuestionKind, QuestionReply};
pub use questions::{AnswerError, Questions};
pub use ring::{EventStream, Replay, StreamItem};
pub use services::{ModelChoice, Refreshed, Services, Topic};
pub use session::{Admission, Session, SessionError, SessionView, TurnHandle, WhenBusy};
pub use sessions::{Begin, DrainReport, SessionParts, Sessions, SwitchTo};
pub use shell::Ran;
pub use state::{EndReason, SessionState};
pub use table::{CommandRow, command_row, command_table};

pub use petasos_agent::delegate::call_above;
pub use petasos_agent::embedded;
pub use petasos_agent::engine::{Choice, Engine, Sampling};
pub use petasos_agent::memory::notes_of;
pub use petasos_agent::{Closing, INTERRUPTED, Input, Outcome, TurnEnd, TurnError};
pub use petasos_store::Stored;
