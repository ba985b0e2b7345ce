//! Conversations on disk: one SQLite file, one writer, a few readers.
//!
//! Its law: what `append` has answered for survives the death of the process, and what `load`
//! gives is a valid transcript. Rows are added and flagged, never changed.
//!
//! | file | what it holds |
//! |---|---|
//! | `store` | the file as a `SessionStore`, and its other doors |
//! | `sqlite`, `migrations` | opening, format, what errors mean |
//! | `writer`, `readers` | the one connection that writes, the few that read |
//! | `sessions` | heads: begin, find, list, change, fork, delete |
//! | `messages` | rows and their columns |
//! | `repair` | torn turns |
//! | `search` | words, substrings, snippets |
//! | `verify` | is the file sound, and making it so |
//! | `export`, `import` | JSON lines and Markdown out, another agent's database in |
//! | `stamp` | times and identities |

mod export;
mod import;
mod messages;
mod migrations;
mod readers;
mod repair;
mod search;
mod sessions;
mod sqlite;
mod stamp;
mod store;
mod verify;
mod writer;

pub use export::Format;
pub use import::{Imported, Skipped};
pub use sqlite::{Durability, FILE_NAME, OpenOptions};
pub use stamp::{new_session_id, utc};
pub use store::Store;
pub use verify::{Finding, Verified};
