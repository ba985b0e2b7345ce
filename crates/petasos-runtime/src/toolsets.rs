//! Toolsets: named bundles of tools, and what a choice of bundles comes down to.
//!
//! Everything here is pure over a registry snapshot and returns the steps it took, so that
//! `toolsets resolve` and `tools explain` print what really happened.

mod platform;
mod resolve;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::{Settings, ToolName};

use crate::registry::Snapshot;

pub use platform::{PlatformChoice, choose};
pub use resolve::{Action, Resolution, Selection, Step, resolve, resolve_toolset};
pub use table::{CODE_TOOLS, CORE, LEGACY, PLATFORMS, SUBAGENT_BLOCKED, TOOLSETS};

/// A toolset that has a name of its own.
#[derive(Debug, Clone, Copy)]
pub struct ToolsetDef {
    /// Its name in configuration.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// What sort it is.
    pub kind: Kind,
    /// Its tools; for a bundle, those beside the core list.
    pub tools: &'static [&'static str],
    /// Toolsets it contains.
    pub includes: &'static [&'static str],
    /// Off until somebody chooses it.
    pub default_off: bool,
    /// Whether a person can switch it on and off.
    pub configurable: bool,
    /// The platforms it makes sense on; empty means all.
    pub only_platforms: &'static [&'static str],
}

/// Sorts of toolset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Lists tools.
    Leaf,
    /// Contains other toolsets.
    Composite,
    /// Lists tools that others own, for one way of working.
    Posture,
    /// A surface's preset with a list of its own.
    Platform,
    /// A surface's preset: the core list and a few more.
    Bundle,
}

impl ToolsetDef {
    /// Disabling it must not take the core list away from everybody.
    fn is_preset(&self) -> bool {
        match self.kind {
            Kind::Platform | Kind::Bundle | Kind::Posture => true,
            Kind::Leaf | Kind::Composite => false,
        }
    }

    /// Its tools as the table has them, without what is registered.
    fn own_tools(&self) -> BTreeSet<&'static str> {
        let core = if self.kind == Kind::Bundle { CORE } else { &[] };
        core.iter().chain(self.tools).copied().collect()
    }
}

/// A toolset of the table.
pub fn named(name: &str) -> Option<&'static ToolsetDef> {
    TOOLSETS.iter().find(|def| def.name == name)
}

/// The tools that an older name of a tool list means.
pub fn legacy(name: &str) -> Option<&'static [&'static str]> {
    LEGACY.iter().find(|(old, _)| *old == name).map(|(_, tools)| *tools)
}

/// Whether the name means a toolset; older names of tool lists do not count.
pub fn is_valid(name: &str, tools: &Snapshot) -> bool {
    matches!(name, "all" | "*") || find(name, tools).is_some()
}

/// A name that means nothing here, and the name that was perhaps meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// The most similar one that exists.
    pub nearest: Option<Arc<str>>,
}

impl Unknown {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match &self.nearest {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "`petasos toolsets list` shows them all".to_owned(),
        }
    }
}

/// Those of the names that are no toolset, no older name of one and no MCP server.
pub fn unknown(names: &[String], settings: &Settings, tools: &Snapshot) -> Vec<Unknown> {
    let servers = settings.get("mcp_servers");
    let means_something = |name: &String| {
        is_valid(name, tools)
            || legacy(name).is_some()
            || servers.is_some_and(|servers| servers.get(name).is_some())
    };
    let strange = names.iter().filter(|name| !means_something(name));
    strange.map(|name| Unknown { name: name.clone(), nearest: nearest(name, tools) }).collect()
}

fn nearest(name: &str, tools: &Snapshot) -> Option<Arc<str>> {
    known_names(tools)
        .into_iter()
        .map(|known| (strsim::jaro_winkler(name, &known), known))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| known)
}

/// Every toolset a person can name: those of the table, and registered ones by alias if they have
/// one.
pub fn known_names(tools: &Snapshot) -> BTreeSet<Arc<str>> {
    let mut names: BTreeSet<Arc<str>> = TOOLSETS.iter().map(|def| def.name.into()).collect();
    for toolset in tools.toolsets() {
        if named(&toolset).is_some() {
            continue;
        }
        let aliases = tools.toolset_aliases();
        let alias = aliases.iter().find(|(_, target)| **target == toolset);
        names.insert(alias.map_or(toolset, |(alias, _)| Arc::clone(alias)));
    }
    names
}

/// One line for people about any toolset.
pub fn describe(name: &str, tools: &Snapshot) -> Option<String> {
    find(name, tools).map(|found| found.description)
}

/// The core list: the table's, and every registered tool that says it belongs to it.
pub fn core(tools: &Snapshot) -> BTreeSet<ToolName> {
    let table = CORE.iter().map(|&name| ToolName::new(name));
    let registered = tools.entries().filter(|entry| entry.core).map(|entry| entry.name.clone());
    table.chain(registered).collect()
}

/// What tool search never holds back: the list of the table. A tool that only calls itself core
/// belongs to the bundles, and can be found.
pub(crate) fn always_shown() -> BTreeSet<ToolName> {
    CORE.iter().map(|&name| ToolName::new(name)).collect()
}

/// A toolset that was looked up.
struct Found {
    description: String,
    tools: BTreeSet<ToolName>,
    includes: &'static [&'static str],
    preset: bool,
}

/// Looks one name up: the table, then the registry, then its aliases, then plugin platforms.
fn find(name: &str, tools: &Snapshot) -> Option<Found> {
    if let Some(def) = named(name) {
        return Some(found_in_table(def, tools));
    }
    let registered = |toolset: &str| tools.names_in(toolset).into_iter().collect::<BTreeSet<_>>();
    let own = registered(name);
    if !own.is_empty() {
        let description = format!("Tools registered as `{name}`.");
        return Some(Found { description, tools: own, includes: &[], preset: false });
    }
    if let Some(target) = tools.toolset_alias(name) {
        let description = format!("Tools of the MCP server `{name}`.");
        return Some(Found {
            description,
            tools: registered(target),
            includes: &[],
            preset: false,
        });
    }
    let platform = name.strip_prefix("hermes-")?;
    if !tools.has_platform(platform) {
        return None;
    }
    let mut all = core(tools);
    all.extend(registered(platform));
    let description = format!("Sessions on the platform `{platform}`, brought by a plugin.");
    Some(Found { description, tools: all, includes: &[], preset: true })
}

fn found_in_table(def: &'static ToolsetDef, tools: &Snapshot) -> Found {
    let mut all: BTreeSet<ToolName> = def.tools.iter().map(|&name| ToolName::new(name)).collect();
    if def.kind == Kind::Bundle {
        all.extend(core(tools));
    }
    all.extend(tools.names_in(def.name));
    Found {
        description: def.description.to_owned(),
        tools: all,
        includes: def.includes,
        preset: def.is_preset(),
    }
}
