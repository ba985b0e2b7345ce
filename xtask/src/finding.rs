//! One thing that is not as the house wants it, and how it reads.
//!
//! The text form is `path:line: what (why and what to do)`, which editors can jump to.

use std::fmt;

use serde::Serialize;

/// A place, what is wrong there, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Finding {
    /// The file, relative to the checkout.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The check that found it; exemptions name it.
    pub(crate) check: &'static str,
    /// What is wrong.
    pub(crate) what: String,
    /// Why it matters and what to do.
    pub(crate) cure: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, check, what, cure } = self;
        write!(out, "{path}:{line}: {what} ({cure}) [{check}]")
    }
}
