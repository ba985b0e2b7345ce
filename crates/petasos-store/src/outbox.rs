//! Messages that go out: planned before they are sent, in order, retried until they arrive.

use serde::{Deserialize, Serialize};

use crate::{Lane, Later, MediaFile};

/// What kind of message goes out. Ordered: the first goes first where rates are short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryClass {
    /// A question to a person; overtakes.
    Question,
    /// The answer of a command, or word that something was stopped; overtakes.
    Command,
    /// The answer of a turn.
    Final,
    /// A remark.
    Notice,
}

impl DeliveryClass {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Question, Self::Command, Self::Final, Self::Notice];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Command => "command",
            Self::Final => "final",
            Self::Notice => "notice",
        }
    }

    /// The class of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == word)
    }

    /// Whether it has a lane of its own beside the answers of turns.
    pub const fn overtakes(self) -> bool {
        matches!(self, Self::Question | Self::Command)
    }
}

/// A choice under a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardButton {
    /// What it says.
    pub label: String,
    /// What pressing it sends back.
    pub data: String,
}

/// A message that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Where to.
    pub lane: Lane,
    /// What kind it is.
    pub class: DeliveryClass,
    /// Tells it from every other, also across restarts: the same token is planned once.
    pub token: String,
    /// The text in Markdown.
    pub body: String,
    /// Files.
    pub media: Vec<MediaFile>,
    /// Choices under it.
    pub buttons: Vec<CardButton>,
    /// The message that it answers, in the platform's words.
    pub reply_to: Option<String>,
    /// The stored message that it answers.
    pub inbox: Option<String>,
}

/// What has become of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// To be sent.
    Planned,
    /// A call may be on its way.
    Sending,
    /// A call was on its way, and nobody knows whether it arrived.
    Ambiguous,
    /// It has arrived.
    Sent,
    /// Given up.
    Dead,
    /// No longer wanted.
    Superseded,
}

impl DeliveryState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Planned, Self::Sending, Self::Ambiguous, Self::Sent, Self::Dead, Self::Superseded];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Sending => "sending",
            Self::Ambiguous => "ambiguous",
            Self::Sent => "sent",
            Self::Dead => "dead",
            Self::Superseded => "superseded",
        }
    }

    /// The state of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A stored delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its place; grows over all lanes.
    pub id: i64,
    /// What is to be sent.
    pub delivery: NewDelivery,
    /// What has become of it.
    pub state: DeliveryState,
    /// Whether a call for its next part may have arrived although nobody knows.
    pub uncertain: bool,
    /// Its parts as they are sent, once it was first tried.
    pub parts: Vec<String>,
    /// The platform's names for the parts that have arrived.
    pub sent: Vec<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// Not before this, in milliseconds since 1970.
    pub next_ms: i64,
    /// When it was planned.
    pub created_ms: i64,
    /// What went wrong last.
    pub error: String,
}

/// What a try came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// Every part has arrived.
    Sent,
    /// Certainly not arrived; again at this time.
    Again {
        /// Not before this, in milliseconds since 1970.
        at_ms: i64,
        /// What went wrong.
        error: String,
        /// Whether it counts as a try.
        counted: bool,
    },
    /// It may have arrived; again at this time, as the platform's rules say.
    Uncertain {
        /// Not before this, in milliseconds since 1970.
        at_ms: i64,
        /// What went wrong.
        error: String,
    },
    /// Given up.
    Dead {
        /// What went wrong.
        error: String,
    },
}

/// Keeps messages that go out.
pub trait OutboxStore: Send + Sync {
    /// Plans deliveries; one whose token is known is not planned again. Gives how many are new.
    fn plan(&self, deliveries: Vec<NewDelivery>) -> Later<'_, usize>;

    /// Takes what is due on an account: the first of each lane that has nothing on its way, and not
    /// more than this many. What is taken is `sending` when this answers.
    fn take_due<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        now_ms: i64,
        limit: u32,
    ) -> Later<'a, Vec<OutboxRow>>;

    /// When something is next due on an account, in milliseconds since 1970.
    fn next_due<'a>(&'a self, platform: &'a str, account: &'a str) -> Later<'a, Option<i64>>;

    /// Keeps the parts as they will be sent.
    fn set_parts(&self, id: i64, parts: Vec<String>) -> Later<'_, ()>;

    /// One more part has arrived.
    fn part_sent<'a>(&'a self, id: i64, name: &'a str) -> Later<'a, ()>;

    /// Ends a try. The message that it answers is delivered with its last delivery.
    fn end_attempt(&self, id: i64, attempt: Attempt) -> Later<'_, ()>;

    /// What was on its way when its process died; gives how many. They are uncertain now.
    fn recover_sending(&self) -> Later<'_, u32>;

    /// Deliveries in these states, the newest first.
    fn deliveries<'a>(
        &'a self,
        states: &'a [DeliveryState],
        limit: u32,
    ) -> Later<'a, Vec<OutboxRow>>;

    /// One delivery.
    fn delivery(&self, id: i64) -> Later<'_, Option<OutboxRow>>;

    /// The delivery that was planned with this token.
    fn delivery_of<'a>(&'a self, token: &'a str) -> Later<'a, Option<OutboxRow>>;

    /// Takes one that is still planned, for whoever sends it without a gateway; `None` when
    /// somebody else has it.
    fn take_one(&self, id: i64) -> Later<'_, Option<OutboxRow>>;

    /// Tries a dead one again, or gives one up; whether it could.
    fn retry(&self, id: i64) -> Later<'_, bool>;

    /// Gives one up that is not sent yet; whether it could.
    fn drop_delivery(&self, id: i64) -> Later<'_, bool>;

    /// Gives up everything of a class that waits for a lane, or of every lane; gives how many.
    fn supersede<'a>(&'a self, lane: Option<&'a Lane>, class: DeliveryClass) -> Later<'a, u32>;

    /// How many deliveries are in each state.
    fn delivery_depths(&self) -> Later<'_, Vec<(DeliveryState, u64)>>;
}
