//! What travels with a call: who asks, from where, for which session, until when.
//!
//! A context is immutable and built once per call by its owner. Nothing a tool needs to decide is
//! read from the process; it is here or it is not known.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::address::Address;
use crate::event::EventSink;
use crate::id::{CallId, SessionId, TaskId, ToolName, TurnId};
use crate::plan::EditApproval;
use crate::ports::Ports;
use crate::seat::Seat;
use crate::settings::Settings;
use crate::taint::{Provenance, Taint, Unheard};
use crate::wait::Pauses;

/// What kind of place a session lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Surface {
    /// An interactive terminal.
    Cli,
    /// One command without a conversation, such as `petasos tools call`.
    OneShot,
    /// A chat platform.
    Gateway,
    /// A scheduled job.
    Cron,
    /// An editor.
    Acp,
    /// An MCP client that uses our tools.
    Mcp,
    /// The HTTP interface.
    ApiServer,
    /// A program that embeds the crates.
    Embedded,
}

impl Surface {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::OneShot => "one_shot",
            Self::Gateway => "gateway",
            Self::Cron => "cron",
            Self::Acp => "acp",
            Self::Mcp => "mcp",
            Self::ApiServer => "api_server",
            Self::Embedded => "embedded",
        }
    }

    /// Whether a session there goes on after a turn, so that it can be told something later.
    pub const fn outlives_turn(self) -> bool {
        !matches!(self, Self::OneShot | Self::Cron | Self::ApiServer)
    }

    /// What a context starts with: whoever builds one for a turn knows better.
    const fn is_usually_attended(self) -> bool {
        !matches!(self, Self::Cron | Self::ApiServer | Self::Embedded)
    }
}

/// Who makes the call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Principal {
    /// The model of the main conversation.
    Model,
    /// A model working for another one.
    Subagent,
    /// A model that looks over a turn after its end, and may keep what was learned.
    Review,
    /// A script run by `execute_code`.
    Code,
    /// A person, directly.
    Person,
    /// A client of our MCP server.
    McpClient,
    /// A plugin, by name.
    Plugin(String),
}

/// Which tools a caller may use. A child never has more than its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// Every registered tool.
    All,
    /// These and no others.
    Only(BTreeSet<ToolName>),
}

impl Grant {
    /// Whether the tool may be used.
    pub fn allows(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(tools) => tools.contains(tool),
        }
    }

    /// What both allow.
    #[must_use]
    pub fn intersect(&self, child: &Self) -> Self {
        match (self, child) {
            (Self::All, other) | (other, Self::All) => other.clone(),
            (Self::Only(ours), Self::Only(theirs)) => {
                Self::Only(ours.intersection(theirs).cloned().collect())
            }
        }
    }
}

/// How far a session may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// As far as policy and people let it.
    #[default]
    Work,
    /// It looks and plans; whatever changes something waits until a person says go.
    Plan,
}

/// Everything a call is told about its surroundings.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Who asks.
    pub principal: Principal,
    /// From where.
    pub surface: Surface,
    /// Where the conversation is reached.
    pub address: Arc<Address>,
    /// Whether a person can be asked. Where nobody can, what needs consent is refused and commands
    /// are confined unless a person chose otherwise beforehand.
    pub attended: bool,
    /// Whose words the conversation has taken in.
    pub words: Arc<dyn Provenance>,
    /// The label of what the conversation begins with, such as a job that a page dictated.
    pub taint: Taint,
    /// For which conversation.
    pub session: SessionId,
    /// The conversation of a person that this one works for, when it is a subagent's.
    pub root: Option<SessionId>,
    /// In which isolation.
    pub task: TaskId,
    /// In which turn.
    pub turn: TurnId,
    /// Which call of the turn.
    pub call: CallId,
    /// How many delegations deep.
    pub depth: u8,
    /// What the caller may use.
    pub grant: Arc<Grant>,
    /// Configuration, environment and secrets, as they were when the turn began.
    pub settings: Arc<Settings>,
    /// The directory that relative paths start from.
    pub workspace: Arc<Path>,
    /// When whoever calls gives up. Beside this a tool has a limit of its own.
    pub deadline: Instant,
    /// What people take to answer meanwhile, which moves every deadline.
    pub pauses: Arc<Pauses>,
    /// Ends the call early.
    pub cancel: CancellationToken,
    /// Where progress is told.
    pub events: EventSink,
    /// Which edits a person wants to see first; an editor's session chooses.
    pub edit_approval: EditApproval,
    /// Whether it only plans so far.
    pub phase: Phase,
    /// The context window of the model that reads the results, in tokens, where it is known.
    pub window: Option<u64>,
    /// The loop's own state, lent to the tools that belong to it.
    pub seat: Option<Arc<dyn Seat>>,
}

/// The longest a tool may run that states no limit of its own: the 600 s of the usual longest
/// foreground command and a minute to wind it up.
pub const CALL_DEADLINE: Duration = Duration::from_mins(11);
/// When a caller gives up that has no reason to do so earlier.
pub const CALLER_DEADLINE: Duration = Duration::from_hours(24);

impl CallContext {
    /// A context for one session on one surface, with everything else at its widest.
    pub fn new(settings: Arc<Settings>, surface: Surface, session: SessionId) -> Self {
        Self {
            principal: Principal::Model,
            surface,
            address: Arc::new(Address::of(surface, &session)),
            attended: surface.is_usually_attended(),
            words: Arc::new(Unheard),
            taint: Taint::NONE,
            session,
            root: None,
            task: TaskId::new("default"),
            turn: TurnId::new("turn-0"),
            call: CallId::new("call-0"),
            depth: 0,
            grant: Arc::new(Grant::All),
            workspace: settings.workspace().clone(),
            settings,
            deadline: Instant::now() + CALLER_DEADLINE,
            pauses: Arc::default(),
            cancel: CancellationToken::new(),
            events: EventSink::silent(),
            edit_approval: EditApproval::ByPolicy,
            phase: Phase::Work,
            window: None,
            seat: None,
        }
    }

    /// The same surroundings with or without a person who can be asked.
    #[must_use]
    pub fn attended(self, attended: bool) -> Self {
        Self { attended, ..self }
    }

    /// The same surroundings in another place.
    #[must_use]
    pub fn at(self, address: Arc<Address>) -> Self {
        Self { address, ..self }
    }

    /// The same surroundings for a conversation that begins with words of these origins.
    #[must_use]
    pub fn tainted(self, by: Taint) -> Self {
        Self { taint: self.taint.with(by), ..self }
    }

    /// The label of what the conversation keeps now.
    pub fn label(&self) -> Taint {
        self.taint.with(self.words.label())
    }

    /// The conversation of the person at its beginning: its own, or the one it works for.
    pub fn origin(&self) -> &SessionId {
        self.root.as_ref().unwrap_or(&self.session)
    }

    /// The same surroundings for another call, with its own cancellation below ours.
    #[must_use]
    pub fn for_call(&self, call: CallId) -> Self {
        Self { call, cancel: self.cancel.child_token(), ..self.clone() }
    }
}

/// What a check is told: less than a call, because no call exists yet.
#[derive(Debug, Clone)]
pub struct CheckContext {
    /// Where the session lives.
    pub surface: Surface,
    /// Whether a person can be asked.
    pub attended: bool,
    /// Which conversation.
    pub session: SessionId,
    /// Configuration, environment and secrets.
    pub settings: Arc<Settings>,
    /// What the program can reach.
    pub ports: Arc<Ports>,
}
