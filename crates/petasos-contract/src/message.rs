//! The one conversation that every dialect is translated from and to.
//!
//! Its stored form is the chat shape (`role`, `content`, `tool_calls`, `tool_call_id`), so that a
//! transcript reads the same whoever served it. What a provider wants back untouched (signed
//! thinking, encrypted reasoning, thought signatures) is kept as JSON text in [`Replay`] and in
//! [`RequestedCall::provider_data`]; nothing here looks inside it.

use serde::{Deserialize, Serialize};

use crate::id::{CallId, ToolName};

/// One message of a conversation; the system prompt is no message (see `model::Prompt`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What a person said.
    User {
        /// Text and images, in order.
        content: Content,
    },
    /// What a model said.
    Assistant(Assistant),
    /// What a tool gave back.
    Tool(ToolMessage),
}

impl Message {
    /// A person's text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: Content::Text(text.into()) }
    }

    /// A model's text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant(Assistant { content: Some(text.into()), ..Assistant::default() })
    }

    /// The text result of a call.
    pub fn tool(call: impl Into<CallId>, text: impl Into<String>) -> Self {
        Self::Tool(ToolMessage {
            tool_call_id: call.into(),
            name: None,
            content: Content::Text(text.into()),
        })
    }
}

/// Text, or text and images in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Text alone.
    Text(String),
    /// Parts in order.
    Parts(Vec<Part>),
}

impl Content {
    /// All text, parts joined by line ends.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let texts = parts.iter().filter_map(|part| match part {
                    Part::Text { text } => Some(text.as_str()),
                    Part::ImageUrl { .. } => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// Whether there is neither visible text nor an image.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Parts(parts) => parts.iter().all(|part| match part {
                Part::Text { text } => text.trim().is_empty(),
                Part::ImageUrl { .. } => false,
            }),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// One part of a content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image, by `https:` or `data:` address.
    ImageUrl {
        /// Where it is.
        image_url: ImageUrl,
    },
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A film, by `data:` address; only models for films are given one.
    pub fn film(url: impl Into<String>) -> Self {
        Self::image(url)
    }

    /// An image part.
    pub fn image(url: impl Into<String>) -> Self {
        Self::ImageUrl { image_url: ImageUrl { url: url.into(), detail: None } }
    }
}

/// The address of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageUrl {
    /// `https:` or `data:`.
    pub url: String,
    /// `low`, `high` or `auto`, for dialects that know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl ImageUrl {
    /// Whether it is a film and no picture.
    pub fn is_film(&self) -> bool {
        self.url.starts_with("data:video/")
    }

    /// The media type and base64 text of a `data:` address.
    pub fn inline(&self) -> Option<(&str, &str)> {
        let (head, data) = self.url.strip_prefix("data:")?.split_once(',')?;
        let media_type = head.strip_suffix(";base64")?;
        Some((media_type.split(';').next().unwrap_or(media_type), data))
    }
}

/// What a model said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Assistant {
    /// Visible text.
    #[serde(default)]
    pub content: Option<String>,
    /// Visible reasoning; shown, never sent to another provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The calls it asks for, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<RequestedCall>,
    /// What its provider wants back, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

impl Assistant {
    /// Whether it carries neither visible text nor calls.
    pub fn is_silent(&self) -> bool {
        self.tool_calls.is_empty() && self.text().trim().is_empty()
    }

    /// Its visible text, or nothing.
    pub fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredCall", into = "StoredCall")]
pub struct RequestedCall {
    /// As the provider named it, or a deterministic stand-in.
    pub id: CallId,
    /// The tool.
    pub name: ToolName,
    /// JSON text, exactly as the model wrote it.
    pub arguments: String,
    /// JSON text that only its provider understands.
    pub provider_data: Option<String>,
}

/// The chat shape of a call.
#[derive(Clone, Serialize, Deserialize)]
struct StoredCall {
    #[serde(default)]
    id: String,
    #[serde(rename = "type", default = "function")]
    kind: String,
    function: StoredFunction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_data: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
struct StoredFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

fn function() -> String {
    "function".to_owned()
}

impl From<StoredCall> for RequestedCall {
    fn from(stored: StoredCall) -> Self {
        Self {
            id: stored.id.into(),
            name: stored.function.name.into(),
            arguments: stored.function.arguments,
            provider_data: stored.provider_data,
        }
    }
}

impl From<RequestedCall> for StoredCall {
    fn from(call: RequestedCall) -> Self {
        Self {
            id: call.id.to_string(),
            kind: function(),
            function: StoredFunction { name: call.name.to_string(), arguments: call.arguments },
            provider_data: call.provider_data,
        }
    }
}

/// The blocks of a reply as its provider sent them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// Who can read them: another issuer is never sent them.
    pub issuer: String,
    /// The JSON text of each block, in order.
    pub blocks: Vec<String>,
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolMessage {
    /// The call it answers.
    pub tool_call_id: CallId,
    /// The tool, where it is known.
    #[serde(default, rename = "tool_name", skip_serializing_if = "Option::is_none")]
    pub name: Option<ToolName>,
    /// Text and images.
    pub content: Content,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_conversation_reads_back_as_it_was() {
        let conversation = vec![
            Message::User {
                content: Content::Parts(vec![
                    Part::text("a"),
                    Part::image("data:image/png;base64,AA"),
                ]),
            },
            Message::Assistant(Assistant {
                content: None,
                reasoning: Some("hm".to_owned()),
                tool_calls: vec![RequestedCall {
                    id: "call_1".into(),
                    name: "read_file".into(),
                    arguments: "{\"path\": \"x\"}".to_owned(),
                    provider_data: Some("{\"s\":1}".to_owned()),
                }],
                replay: Some(Replay {
                    issuer: "native".to_owned(),
                    blocks: vec!["{ \"a\" : 1.0 }".to_owned()],
                }),
            }),
            Message::tool("call_1", "text"),
        ];
        let stored = serde_json::to_value(&conversation).unwrap();
        assert_eq!(stored[1]["tool_calls"][0]["function"]["name"], "read_file");
        assert_eq!(serde_json::from_value::<Vec<Message>>(stored).unwrap(), conversation);
        let plain: Message =
            serde_json::from_value(json!({"role": "user", "content": "hi"})).unwrap();
        assert_eq!(plain, Message::user("hi"));
    }

    #[test]
    fn an_inline_image_gives_its_type_and_data() {
        let of = |url: &str| ImageUrl { url: url.to_owned(), detail: None };
        assert_eq!(of("data:image/png;base64,AAAA").inline(), Some(("image/png", "AAAA")));
        assert_eq!(of("https://example.org/a.png").inline(), None);
    }
}
