//! What can be wrong with a configuration, told so that a person can mend it.
//!
//! A [`Problem`] refuses the start; what only deserves a word is a `Notice` of the snapshot.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// A place in a text file, both counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One reason not to start with this configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The key or variable.
    pub key: String,
    /// The file or flag it was set in.
    pub place: String,
    /// Where in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(at) = self.at {
            write!(f, ":{at}")?;
        }
        write!(f, ": {}; {}", self.what, self.hint)
    }
}

/// Why there is no snapshot, or why an edit was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The user's home directory is not known.
    #[error("no home directory is known; set `PETASOS_HOME` to an absolute path")]
    NoHome,
    /// A home variable that cannot be a directory.
    #[error("`{variable}` is `{value}`, {problem}; set it to an absolute directory path")]
    BadHome {
        /// The variable.
        variable: String,
        /// What it holds.
        value: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A profile name that could leave the profiles directory.
    #[error("profile `{name}` is not a name: use 1 to 64 of a-z, 0-9, `-` and `_`")]
    BadProfile {
        /// What was asked for.
        name: String,
    },
    /// A file that cannot be read or written.
    #[error("cannot {action} `{}`: {problem}", file.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        file: PathBuf,
        /// What the system said.
        problem: std::io::Error,
    },
    /// A file whose content is not text we take.
    #[error("`{}` {problem}", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// Text that is not YAML.
    #[error("{}:{at}: {problem}\n{snippet}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// Where.
        at: Position,
        /// What the parser says.
        problem: String,
        /// The line, with a mark below.
        snippet: String,
    },
    /// The configuration is readable and must not be used.
    #[error("{}", listed(problems))]
    Refused {
        /// Every reason.
        problems: Vec<Problem>,
    },
    /// A key that cannot be edited as asked.
    #[error("`{key}`: {problem}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A file could not be replaced or locked.
    #[error(transparent)]
    File(#[from] petasos_fs::FsError),
    /// The edit would have changed more than was asked, so that nothing was written.
    #[error("`{}` was left alone: {reason}; add this by hand:\n{line}", file.display())]
    NotEdited {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
        /// What to add by hand.
        line: String,
    },
}

impl ConfigError {
    pub(crate) fn io(
        action: &'static str,
        file: impl Into<PathBuf>,
        problem: std::io::Error,
    ) -> Self {
        Self::Io { action, file: file.into(), problem }
    }

    pub(crate) fn key(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Key { key: key.into(), problem: problem.into() }
    }
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
