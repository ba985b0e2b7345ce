//! What happens in a run, in the words that are stored and told.

use petasos_contract::reply::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorBody;

/// How a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    /// It waits for its turn.
    Queued,
    /// It works.
    Running,
    /// Somebody must agree to something.
    WaitingForApproval,
    /// Somebody must answer something.
    WaitingForInput,
    /// It was told to stop.
    Stopping,
    /// It has an answer.
    Completed,
    /// It has none.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// Its client or its process went away.
    Interrupted,
}

impl RunStatus {
    /// Its word.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::WaitingForApproval => "waiting_for_approval",
            Self::WaitingForInput => "waiting_for_input",
            Self::Stopping => "stopping",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether nothing follows.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted)
    }

    pub(crate) fn named(word: &str) -> Option<Self> {
        serde_json::from_value(Value::from(word)).ok()
    }
}

/// What a turn used, in tokens.
#[expect(clippy::struct_field_names, reason = "clients know them by these names")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Spent {
    /// Read, the cache included.
    pub(crate) input_tokens: u64,
    /// Read from the cache.
    pub(crate) cached_tokens: u64,
    /// Written, reasoning included.
    pub(crate) output_tokens: u64,
    /// How much of that was reasoning.
    pub(crate) reasoning_tokens: u64,
    /// Both together.
    pub(crate) total_tokens: u64,
}

impl From<&Usage> for Spent {
    fn from(usage: &Usage) -> Self {
        let (input_tokens, output_tokens) = (usage.prompt(), usage.output);
        Self {
            input_tokens,
            cached_tokens: usage.cache_read,
            output_tokens,
            reasoning_tokens: usage.reasoning,
            total_tokens: input_tokens.saturating_add(output_tokens),
        }
    }
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub(crate) enum RunEvent {
    /// Its turn begins.
    #[serde(rename = "run.started")]
    Started {},
    /// A piece of the answer.
    #[serde(rename = "message.delta")]
    Text {
        /// The piece.
        delta: String,
    },
    /// What the model thought.
    #[serde(rename = "reasoning.available")]
    Reasoning {
        /// The piece.
        text: String,
    },
    /// The model uses a tool.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool: String,
        /// The beginning of the arguments, for people.
        preview: String,
        /// The arguments; secrets masked.
        arguments: String,
    },
    /// The tool has given something back.
    #[serde(rename = "tool.completed")]
    ToolCompleted {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool: String,
        /// How long it took, in seconds.
        duration: f64,
        /// Whether it failed.
        error: bool,
        /// The beginning of what it gave back; secrets masked.
        output: String,
    },
    /// Somebody must agree, or nobody was there to.
    #[serde(rename = "approval.request")]
    ApprovalRequest {
        /// Names the request.
        approval_id: String,
        /// The tool.
        tool: String,
        /// What would happen and why it is asked.
        text: String,
        /// What can be answered.
        choices: Vec<String>,
        /// Until when, in seconds since 1970.
        expires_at: i64,
        /// `open`, or `denied` when nobody could be asked.
        state: String,
    },
    /// A request for approval is closed.
    #[serde(rename = "approval.responded")]
    ApprovalResponded {
        /// Which.
        approval_id: String,
        /// `answered`, `expired` or `withdrawn`.
        state: String,
    },
    /// The model wants to know something.
    #[serde(rename = "input.request")]
    InputRequest {
        /// Names the question.
        input_id: String,
        /// The question.
        text: String,
        /// Answers to choose from; none means any.
        choices: Vec<String>,
        /// Until when, in seconds since 1970.
        expires_at: i64,
    },
    /// It has an answer.
    #[serde(rename = "run.completed")]
    Completed {
        /// The whole answer.
        output: String,
        /// What it used.
        usage: Spent,
        /// Why it ended: `stop`, `length` or `content_filter`.
        finish_reason: String,
    },
    /// It has none.
    #[serde(rename = "run.failed")]
    Failed {
        /// Why.
        error: ErrorBody,
        /// The HTTP status of that.
        status: u16,
    },
    /// It was stopped.
    #[serde(rename = "run.cancelled")]
    Cancelled {
        /// What there was of an answer.
        output: String,
        /// What it used.
        usage: Spent,
        /// `cancelled` or `interrupted`.
        status: RunStatus,
    },
}

impl RunEvent {
    /// Its word.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Started {} => "run.started",
            Self::Text { .. } => "message.delta",
            Self::Reasoning { .. } => "reasoning.available",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolCompleted { .. } => "tool.completed",
            Self::ApprovalRequest { .. } => "approval.request",
            Self::ApprovalResponded { .. } => "approval.responded",
            Self::InputRequest { .. } => "input.request",
            Self::Completed { .. } => "run.completed",
            Self::Failed { .. } => "run.failed",
            Self::Cancelled { .. } => "run.cancelled",
        }
    }

    /// How the run is behind it, where it says so.
    pub(crate) fn status(&self) -> Option<RunStatus> {
        Some(match self {
            Self::Started {} | Self::ApprovalResponded { .. } => RunStatus::Running,
            Self::ApprovalRequest { state, .. } if state == "open" => RunStatus::WaitingForApproval,
            Self::InputRequest { .. } => RunStatus::WaitingForInput,
            Self::Completed { .. } => RunStatus::Completed,
            Self::Failed { .. } => RunStatus::Failed,
            Self::Cancelled { status, .. } => *status,
            _ => return None,
        })
    }
}
