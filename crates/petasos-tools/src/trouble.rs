//! A failure in the shape that everyday tools share: a sentence, a word of the closed list, extras.

use petasos_contract::ToolError;
use petasos_net::NetError;
use petasos_vendors::VendorError;
use petasos_web::WebError;
use serde_json::{Map, Value};

/// The longest sentence.
const SENTENCE_CHARS_MAX: usize = 400;

/// Why a tool did not do it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trouble {
    kind: &'static str,
    message: String,
    extra: Map<String, Value>,
}

impl Trouble {
    /// A word of the closed list, and a sentence that names the thing, the cause and a next step.
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), extra: Map::new() }
    }

    /// With another key.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(key.to_owned(), value.into());
        self
    }

    /// The result of the call.
    pub(crate) fn value(self) -> Value {
        let mut object = Map::new();
        let message: String = self.message.chars().take(SENTENCE_CHARS_MAX).collect();
        object.insert("error".to_owned(), message.into());
        object.insert("error_type".to_owned(), self.kind.into());
        object.extend(self.extra);
        Value::Object(object)
    }

    /// The same for a family whose results say whether they succeeded.
    pub(crate) fn unsuccessful(self) -> Value {
        self.with("success", false).value()
    }
}

impl From<WebError> for Trouble {
    fn from(error: WebError) -> Self {
        Self { kind: error.kind, message: error.message, extra: error.extra }
    }
}

impl From<NetError> for Trouble {
    fn from(error: NetError) -> Self {
        WebError::from(error).into()
    }
}

impl From<VendorError> for Trouble {
    fn from(error: VendorError) -> Self {
        Self { kind: error.kind, message: error.message, extra: error.extra }
    }
}

impl From<ToolError> for Trouble {
    fn from(error: ToolError) -> Self {
        Self::new("bad_argument", error.message())
    }
}
