//! What the chat needs from the program around it, and cannot know itself: providers, settings,
//! copies of the workspace, files.

use petasos_agent::engine::Choice;
use petasos_contract::{BoxFuture, CallContext, SessionId};

/// A page of text that the program can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Page {
    /// The tools of a choice, and why others are not there.
    Tools,
    /// The toolsets.
    Toolsets,
    /// The providers, and whether a key is at hand.
    Providers,
    /// Who answers now, and why.
    Provider,
    /// The models that the provider offers.
    Models,
    /// A configuration value, or the file.
    Config,
    /// The copies of the workspace.
    Checkpoints,
}

/// A model that somebody wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// The model.
    pub model: Option<String>,
    /// The provider.
    pub provider: Option<String>,
}

/// What became of servers that offer tools.
#[derive(Debug, Clone)]
pub struct Refreshed {
    /// The toolsets of the conversation from now on.
    pub enabled: Option<Vec<String>>,
    /// What was done, for the person.
    pub told: String,
}

/// The program around the chat. Texts are Markdown, errors say what to do next.
pub trait Backstage: Send + Sync {
    /// The surroundings of a turn.
    fn context(&self, session: &SessionId) -> CallContext;

    /// The emoji of a tool.
    fn emoji(&self, tool: &str) -> String;

    /// Tells a page, about something where it takes a word.
    fn page<'a>(
        &'a self,
        page: Page,
        about: &'a str,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Whether the model can be asked; says in one line who would answer.
    fn resolve<'a>(&'a self, wish: &'a Wish) -> BoxFuture<'a, Result<String, String>>;

    /// Keeps the model for every later conversation; says where.
    fn keep_model(&self, wish: &Wish) -> Result<String, String>;

    /// Whether nobody is asked for approval.
    fn unasked(&self) -> bool;

    /// Turns asking for approval off for this program, or on again.
    fn set_unasked(&self, off: bool) -> Result<(), String>;

    /// Goes back to a copy of the workspace; says what was done.
    fn roll_back<'a>(
        &'a self,
        copy: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Writes a conversation to a file, Markdown or JSON lines by its ending; says where.
    fn save<'a>(
        &'a self,
        session: &'a SessionId,
        file: &'a str,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Follows the configured MCP servers: when asked, now; else where the file has changed since
    /// the last look. Nothing when there is nothing to follow.
    fn refresh_servers<'a>(
        &'a self,
        _asked: bool,
        _choice: &'a Choice,
    ) -> BoxFuture<'a, Result<Option<Refreshed>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The next message that a plugin puts into the conversation; never comes where none can.
    fn injected(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }
}
