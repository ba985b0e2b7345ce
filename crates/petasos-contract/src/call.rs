//! A tool call and the one result it always gets.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::id::{CallId, ToolName};
use crate::output::{Multimodal, ToolOutput};

/// A call as the model (or anyone else) wrote it: the arguments are still text.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's name for this call.
    pub id: CallId,
    /// The tool.
    pub name: ToolName,
    /// The arguments, as they came.
    pub arguments: RawArguments,
}

/// Arguments before the door has parsed them.
#[derive(Debug, Clone, PartialEq)]
pub enum RawArguments {
    /// JSON text, from a model.
    Text(String),
    /// Already an object, from code.
    Object(Map<String, Value>),
}

impl ToolCall {
    /// A call with arguments as text.
    pub fn new(
        id: impl Into<CallId>,
        name: impl Into<ToolName>,
        arguments: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: RawArguments::Text(arguments.into()) }
    }
}

/// Whether the call did anything, for whoever must repair a conversation later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// It ran to its end.
    Done,
    /// It did not run.
    None,
    /// It may have run.
    Unknown,
}

/// How a call ended, as hooks, logs and guardrails see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It gave a result that is not an error.
    Ok,
    /// It failed, or its result says so.
    Error,
    /// Something on the way refused it.
    Blocked,
    /// It was cancelled.
    Cancelled,
    /// It ran out of time.
    Timeout,
}

impl Status {
    /// The name used by hooks.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
        }
    }
}

/// What the model reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text, usually JSON.
    Text(String),
    /// Text and images.
    Multimodal(Multimodal),
}

impl Content {
    /// The text, or the text parts.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Multimodal(parts) => parts.text(),
        }
    }

    /// How many characters of text a budget counts.
    pub fn chars(&self) -> usize {
        match self {
            Self::Text(text) => text.chars().count(),
            Self::Multimodal(parts) => parts.text().chars().count(),
        }
    }
}

/// The one result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Which call it answers.
    pub id: CallId,
    /// The tool that really ran, after any bridge was unwrapped.
    pub name: ToolName,
    /// What the model reads.
    pub content: Content,
    /// How it ended.
    pub status: Status,
    /// Whether anything may have happened.
    pub disposition: Disposition,
    /// A stable word for the kind of failure, such as `plugin_block`.
    pub error_type: Option<&'static str>,
    /// How long it took.
    pub duration_ms: u64,
    /// The turn should end with a controlled reply.
    pub halts_turn: bool,
}

impl ToolResult {
    /// The result of a call that was refused, lost or not started: the one shape of them all.
    pub fn refused(call: &ToolCall, refusal: &Refusal, disposition: Disposition) -> Self {
        let content = match refusal.output() {
            ToolOutput::Text(text) | ToolOutput::Untrusted(text) => Content::Text(text),
            ToolOutput::Multimodal(parts) => Content::Multimodal(parts),
            ToolOutput::Foreign(value) => Content::Text(value.to_string()),
        };
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            content,
            status: refusal.kind.status(),
            disposition,
            error_type: Some(refusal.kind.error_type()),
            duration_ms: 0,
            halts_turn: false,
        }
    }
}

/// Why a call was not run, or not to its end, in words for the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// The text under `error`: what happened and what to do next.
    pub message: String,
    /// Keys beside `error`.
    pub extra: Map<String, Value>,
}

/// Kinds of refusal, told apart by the model, by hooks and by the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The arguments are not a JSON object.
    BadArguments,
    /// No such tool.
    Unknown,
    /// The tool is not part of this session.
    OutOfScope,
    /// The agent loop owns this tool.
    AgentLoop,
    /// A hook said no.
    Hook,
    /// A loop guardrail said no.
    Guardrail,
    /// A rule said no and nobody can overrule it.
    Policy,
    /// The session only plans so far.
    PlanMode,
    /// Somebody who was asked said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// Nobody could be asked.
    Undeliverable,
    /// The reviewing model could not be reached.
    ReviewerUnavailable,
    /// What was about to run is not what was approved.
    Altered,
    /// The call was cancelled.
    Cancelled,
    /// The deadline passed.
    Timeout,
    /// The handler failed (inner wrap).
    Failed,
    /// Something around the handler failed (outer wrap).
    Broken,
    /// The worker of a batch ended without a result.
    Lost,
    /// The handler gave a result that breaks the contract.
    Contract,
}

impl RefusalKind {
    /// The stable word for `error_type`.
    pub fn error_type(self) -> &'static str {
        match self {
            Self::BadArguments => "invalid_arguments",
            Self::Unknown => "unknown_tool",
            Self::OutOfScope => "tool_scope_block",
            Self::AgentLoop => "agent_loop_tool",
            Self::Hook => "plugin_block",
            Self::Guardrail => "guardrail_block",
            Self::Policy => "policy_block",
            Self::PlanMode => "plan_mode",
            Self::Denied => "approval_denied",
            Self::Expired => "approval_expired",
            Self::Undeliverable => "approval_undeliverable",
            Self::ReviewerUnavailable => "reviewer_unavailable",
            Self::Altered => "approval_altered",
            Self::Cancelled => "keyboard_interrupt",
            Self::Timeout => "tool_timeout",
            Self::Failed => "tool_error",
            Self::Broken => "dispatch_error",
            Self::Lost => "thread_missing_result",
            Self::Contract => "tool_result_contract",
        }
    }

    /// How hooks and logs see it.
    pub fn status(self) -> Status {
        match self {
            Self::Cancelled => Status::Cancelled,
            Self::Timeout => Status::Timeout,
            Self::BadArguments
            | Self::Unknown
            | Self::Failed
            | Self::Broken
            | Self::Lost
            | Self::Contract => Status::Error,
            Self::OutOfScope
            | Self::AgentLoop
            | Self::Hook
            | Self::Guardrail
            | Self::Policy
            | Self::PlanMode
            | Self::Denied
            | Self::Expired
            | Self::Undeliverable
            | Self::ReviewerUnavailable
            | Self::Altered => Status::Blocked,
        }
    }

    /// Whether the tool may have acted.
    pub fn disposition(self) -> Disposition {
        match self {
            Self::Failed | Self::Timeout | Self::Cancelled | Self::Broken | Self::Lost => {
                Disposition::Unknown
            }
            Self::Contract => Disposition::Done,
            Self::BadArguments
            | Self::Unknown
            | Self::OutOfScope
            | Self::AgentLoop
            | Self::Hook
            | Self::Guardrail
            | Self::Policy
            | Self::PlanMode
            | Self::Denied
            | Self::Expired
            | Self::Undeliverable
            | Self::ReviewerUnavailable
            | Self::Altered => Disposition::None,
        }
    }
}

impl Refusal {
    /// A refusal with nothing beside its message.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), extra: Map::new() }
    }

    /// Adds a key beside `error`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(key.to_owned(), value.into());
        self
    }

    /// The common shape: `{"error": message, …}`.
    pub fn output(&self) -> ToolOutput {
        if self.extra.is_empty() {
            return ToolOutput::Text(json!({ "error": self.message }).to_string());
        }
        ToolOutput::error(self.message.clone(), self.extra.clone())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
