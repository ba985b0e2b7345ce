//! Judges shell commands, paths and programs before they run.
//!
//! Map: [`analyse`] parses a command (`shell`), follows what it would do (`flow`,
//! `wrappers`, `code`, `effects`) and asks the rules (`rules`) about every command and
//! path it meets; [`judge`] weighs what they said. None of these runs anything, reads
//! the file system or the environment; what is to be known comes in [`Facts`]. Somebody
//! else's scanner, where there is one, is started through the host's processes (`scan`).

#![expect(
    clippy::case_sensitive_file_extension_comparisons,
    clippy::match_same_arms,
    clippy::similar_names,
    clippy::single_match_else,
    reason = "paths keep their case; tables keep one row a program; argv and args are our words"
)]

pub mod ask;
mod code;
mod doors;
mod effects;
mod facts;
mod flow;
pub mod grants;
mod id;
mod keys;
pub mod log;
mod path;
pub mod permissions;
pub mod policy;
mod rules;
pub mod scan;
pub mod settings;
mod shell;
pub mod smart;
mod sql;
pub mod suggest;
mod table;
mod verdict;
mod wrappers;

pub use code::Language;
pub use doors::{
    analyse, analyse_code, judge_code, judge_command, judge_delete, judge_read, judge_write,
};
pub use facts::Facts;
pub use policy::Engine;
pub use rules::{RULES, Rule};
pub use shell::Span;
pub use verdict::{
    Analysis, Effect, EffectKind, Finding, Judgement, Leaf, Severity, Verdict, judge,
};
