//! Searching a folder or one file, in parallel, with ripgrep's own parts.
//!
//! `walk` visits every file that is neither hidden, ignored nor protected; `names` keeps the
//! newest of them; `content` looks inside. Whatever the threads do, the answer is the same:
//! `ledger` keeps the first so many in order and only counts the rest. `elsewhere` gives the same
//! answers about a place that is not this machine.

pub(crate) mod content;
pub(crate) mod elsewhere;
pub(crate) mod glob;
mod ledger;
pub(crate) mod names;
pub(crate) mod walk;
