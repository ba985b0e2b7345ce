//! The chat at the terminal: composer and renderer over a session.
//!
//! Its law: it shows and asks, and decides nothing. Everything it shows is an event or a page of a
//! [`petasos_session::Session`]; everything it does is a call of that handle. Only `screen` writes to
//! the terminal, and only one of composer and draft reads from it at a time.
//!
//! | file | what it holds |
//! |---|---|
//! | `chat`, `chat/` | the loop: typed lines in, events out, idle and at work |
//! | `command`, `slash/` | commands of the screen, one a file; all others are the session's |
//! | `composer`, `draft`, `input`, `picker`, `raw`, `signals` | words from the person |
//! | `view`, `calls`, `subagents`, `diff`, `status`, `progress`, `watch` | what a turn shows, in a chat and elsewhere |
//! | `markdown`, `highlight`, `line`, `flow`, `skin`, `bidi` | text with styles, and how it is seen |
//! | `words` | the words of a reply as they come |
//! | `screen` | the only writer |

mod bidi;
mod calls;
pub mod chat;
pub mod command;
pub mod composer;
mod diff;
mod draft;
pub mod flow;
pub mod highlight;
mod input;
pub mod line;
pub mod markdown;
mod picker;
pub mod progress;
mod raw;
pub mod screen;
mod signals;
pub mod skin;
mod slash;
mod status;
mod subagents;
mod view;
pub mod watch;
mod words;

pub use bidi::Order;
pub use chat::{ChatError, Clipboard, Ears, Editor, Mouth, Pictures, Setup, run};
pub use command::{built_in, described};
pub use screen::Look;
pub use skin::Skin;
pub use watch::Watch;
