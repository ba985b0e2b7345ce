//! What sessions need from the program around them, and cannot know themselves: providers, settings,
//! checkpoints, files.

use petasos_agent::engine::Choice;
use petasos_contract::approval::ApprovalRequest;
use petasos_contract::message::Content;
use petasos_contract::{BoxFuture, CallContext, SessionId};

use crate::limits::SessionLimits;
use crate::offers::{Offer, OfferKind};

/// What the program can describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Topic {
    /// The tools of a choice, and why others are not there.
    Tools,
    /// The toolsets.
    Toolsets,
    /// The names of the chosen toolsets of which something works here, in one line.
    Usable,
    /// The providers, and whether a key is at hand.
    Providers,
    /// Who answers now, and why.
    Provider,
    /// The models that the provider offers.
    Models,
    /// A configuration value, or the file.
    Config,
    /// The checkpoints of the workspace.
    Checkpoints,
}

/// Another model than the configured one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelChoice {
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
    pub summary: String,
}

/// The program around the sessions. Texts are Markdown, errors say what to do next.
pub trait Services: Send + Sync {
    /// The surroundings of a turn.
    fn context(&self, session: &SessionId) -> CallContext;

    /// Describes something, or the part of it that is named.
    fn describe<'a>(
        &'a self,
        topic: Topic,
        about: &'a str,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// The models of the provider, or the checkpoints of the workspace, to choose from.
    fn offers<'a>(
        &'a self,
        _kind: OfferKind,
        _choice: &'a Choice,
    ) -> BoxFuture<'a, Result<Vec<Offer>, String>> {
        Box::pin(std::future::ready(Err("there is nothing to choose from here".to_owned())))
    }

    /// An approval as a person reads it: what would happen and why it is asked, secrets redacted,
    /// the place that made it be asked marked, in colour or with signs.
    fn approval_text(&self, request: &ApprovalRequest, colour: bool) -> String;

    /// Whether the model can be asked; says in one line who would answer.
    fn resolve<'a>(&'a self, choice: &'a ModelChoice) -> BoxFuture<'a, Result<String, String>>;

    /// What is wrong with these names of toolsets, if anything.
    fn unknown_toolset(&self, _names: &[String]) -> Option<String> {
        None
    }

    /// Makes the model that of every later conversation; says where.
    fn save_model(&self, choice: &ModelChoice) -> Result<String, String>;

    /// Whether approvals are off.
    fn approvals_off(&self) -> bool;

    /// Turns approvals off for this program, or on again.
    fn set_approvals_off(&self, off: bool) -> Result<(), String>;

    /// Restores a checkpoint of the workspace; says what was done.
    fn restore<'a>(
        &'a self,
        checkpoint: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Writes a conversation to a file, Markdown or JSON lines by its ending; says where.
    fn export<'a>(
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

    /// What of a message goes into the conversation: pictures within their limits, and as words
    /// where the model does not see. An error is why the message is not taken.
    fn taken<'a>(
        &'a self,
        content: Content,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Content, String>> {
        Box::pin(std::future::ready(Ok(content)))
    }

    /// How many sessions live and work at once, and when one goes cold.
    fn limits(&self) -> SessionLimits {
        SessionLimits::default()
    }

    /// The next message that a plugin puts into a conversation; never comes where none can.
    fn injected(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }
}
