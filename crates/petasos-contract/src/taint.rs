//! Whose words a conversation has taken in. Text from strangers may carry instructions, so that
//! what a model asks for after reading it is judged in that light.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of origins. It only grows: nothing read can be unread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Taint(u8);

const NAMES: [(Taint, &str); 4] =
    [(Taint::WEB, "web"), (Taint::MCP, "mcp"), (Taint::CHAT, "chat"), (Taint::PLUGIN, "plugin")];

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

    /// The origins by name.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().filter(move |(one, _)| self.contains(*one)).map(|(_, name)| name)
    }
}

impl fmt::Debug for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl Serialize for Taint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

impl<'de> Deserialize<'de> for Taint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().try_fold(Self::NONE, |taint, name| {
            // A name that is dropped would make a conversation cleaner than it is.
            let known = NAMES.iter().find(|(_, known)| known == name);
            let (one, _) =
                known.ok_or_else(|| D::Error::custom(format!("unknown taint `{name}`")))?;
            Ok(taint.with(*one))
        })
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
        assert_eq!(text, r#"["web","plugin"]"#);
        assert_eq!(serde_json::from_str::<Taint>(&text).unwrap(), seen);
        assert!(serde_json::from_str::<Taint>(r#"["fax"]"#).is_err());
        assert_eq!(serde_json::from_str::<Taint>("[]").unwrap(), Taint::NONE);
    }
}
