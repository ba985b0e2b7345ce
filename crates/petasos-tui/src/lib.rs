//! The interactive chat: composer, streamed Markdown, approval prompt, slash commands.
//!
//! Its law: it shows and asks, and decides nothing. What happens reaches it as the one event type;
//! what it cannot know itself it asks of [`Backstage`]. Only `screen` writes to the terminal, and
//! only one of composer and draft reads from it at a time.
//!
//! | file | what it holds |
//! |---|---|
//! | `chat`, `chat/` | the loop: messages, turns, news, the conversation |
//! | `backstage` | what the program around must offer |
//! | `person` | questions to the person: approval, `clarify` |
//! | `command`, `slash/` | what a slash command is, and one a file |
//! | `composer`, `draft`, `input`, `raw`, `signals` | words from the person |
//! | `view`, `calls`, `progress` | what a turn shows, in a chat and elsewhere |
//! | `markdown`, `highlight`, `line` | text with styles |
//! | `screen` | the only writer |

pub mod backstage;
mod calls;
pub mod chat;
pub mod command;
pub mod composer;
mod draft;
pub mod highlight;
mod input;
pub mod line;
pub mod markdown;
pub mod person;
pub mod progress;
mod raw;
pub mod screen;
mod signals;
mod slash;
mod view;

pub use backstage::{Backstage, Page, Refreshed, Wish};
pub use chat::{Busy, ChatError, Setup, run};
pub use command::{Extra, built_in};
pub use person::{Floor, Person, Questions, Typed};
pub use screen::Look;
