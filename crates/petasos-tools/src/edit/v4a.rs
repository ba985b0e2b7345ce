//! Patches of many files in the V4A form: read, and tried on the files' texts.
//!
//! `parse` turns the text into steps; `simulate` applies them in memory and says what every file
//! would be, or what is wrong. Nothing is written here, so a patch with a fault changes nothing.

mod hunk;
mod parse;
mod simulate;

pub(crate) use parse::parse;
pub(crate) use simulate::{Outcome, simulate};

/// One step of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Changes a file, and perhaps its name.
    Update {
        /// The file.
        path: String,
        /// Its new name.
        to: Option<String>,
        /// What changes.
        hunks: Vec<Hunk>,
    },
    /// Makes a file.
    Add {
        /// The file.
        path: String,
        /// Its content.
        content: String,
    },
    /// Removes a file.
    Delete {
        /// The file.
        path: String,
    },
    /// Gives a file another name.
    Move {
        /// The file.
        path: String,
        /// Its new name.
        to: String,
    },
}

impl Step {
    /// Every path it names.
    pub(crate) fn paths(&self) -> Vec<&str> {
        match self {
            Self::Update { path, to, .. } => {
                std::iter::once(path.as_str()).chain(to.as_deref()).collect()
            }
            Self::Add { path, .. } | Self::Delete { path } => vec![path],
            Self::Move { path, to } => vec![path, to],
        }
    }
}

/// One change inside a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// Text of a line that comes before it.
    pub(crate) anchor: Option<String>,
    /// Its lines, in order.
    pub(crate) lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Stays.
    Context(String),
    /// Goes.
    Removed(String),
    /// Comes.
    Added(String),
}

/// Why a patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// It has no step.
    #[error(
        "the patch has no `*** Update File:`, `*** Add File:`, `*** Delete File:` or `*** Move File:` line"
    )]
    Nothing,
    /// A line belongs to no step.
    #[error("line {line} of the patch is outside of any file: `{text}`")]
    Stray {
        /// Its number.
        line: usize,
        /// Its text.
        text: String,
    },
    /// A header names no path, or an unsafe one.
    #[error("line {line} of the patch: {why}")]
    Header {
        /// Its number.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// One file's step cannot be done.
    #[error("`{path}`: {why}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// It changes nothing.
    #[error("the patch changes nothing: it has only context lines")]
    NoChange,
}

#[cfg(test)]
mod tests;
