//! What a handler gives back.
//!
//! Text is the rule and JSON text the habit. Handlers in other languages may give any value; the
//! dispatcher accepts a string or the multimodal envelope and replaces anything else by an error.

use serde_json::{Map, Value, json};

/// The result of a handler, before the dispatcher seals it.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutput {
    /// Text for the model.
    Text(String),
    /// Text with strangers' words in it, although the tool's results are our own otherwise.
    Untrusted(String),
    /// Text and images.
    Multimodal(Multimodal),
    /// A value from a handler that is not bound by our types.
    Foreign(Value),
}

/// The one structured result: chat-style parts, with a summary for models that read only text.
#[derive(Debug, Clone, PartialEq)]
pub struct Multimodal {
    /// Parts of type `text` or `image_url`.
    pub content: Vec<Value>,
    /// What a text-only model is told.
    pub text_summary: Option<String>,
}

impl ToolOutput {
    /// A result from a JSON value, written compactly with non-ASCII text left as it is.
    pub fn json(value: &Value) -> Self {
        Self::Text(value.to_string())
    }

    /// An error result with extra keys beside `error`.
    pub fn error(message: impl Into<String>, extra: Map<String, Value>) -> Self {
        let mut object = Map::new();
        object.insert("error".to_owned(), Value::String(message.into()));
        object.extend(extra);
        Self::Text(Value::Object(object).to_string())
    }

    /// An error result with nothing but `error`.
    pub fn plain_error(message: &str) -> Self {
        Self::Text(json!({ "error": message }).to_string())
    }
}

impl Multimodal {
    /// Recognises the envelope `{"_multimodal": true, "content": [...]}`.
    pub fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        if object.get("_multimodal") != Some(&Value::Bool(true)) {
            return None;
        }
        Some(Self {
            content: object.get("content")?.as_array()?.clone(),
            text_summary: object.get("text_summary").and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// The text of all text parts, which is what budgets count.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| part.get("text")?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}
