//! Questions about a snapshot that need no check to be run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use petasos_contract::ToolName;
use petasos_contract::tool::Limit;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Entry, Snapshot};

/// Shown for a tool without an emoji of its own.
pub const DEFAULT_EMOJI: &str = "⚡";

/// A toolset as screens show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolsetView {
    /// Its name.
    pub name: String,
    /// Whether at least one of its tools would be offered.
    pub available: bool,
    /// Its registered tools.
    pub tools: Vec<ToolName>,
    /// Variables its tools name, in order of first sight.
    pub requirements: Vec<String>,
}

/// A toolset that offers nothing here, with what its first tool asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolsetNeeds {
    /// Its name.
    pub name: String,
    /// Variables that its first tool names.
    pub env_vars: Vec<String>,
    /// Its registered tools.
    pub tools: Vec<ToolName>,
}

impl Snapshot {
    /// The raw schema, whether or not the tool is available.
    pub fn schema(&self, name: &str) -> Option<&Map<String, Value>> {
        self.get(name).map(|entry| entry.schema.get())
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<ToolName> {
        self.entries().map(|entry| entry.name.clone()).collect()
    }

    /// The names registered under a toolset, sorted.
    pub fn names_in(&self, toolset: &str) -> Vec<ToolName> {
        self.in_toolset(toolset).map(|entry| entry.name.clone()).collect()
    }

    /// The entries registered under a toolset, sorted by name.
    pub fn in_toolset<'a>(&'a self, toolset: &'a str) -> impl Iterator<Item = &'a Arc<Entry>> {
        self.entries().filter(move |entry| &*entry.toolset == toolset)
    }

    /// The toolsets that have a registered tool, sorted.
    pub fn toolsets(&self) -> BTreeSet<Arc<str>> {
        self.entries().map(|entry| Arc::clone(&entry.toolset)).collect()
    }

    /// The toolset of a tool.
    pub fn toolset_of(&self, name: &str) -> Option<&str> {
        self.get(name).map(|entry| &*entry.toolset)
    }

    /// Every tool with its toolset.
    pub fn tool_to_toolset(&self) -> BTreeMap<ToolName, Arc<str>> {
        self.entries().map(|entry| (entry.name.clone(), Arc::clone(&entry.toolset))).collect()
    }

    /// The emoji of a tool, or the given one when it has none.
    pub fn emoji<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        let own = self.get(name).map_or("", |entry| entry.emoji.as_str());
        if own.is_empty() { default } else { own }
    }

    /// How large a result may be before it is spilled; `None` means without limit.
    pub fn max_result_chars(&self, name: &str, default: u32) -> Option<u32> {
        match self.get(name).map(|entry| entry.result_chars_max) {
            Some(Limit::Unlimited) => None,
            Some(Limit::Chars(chars)) => Some(chars),
            Some(Limit::Default) | None => Some(default),
        }
    }

    /// The variables that a toolset's tools name, in order of first sight.
    pub fn requirements(&self, toolset: &str) -> Vec<String> {
        let mut seen = Vec::new();
        for name in self.in_toolset(toolset).flat_map(|entry| &entry.requires_env) {
            if !seen.contains(name) {
                seen.push(name.clone());
            }
        }
        seen
    }
}
