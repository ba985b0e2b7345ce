//! What can go wrong, in the closed list of words that tools answer with.

use serde_json::{Map, Value};

/// A failure of a browser tool.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct BrowserError {
    /// The word of the closed list: `stale`, `covered`, `timeout`…
    pub kind: &'static str,
    /// A sentence: the thing, the cause, the next step.
    pub message: String,
    /// Further keys of the answer.
    pub extra: Map<String, Value>,
}

impl BrowserError {
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

    /// A call that was interrupted.
    pub(crate) fn cancelled() -> Self {
        Self::new("cancelled", "the call was cancelled; the page stays as it is")
    }

    /// Nothing was opened yet.
    pub(crate) fn no_page() -> Self {
        Self::new("not_found", "no page is open; use browser_navigate first")
    }
}
