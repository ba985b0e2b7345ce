//! Keeping conversations: the one trait, and what goes in and comes out of it.
//!
//! A store is a log. What [`SessionStore::append`] has answered for survives the death of the
//! process; nothing is acted on before. Undoing and summarising hide rows, they never remove them.

use serde::{Deserialize, Serialize};

use petasos_contract::BoxFuture;
use petasos_contract::address::Address;
use petasos_contract::call::Disposition;
use petasos_contract::id::{CallId, SessionId, TurnId};
use petasos_contract::message::Message;
use petasos_contract::model::Role;
use petasos_contract::reply::{Cost, Finish, Served, Usage};

use crate::leases::{Holder, Lease, LeaseStore, WaitingCalls};
use crate::scope::SessionScope;
use crate::{chosen::Chosen, inbox::Answer};

/// An answer of the store, later.
pub type Later<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The place of a row in the log; grows over all sessions.
pub type Seq = i64;

/// Keeps conversations, and who may add to them: what it adds is refused by the lease in the same
/// transaction.
pub trait SessionStore: LeaseStore {
    /// Begins a conversation.
    fn create(&self, new: NewSession) -> Later<'_, SessionHead>;

    /// Adds rows behind the others, all or none; durable when it answers.
    fn append<'a>(&'a self, session: &'a SessionId, rows: Vec<Row>) -> Later<'a, Vec<Seq>>;

    /// The conversation as it is stored. Reading changes nothing: of a turn that runs, or was cut
    /// off, the last calls may have no results.
    fn load<'a>(&'a self, session: &'a SessionId) -> Later<'a, Loaded>;

    /// Gives every open call of a turn that was cut off a result; gives what was done, in words
    /// for a person. Only the holder of the lease knows that no turn runs. Questions of calls that
    /// get a result here are cancelled.
    fn close_turn<'a>(&'a self, lease: &'a Lease, waiting: WaitingCalls) -> Later<'a, Vec<String>>;

    /// Changes what is known about a conversation, or which rows are replayed.
    fn amend<'a>(&'a self, session: &'a SessionId, change: Amend) -> Later<'a, Vec<Seq>>;

    /// Finds one by identity, by its unambiguous beginning, by title, or the newest by `latest`,
    /// among those that are seen. Others are as if they were not there.
    fn find<'a>(&'a self, handle: &'a str, scope: &'a SessionScope) -> Later<'a, SessionHead>;

    /// The newest first.
    fn list<'a>(&'a self, filter: &'a Filter) -> Later<'a, Vec<SessionHead>>;

    /// Full text over everything that was ever said.
    fn search<'a>(&'a self, query: &'a Query) -> Later<'a, Vec<Hit>>;

    /// Conversations that were added to, or of which something was taken back, at this moment or
    /// later, in milliseconds since 1970.
    fn updated_since(&self, ms: i64) -> Later<'_, Vec<SessionExtent>>;

    /// Rows of one conversation, hidden ones included.
    fn read<'a>(&'a self, session: &'a SessionId, slice: Slice) -> Later<'a, Vec<LoadedRow>>;

    /// A new conversation that begins like this one, up to a row or whole. Calls without a result
    /// get one in the copy; the original may have a turn running and is only read.
    fn fork<'a>(
        &'a self,
        session: &'a SessionId,
        until: Option<Seq>,
        new: NewSession,
    ) -> Later<'a, SessionHead>;

    /// Removes one for good.
    fn delete<'a>(&'a self, session: &'a SessionId) -> Later<'a, ()>;
}

/// Why the store did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No such conversation.
    #[error("no session matches `{handle}`: list them with `petasos sessions list`")]
    NotFound {
        /// What was looked for.
        handle: String,
    },
    /// More than one conversation fits.
    #[error("`{handle}` fits several sessions ({found}): give more of the identity")]
    Ambiguous {
        /// What was looked for.
        handle: String,
        /// Some of what fits.
        found: String,
    },
    /// Another conversation has that title.
    #[error("another session is already called `{title}`: choose another title")]
    TitleTaken {
        /// The title.
        title: String,
    },
    /// Somebody else wrote to the conversation in the meantime.
    #[error("another process has continued session `{session}`: resume it again, or fork it")]
    Conflict {
        /// The conversation.
        session: SessionId,
    },
    /// Somebody else is at work on the conversation.
    #[error(
        "session `{session}` is in use by {holder}: wait for it to end, or go on in a copy with `petasos sessions fork {session}`"
    )]
    Leased {
        /// The conversation.
        session: SessionId,
        /// Who.
        holder: Holder,
    },
    /// The file is not sound.
    #[error("the session database is damaged ({detail}): run `petasos sessions repair`")]
    Damaged {
        /// What was found.
        detail: String,
    },
    /// The file was written by a newer version.
    #[error("the session database has format {found}, this version knows {known}: update Petasos")]
    TooNew {
        /// What the file says.
        found: u32,
        /// What is known here.
        known: u32,
    },
    /// Nobody can write it here.
    #[error(
        "the session database cannot be written: its disk is read-only, or it belongs to somebody else"
    )]
    ReadOnly,
    /// The store did not answer in time.
    #[error(
        "the session database did not answer in time ({what}): another process holds it, or its disk is full or slow"
    )]
    Slow {
        /// What was waited for.
        what: &'static str,
    },
    /// Anything else below.
    #[error("the session database failed: {0}")]
    Failed(String),
}

/// How a conversation came from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lineage {
    /// Branched off.
    Fork,
    /// Works for it.
    Subagent,
    /// Goes on where it ended.
    Continuation,
}

/// A conversation that is to begin.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// Its identity; made from the time when absent.
    pub id: Option<SessionId>,
    /// Where it lives: `cli`, `one_shot`, `telegram`, `subagent`, …
    pub source: String,
    /// What people call it.
    pub title: Option<String>,
    /// The model it begins with.
    pub model: Option<String>,
    /// The provider it begins with.
    pub provider: Option<String>,
    /// The system prompt, which stays the same for its life.
    pub system_prompt: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// Where it comes from.
    pub parent: Option<(SessionId, Lineage)>,
    /// Whose it is: the chat in which it is held. The parent's when absent; without one it belongs
    /// to whoever sits at the machine.
    pub owner: Option<Address>,
}

/// What is added to the log.
#[derive(Debug, Clone)]
pub enum Row {
    /// Nothing is added unless this is the last message so far: nobody else went on meanwhile.
    Expect(Option<Seq>),
    /// A message.
    Message(Box<Stored>),
    /// What the request used that the message beside it answers.
    Spent(Box<Spent>),
    /// These calls begin now: whatever happens, they may have taken effect.
    Started(Vec<CallId>),
    /// A call has ended; kept until its message is there, for the case that it never comes.
    Ended {
        /// The call.
        call: CallId,
        /// What the model would have read.
        text: String,
        /// Whether it did anything.
        disposition: Disposition,
    },
    /// The message of a chat that is answered here is done, and this goes out for it. Nothing
    /// happens when the message is no longer ours.
    Answers(Box<Answer>),
}

impl Row {
    /// A message with nothing else to say about it.
    pub fn message(message: Message) -> Self {
        Self::Message(Box::new(Stored::new(message)))
    }
}

/// A message and what is kept beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The message.
    pub message: Message,
    /// What was really sent for it, when that differs; replayed so that the prefix stays the same.
    pub sent: Option<String>,
    /// The turn it belongs to.
    pub turn: Option<TurnId>,
    /// Why a reply ended.
    pub finish: Option<Finish>,
    /// Whether a tool did anything.
    pub disposition: Option<Disposition>,
    /// About how many tokens it takes.
    pub tokens: u32,
    /// Why it is there, when nobody said it: `summary`, `repair`, `nudge`, …
    pub note: Option<String>,
}

impl Stored {
    /// A message with nothing else to say about it.
    pub fn new(message: Message) -> Self {
        Self {
            message,
            sent: None,
            turn: None,
            finish: None,
            disposition: None,
            tokens: 0,
            note: None,
        }
    }
}

/// A change.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Amend {
    /// Another title, or none. A taken one is refused.
    Title(Option<String>),
    /// A title that nobody asked for: numbered when taken, ignored when there is one already.
    SuggestTitle(String),
    /// The system prompt of the conversation.
    SystemPrompt(String),
    /// Another model from here on.
    Model {
        /// The model.
        model: Option<String>,
        /// Its provider.
        provider: Option<String>,
    },
    /// It has ended, for this reason.
    End(String),
    /// It goes on.
    Reopen,
    /// Out of the usual lists, or back.
    Archive(bool),
    /// It only plans from here on, or no longer.
    Planning(bool),
    /// What a person chose for it.
    Chosen(Chosen),
    /// What a request used.
    Spent(Box<Spent>),
    /// Rows are replaced: hidden from replay, kept in the log.
    Swap(Vec<Swap>),
    /// Everything from this row on is hidden.
    Rewind(Seq),
}

/// What a request used, and for what.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent {
    /// For which task.
    pub role: Role,
    /// Who answered.
    pub served: Served,
    /// How much.
    pub usage: Usage,
    /// For how much.
    pub cost: Cost,
}

/// Some rows, and what is replayed in their place.
#[derive(Debug, Clone)]
pub struct Swap {
    /// Hidden from now on.
    pub hidden: Vec<Seq>,
    /// Shown where the last of them stood.
    pub shown: Option<Stored>,
}

/// What is known about a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SessionHead {
    /// Its identity.
    pub id: String,
    /// What people call it.
    pub title: Option<String>,
    /// Where it lives.
    pub source: String,
    /// The model.
    pub model: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The chat in which it is held; nothing when it belongs to whoever sits at the machine.
    pub owner: Option<Address>,
    /// Where it comes from.
    pub parent: Option<String>,
    /// How it came from there.
    pub lineage: Option<Lineage>,
    /// The oldest of its line.
    pub root: String,
    /// Milliseconds since 1970.
    pub started_ms: i64,
    /// Milliseconds since 1970.
    pub updated_ms: i64,
    /// Why it ended, when it has.
    pub end_reason: Option<String>,
    /// Out of the usual lists.
    pub archived: bool,
    /// It only plans: nothing is changed until a person says go.
    pub planning: bool,
    /// What a person chose for it.
    pub chosen: Chosen,
    /// How many messages are replayed.
    pub messages: u64,
    /// The beginning of its first message.
    pub preview: String,
    /// What it used so far.
    pub usage: Usage,
    /// What that cost in dollars, as far as it is known.
    pub cost_usd: f64,
}

impl SessionHead {
    /// Its identity as a type.
    pub fn session(&self) -> SessionId {
        SessionId::new(self.id.as_str())
    }
}

/// A conversation to be replayed.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What is known about it.
    pub head: SessionHead,
    /// Its system prompt, byte for byte.
    pub system_prompt: Option<String>,
    /// Its messages.
    pub rows: Vec<LoadedRow>,
    /// The last row of all, for [`Row::Expect`].
    pub last: Option<Seq>,
}

/// A row of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedRow {
    /// Its place.
    pub seq: Seq,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Whether it is replayed.
    pub active: bool,
    /// The message.
    pub stored: Stored,
}

/// Which conversations are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those that are seen from here.
    pub scope: SessionScope,
    /// Only from there.
    pub source: Option<String>,
    /// Those of subagents and schedules too.
    pub all_sources: bool,
    /// Archived ones too.
    pub archived: bool,
    /// At most so many; zero means the usual number.
    pub limit: usize,
    /// Not these many newest ones.
    pub offset: usize,
}

/// How far a conversation goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionExtent {
    /// Which.
    pub session: SessionId,
    /// The last row of all.
    pub last: Option<Seq>,
    /// How many messages are replayed.
    pub messages: u64,
}

/// Which rows of a conversation are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice {
    /// All.
    Whole,
    /// Those behind this row.
    After(Seq),
    /// The first and the last ones.
    Ends {
        /// So many of the first.
        first: usize,
        /// So many of the last.
        last: usize,
    },
    /// The neighbourhood of one row.
    Around {
        /// The row.
        seq: Seq,
        /// So many on either side.
        radius: usize,
    },
}

/// In which order hits come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// The best first.
    #[default]
    Best,
    /// The newest first.
    Newest,
    /// The oldest first.
    Oldest,
}

/// What is searched for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Only in conversations that are seen from here.
    pub scope: SessionScope,
    /// Words, phrases in quotes, `OR`, `NOT`, a trailing `*`.
    pub text: String,
    /// Only these roles; empty means all.
    pub roles: Vec<String>,
    /// The order.
    pub sort: Sort,
    /// At most so many; zero means the usual number.
    pub limit: usize,
    /// One hit for each line of conversations.
    pub one_per_lineage: bool,
    /// Nothing of this conversation and its line.
    pub except: Option<SessionId>,
    /// Only this conversation.
    pub only: Option<SessionId>,
    /// Conversations of subagents and tools too.
    pub all_sources: bool,
}

/// Something found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The conversation.
    pub session: SessionHead,
    /// The row.
    pub seq: Seq,
    /// Whose words.
    pub role: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The place, with `>>>` and `<<<` around what was found.
    pub snippet: String,
}
