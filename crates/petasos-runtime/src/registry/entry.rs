//! One registered tool: what it declares and what runs it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use petasos_contract::ToolName;
use petasos_contract::check::Check;
use petasos_contract::ports::Ports;
use petasos_contract::tool::{
    Concurrency, FailureSign, FileChanges, InPlanMode, Limit, Mode, Provenance, RoundKind, Route,
    Tool, ToolDef,
};
use serde_json::{Map, Value};
use tracing::warn;

use super::Origin;

/// A registered tool.
pub struct Entry {
    /// The name on the wire.
    pub name: ToolName,
    /// The toolset it belongs to.
    pub toolset: Arc<str>,
    /// The function schema.
    pub schema: Schema,
    /// One line for people; empty means the schema's description.
    pub description: String,
    /// Shown beside a running call; empty means the common one.
    pub emoji: String,
    /// Whether every surface's bundle has it.
    pub core: bool,
    /// Whether repeating the same call is no progress.
    pub idempotent: bool,
    /// Variables it needs, for display.
    pub requires_env: Vec<String>,
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
    /// When its result is spilled.
    pub result_chars_max: Limit,
    /// When it is offered.
    pub check: Option<Check>,
    /// What it does.
    pub tool: Arc<dyn Tool>,
    /// Who brought it; set by the registry.
    pub(super) origin: Origin,
}

impl Entry {
    /// A tool made at run time, with the usual values for everything not given.
    pub fn new(
        name: impl Into<ToolName>,
        toolset: impl Into<Arc<str>>,
        schema: Map<String, Value>,
        tool: Arc<dyn Tool>,
    ) -> Self {
        Self {
            name: name.into(),
            toolset: toolset.into(),
            schema: Schema::ready(schema),
            description: String::new(),
            emoji: String::new(),
            core: false,
            idempotent: false,
            requires_env: Vec::new(),
            route: Route::Registry,
            concurrency: Concurrency::Barrier,
            changes: FileChanges::None,
            in_plan_mode: InPlanMode::Withheld,
            failure: FailureSign::Usual,
            round: RoundKind::Work,
            provenance: Provenance::Own,
            result_chars_max: Limit::Default,
            check: None,
            tool,
            origin: Origin::core(),
        }
    }

    /// A built-in tool, with its behaviour made from the ports.
    pub fn builtin(def: &'static ToolDef, ports: &Ports) -> Self {
        Self {
            name: def.name.into(),
            toolset: def.toolset.into(),
            schema: Schema::lazy(def.schema),
            description: def.description.to_owned(),
            emoji: def.emoji.to_owned(),
            core: def.core,
            idempotent: def.idempotent,
            requires_env: def.requires_env.iter().map(|&name| name.to_owned()).collect(),
            route: def.route,
            concurrency: def.concurrency,
            changes: def.changes,
            in_plan_mode: def.in_plan_mode,
            failure: def.failure,
            round: def.round,
            provenance: def.provenance,
            result_chars_max: def.result_chars_max,
            check: def.check.map(Check::from),
            tool: (def.build)(ports),
            origin: Origin::core(),
        }
    }

    /// Who brought it.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether the handler is asynchronous.
    pub fn is_async(&self) -> bool {
        self.tool.mode() == Mode::Async
    }

    /// One line for people.
    pub fn description(&self) -> &str {
        if self.description.is_empty() {
            return self.schema.get().get("description").and_then(Value::as_str).unwrap_or("");
        }
        &self.description
    }

    /// Whether it lives in a toolset of an MCP server.
    pub fn is_mcp(&self) -> bool {
        self.toolset.starts_with("mcp-")
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .field("toolset", &self.toolset)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// A function schema: `description` and `parameters`. Built on first use, because most commands
/// never look at most schemas.
pub struct Schema {
    built: OnceLock<Map<String, Value>>,
    build: fn() -> Value,
}

impl Schema {
    /// A schema that exists already.
    pub fn ready(schema: Map<String, Value>) -> Self {
        Self { built: OnceLock::from(schema), build: || Value::Null }
    }

    /// A schema that is built when somebody looks.
    pub fn lazy(build: fn() -> Value) -> Self {
        Self { built: OnceLock::new(), build }
    }

    /// The schema; an empty one when the definition made something else.
    pub fn get(&self) -> &Map<String, Value> {
        self.built.get_or_init(|| {
            // One broken definition must not take the others down with it.
            let Ok(Value::Object(schema)) = std::panic::catch_unwind(self.build) else {
                warn!("a tool's schema could not be built, it has none");
                return Map::new();
            };
            schema
        })
    }

    /// The `parameters` part.
    pub fn parameters(&self) -> Option<&Value> {
        self.get().get("parameters")
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(self.get()).finish()
    }
}
