//! Names and identities as types, so that a session is never passed where a task is meant.
//!
//! All of them are cheap to clone (a shared string) and print as themselves. They carry no
//! validity rule beyond their type: the place that makes one decides what a good one is.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Names it.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }
    )+};
}

id! {
    /// The name of a tool, as the model writes it.
    ToolName,
    /// The stable name of a conversation: approvals, working directories and jobs belong to it.
    SessionId,
    /// The isolation key of a piece of work; the top-level agent uses `default`.
    TaskId,
    /// One turn: from a user's message to the reply.
    TurnId,
    /// One tool call inside a turn, as the provider named it.
    CallId,
    /// What carries a conversation: a chat platform, the terminal, a schedule.
    PlatformName,
    /// A chat of a platform.
    ChatId,
    /// A thread of a chat.
    ThreadId,
    /// Somebody on a platform.
    UserId,
}
