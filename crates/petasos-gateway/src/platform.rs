//! What a chat platform is: facts as data, and a small trait behind them.
//!
//! A platform connects, reads and sends. Who may write, where a message goes, how a text is cut,
//! what is retried and when, is the gateway's and the same for all.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::delivery::Mark;
use petasos_contract::{BoxFuture, Settings};
use petasos_net::Net;
use petasos_store::{CardButton, ChatKind, Lane, MediaFile};

use crate::display::Progress;
use crate::link::Link;
use crate::render::{Dialect, Form, Unit};

/// What happens when nobody knows whether a message arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// The server drops a repeat that carries our token: it is sent again.
    Dropped,
    /// The server can be asked whether it arrived: it is sent again only if it did not.
    Looked,
    /// A repeat is seen: it is sent once more, and says so.
    Seen,
}

/// How fast a platform takes messages. The server's own word always wins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// The pause between two messages of an account.
    pub account: Duration,
    /// The pause between two messages of a chat.
    pub chat: Duration,
    /// How many may go at once before the pauses begin.
    pub burst: u32,
}

/// A chat platform, as its file declares it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct PlatformDef {
    /// Its name in settings, targets and logs.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// The toolset of its conversations.
    pub toolset: &'static str,
    /// How variables about people begin, where that is not its name in capitals.
    pub lists: &'static str,
    /// Variables without which it is not configured.
    pub variables: &'static [&'static str],
    /// How texts must look.
    pub form: Form,
    /// How fast it takes messages.
    pub rates: Rates,
    /// What happens to repeats.
    pub repeats: Repeats,
    /// Whether choices can be pressed.
    pub buttons: bool,
    /// How often a message of ours may be edited, where it may be.
    pub edits: Option<Duration>,
    /// Whether files can be sent, and how large.
    pub media_bytes_max: u64,
    /// Whether words are shown as they come, when nobody says otherwise.
    pub streaming: bool,
    /// How much of tool calls is shown, when nobody says otherwise.
    pub progress: Progress,
    /// How often the sign that somebody writes is renewed.
    pub typing: Option<Duration>,
    /// Whether a group message must name us, when nobody says otherwise.
    pub mention: bool,
    /// Whether what happens there is no person's doing.
    pub unattended: bool,
    /// A sign beside `/` that begins a command.
    pub prefix: Option<char>,
    /// What a model should know about the place.
    pub hint: &'static str,
    /// How to set it up, a step a line.
    pub setup: &'static [&'static str],
    /// Against what its tests run.
    pub tested_with: &'static str,
    /// Whether a message can be sent without being connected.
    pub direct: bool,
    /// Whether the account itself is a chat, and its home when nothing else is said.
    pub home_account: bool,
    /// For how long after somebody wrote we may answer in a chat; for ever when nothing is said.
    pub window: fn(&str) -> Option<Duration>,
    /// Whether an answer needs something that only the last message of its chat carries.
    pub context: bool,
    /// The end of the variable that names where it delivers when nothing else is said.
    pub home: &'static str,
    /// The chat and thread of a target, without the platform; nothing when it is no id there.
    pub target: fn(&str) -> Option<TargetId>,
    /// An identity in its one spelling; nothing when it cannot be one.
    pub canonical: fn(&str) -> Option<String>,
    /// Makes the accounts that are configured.
    pub open: fn(&Opening<'_>) -> Opened,
}

impl PlatformDef {
    /// The common case, to be overridden field by field.
    pub const USUAL: Self = Self {
        name: "",
        about: "",
        toolset: "",
        lists: "",
        variables: &[],
        form: Form { dialect: Dialect::Plain, limit: 4096, unit: Unit::Chars },
        rates: Rates {
            account: Duration::from_millis(20),
            chat: Duration::from_millis(50),
            burst: 5,
        },
        repeats: Repeats::Seen,
        buttons: false,
        edits: None,
        media_bytes_max: 0,
        streaming: false,
        progress: Progress::Off,
        typing: None,
        mention: false,
        unattended: false,
        prefix: None,
        hint: "",
        setup: &[],
        tested_with: "",
        direct: false,
        home_account: false,
        window: |_| None,
        context: false,
        home: "HOME_CHANNEL",
        target: TargetId::usual,
        canonical: |id| Some(id.to_owned()),
        open: |_| Ok(Vec::new()),
    };
}

/// Which chat a target names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetId {
    /// The chat.
    pub chat: String,
    /// The thread of the chat.
    pub thread: Option<String>,
}

impl TargetId {
    /// A chat without a thread.
    pub fn chat(chat: &str) -> Self {
        Self { chat: chat.to_owned(), thread: None }
    }

    /// `chat[:thread]`; `#name` is a name and no id.
    pub fn usual(text: &str) -> Option<Self> {
        Self::split(text).filter(|id| !id.chat.starts_with('#') && !id.chat.contains(' '))
    }

    /// `chat[:thread]`, where the chat is a number.
    pub fn number(text: &str) -> Option<Self> {
        let digits = |id: &Self| {
            let digits = id.chat.strip_prefix('-').unwrap_or(&id.chat);
            digits.chars().all(|c| c.is_ascii_digit())
        };
        Self::split(text).filter(digits)
    }

    fn split(text: &str) -> Option<Self> {
        let text = text.trim();
        let (chat, thread) = match text.split_once(':') {
            Some((chat, thread)) => (chat, Some(thread.to_owned())),
            None => (text, None),
        };
        let whole = !chat.is_empty() && thread.as_deref() != Some("");
        whole.then(|| Self { chat: chat.to_owned(), thread })
    }
}

/// The accounts of a platform, or which setting cannot be used.
pub type Opened = Result<Vec<Arc<dyn Platform>>, String>;

/// What a platform is opened with.
#[derive(Debug)]
pub struct Opening<'a> {
    /// Configuration, environment and secrets.
    pub settings: &'a Arc<Settings>,
    /// The way out to the network.
    pub net: &'a Arc<Net>,
}

/// Who wrote something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    /// The platform's stable identity; nothing when it has none to give.
    pub id: Option<String>,
    /// Other identities of the same person, which lists may name.
    pub aliases: Vec<String>,
    /// What they are called: a stranger's words.
    pub name: String,
    /// Whether it is a program.
    pub bot: bool,
    /// Roles that the platform vouches for.
    pub roles: Vec<String>,
    /// A machine that has proved itself, and by what.
    pub machine: Option<String>,
}

impl Sender {
    /// Every identity of the person; nothing when they have none.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let known = self.id.as_deref().filter(|id| !id.is_empty());
        known
            .into_iter()
            .chain(self.aliases.iter().map(String::as_str).filter(move |_| known.is_some()))
    }
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArrivalKind {
    /// Words, files, or both.
    Message,
    /// A message has other words now.
    Edited,
    /// A button was pressed, with this data.
    Button(String),
    /// Somebody left this mark under one of our messages.
    Reaction(String),
    /// The chat has another identity now; this is the old one.
    Migrated(String),
}

/// Something that came in, in everybody's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Tells it from every other of the account.
    pub dedup: String,
    /// The platform's name of the message.
    pub message: String,
    /// When it was sent, in milliseconds since 1970.
    pub sent_ms: i64,
    /// What came.
    pub kind: ArrivalKind,
    /// The chat.
    pub chat: String,
    /// What people call the chat.
    pub chat_name: String,
    /// What kind of chat it is.
    pub chat_kind: ChatKind,
    /// The thread.
    pub thread: Option<String>,
    /// Who wrote it.
    pub sender: Sender,
    /// Its words.
    pub text: String,
    /// Its files, which lie here already.
    pub media: Vec<MediaFile>,
    /// Whether it names us or answers us.
    pub addressed: bool,
    /// What it quotes: somebody's words.
    pub quoted: Option<String>,
    /// Messages with the same name here are one album.
    pub album: Option<String>,
    /// What an answer to it must carry, where the platform wants something.
    pub context: Option<String>,
    /// Why files that it had are not here.
    pub lost: Vec<String>,
}

impl Arrival {
    /// Whether it brings nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.media.is_empty() && self.lost.is_empty()
    }

    /// Words of a person in a direct chat, everything else to be filled in.
    pub fn text(chat: &str, sender: &str, dedup: &str, text: &str) -> Self {
        Self {
            dedup: dedup.to_owned(),
            message: dedup.to_owned(),
            sent_ms: now_ms(),
            kind: ArrivalKind::Message,
            chat: chat.to_owned(),
            chat_name: String::new(),
            chat_kind: ChatKind::Dm,
            thread: None,
            sender: Sender { id: Some(sender.to_owned()), ..Sender::default() },
            text: text.to_owned(),
            media: Vec::new(),
            addressed: false,
            quoted: None,
            album: None,
            context: None,
            lost: Vec::new(),
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// One message that goes out now.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// Where to.
    pub lane: &'a Lane,
    /// The text in the platform's dialect, within its limit.
    pub text: &'a str,
    /// The same without marks, for platforms that want both.
    pub plain: &'a str,
    /// Whether the text has no marks, because the server refused them.
    pub unmarked: bool,
    /// Choices under it.
    pub buttons: &'a [CardButton],
    /// The message that it answers.
    pub reply_to: Option<&'a str>,
    /// A file that goes with it.
    pub media: Option<&'a MediaFile>,
    /// Tells it from every other; the same when it is sent again.
    pub token: &'a str,
    /// What the last message of the chat carried for its answers.
    pub context: Option<&'a str>,
}

/// Why a message did not go out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Too fast; again after this.
    #[error("too fast: again after {} s", after.as_secs())]
    RateLimited {
        /// How long the server wants us to wait.
        after: Duration,
    },
    /// Certainly not arrived; again later.
    #[error("{0}")]
    Transient(String),
    /// It may have arrived.
    #[error("{0}")]
    Ambiguous(String),
    /// The server does not take the markup.
    #[error("{0}")]
    BadFormat(String),
    /// The server takes no text of this length.
    #[error("{0}")]
    TooLong(String),
    /// The thread or the message that it answers is gone.
    #[error("{0}")]
    NoThread(String),
    /// The chat is gone, or we may not write there.
    #[error("{0}")]
    Unreachable(String),
    /// Too long after the last message of the chat: the platform takes no answer any more.
    #[error("{0}")]
    Closed(String),
    /// The account itself is refused.
    #[error("{0}")]
    Auth(String),
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Another try may work.
    #[error("{0}")]
    Lost(String),
    /// No try works until somebody changes something.
    #[error("{0}")]
    Fatal(String),
    /// Another process reads this account; the pause is the platform's.
    #[error("{reason}")]
    Taken {
        /// Who, and what to do.
        reason: String,
        /// How long to wait.
        after: Duration,
    },
}

impl From<petasos_store::StoreError> for LinkError {
    fn from(error: petasos_store::StoreError) -> Self {
        Self::Lost(error.to_string())
    }
}

/// What an account says that cannot be tried without connecting.
pub(crate) const NOT_TRIED: &str = "not tried";

/// An account of a chat platform.
pub trait Platform: Send + Sync {
    /// Our identity there, in words that tell accounts apart; never a secret.
    fn account(&self) -> &str;

    /// Connects and reads until something breaks. Dropping the future disconnects. What came in is
    /// given to the link, which answers when it is stored; only then is it acknowledged.
    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>>;

    /// Sends one message; gives the platform's name for it.
    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>>;

    /// Whether a message with this token has arrived, and its name; for platforms that can be asked.
    fn find<'a>(
        &'a self,
        _lane: &'a Lane,
        _token: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, SendError>> {
        Box::pin(async { Ok(None) })
    }

    /// Gives a message other words.
    fn edit<'a>(
        &'a self,
        _lane: &'a Lane,
        _message: &'a str,
        _text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Unreachable("messages cannot be edited here".to_owned())) })
    }

    /// Puts a mark under a message, or takes it away.
    fn react<'a>(
        &'a self,
        _lane: &'a Lane,
        _message: &'a str,
        _mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Unreachable("there are no marks here".to_owned())) })
    }

    /// Shows that somebody writes.
    fn typing<'a>(&'a self, _lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Ok(()) })
    }

    /// Confirms a pressed button with a word; the identity is that of its arrival.
    fn acknowledge<'a>(&'a self, _press: &'a str, _word: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Whether choices can be pressed on this account, where that is not so for all of its platform.
    fn buttons(&self) -> Option<bool> {
        None
    }

    /// Whether the account works, without reading anything; says who we are.
    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async { Ok(NOT_TRIED.to_owned()) })
    }
}
