//! Engines that keep something for a session, and why a session ends.

use petasos_contract::SessionId;

/// What an engine keeps for a session: where its shell stands, what was approved for it, what it has
/// read. It is dropped when the session ends.
pub trait SessionState: Send + Sync {
    /// The session is over.
    fn end(&self, session: &SessionId);
}

/// Why a session ends. The conversation stays in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// Its surface goes.
    Shutdown,
    /// A new one takes its place.
    NewSession,
    /// Its surface went to this one.
    Switched(SessionId),
    /// Nobody came back.
    Expired,
}

impl EndReason {
    /// The word that hooks are given.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::NewSession => "new_session",
            Self::Switched(_) => "session_boundary",
            Self::Expired => "session_expired",
        }
    }
}
