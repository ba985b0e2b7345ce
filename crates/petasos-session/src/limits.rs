//! How many sessions live at once, how many work, and when one goes cold.

use std::time::Duration;

/// So many requests wait for an owner; then whoever asks waits.
pub(crate) const MAILBOX: usize = 32;
/// So many messages wait for their turn.
pub(crate) const QUEUE_MAX: usize = 32;

/// The limits of a program's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// How long a session that does nothing keeps its conversation in memory. Never goes cold
    /// without: a terminal or an editor is connected to it.
    pub cold_after: Option<Duration>,
    /// So many sessions keep theirs at once, where they may go cold at all.
    pub resident: usize,
    /// So many turns run at once; the others wait in the order of their arrival, one a session.
    pub turns: usize,
}

impl SessionLimits {
    /// For chats: nobody is connected between two messages.
    pub const CHATS: Self =
        Self { cold_after: Some(Duration::from_secs(30)), resident: 256, turns: 64 };
}

impl Default for SessionLimits {
    fn default() -> Self {
        let Self { resident, turns, .. } = Self::CHATS;
        Self { cold_after: None, resident, turns }
    }
}
