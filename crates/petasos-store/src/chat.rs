//! Which conversation of a chat platform is meant: the tuple that identifies it, and its text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The profile that chats belong to when nobody says otherwise.
pub const MAIN_PROFILE: &str = "main";

/// What kind of place a chat is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatKind {
    /// One person and the agent.
    Dm,
    /// Several people.
    Group,
    /// A channel that people read.
    Channel,
    /// A group with topics.
    Forum,
    /// A thread of its own.
    Thread,
    /// A route of the webhook listener.
    Webhook,
    /// A client of the HTTP interface.
    Api,
    /// A schedule.
    Cron,
    /// An editor.
    Acp,
}

impl ChatKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Dm,
        Self::Group,
        Self::Channel,
        Self::Forum,
        Self::Thread,
        Self::Webhook,
        Self::Api,
        Self::Cron,
        Self::Acp,
    ];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Group => "group",
            Self::Channel => "channel",
            Self::Forum => "forum",
            Self::Thread => "thread",
            Self::Webhook => "webhook",
            Self::Api => "api",
            Self::Cron => "cron",
            Self::Acp => "acp",
        }
    }

    /// The kind of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether more than one person may write there.
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::Group | Self::Channel | Self::Forum | Self::Thread)
    }
}

/// Identifies a conversation. Identifiers may contain anything, colons too, so that two keys may
/// print alike and are still two.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChatKey {
    /// Whose agent.
    pub profile: String,
    /// The platform.
    pub platform: String,
    /// Our identity there.
    pub account: String,
    /// What kind of place it is.
    pub kind: ChatKind,
    /// The chat.
    pub chat: String,
    /// The thread of the chat.
    pub thread: Option<String>,
    /// The person, where everybody has a conversation of their own.
    pub user: Option<String>,
}

impl ChatKey {
    /// The chat without the person: where answers go.
    pub fn lane(&self) -> Lane {
        Lane {
            platform: self.platform.clone(),
            account: self.account.clone(),
            chat: self.chat.clone(),
            thread: self.thread.clone(),
        }
    }
}

impl fmt::Display for ChatKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, platform, kind, chat, .. } = self;
        write!(f, "agent:{profile}:{platform}:{}:{chat}", kind.as_str())?;
        for part in [&self.thread, &self.user].into_iter().flatten() {
            write!(f, ":{part}")?;
        }
        Ok(())
    }
}

/// Where messages go out in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lane {
    /// The platform.
    pub platform: String,
    /// Our identity there.
    pub account: String,
    /// The chat.
    pub chat: String,
    /// The thread of the chat.
    pub thread: Option<String>,
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.platform, self.chat)?;
        match &self.thread {
            Some(thread) => write!(f, ":{thread}"),
            None => Ok(()),
        }
    }
}
