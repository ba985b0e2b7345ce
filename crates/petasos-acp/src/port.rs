//! What the server needs of the program around it, and cannot know itself: places, stored
//! conversations, models, servers of other tools.

use std::any::Any;
use std::path::PathBuf;

use petasos_contract::message::Message;
use petasos_contract::{BoxFuture, SessionId};
use petasos_session::Choice;
use serde_json::{Map, Value};

/// Where a session of an editor works.
#[derive(Debug, Clone)]
pub struct EditorPlace {
    /// The session.
    pub session: SessionId,
    /// Its directory.
    pub cwd: PathBuf,
    /// Further directories that belong to its workspace.
    pub more: Vec<PathBuf>,
    /// Whether the client shows forms, so that the model can ask questions.
    pub forms: bool,
    /// MCP servers of the client, each as an entry of `mcp_servers`.
    pub servers: Map<String, Value>,
}

/// A session that can be opened.
pub struct PreparedSession {
    /// What it chooses.
    pub choice: Choice,
    /// Servers that live as long as this does.
    pub servers: Box<dyn Any + Send + Sync>,
    /// What the person should know: servers that do not work.
    pub notices: Vec<String>,
}

impl std::fmt::Debug for PreparedSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedSession").field("notices", &self.notices).finish_non_exhaustive()
    }
}

/// A conversation of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSession {
    /// Its identity.
    pub id: SessionId,
    /// Its directory.
    pub cwd: Option<PathBuf>,
    /// What people call it.
    pub title: Option<String>,
    /// Milliseconds since 1970.
    pub updated_ms: i64,
    /// What it cost so far, in dollars.
    pub cost_usd: f64,
    /// Whether it is out of the usual lists.
    pub archived: bool,
}

/// A message of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Its place in the log.
    pub seq: i64,
    /// What was said.
    pub message: Message,
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOption {
    /// Who serves it.
    pub provider: String,
    /// Its name there.
    pub model: String,
}

/// A provider whose credential is at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsableProvider {
    /// Its name in the configuration.
    pub id: String,
    /// Its name for people.
    pub name: String,
}

/// Answers with something that may fail; the words say what to do next.
pub type HostFuture<'a, T> = BoxFuture<'a, Result<T, String>>;

/// The program around the server.
pub trait EditorHost: Send + Sync {
    /// A name for a new session.
    fn new_id(&self) -> SessionId;

    /// Whether a model can be asked; says who would answer.
    fn ready(&self) -> HostFuture<'_, String>;

    /// Providers whose credentials are at hand.
    fn providers(&self) -> Vec<UsableProvider>;

    /// Models that can be chosen, the present one first.
    fn models<'a>(&'a self, choice: &'a Choice) -> BoxFuture<'a, Vec<ModelOption>>;

    /// Gets a session ready for its place; what is running for it ends with what is returned.
    fn prepare(&self, place: EditorPlace) -> HostFuture<'_, PreparedSession>;

    /// Forgets the place of a session.
    fn leave(&self, session: &SessionId);

    /// What the store knows of a conversation.
    fn stored<'a>(&'a self, session: &'a SessionId) -> HostFuture<'a, Option<StoredSession>>;

    /// Conversations that an editor may open, the newest first, archived ones left out.
    fn list(&self) -> HostFuture<'_, Vec<StoredSession>>;

    /// Everything that was said, the oldest first.
    fn history<'a>(&'a self, session: &'a SessionId) -> HostFuture<'a, Vec<StoredMessage>>;

    /// One message; nothing where people are not shown it.
    fn message<'a>(&'a self, session: &'a SessionId, seq: i64) -> HostFuture<'a, Option<Message>>;

    /// Whether recordings are listened to.
    fn hears(&self) -> bool;

    /// The words of a recording, given as base64.
    fn heard<'a>(&'a self, session: &'a SessionId, recording: &'a str) -> HostFuture<'a, String>;

    /// A new conversation that begins like this one.
    fn fork<'a>(
        &'a self,
        session: &'a SessionId,
        cwd: &'a std::path::Path,
    ) -> HostFuture<'a, SessionId>;

    /// Takes a conversation out of the usual lists.
    fn archive<'a>(&'a self, session: &'a SessionId) -> HostFuture<'a, ()>;

    /// Whether somebody, here or in another program, carries out a turn of a conversation.
    fn is_worked_on<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, bool>;

    /// Whether strangers wrote a file, as far as is known.
    fn strangers_wrote(&self, path: &std::path::Path, session: &SessionId) -> bool;

    /// The text without secrets.
    fn redact(&self, text: &str) -> String;

    /// The context window of the model that a session chose, in tokens.
    fn window<'a>(&'a self, choice: &'a Choice) -> BoxFuture<'a, u64>;
}
