//! What tools, resources and prompts carry, in our own words.
//!
//! The shapes are those of the protocol, so that translating is reading the same JSON again; no
//! type of the SDK leaves this crate.

use rmcp::model::{ContentBlock, ResourceContents};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One piece of content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Piece {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Base64.
        data: String,
        /// Its media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// Sound.
    Audio {
        /// Base64.
        data: String,
        /// Its media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// A resource, carried along.
    Resource {
        /// The resource.
        resource: Attached,
    },
    /// A resource that can be read by its address.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What it is called.
        #[serde(default)]
        name: String,
        /// Its media type.
        #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

/// The content of a resource: text or base64.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Where it is.
    pub uri: String,
    /// Its media type.
    #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes, as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

impl Piece {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// As the SDK wants it.
    pub(crate) fn to_wire(&self) -> ContentBlock {
        reread(self).unwrap_or_else(|| ContentBlock::text(""))
    }

    /// As the SDK gave it; a kind that is not known becomes its JSON.
    pub(crate) fn from_wire(block: &ContentBlock) -> Self {
        reread(block).unwrap_or_else(|| Self::text(json!(block).to_string()))
    }
}

impl Attached {
    /// As the SDK wants it.
    pub(crate) fn to_wire(&self) -> ResourceContents {
        match (&self.text, &self.blob) {
            (None, Some(blob)) => ResourceContents::blob(blob, &self.uri),
            (text, _) => ResourceContents::text(text.clone().unwrap_or_default(), &self.uri),
        }
        .with_mime_type(self.mime_type.as_deref().unwrap_or("text/plain"))
    }

    /// As the SDK gave it.
    pub(crate) fn from_wire(contents: &ResourceContents) -> Self {
        reread(contents).unwrap_or_default()
    }
}

/// The same JSON as another type.
pub(crate) fn reread<T: for<'de> Deserialize<'de>>(value: &impl Serialize) -> Option<T> {
    let value: Value = serde_json::to_value(value).ok()?;
    serde_json::from_value(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_piece_survives_the_wire() {
        let attached = |text: Option<&str>, blob: Option<&str>| Attached {
            uri: "test://a".to_owned(),
            mime_type: Some("text/plain".to_owned()),
            text: text.map(str::to_owned),
            blob: blob.map(str::to_owned),
        };
        let pieces = [
            Piece::text("words"),
            Piece::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() },
            Piece::Audio { data: "AA==".to_owned(), mime_type: "audio/wav".to_owned() },
            Piece::Resource { resource: attached(Some("words"), None) },
            Piece::Resource { resource: attached(None, Some("AA==")) },
            Piece::ResourceLink {
                uri: "test://b".to_owned(),
                name: "b".to_owned(),
                mime_type: None,
            },
        ];
        for piece in pieces {
            assert_eq!(Piece::from_wire(&piece.to_wire()), piece);
        }
    }
}
