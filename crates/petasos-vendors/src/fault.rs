//! What can go wrong, in the closed list of words that tools answer with.

use petasos_net::{NetError, WebSocketError};
use serde_json::{Map, Value};

/// A failure of a client.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct VendorError {
    /// The word of the closed list: `auth`, `not_found`, `upstream`…
    pub kind: &'static str,
    /// A sentence: the thing, the cause, the next step.
    pub message: String,
    /// Further keys of the answer.
    pub extra: Map<String, Value>,
}

impl VendorError {
    /// A failure.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), extra: Map::new() }
    }

    /// An argument that cannot be used.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new("bad_argument", message)
    }

    /// Something that is not configured, with the names of what is missing.
    pub fn setup(message: impl Into<String>, missing: &[&str]) -> Self {
        Self::new("missing_setup", message).with("missing", missing.to_vec())
    }

    /// The same with one more key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(key.to_owned(), value.into());
        self
    }
}

impl From<NetError> for VendorError {
    fn from(error: NetError) -> Self {
        Self::new(error.error_type(), error.to_string())
    }
}

impl From<WebSocketError> for VendorError {
    fn from(error: WebSocketError) -> Self {
        match error {
            WebSocketError::Net(error) => error.into(),
            other => Self::new("upstream", other.to_string()),
        }
    }
}
