//! What each moment is about. Borrowed from whoever is in the middle of something, so that a
//! moment nobody wants costs nothing to describe.

use std::time::Duration;

use serde_json::Value;

use crate::approval::ApprovalRequest;
use crate::args::Args;
use crate::call::Status;
use crate::context::CallContext;
use crate::id::{SessionId, ToolName};
use crate::message::Message;
use crate::middleware::Rewritten;
use crate::model::{Prompt, Role};

/// The call a tool moment is about.
#[derive(Debug)]
pub struct ToolMoment<'a> {
    /// The tool, after any bridge was unwrapped.
    pub tool: &'a ToolName,
    /// The final arguments; empty when they could not be parsed.
    pub args: &'a Args,
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// What request middleware did to the arguments.
    pub rewrites: &'a [Rewritten],
}

/// How a call ended, for the moments after it.
#[derive(Debug)]
pub struct Finished<'a> {
    /// What the model would read.
    pub result: &'a str,
    /// How it ended.
    pub status: Status,
    /// How long it took.
    pub duration_ms: u64,
    /// The kind of failure.
    pub error_type: Option<&'static str>,
    /// The failure's text.
    pub error_message: Option<&'a str>,
}

/// Output of a foreground command.
#[derive(Debug)]
pub struct TerminalMoment<'a> {
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// What ran.
    pub command: &'a str,
    /// What it wrote.
    pub output: &'a str,
    /// How it ended, as a shell would show it.
    pub returncode: i32,
    /// The kind of place: `local`, `docker`.
    pub env_type: &'a str,
}

/// A turn: what somebody said, before and after the model worked on it.
#[derive(Debug)]
pub struct TurnMoment<'a> {
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// The model as chosen; empty means the configured one.
    pub model: &'a str,
    /// What was said.
    pub user_message: &'a str,
    /// The conversation so far.
    pub history: &'a [Message],
    /// Whether nothing was said before.
    pub is_first_turn: bool,
    /// Who said it, on surfaces with several people.
    pub sender: Option<&'a str>,
}

/// A reply on its way to the user.
#[derive(Debug)]
pub struct ReplyMoment<'a> {
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// The model.
    pub model: &'a str,
    /// Its words.
    pub text: &'a str,
}

/// A turn that is about to end.
#[derive(Debug)]
pub struct VerifyMoment<'a> {
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// The model.
    pub model: &'a str,
    /// How often the turn was kept going already.
    pub attempt: u32,
    /// What the model wants to end with.
    pub final_response: &'a str,
    /// Files that the turn changed.
    pub changed_paths: &'a [String],
}

/// A request to a model.
#[derive(Debug)]
pub struct RequestMoment<'a> {
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// For what.
    pub role: Role,
    /// This request's own identity.
    pub request_id: &'a str,
    /// What is asked.
    pub prompt: &'a Prompt,
    /// The how-manieth request of this program's session it is.
    pub call_count: u64,
    /// Seconds since 1970 when it began.
    pub started_at: f64,
    /// What request middleware did to it.
    pub rewrites: &'a [Rewritten],
    /// How long it took, once it is over.
    pub took: Duration,
}

/// A session's beginning, or one of its borders.
#[derive(Debug)]
pub struct SessionMoment<'a> {
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// The model.
    pub model: &'a str,
    /// `new_session`, `shutdown`, `session_expired` or `session_boundary`.
    pub reason: &'a str,
    /// The session that is left.
    pub old: Option<&'a SessionId>,
    /// The session that is entered.
    pub new: Option<&'a SessionId>,
}

/// The end of a run.
#[derive(Debug)]
pub struct RunMoment<'a> {
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// The model.
    pub model: &'a str,
    /// Whether it ended with a reply.
    pub completed: bool,
    /// Whether somebody interrupted it.
    pub interrupted: bool,
    /// Why it ended otherwise.
    pub reason: Option<&'a str>,
}

/// A subagent.
#[derive(Debug)]
pub struct ChildMoment<'a> {
    /// The parent's surroundings.
    pub cx: &'a CallContext,
    /// The child's conversation.
    pub child: &'a SessionId,
    /// `leaf` or `orchestrator`.
    pub role: &'a str,
    /// What it is to do.
    pub goal: &'a str,
}

/// What came of a subagent.
#[derive(Debug)]
pub struct ChildEnd<'a> {
    /// What it says.
    pub summary: &'a str,
    /// `completed`, `failed`, `interrupted` or `timeout`.
    pub status: &'a str,
    /// How long it took.
    pub duration_ms: u64,
}

/// A message from a chat platform, before anybody knows whether its sender may speak.
#[derive(Debug)]
pub struct GatewayMoment<'a> {
    /// The platform.
    pub platform: &'a str,
    /// The message as the surface knows it.
    pub event: &'a Value,
}

/// A question to a person or a reviewer.
#[derive(Debug)]
pub struct ApprovalMoment<'a> {
    /// Who, where, which session.
    pub cx: &'a CallContext,
    /// The question.
    pub request: &'a ApprovalRequest,
}

/// A task on a board.
#[derive(Debug)]
pub struct BoardMoment<'a> {
    /// The task.
    pub task_id: &'a str,
    /// The board.
    pub board: &'a str,
    /// Who has it.
    pub assignee: &'a str,
    /// Which run.
    pub run_id: &'a str,
    /// The profile it runs in.
    pub profile: &'a str,
    /// The summary of a finished task, or why it cannot go on.
    pub note: Option<&'a str>,
}
