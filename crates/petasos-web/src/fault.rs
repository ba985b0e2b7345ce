//! What can go wrong, in the closed list of words that tools answer with.

use petasos_net::NetError;
use serde_json::{Map, Value};

/// A failure of a web tool.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct WebError {
    /// The word of the closed list: `upstream`, `blocked_address`, `rate_limited`…
    pub kind: &'static str,
    /// A sentence: the thing, the cause, the next step.
    pub message: String,
    /// Further keys of the answer.
    pub extra: Map<String, Value>,
}

impl WebError {
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
}

impl From<NetError> for WebError {
    fn from(error: NetError) -> Self {
        let kind = error.error_type();
        let message = error.to_string();
        match error {
            NetError::Blocked(blocked) => {
                let by = [
                    ("host", blocked.host),
                    ("rule", blocked.rule),
                    ("source", blocked.source_name),
                ];
                let by: Map<String, Value> =
                    by.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
                Self::new(kind, message).with("blocked_by_policy", by)
            }
            _ => Self::new(kind, message),
        }
    }
}
