//! Getting skills of others: where from, what is in them, what a person is shown, what is kept.
//!
//! A model may propose an installation; only a person's command makes one. Nothing is written
//! outside the quarantine before the decision.

mod fetch;
mod install;
mod page;
mod search;
mod source;
mod tar;
mod tree;
mod typed;

pub use fetch::{Fetcher, Package};
pub(crate) use install::is_tampered;
pub use install::{Decision, Review, decide, install, review, unified_files, uninstall, verify};
pub use search::{Hit, Hits, tap, taps};
pub use source::{Source, TrustLevel};
pub use tree::unpacked;
pub(crate) use typed::{Counter, Shown, VERBS};
