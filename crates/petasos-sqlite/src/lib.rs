//! Conversations on disk: one SQLite file, one writer, a few readers.
//!
//! Its law: what `append` has answered for survives the death of the process, one at a time adds
//! to a conversation, and reading changes nothing. Rows are added and flagged, never changed.
//!
//! | file | what it holds |
//! |---|---|
//! | `store` | the file as a `SessionStore` |
//! | `sqlite`, `migrations` | opening, format, what errors mean |
//! | `writer`, `readers` | the one connection that writes, the few that read |
//! | `sessions` | heads: begin, find, list, change, fork, delete |
//! | `messages` | rows and their columns |
//! | `repair` | torn turns |
//! | `search` | words, substrings, snippets |
//! | `owners` | whose a conversation is |
//! | `leases` | who may add to a conversation |
//! | `usage` | what requests to models used |
//! | `inbox`, `outbox` | messages of chat platforms that came in and go out |
//! | `routes`, `access` | where chats lead, how far they were read, who was let in |
//! | `schedules`, `occurrences` | scheduled jobs, and what became of their due times |
//! | `questions` | questions to people |
//! | `api` | what the HTTP interface keeps |
//! | `boards` | tasks that many agents work on |
//! | `files` | database files of others |
//! | `changes` | hearing of what was written |
//! | `maintain` | long work on the whole file: checks, repairs, imports |
//! | `prune` | removing old conversations, and giving their space back |
//! | `verify` | is the file sound |
//! | `salvage` | everything that can still be read of a damaged file |
//! | `export`, `import` | JSON lines and Markdown out, another agent's database in |
//! | `stamp` | times and identities |

mod access;
mod api;
mod boards;
mod changes;
mod export;
mod files;
mod import;
mod inbox;
mod leases;
mod maintain;
mod messages;
mod migrations;
mod occurrences;
mod outbox;
mod owners;
mod prune;
mod questions;
mod readers;
mod repair;
mod routes;
mod salvage;
mod schedules;
mod search;
mod sessions;
mod sqlite;
mod stamp;
mod store;
mod usage;
mod verify;
mod writer;

pub use boards::ImportedBoard;
pub use export::Format;
pub use files::SqliteFiles;
pub use import::{Imported, Skipped};
pub use maintain::{Progress, Repaired};
pub use prune::Pruned;
pub use sqlite::{Durability, FILE_NAME, OpenOptions};
pub use stamp::{new_session_id, utc};
pub use store::Store;
pub use verify::{Finding, Verified};
