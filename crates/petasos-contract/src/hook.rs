//! Hooks: other people's code at named moments.
//!
//! A hook says which moments it wants, so that a moment nobody wants costs one integer test. What
//! a hook may answer depends on the moment; the bus ignores, with a warning, what does not fit.

mod about;

use std::fmt::Debug;
use std::time::Duration;

use crate::BoxFuture;
use crate::approval::Answer;
use crate::args::Args;
use crate::context::CallContext;
use crate::reply::{ModelError, Reply};

pub use about::{
    ApprovalMoment, BoardMoment, ChildEnd, ChildMoment, Finished, GatewayMoment, ReplyMoment,
    RequestMoment, RunMoment, SessionMoment, TerminalMoment, ToolMoment, TurnMoment, VerifyMoment,
};

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

            /// The moment of a name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
            }

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

impl HookKind {
    /// Whether an answer to it changes anything. The others only look on.
    pub const fn decides(self) -> bool {
        matches!(
            self,
            Self::PreToolCall
                | Self::TransformToolResult
                | Self::TransformTerminalOutput
                | Self::TransformLlmOutput
                | Self::PreLlmCall
                | Self::PreVerify
                | Self::PreGatewayDispatch
        )
    }

    /// How long a hook may take when nobody says otherwise: whoever only looks on must not hold up
    /// the one who works.
    pub const fn deadline(self) -> Duration {
        if self.decides() { Duration::from_mins(1) } else { Duration::from_secs(10) }
    }
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
    /// A foreground command's output may be replaced.
    TransformTerminalOutput(&'a TerminalMoment<'a>),
    /// A reply may be replaced.
    TransformLlmOutput(&'a ReplyMoment<'a>),
    /// Something may be added to what the user said.
    PreLlmCall(&'a TurnMoment<'a>),
    /// The turn's reply is there.
    PostLlmCall(&'a TurnMoment<'a>, &'a str),
    /// The turn is about to end.
    PreVerify(&'a VerifyMoment<'a>),
    /// A request goes out.
    PreApiRequest(&'a RequestMoment<'a>),
    /// It was answered.
    PostApiRequest(&'a RequestMoment<'a>, &'a Reply),
    /// It failed for good.
    ApiRequestError(&'a RequestMoment<'a>, &'a ModelError),
    /// A new session.
    OnSessionStart(&'a SessionMoment<'a>),
    /// The end of a run.
    OnSessionEnd(&'a RunMoment<'a>),
    /// A session is left for good.
    OnSessionFinalize(&'a SessionMoment<'a>),
    /// A session is replaced.
    OnSessionReset(&'a SessionMoment<'a>),
    /// A subagent starts.
    SubagentStart(&'a ChildMoment<'a>),
    /// A subagent ended.
    SubagentStop(&'a ChildMoment<'a>, &'a ChildEnd<'a>),
    /// A chat message arrived.
    PreGatewayDispatch(&'a GatewayMoment<'a>),
    /// Somebody is about to be asked.
    PreApprovalRequest(&'a ApprovalMoment<'a>),
    /// Somebody answered.
    PostApprovalResponse(&'a ApprovalMoment<'a>, &'a Answer),
    /// A board task was taken.
    KanbanTaskClaimed(&'a BoardMoment<'a>),
    /// A board task was finished.
    KanbanTaskCompleted(&'a BoardMoment<'a>),
    /// A board task cannot go on.
    KanbanTaskBlocked(&'a BoardMoment<'a>),
}

impl Moment<'_> {
    /// Its place in the catalogue.
    pub fn kind(&self) -> HookKind {
        match self {
            Self::PreToolCall(_) => HookKind::PreToolCall,
            Self::PostToolCall(..) => HookKind::PostToolCall,
            Self::TransformToolResult(..) => HookKind::TransformToolResult,
            Self::TransformTerminalOutput(_) => HookKind::TransformTerminalOutput,
            Self::TransformLlmOutput(_) => HookKind::TransformLlmOutput,
            Self::PreLlmCall(_) => HookKind::PreLlmCall,
            Self::PostLlmCall(..) => HookKind::PostLlmCall,
            Self::PreVerify(_) => HookKind::PreVerify,
            Self::PreApiRequest(_) => HookKind::PreApiRequest,
            Self::PostApiRequest(..) => HookKind::PostApiRequest,
            Self::ApiRequestError(..) => HookKind::ApiRequestError,
            Self::OnSessionStart(_) => HookKind::OnSessionStart,
            Self::OnSessionEnd(_) => HookKind::OnSessionEnd,
            Self::OnSessionFinalize(_) => HookKind::OnSessionFinalize,
            Self::OnSessionReset(_) => HookKind::OnSessionReset,
            Self::SubagentStart(_) => HookKind::SubagentStart,
            Self::SubagentStop(..) => HookKind::SubagentStop,
            Self::PreGatewayDispatch(_) => HookKind::PreGatewayDispatch,
            Self::PreApprovalRequest(_) => HookKind::PreApprovalRequest,
            Self::PostApprovalResponse(..) => HookKind::PostApprovalResponse,
            Self::KanbanTaskClaimed(_) => HookKind::KanbanTaskClaimed,
            Self::KanbanTaskCompleted(_) => HookKind::KanbanTaskCompleted,
            Self::KanbanTaskBlocked(_) => HookKind::KanbanTaskBlocked,
        }
    }

    /// The surroundings, for every moment that has them.
    pub fn cx(&self) -> Option<&CallContext> {
        match self {
            Self::PreToolCall(about)
            | Self::PostToolCall(about, _)
            | Self::TransformToolResult(about, _) => Some(about.cx),
            Self::TransformTerminalOutput(about) => Some(about.cx),
            Self::TransformLlmOutput(about) => Some(about.cx),
            Self::PreLlmCall(about) | Self::PostLlmCall(about, _) => Some(about.cx),
            Self::PreVerify(about) => Some(about.cx),
            Self::PreApiRequest(about)
            | Self::PostApiRequest(about, _)
            | Self::ApiRequestError(about, _) => Some(about.cx),
            Self::OnSessionStart(about)
            | Self::OnSessionFinalize(about)
            | Self::OnSessionReset(about) => Some(about.cx),
            Self::OnSessionEnd(about) => Some(about.cx),
            Self::SubagentStart(about) | Self::SubagentStop(about, _) => Some(about.cx),
            Self::PreApprovalRequest(about) | Self::PostApprovalResponse(about, _) => {
                Some(about.cx)
            }
            Self::PreGatewayDispatch(_)
            | Self::KanbanTaskClaimed(_)
            | Self::KanbanTaskCompleted(_)
            | Self::KanbanTaskBlocked(_) => None,
        }
    }
}

/// Shows moments to whoever wants them; the hook bus, as those see it who cannot know it.
pub trait Moments: Send + Sync {
    /// Whether anybody wants this moment.
    fn wants(&self, kind: HookKind) -> bool;

    /// Shows it; nobody can change anything.
    fn tell<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, ()>;

    /// Shows it; gives the first replacement.
    fn replace<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Option<String>>;
}

/// What a hook wants.
#[derive(Debug, Clone, PartialEq)]
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
    /// The call with these arguments; policy judges the new ones.
    Rewrite(Args),
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

    /// How long it may take; the bus ends it then.
    fn deadline(&self, kind: HookKind) -> Duration {
        kind.deadline()
    }

    /// Answers a moment. The bus owns deadline and panic fence.
    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>>;
}
