//! Errors for people: one line that says what and why, and a hint with the next step.

use std::fmt;

use petasos_config::ConfigError;
use serde_json::{Value, json};

/// An error on its way to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    code: &'static str,
    message: String,
    hint: Option<String>,
    exit: u8,
}

impl Report {
    /// Something failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { code: "failed", message: message.into(), hint: None, exit: 1 }
    }

    /// The command was not used as it can be; exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: "usage", message: message.into(), hint: None, exit: 2 }
    }

    /// With a stable word for scripts.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// With the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The stable word for scripts.
    pub fn word(&self) -> &'static str {
        self.code
    }

    /// What went wrong, without the next step.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// With another exit code than the usual one.
    #[must_use]
    pub fn exiting(mut self, exit: u8) -> Self {
        self.exit = exit;
        self
    }

    /// What the program exits with: 2 when the person used the command wrongly, else usually 1.
    pub fn exit(&self) -> u8 {
        self.exit
    }

    /// The shape for scripts.
    pub fn to_json(&self) -> Value {
        json!({ "error": { "code": self.code, "message": self.message, "hint": self.hint } })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<ConfigError> for Report {
    fn from(error: ConfigError) -> Self {
        Self::new(error.to_string())
            .code("config")
            .hint("`petasos config check` lists everything that is wrong with it")
    }
}

impl From<petasos_fs::FsError> for Report {
    fn from(error: petasos_fs::FsError) -> Self {
        ConfigError::from(error).into()
    }
}

impl From<std::io::Error> for Report {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string()).code("io")
    }
}
