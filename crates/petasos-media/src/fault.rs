//! What can go wrong, in the closed list of words that tools answer with.

use petasos_net::NetError;
use serde_json::{Map, Value};

/// A failure of a media tool.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct MediaError {
    /// The word of the closed list: `unsupported`, `too_large`, `missing_setup`…
    pub kind: &'static str,
    /// A sentence: the thing, the cause, the next step.
    pub message: String,
    /// Further keys of the answer.
    pub extra: Map<String, Value>,
}

impl MediaError {
    /// A failure.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), extra: Map::new() }
    }

    /// The same with one more key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(key.to_owned(), value.into());
        self
    }

    /// The call was cancelled.
    pub(crate) fn cancelled() -> Self {
        Self::new("cancelled", "the call was cancelled")
    }

    /// As the keys of an answer.
    pub fn told(self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("success".to_owned(), false.into());
        object.insert("error".to_owned(), self.message.into());
        object.insert("error_type".to_owned(), self.kind.into());
        object.extend(self.extra);
        object
    }
}

impl From<NetError> for MediaError {
    fn from(error: NetError) -> Self {
        Self::new(error.error_type(), error.to_string())
    }
}
