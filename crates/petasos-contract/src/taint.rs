//! Whose words a conversation has taken in. Text from strangers may carry instructions, so that
//! what a model asks for after reading it is judged in that light.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The label of what is kept: a set of origins. It only grows: nothing read can be unread, and a
/// bit that a later version stored is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Taint(u8);

impl Taint {
    /// Nothing but the user's own words and files.
    pub const NONE: Self = Self(0);
    /// A page, a search result, a download.
    pub const WEB: Self = Self(1);
    /// An MCP server's words.
    pub const MCP: Self = Self(1 << 1);
    /// Somebody else in a chat.
    pub const CHAT: Self = Self(1 << 2);
    /// A plugin's words.
    pub const PLUGIN: Self = Self(1 << 3);

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether nothing from strangers was read.
    pub const fn is_clean(self) -> bool {
        self.0 == 0
    }
}

/// How close strangers' words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Heat {
    /// Nothing but the user's own words and files.
    #[default]
    Clean,
    /// They came in an earlier turn and are still in the conversation, or a summary of them is.
    Warm,
    /// They came in this turn.
    Hot,
}

impl fmt::Display for Heat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clean => "clean",
            Self::Warm => "warm",
            Self::Hot => "hot",
        })
    }
}

/// Where strangers' words came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Its number in the conversation, for whoever speaks about it.
    pub number: u32,
    /// The tool that brought them.
    pub tool: String,
    /// The host, path, server or chat.
    pub place: String,
    /// The call.
    pub call: String,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.tool),
            place => write!(f, "{} {place}", self.tool),
        }
    }
}

/// What of strangers' words counts as repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carry {
    /// Addresses, numbers and paths, and words in a row.
    Anything,
    /// Words in a row alone: a command may well name a page that was read.
    Phrases,
}

/// The words that one conversation took in, with everybody who works for it. It is the runtime
/// that keeps this, never the model, and nothing read can be unread but by a person's word.
pub trait Provenance: fmt::Debug + Send + Sync {
    /// What came before belongs to earlier turns.
    fn begin_turn(&self);
    /// A person's own words: what they said first is theirs.
    fn said(&self, text: &str);
    /// Words of strangers, by the tool that brought them.
    fn heard(&self, tool: &str, place: &str, call: &str, text: &str);
    /// Private text, which should not leave unnoticed.
    fn kept(&self, text: &str);
    /// How close strangers' words are.
    fn heat(&self) -> Heat;
    /// What is kept of it is labelled so.
    fn label(&self) -> Taint {
        if self.heat() == Heat::Clean { Taint::NONE } else { Taint::WEB }
    }
    /// Where they came from.
    fn sources(&self) -> Vec<Source>;
    /// What a text repeats of strangers' words, a few of them.
    fn carried(&self, text: &str, carry: Carry) -> Vec<String>;
    /// Whether a text holds private text, plain or encoded.
    fn leaks(&self, text: &str) -> bool;
    /// A person trusts a source, or all of them; gives those.
    fn trust(&self, number: Option<u32>) -> Vec<Source>;
}

/// For calls outside a conversation: nothing is heard and nothing is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unheard;

impl Provenance for Unheard {
    fn begin_turn(&self) {}
    fn said(&self, _: &str) {}
    fn heard(&self, _: &str, _: &str, _: &str, _: &str) {}
    fn kept(&self, _: &str) {}
    fn heat(&self) -> Heat {
        Heat::Clean
    }
    fn sources(&self) -> Vec<Source> {
        Vec::new()
    }
    fn carried(&self, _: &str, _: Carry) -> Vec<String> {
        Vec::new()
    }
    fn leaks(&self, _: &str) -> bool {
        false
    }
    fn trust(&self, _: Option<u32>) -> Vec<Source> {
        Vec::new()
    }
}
