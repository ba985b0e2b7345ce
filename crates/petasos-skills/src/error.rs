//! Why something about a skill cannot be done, in the shape that results of tools have.

use serde_json::{Map, Value};

/// A refusal or a failure: a sentence, its kind from the closed list of error types, and more keys.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct SkillError {
    /// The word that programs go by.
    pub kind: &'static str,
    /// What, why, and what to do.
    pub message: String,
    /// More for the result.
    pub extra: Map<String, Value>,
}

impl SkillError {
    /// A failure of this kind.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), extra: Map::new() }
    }

    /// Something that was asked for wrongly.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new("bad_argument", message)
    }

    /// Something that is not there.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new("not_found", message)
    }

    /// Something that may not be done.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new("denied", message)
    }

    /// The disk does not do it.
    pub fn disk(what: &str, path: &std::path::Path, error: &impl std::fmt::Display) -> Self {
        Self::new("upstream", format!("`{}` could not be {what}: {error}", path.display()))
    }

    /// With one more key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(key.to_owned(), value.into());
        self
    }

    /// The result that a tool gives.
    pub fn told(self) -> Value {
        let mut object = Map::new();
        object.insert("success".to_owned(), false.into());
        object.insert("error".to_owned(), self.message.into());
        object.insert("error_type".to_owned(), self.kind.into());
        object.extend(self.extra);
        Value::Object(object)
    }
}
