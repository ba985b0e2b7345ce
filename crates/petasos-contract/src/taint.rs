//! Whose words a conversation has taken in. Text from strangers may carry instructions, so that
//! what a model asks for after reading it is judged in that light.

use serde::{Deserialize, Serialize};

/// A set of origins. It only grows: nothing read can be unread, and a bit that a later version
/// stored is kept.
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

    /// Whether all of the other is in here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether nothing from strangers was read.
    pub const fn is_clean(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_grows_and_survives_storage() {
        let seen = Taint::WEB.with(Taint::PLUGIN).with(Taint::WEB);
        assert!(seen.contains(Taint::WEB) && seen.contains(Taint::NONE));
        assert!(!seen.contains(Taint::WEB.with(Taint::MCP)) && !seen.is_clean());
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Taint>(&text).unwrap(), seen);
        let later: Taint = serde_json::from_str("64").unwrap();
        assert!(!later.is_clean() && !later.contains(Taint::WEB));
    }
}
