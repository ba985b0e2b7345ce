//! What a tool is: a definition that is data, and a behaviour behind one small trait.
//!
//! A file that adds a tool declares one `static TOOL: ToolDef`. Tools that appear at run time
//! (MCP servers, plugins, embedders) are made of the same parts through [`ToolSpec`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::BoxFuture;
use crate::args::Args;
use crate::call::Refusal;
use crate::check::CheckDef;
use crate::context::CallContext;
use crate::effect::Effects;
use crate::id::ToolName;
use crate::output::ToolOutput;
use crate::plan::{Cleared, Plan};
use crate::ports::Ports;

/// How a call reaches its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Through the registry, like most tools.
    Registry,
    /// Only from inside the agent loop, which lends it its state.
    AgentLoop,
}

/// Which calls of one batch may run beside this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// Any: it only reads.
    Safe,
    /// Those whose path does not overlap with ours.
    ByPath {
        /// The argument that holds the path.
        path: &'static str,
        /// Arguments that make it run alone when they are set.
        alone: &'static [&'static str],
    },
    /// Any when its command plainly leaves no trace, otherwise none.
    ByCommand {
        /// The argument that holds the command.
        script: &'static str,
        /// Arguments that make it run alone when they are set.
        alone: &'static [&'static str],
    },
    /// None: it runs alone.
    Barrier,
}

/// What a tool changes in files, as far as its definition tells: who plans ahead reads it. Policy
/// judges what each call plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChanges {
    /// Nothing.
    None,
    /// The files that it names.
    Edits,
    /// Whatever the program that it runs changes.
    Programs,
}

/// Whether a tool may be used while a session only plans (`Phase::Plan`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlanMode {
    /// Not at all: it changes something, or nobody knows.
    Withheld,
    /// When every effect that the call states only reads. The tool vouches that it changes nothing
    /// besides.
    ByEffects,
}

/// How a result tells that the call failed, besides the usual signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureSign {
    /// By the usual signs alone: an `error` key, or text that begins with one.
    Usual,
    /// By its `exit_code`, and by nothing else.
    ExitCode,
    /// Not when the change was made, whatever else the result mentions.
    NotMade,
    /// By the usual signs; a store that is full is told apart.
    Full,
}

/// What a round of a tool's calls is to the agent loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundKind {
    /// Work on the answer.
    Work,
    /// It says nothing about the answer, as keeping a list does not.
    Housekeeping,
    /// Work that spares requests: a round of it alone costs none of the turn's budget.
    Refunded,
}

/// Where the text of a result comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// From this machine or this program.
    Own,
    /// From strangers (pages, servers): wrapped as untrusted before the model sees it.
    Foreign,
}

/// The largest result that is shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The budget's own default.
    Default,
    /// At most so many characters.
    Chars(u32),
    /// Never spilled.
    Unlimited,
}

/// One example call; a test runs all of them.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// What it shows, in a few words.
    pub title: &'static str,
    /// The arguments, as JSON text.
    pub args: &'static str,
    /// Text that the result contains.
    pub shows: &'static str,
}

/// A built-in tool, as its file declares it.
#[derive(Debug)]
pub struct ToolDef {
    /// The name on the wire.
    pub name: &'static str,
    /// The toolset it belongs to.
    pub toolset: &'static str,
    /// One line for people; empty means the schema's description.
    pub description: &'static str,
    /// Shown beside a running call; empty means the common one.
    pub emoji: &'static str,
    /// Whether the bundle that every surface inherits has it.
    pub core: bool,
    /// Whether the same arguments give the same result, so that repeating is no progress.
    pub idempotent: bool,
    /// Variables it needs, for display only: never a gate.
    pub requires_env: &'static [&'static str],
    /// How a call reaches it.
    pub route: Route,
    /// What may run beside it.
    pub concurrency: Concurrency,
    /// What it changes in files.
    pub changes: FileChanges,
    /// Whether it may be used while a session only plans.
    pub in_plan_mode: InPlanMode,
    /// How its result tells of a failure.
    pub failure: FailureSign,
    /// What a round of its calls is to the agent loop.
    pub round: RoundKind,
    /// Whose words its result carries.
    pub provenance: Provenance,
    /// When its result is spilled to a file.
    pub result_chars_max: Limit,
    /// When it is offered; `None` means always.
    pub check: Option<&'static CheckDef>,
    /// The function schema: `description` and `parameters`.
    pub schema: fn() -> Value,
    /// Calls that show it at work.
    pub examples: &'static [Example],
    /// Makes the behaviour from the ports it needs.
    pub build: fn(&Ports) -> Arc<dyn Tool>,
}

impl ToolDef {
    /// The common case, to be overridden field by field: `ToolDef { name: …, ..ToolDef::USUAL }`.
    pub const USUAL: Self = Self {
        name: "",
        toolset: "",
        description: "",
        emoji: "",
        core: false,
        idempotent: false,
        requires_env: &[],
        route: Route::Registry,
        concurrency: Concurrency::Barrier,
        changes: FileChanges::None,
        in_plan_mode: InPlanMode::Withheld,
        failure: FailureSign::Usual,
        round: RoundKind::Work,
        provenance: Provenance::Own,
        result_chars_max: Limit::Default,
        check: None,
        schema: || Value::Null,
        examples: &[],
        build: |_| Arc::new(Absent),
    };
}

/// How a handler wants to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Awaits; called on the runtime.
    Async,
    /// Blocks; called on the blocking pool.
    Blocking,
    /// Computes briefly and never blocks; called in place.
    Inline,
}

/// The behaviour of a tool.
pub trait Tool: Send + Sync {
    /// Resolves everything that judging and running must agree on (directories, links, variables)
    /// and changes nothing. Made once a call; [`run`](Self::run) gets the same value. Tools that
    /// resolve nothing state their effects instead.
    fn plan<'a>(
        &'a self,
        args: Args,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let effects = self.effects(&args);
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }

    /// Does the work as planned. Only the dispatcher calls this.
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// What a call with these arguments would do, for tools that resolve nothing: policy judges
    /// effects and not names.
    fn effects(&self, _args: &Args) -> Effects {
        Effects::none()
    }

    /// The longest this call may run, where that is more than the usual time: its arguments or its
    /// settings say so. What people take to answer does not count.
    fn time_limit(&self, _args: &Args, _cx: &CallContext) -> Option<Duration> {
        None
    }

    /// Changes to the schema, given which tools the model will have.
    fn schema_patch(&self, _granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(Patch::Keep)
    }

    /// Some tools owe the model a refusal in their own shape.
    fn refused(&self, refusal: &Refusal) -> ToolOutput {
        refusal.output()
    }

    /// The arguments of the same call outside a sandbox that refused a part of it, and the path or
    /// host that was refused. The dispatcher asks a person before it runs that.
    fn outside(&self, _: &Args, _: &ToolOutput, _: &CallContext) -> Option<(Args, String)> {
        None
    }

    /// How the handler wants to be called.
    fn mode(&self) -> Mode {
        Mode::Async
    }
}

/// What a tool does to its own schema at definitions time.
#[derive(Debug, Clone, PartialEq)]
pub enum Patch {
    /// Nothing.
    Keep,
    /// Replaces these top-level keys.
    Merge(Map<String, Value>),
    /// Withdraws the tool, with the reason.
    Hide(String),
}

/// Why a handler failed: the type name and message that the model will read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    kind: Cow<'static, str>,
    message: String,
}

impl ToolError {
    /// A failure with a stable type name such as `IoError` or `Timeout`.
    pub fn new(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into() }
    }

    /// The type name.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl Error for ToolError {}

impl From<std::io::Error> for ToolError {
    fn from(error: std::io::Error) -> Self {
        Self::new("IoError", error.to_string())
    }
}

/// Stands where a definition forgot its behaviour; the definition checks refuse such a tool.
#[derive(Debug)]
struct Absent;

impl Tool for Absent {
    fn run<'a>(
        &'a self,
        _: Cleared,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Err(ToolError::new("NotBuilt", "this tool has no behaviour")) })
    }
}
