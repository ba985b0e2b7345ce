//! Where a conversation is reached: a chat, but also a terminal, an editor or a schedule.
//!
//! Whoever sends something to a person later, or asks who may see what, goes by this and not by
//! the surface, which is only the kind of place.

use serde::{Deserialize, Serialize};

use crate::context::Surface;
use crate::id::{ChatId, PlatformName, SessionId, ThreadId, UserId};

/// One place where somebody is talked to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Address {
    /// What carries the conversation: `telegram`, `cli`, `cron`.
    pub platform: PlatformName,
    /// The chat there; elsewhere the session itself.
    pub chat: ChatId,
    /// The thread of the chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Who writes, where the platform knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
}

impl Address {
    /// A chat of a platform.
    pub fn chat(platform: impl Into<PlatformName>, chat: impl Into<ChatId>) -> Self {
        Self { platform: platform.into(), chat: chat.into(), thread: None, user: None }
    }

    /// A session of a surface without chats: the terminal, an editor, a schedule.
    pub fn of(surface: Surface, session: &SessionId) -> Self {
        Self::chat(surface.as_str(), session.as_str())
    }
}
