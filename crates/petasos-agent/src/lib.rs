//! The agent: one loop around one door.
//!
//! Its law: a message is stored before it is acted on, and whatever ends a turn, what is stored is
//! a valid conversation. It knows the waist and the runtime; models, stores and policies reach it
//! as the traits of `petasos-contract`.
//!
//! | file | what it holds |
//! |---|---|
//! | `engine` | what agents share, and what one of them chooses |
//! | `agent`, `turn`, `round` | a conversation, a turn of it, the calls of one reply |
//! | `lease` | the right to add to a conversation, while a turn runs |
//! | `journal` | which calls began and ended since the last stored result |
//! | `transcript`, `history`, `validate` | rows in memory, the outgoing copy, what providers insist on |
//! | `prompt`, `personality` | the system prompt, and what parts of it are |
//! | `hints` | instructions of folders that the work comes to |
//! | `compress` | fitting the window |
//! | `rewind` | going back within a conversation |
//! | `budget`, `misbehaviour`, `steer` | how long, how patient, words from outside |
//! | `result_view` | what people are shown of a result |
//! | `moments` | what hooks are told of a conversation |
//! | `delegate` | agents that work for this one |
//! | `embedded`, `provenance` | texts inside a message, and whose words a conversation took in |
//! | `seat`, `loop_tools` | the loop's own state, and the tools that work on it |
//! | `todo`, `memory`, `threat` | tasks, notes, and text that gives orders |
//! | `scripted`, `demo` | a model that says what it was told, and what it says in the demo |
//! | `tokens` | estimates |
//! | `watch` | logs and traces hear what surfaces hear |

pub mod agent;
pub mod budget;
pub mod compress;
pub mod delegate;
pub mod demo;
pub mod embedded;
pub mod engine;
mod hints;
pub mod history;
mod journal;
mod lease;
pub mod loop_tools;
pub mod memory;
pub mod misbehaviour;
mod moments;
pub mod personality;
mod prompt;
mod provenance;
mod result_view;
mod rewind;
mod round;
pub mod scripted;
pub mod seat;
pub mod steer;
pub mod threat;
pub mod todo;
pub mod tokens;
pub mod transcript;
pub mod turn;
pub mod validate;
pub mod watch;

pub use agent::{Agent, Outcome, Room, TurnEnd, TurnError, row_added};
pub use engine::{Asker, Choice, Engine, Question, Sampling};
pub use loop_tools::LOOP_TOOLS;
pub use prompt::{context_files, instructions};
pub use scripted::{Act, Scripted};
pub use steer::{Inbox, Switch};
pub use turn::{Closing, INTERRUPTED, Input};
