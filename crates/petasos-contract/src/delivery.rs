//! Messages to people elsewhere: which places are known, where a target leads, and sending there.
//!
//! A target is what people and models write: `origin`, `telegram`, `telegram:12345`,
//! `matrix:!room:example.org:$thread`, `slack:#general`. A destination is what it leads to.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::address::Address;
use crate::id::ThreadId;

/// A place where messages can go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The platform.
    pub platform: String,
    /// Our account there.
    pub account: String,
    /// The chat.
    pub chat: String,
    /// The thread of the chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// What people call it.
    #[serde(default)]
    pub name: String,
    /// What kind of chat it is, where that is known: `dm`, `group`, `channel`.
    #[serde(default)]
    pub kind: String,
    /// Whether it is where the platform delivers when nothing else is said.
    #[serde(default)]
    pub home: bool,
    /// Why nothing arrives there, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<String>,
}

impl Destination {
    /// Whether the conversation at this address is held there.
    pub fn is_at(&self, address: &Address) -> bool {
        let thread = address.thread.as_ref().map(ThreadId::as_str);
        self.platform == address.platform.as_str()
            && self.chat == address.chat.as_str()
            && self.thread.as_deref() == thread
    }
}

/// As a target that leads there.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.platform, self.chat)?;
        match &self.thread {
            Some(thread) => write!(f, ":{thread}"),
            None => Ok(()),
        }
    }
}

/// Why a target leads nowhere. Nobody guesses what was meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The words name nothing.
    #[error("`{target}` names no place that is known: {hint}")]
    NotFound {
        /// The words.
        target: String,
        /// What to do.
        hint: String,
        /// What is known, as targets.
        candidates: Vec<String>,
    },
    /// The words name more than one place.
    #[error("`{target}` names {} places: write one of them with its id", candidates.len())]
    Ambiguous {
        /// The words.
        target: String,
        /// The places, as targets.
        candidates: Vec<String>,
    },
    /// What is known could not be read.
    #[error("the known places cannot be read: {0}")]
    Failed(String),
}

/// A text on its way to a destination.
#[derive(Debug, Clone)]
pub struct Parcel {
    /// Where to.
    pub to: Destination,
    /// Markdown; files are named by `MEDIA:/path` on lines of their own.
    pub text: String,
    /// Tells it from every other: the same token is sent once.
    pub token: String,
    /// How long the sender waits for the outcome; the delivery goes on.
    pub wait: Duration,
}

/// What became of a parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// It has arrived.
    Sent,
    /// It is stored and will be sent; it had not arrived when the wait ended.
    Planned,
    /// It may have arrived.
    Unknown,
    /// It has not arrived, and will not.
    Failed,
}

/// What a sender is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What became of it.
    pub outcome: Delivered,
    /// The platform's names for what arrived.
    pub messages: Vec<String>,
    /// How many messages the text became.
    pub parts: usize,
    /// The files that went with it.
    pub media: Vec<String>,
    /// What went wrong, or what to know: a file that may not be sent, a platform that is silent.
    pub note: Option<String>,
}

/// Sends to people on the platforms that are configured.
pub trait Deliveries: Send + Sync {
    /// Whether anything can be sent, or what is missing. Asks nobody.
    fn ready(&self) -> Result<(), String>;

    /// The places that are known.
    fn destinations(&self) -> BoxFuture<'_, Result<Vec<Destination>, TargetError>>;

    /// Where a target leads; `origin` is where the conversation at this address is held.
    fn resolve<'a>(
        &'a self,
        target: &'a str,
        origin: &'a Address,
    ) -> BoxFuture<'a, Result<Destination, TargetError>>;

    /// The files that a text would send.
    fn files(&self, text: &str) -> Vec<String>;

    /// Sends a text. It is stored before it leaves, so that a crash loses nothing and doubles
    /// nothing.
    fn deliver(&self, parcel: Parcel) -> BoxFuture<'_, Result<Receipt, String>>;

    /// Puts a mark under a message, or takes it away.
    fn react<'a>(
        &'a self,
        to: &'a Destination,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), String>>;
}

/// A mark under a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// This one is put there.
    Put(&'a str),
    /// This one is taken away.
    Take(&'a str),
}
