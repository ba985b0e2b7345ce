//! Messages that came in: stored before a platform is told that they arrived, handled once.

use petasos_contract::SessionId;
use serde::{Deserialize, Serialize};

use crate::{ChatKey, Later, NewDelivery};

/// What kind of event came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboundKind {
    /// Words.
    Text,
    /// Files, perhaps with words.
    Media,
    /// A slash command.
    Command,
    /// A pressed button.
    Button,
    /// A reaction.
    Reaction,
    /// Something of our own: a job that ended, a task that is done.
    Internal,
}

/// A file that came with a message, or goes with one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaFile {
    /// Where it lies here.
    pub path: String,
    /// Its media type.
    pub mime: String,
    /// What the sender calls it: a stranger's words.
    pub name: String,
}

/// A message as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundMessage {
    /// Which conversation.
    pub key: ChatKey,
    /// Who wrote it, by the platform's stable identity.
    pub sender: String,
    /// What the sender is called: a stranger's words.
    pub sender_name: String,
    /// Tells this event from every other of the account.
    pub dedup: String,
    /// The platform's name for the message, for replies and reactions.
    pub message: String,
    /// When it was sent, in milliseconds since 1970.
    pub sent_ms: i64,
    /// What kind of event it is.
    pub kind: InboundKind,
    /// Its words.
    pub text: String,
    /// Its files.
    pub media: Vec<MediaFile>,
}

/// What has become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboxState {
    /// Stored, nothing decided yet.
    Accepted,
    /// Waits for its session.
    Queued,
    /// A turn owns it.
    Running,
    /// Answered; the answer may still be on its way.
    Answered,
    /// Every part of the answer has arrived.
    Delivered,
    /// The answer cannot be delivered.
    Undeliverable,
    /// The running turn got it.
    Steered,
    /// Another message carries its words.
    Merged,
    /// Taken back before it ran.
    Withdrawn,
    /// Its turn was cut off.
    Interrupted,
    /// Its turn failed, and the sender was told.
    Failed,
    /// Not taken, and the sender was told.
    Refused,
    /// Not taken, because as many wait as may.
    RefusedFull,
    /// Nothing to do.
    Ignored,
    /// Kept as context only.
    Observed,
}

impl InboxState {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Accepted,
        Self::Queued,
        Self::Running,
        Self::Answered,
        Self::Delivered,
        Self::Undeliverable,
        Self::Steered,
        Self::Merged,
        Self::Withdrawn,
        Self::Interrupted,
        Self::Failed,
        Self::Refused,
        Self::RefusedFull,
        Self::Ignored,
        Self::Observed,
    ];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Answered => "answered",
            Self::Delivered => "delivered",
            Self::Undeliverable => "undeliverable",
            Self::Steered => "steered",
            Self::Merged => "merged",
            Self::Withdrawn => "withdrawn",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::RefusedFull => "refused_full",
            Self::Ignored => "ignored",
            Self::Observed => "observed",
        }
    }

    /// The state of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether nothing happens to it any more, but for its delivery.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Accepted | Self::Queued | Self::Running)
    }
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// Its identity; ordered by arrival, and the name of its turn.
    pub id: String,
    /// What came in.
    pub message: InboundMessage,
    /// When it came in, in milliseconds since 1970.
    pub received_ms: i64,
    /// What has become of it.
    pub state: InboxState,
    /// The session that it waits for.
    pub session: Option<SessionId>,
    /// How often its turn has begun.
    pub attempts: u32,
    /// Why it is in its state, in a word.
    pub reason: String,
}

/// The end of a message that runs, together with what is to be sent for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The stored message.
    pub inbox: String,
    /// What becomes of it.
    pub to: InboxState,
    /// Why, in a word.
    pub reason: String,
    /// What goes out.
    pub deliveries: Vec<NewDelivery>,
}

/// What accepting a message came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    /// It is stored now.
    New(String),
    /// It was stored before.
    Known(String, InboxState),
}

/// What queueing a message came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// It waits; so many go first.
    Queued {
        /// How many wait or run before it.
        ahead: u32,
    },
    /// As many wait as may; it is `refused_full` now.
    Full {
        /// How many.
        waiting: u32,
    },
    /// It was decided already.
    Settled,
}

/// Keeps messages that came in.
pub trait InboxStore: Send + Sync {
    /// Stores a message; the same event again changes nothing. Durable when it answers.
    fn accept<'a>(&'a self, message: &'a InboundMessage) -> Later<'a, Receipt>;

    /// An accepted message waits for a session, unless as many wait as may.
    fn queue<'a>(&'a self, id: &'a str, session: &'a SessionId, limit: u32) -> Later<'a, Placing>;

    /// Takes the oldest message that waits for a session, unless one of that session runs.
    fn claim<'a>(&'a self, session: &'a SessionId) -> Later<'a, Option<InboxRow>>;

    /// Joins texts that wait behind a claimed one to it, as far as they are of the same sender in the
    /// same thread: at most this many messages and characters. Gives it as it is now.
    fn collect<'a>(
        &'a self,
        id: &'a str,
        messages_max: usize,
        chars_max: usize,
    ) -> Later<'a, Option<InboxRow>>;

    /// Joins accepted messages to an accepted one that they belong to: their words without repeats,
    /// and their files, in this order. Gives it as it is now.
    fn join<'a>(&'a self, id: &'a str, others: &'a [String]) -> Later<'a, Option<InboxRow>>;

    /// An accepted command asks for a turn with these words; whether it still could.
    fn recast<'a>(&'a self, id: &'a str, text: &'a str) -> Later<'a, bool>;

    /// Changes the state, if it still is one of these; whether it was.
    fn settle<'a>(
        &'a self,
        id: &'a str,
        from: &'a [InboxState],
        to: InboxState,
        reason: &'a str,
    ) -> Later<'a, bool>;

    /// Ends a message that we run, together with what is to be sent for it: all or nothing. Nothing
    /// is sent when the message is no longer ours.
    fn finish<'a>(
        &'a self,
        id: &'a str,
        to: InboxState,
        reason: &'a str,
        deliveries: Vec<NewDelivery>,
    ) -> Later<'a, bool>;

    /// Puts a message that we run back into the queue, in its old place.
    fn requeue<'a>(&'a self, id: &'a str) -> Later<'a, bool>;

    /// Replaces the words of a message that still waits; whether it did.
    fn reword<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        message: &'a str,
        text: &'a str,
    ) -> Later<'a, bool>;

    /// Takes back everything that waits for a session; gives how many.
    fn withdraw<'a>(&'a self, session: &'a SessionId, reason: &'a str) -> Later<'a, u32>;

    /// Messages that nobody works on although they are not settled: their process is gone. They
    /// are ours from now on.
    fn orphans(&self) -> Later<'_, Vec<InboxRow>>;

    /// One message.
    fn message<'a>(&'a self, id: &'a str) -> Later<'a, Option<InboxRow>>;

    /// How many messages are in each state.
    fn depths(&self) -> Later<'_, Vec<(InboxState, u64)>>;

    /// How many messages are not settled.
    fn undone(&self) -> Later<'_, u64>;

    /// Sessions for which messages wait.
    fn waiting_sessions(&self) -> Later<'_, Vec<SessionId>>;

    /// How many messages wait for or run in a session.
    fn waiting<'a>(&'a self, session: &'a SessionId) -> Later<'a, u32>;

    /// Forgets settled messages that are older than this and beyond so many of their account, and
    /// deliveries that ended before.
    fn forget_settled(&self, before_ms: i64, keep: u32) -> Later<'_, u64>;
}
