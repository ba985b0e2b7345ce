//! Hooks: other people's code at named moments.
//!
//! A hook says which moments it wants, so that a moment nobody wants costs one integer test. What
//! a hook may answer depends on the moment; the bus ignores, with a warning, what does not fit.

use std::fmt::Debug;

use crate::BoxFuture;
use crate::args::Args;
use crate::call::Status;
use crate::context::CallContext;
use crate::id::ToolName;

macro_rules! moments {
    ($($(#[$doc:meta])* $variant:ident => $name:literal),+ $(,)?) => {
        /// The catalogue of moments.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum HookKind {
            $($(#[$doc])* $variant),+
        }

        impl HookKind {
            /// Every moment, in catalogue order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in configuration and plugins.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

moments! {
    /// Before a tool runs; may block or ask.
    PreToolCall => "pre_tool_call",
    /// After a tool ran, or was refused.
    PostToolCall => "post_tool_call",
    /// May replace a result.
    TransformToolResult => "transform_tool_result",
    /// May replace foreground terminal output.
    TransformTerminalOutput => "transform_terminal_output",
    /// May replace a reply.
    TransformLlmOutput => "transform_llm_output",
    /// May add context to a user's message.
    PreLlmCall => "pre_llm_call",
    /// After a turn's reply.
    PostLlmCall => "post_llm_call",
    /// May keep a turn going.
    PreVerify => "pre_verify",
    /// Before a request to a provider.
    PreApiRequest => "pre_api_request",
    /// After a provider answered.
    PostApiRequest => "post_api_request",
    /// A request to a provider failed.
    ApiRequestError => "api_request_error",
    /// A new session.
    OnSessionStart => "on_session_start",
    /// The end of a run.
    OnSessionEnd => "on_session_end",
    /// A session is left for good.
    OnSessionFinalize => "on_session_finalize",
    /// A session is replaced by a new one.
    OnSessionReset => "on_session_reset",
    /// A subagent starts.
    SubagentStart => "subagent_start",
    /// A subagent ended.
    SubagentStop => "subagent_stop",
    /// A chat message, before authorisation.
    PreGatewayDispatch => "pre_gateway_dispatch",
    /// Somebody is about to be asked.
    PreApprovalRequest => "pre_approval_request",
    /// Somebody answered.
    PostApprovalResponse => "post_approval_response",
    /// A board task was taken.
    KanbanTaskClaimed => "kanban_task_claimed",
    /// A board task was finished.
    KanbanTaskCompleted => "kanban_task_completed",
    /// A board task cannot go on.
    KanbanTaskBlocked => "kanban_task_blocked",
}

/// A set of moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookSet(u32);

impl HookSet {
    /// No moment.
    pub const EMPTY: Self = Self(0);

    /// These moments.
    pub fn of(kinds: &[HookKind]) -> Self {
        kinds.iter().fold(Self::EMPTY, |set, kind| set.with(*kind))
    }

    /// One more moment.
    #[must_use]
    pub const fn with(self, kind: HookKind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the moment is in the set.
    pub const fn has(self, kind: HookKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }
}

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
    pub rewrites: &'a [crate::middleware::Rewritten],
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

/// One moment with what belongs to it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Moment<'a> {
    /// Before a tool runs.
    PreToolCall(&'a ToolMoment<'a>),
    /// After it ended.
    PostToolCall(&'a ToolMoment<'a>, &'a Finished<'a>),
    /// Its result may be replaced.
    TransformToolResult(&'a ToolMoment<'a>, &'a Finished<'a>),
}

impl Moment<'_> {
    /// Its place in the catalogue.
    pub fn kind(&self) -> HookKind {
        match self {
            Self::PreToolCall(_) => HookKind::PreToolCall,
            Self::PostToolCall(..) => HookKind::PostToolCall,
            Self::TransformToolResult(..) => HookKind::TransformToolResult,
        }
    }
}

/// What a hook wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive {
    /// Nothing.
    Pass,
    /// The call must not run; the model reads this.
    Block(String),
    /// A person must agree first.
    AskHuman {
        /// Why.
        message: String,
        /// What "always" would be remembered under.
        rule_key: Option<String>,
    },
    /// This text instead.
    Replace(String),
    /// This text in addition.
    Append(String),
}

/// What a broken hook means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The call goes on.
    Pass,
    /// The call is refused: the hook is a policy.
    Block,
}

/// A hook that could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Somebody's code at a moment.
pub trait Hook: Send + Sync {
    /// Who it is, for logs and refusals.
    fn name(&self) -> &str;

    /// Which moments it wants.
    fn wants(&self) -> HookSet;

    /// What its failure means.
    fn on_failure(&self) -> OnFailure {
        OnFailure::Pass
    }

    /// Answers a moment. The bus owns deadline and panic fence.
    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>>;
}
