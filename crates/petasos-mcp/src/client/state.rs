//! How a server is doing, for people and for the model.

use std::fmt;

use serde::Serialize;

/// Between our reason and the last words of the server itself, which are a stranger's.
pub(super) const WROTE: &str = "; it wrote: ";

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "snake_case")]
pub enum State {
    /// It is being reached.
    Starting,
    /// It could not be reached yet and is being tried again.
    Retrying(String),
    /// Its tools can be called.
    Ready,
    /// Its tools are there, but something is wrong; it is being reached again.
    Degraded(String),
    /// Somebody has to sign in.
    NeedsAuth(String),
    /// It cannot be reached; it is tried again now and then.
    Failed(String),
    /// It was let go while nobody needs it; the next call starts it.
    Resting,
    /// The configuration switches it off.
    Disabled,
}

impl State {
    /// Whether its tools are offered.
    pub fn offers(&self) -> bool {
        matches!(self, Self::Ready | Self::Degraded(_) | Self::Resting)
    }

    /// Whether it is known how the start went.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Starting | Self::Retrying(_))
    }

    /// One word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Retrying(_) => "retrying",
            Self::Ready => "ready",
            Self::Degraded(_) => "degraded",
            Self::NeedsAuth(_) => "needs_auth",
            Self::Failed(_) => "failed",
            Self::Resting => "resting",
            Self::Disabled => "disabled",
        }
    }

    /// Why, where there is a reason.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Retrying(reason)
            | Self::Degraded(reason)
            | Self::NeedsAuth(reason)
            | Self::Failed(reason) => Some(reason),
            Self::Starting | Self::Ready | Self::Resting | Self::Disabled => None,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason() {
            Some(reason) => write!(f, "{} ({reason})", self.word()),
            None => f.write_str(self.word()),
        }
    }
}

/// A server that cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Somebody has to sign in; the server's challenge.
    Auth(String),
    /// Trying again may help.
    Passing(String),
    /// It will not.
    Lasting(String),
}

impl Fault {
    /// The state that it leads to.
    pub(super) fn state(&self, server: &str) -> State {
        match self {
            Self::Auth(_) => State::NeedsAuth(format!("run `petasos mcp login {server}`")),
            Self::Passing(reason) | Self::Lasting(reason) => State::Failed(reason.clone()),
        }
    }

    /// The same with a note of ours, which stands before the server's own words.
    pub(super) fn noting(self, note: &str) -> Self {
        let noted = |reason: String| match reason.split_once(WROTE) {
            Some((ours, wrote)) => format!("{ours}; {note}{WROTE}{wrote}"),
            None => format!("{reason}; {note}"),
        };
        match self {
            Self::Passing(reason) => Self::Passing(noted(reason)),
            other => other,
        }
    }

    /// In words.
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Auth(_) => "it wants a sign-in",
            Self::Passing(reason) | Self::Lasting(reason) => reason,
        }
    }
}
