//! From a choice of toolsets to tool names, with the steps that led there.

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::ToolName;
use serde::Serialize;

use super::{CORE, Found, Kind, TOOLSETS, core, find, legacy};
use crate::registry::Snapshot;

/// What somebody wants. `enabled: None` means everything; an empty list means nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// Toolsets to start from.
    pub enabled: Option<Vec<String>>,
    /// Toolsets to take away at the end, whatever brought their tools in.
    pub disabled: Vec<String>,
    /// The session works on a board task, which needs the board's tools.
    pub board_task: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolution {
    /// The tool names, sorted. Some may not be registered.
    pub tools: Vec<ToolName>,
    /// How they were found.
    pub trace: Vec<Step>,
}

/// One step of a resolution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What was done.
    pub action: Action,
    /// The toolset or list that was named.
    pub toolset: String,
    /// The tools that it brought or took.
    pub tools: Vec<ToolName>,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Its tools come in.
    Enable,
    /// Its tools come in because another toolset contains it.
    Include,
    /// An older name of a tool list.
    Legacy,
    /// Its tools go out.
    Disable,
    /// Nothing has this name.
    Unknown,
}

/// Resolves a choice. The disabled list is always a final subtraction.
pub fn resolve(wanted: &Selection, tools: &Snapshot) -> Resolution {
    let mut walk = Walk::over(tools);
    let mut names = BTreeSet::new();
    match &wanted.enabled {
        Some(enabled) => {
            for name in enabled {
                names.append(&mut walk.enable(name));
            }
            if wanted.board_task && !enabled.iter().any(|name| name == "kanban") {
                names.append(&mut walk.enable("kanban"));
                walk.note("added because the session works on a board task");
            }
        }
        None => names = walk.enable("all"),
    }
    for name in &wanted.disabled {
        for tool in walk.disable(name) {
            names.remove(&tool);
        }
    }
    Resolution { tools: names.into_iter().collect(), trace: walk.trace }
}

/// Resolves one toolset by itself.
pub fn resolve_toolset(name: &str, tools: &Snapshot) -> Resolution {
    let mut walk = Walk::over(tools);
    let names = walk.toolset(name, Action::Enable);
    Resolution { tools: names.into_iter().collect(), trace: walk.trace }
}

/// One resolution under way.
pub(super) struct Walk<'a> {
    tools: &'a Snapshot,
    /// How a name is looked up.
    pub(super) look: fn(&str, &Snapshot) -> Option<Found>,
    trace: Vec<Step>,
}

impl<'a> Walk<'a> {
    pub(super) fn over(tools: &'a Snapshot) -> Self {
        Self { tools, look: find, trace: Vec::new() }
    }

    fn enable(&mut self, name: &str) -> BTreeSet<ToolName> {
        if let (false, Some(list)) = (super::is_valid(name, self.tools), legacy(name)) {
            let tools: BTreeSet<ToolName> = list.iter().map(|&tool| tool.into()).collect();
            self.step(Action::Legacy, name, &tools);
            return tools;
        }
        self.toolset(name, Action::Enable)
    }

    fn disable(&mut self, name: &str) -> BTreeSet<ToolName> {
        let quiet = self.trace.len();
        let tools = match find(name, self.tools) {
            Some(found) if found.preset => self.beyond_core(&found),
            _ => self.enable(name),
        };
        let unknown = self
            .trace
            .get(quiet..)
            .is_some_and(|steps| steps.iter().any(|step| step.action == Action::Unknown));
        if unknown {
            return tools;
        }
        self.trace.truncate(quiet);
        self.step(Action::Disable, name, &tools);
        if find(name, self.tools).is_some_and(|found| found.preset) {
            self.note("a preset belongs in the enabled list: only what it adds to core goes out");
        }
        tools
    }

    /// What a preset adds to the core list, itself and one level of what it contains.
    fn beyond_core(&self, found: &Found) -> BTreeSet<ToolName> {
        let core = core(self.tools);
        let contained = found.includes.iter().filter_map(|name| find(name, self.tools));
        let all = contained.flat_map(|inner| inner.tools).chain(found.tools.iter().cloned());
        all.filter(|tool| !core.contains(tool)).collect()
    }

    fn toolset(&mut self, name: &str, action: Action) -> BTreeSet<ToolName> {
        if matches!(name, "all" | "*") {
            return self.everything(name);
        }
        let mut visited = BTreeSet::new();
        self.expand(name, action, &mut visited)
    }

    /// The union of all toolsets: what the leaves of the table and the core list name (the
    /// other toolsets repeat them), and every registered tool, since each belongs to one.
    fn everything(&mut self, name: &str) -> BTreeSet<ToolName> {
        let leaves = TOOLSETS.iter().filter(|def| def.kind == Kind::Leaf);
        let table = leaves.flat_map(|def| def.tools).chain(CORE);
        let absent = table.filter(|tool| self.tools.get(tool).is_none());
        let registered = self.tools.entries().map(|entry| entry.name.clone());
        // Collected at once: a set that grows name by name costs a start four times as much.
        let all = registered.chain(absent.map(|tool| ToolName::new(*tool))).collect();
        self.step(Action::Enable, name, &all);
        all
    }

    /// Depth is bounded by the number of toolsets: a name is expanded once.
    pub(super) fn expand(
        &mut self,
        name: &str,
        action: Action,
        visited: &mut BTreeSet<Arc<str>>,
    ) -> BTreeSet<ToolName> {
        if !visited.insert(name.into()) {
            return BTreeSet::new();
        }
        let Some(found) = (self.look)(name, self.tools) else {
            self.step(Action::Unknown, name, &BTreeSet::new());
            self.note("no toolset has this name; `petasos toolsets list` shows them all");
            return BTreeSet::new();
        };
        self.step(action, name, &found.tools);
        let mut all = found.tools;
        for inner in found.includes {
            all.extend(self.expand(inner, Action::Include, visited));
        }
        all
    }

    fn step(&mut self, action: Action, toolset: &str, tools: &BTreeSet<ToolName>) {
        let tools = tools.iter().cloned().collect();
        self.trace.push(Step { action, toolset: toolset.to_owned(), tools, note: None });
    }

    fn note(&mut self, note: &str) {
        if let Some(step) = self.trace.last_mut() {
            step.note = Some(note.to_owned());
        }
    }
}
