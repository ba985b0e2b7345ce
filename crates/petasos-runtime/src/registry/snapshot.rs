//! The registry at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use petasos_contract::{SessionId, ToolName};

use super::{Entry, Generation};

/// All tools, aliases and platforms as they were at one generation.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(super) generation: Generation,
    pub(super) tools: BTreeMap<ToolName, Arc<Entry>>,
    pub(super) aliases: BTreeMap<Arc<str>, Arc<str>>,
    pub(super) platforms: BTreeSet<Arc<str>>,
    /// What an override stands in front of; it comes back when the override goes.
    pub(super) overridden: BTreeMap<ToolName, Arc<Entry>>,
}

impl Snapshot {
    /// Which change made it.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// A tool by its exact name.
    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.tools.get(name)
    }

    /// A tool as a caller may spell it: the older `mcp_<server>_<tool>` form is accepted too.
    pub fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        self.get(name).or_else(|| {
            if !name.starts_with("mcp_") {
                return None;
            }
            let older = |entry: &&Arc<Entry>| {
                let mut parts = entry.name.as_str().splitn(3, "__");
                let (Some("mcp"), Some(server), Some(tool)) =
                    (parts.next(), parts.next(), parts.next())
                else {
                    return false;
                };
                name.strip_prefix("mcp_")
                    .and_then(|rest| rest.strip_prefix(server)?.strip_prefix('_'))
                    == Some(tool)
            };
            self.tools.values().filter(|entry| entry.is_mcp()).find(older)
        })
    }

    /// Every tool, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.tools.values()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The toolset that an alias means.
    pub fn toolset_alias(&self, alias: &str) -> Option<&str> {
        self.aliases.get(alias).map(|target| &**target)
    }

    /// Every alias with its toolset.
    pub fn toolset_aliases(&self) -> &BTreeMap<Arc<str>, Arc<str>> {
        &self.aliases
    }

    /// Whether a plugin brought this platform.
    pub fn has_platform(&self, platform: &str) -> bool {
        self.platforms.contains(platform)
    }

    /// What belongs to a session alone, and the aliases that are not in what all see.
    pub(super) fn own(&self, session: &SessionId, all: &Self) -> Self {
        let tools = self.tools.iter().filter(|(_, entry)| entry.origin.scope() == Some(session));
        let new = |alias: &Arc<str>, toolset: &Arc<str>| all.aliases.get(alias) != Some(toolset);
        let aliases = self.aliases.iter().filter(|(alias, toolset)| new(alias, toolset));
        Self {
            tools: tools.map(|(name, entry)| (name.clone(), Arc::clone(entry))).collect(),
            aliases: aliases.map(|(alias, toolset)| (alias.clone(), toolset.clone())).collect(),
            ..Self::default()
        }
    }

    /// What all see with what belongs to one session in front of it. A tool that is trusted more
    /// stays where it is.
    pub(super) fn with_own(&self, own: &Self, generation: Generation) -> Self {
        let mut seen = Self { generation, ..self.clone() };
        for (name, entry) in &own.tools {
            let holder = seen.tools.get(name);
            if holder.is_none_or(|holder| holder.origin.trust() <= entry.origin.trust()) {
                seen.tools.insert(name.clone(), Arc::clone(entry));
            }
        }
        let own = own.aliases.iter().map(|(alias, toolset)| (alias.clone(), toolset.clone()));
        seen.aliases.extend(own);
        seen
    }

    /// Puts a tool under its name. One of higher trust that it overrides is remembered.
    pub(super) fn put(&mut self, entry: Entry) {
        let (name, trust) = (entry.name.clone(), entry.origin.trust());
        let old = self.tools.insert(name.clone(), Arc::new(entry));
        match old {
            Some(old) if old.origin.trust() > trust => {
                self.overridden.insert(name, old);
            }
            // Whoever is trusted as much as the original takes its place for good.
            _ if self.overridden.get(&name).is_some_and(|old| old.origin.trust() <= trust) => {
                self.overridden.remove(&name);
            }
            _ => {}
        }
    }

    /// Removes the tools that are not to be kept; an alias of a toolset that thereby lost its last
    /// tool means nothing and goes too. Whether anything was removed.
    pub(super) fn keep_only(&mut self, keep: impl Fn(&Entry) -> bool) -> bool {
        let hidden = self.overridden.len();
        self.overridden.retain(|_, entry| keep(entry));
        let gone: Vec<Arc<Entry>> =
            self.tools.values().filter(|entry| !keep(entry)).cloned().collect();
        for entry in &gone {
            match self.overridden.remove(&entry.name) {
                Some(original) => self.tools.insert(entry.name.clone(), original),
                None => self.tools.remove(&entry.name),
            };
        }
        let changed = !gone.is_empty() || self.overridden.len() != hidden;
        let mut touched: BTreeSet<&Arc<str>> = gone.iter().map(|entry| &entry.toolset).collect();
        touched.retain(|toolset| self.tools.values().all(|entry| entry.toolset != **toolset));
        self.aliases.retain(|_, toolset| !touched.contains(toolset));
        changed
    }
}
