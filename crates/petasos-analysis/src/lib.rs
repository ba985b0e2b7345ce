//! What a command or a program text would do: read, never run.
//!
//! Its law: no settings, no people, no file system, no environment. What is to be known comes in
//! [`Facts`], and equal inputs give equal answers.
//!
//! | file | what it holds |
//! |---|---|
//! | `doors` | the ways in: [`analyse`] a command or code, judge a path |
//! | `shell` | the parser |
//! | `flow` | the interpreter: variables, branches, pipes, files written on the line |
//! | `own_program` | the grammar of our own program, and what of it loosens |
//! | `program`, `programs` | what programs do, as data: one file a family |
//! | `wrapper`, `wrappers`, `code`, `sql` | programs that run others; programs in other languages |
//! | `effects`, `path` | what a command touches, and what a path means |
//! | `rule`, `rules`, `verdict` | what is asked about or blocked; the weighing of it |
//! | `facts`, `table`, `words` | what is known beforehand; a small map, lists of words |

#![expect(
    clippy::case_sensitive_file_extension_comparisons,
    clippy::match_same_arms,
    clippy::similar_names,
    clippy::single_match_else,
    reason = "paths keep their case; tables keep one row a program; argv and args are our words"
)]

mod code;
mod doors;
mod effects;
mod facts;
mod flow;
pub mod own_program;
mod path;
mod program;
mod programs;
mod rule;
mod rules;
mod shell;
mod sql;
mod table;
mod verdict;
mod words;
mod wrapper;
mod wrappers;

pub use code::Language;
pub use doors::{
    analyse, analyse_code, judge_code, judge_command, judge_delete, judge_read, judge_write,
};
pub use facts::{Facts, Scripts};
pub use flow::report::FINDINGS_MAX;
pub use path::{glob_fits, is_free};
pub use rule::{Nature, Rule};
pub use rules::RULES;
pub use shell::Span;
pub use verdict::{
    Analysis, Effect, EffectKind, Finding, Judgement, Leaf, Severity, Verdict, judge,
};
