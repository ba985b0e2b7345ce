//! The registry: which tools exist right now, whoever brought them.
//!
//! Writers are serialised and publish a whole new [`Snapshot`]; readers take the current one and
//! keep it as long as they like. No lock is held while a handler or a check runs.
//!
//! Most tools are there for every session. An [`Origin`] within a session brings tools for that
//! one alone: it sees them in front of what all see, and no other session does.

mod entry;
mod origin;
mod queries;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use petasos_contract::ports::Ports;
use petasos_contract::tool::ToolDef;
use petasos_contract::{SessionId, ToolName};
use tracing::{debug, info, warn};

pub use entry::{Entry, Schema};
pub use origin::{Origin, Trust};
pub use queries::{DEFAULT_EMOJI, ToolsetNeeds, ToolsetView};
pub use snapshot::Snapshot;

/// Counts effective changes; whatever is derived from the registry may be cached under it.
pub type Generation = u64;

/// A registration that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Collision {
    /// Somebody more trusted already has the name.
    #[error(
        "tool `{name}` of {newcomer} would replace the one of {holder}: rename it, or register it \
         as an override and set `plugins.entries.<id>.allow_tool_override: true`"
    )]
    Outranked {
        /// The name both want.
        name: ToolName,
        /// Who has it.
        holder: Origin,
        /// Who wants it.
        newcomer: Origin,
    },
    /// The name is kept for the tool search bridge.
    #[error("tool name `{name}` is reserved for tool search: choose another one")]
    Reserved {
        /// The name.
        name: ToolName,
    },
}

/// A removal that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool `{name}` belongs to {holder}, so {caller} may not remove it")]
pub struct NotYours {
    /// The tool.
    pub name: ToolName,
    /// Who owns it.
    pub holder: Origin,
    /// Who tried.
    pub caller: Origin,
}

/// Whether a registration means to replace somebody else's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// A new tool, or a new version of one's own.
    Add,
    /// Another tool under a name that is taken.
    Override,
}

/// The tools that exist, with a history of changes in one number.
#[derive(Debug, Default)]
pub struct Registry {
    current: ArcSwap<Snapshot>,
    /// What sessions with tools of their own see.
    views: ArcSwap<BTreeMap<SessionId, View>>,
    /// The number of the last change, here or in a view.
    writing: Mutex<Generation>,
}

/// What one session sees.
#[derive(Debug, Clone)]
struct View {
    own: Arc<Snapshot>,
    seen: Arc<Snapshot>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry with these built-in tools. Names are unique by compile-time check.
    pub fn with_builtin(tools: &[&'static ToolDef], ports: &Ports) -> Self {
        let registry = Self::new();
        let mut next = Snapshot::default();
        for tool in tools {
            let entry = Entry::builtin(tool, ports);
            next.tools.insert(entry.name.clone(), Arc::new(entry));
            next.generation += 1;
        }
        *registry.writing.lock() = next.generation;
        registry.current.store(Arc::new(next));
        registry
    }

    /// The tools that every session sees, as they are now. Never blocks.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The tools that this session sees, as they are now. Never blocks.
    pub fn seen_by(&self, session: &SessionId) -> Arc<Snapshot> {
        let views = self.views.load();
        let view = views.get(session).map(|view| Arc::clone(&view.seen));
        view.unwrap_or_else(|| self.snapshot())
    }

    /// Adds a tool, or replaces one where trust allows it.
    pub fn register(
        &self,
        mut entry: Entry,
        origin: &Origin,
        intent: Intent,
    ) -> Result<Generation, Collision> {
        entry.origin = origin.clone();
        self.change(origin.scope(), |next| {
            settle_collision(next, &entry, intent)?;
            next.put(entry);
            Ok(true)
        })
    }

    /// Replaces everything this origin registered by these entries, in one step: a tool that stays
    /// is never absent for a moment. Refused entries are returned and the others stand.
    pub fn refresh(&self, entries: Vec<Entry>, origin: &Origin) -> Vec<Collision> {
        let mut refused = Vec::new();
        let outcome: Result<Generation, Collision> = self.change(origin.scope(), |next| {
            let stays = |name: &ToolName| entries.iter().any(|entry| entry.name == *name);
            let mut changed = next.keep_only(|entry| entry.origin != *origin || stays(&entry.name));
            for mut entry in entries {
                entry.origin = origin.clone();
                match settle_collision(next, &entry, Intent::Add) {
                    Ok(()) => {
                        next.put(entry);
                        changed = true;
                    }
                    Err(collision) => refused.push(collision),
                }
            }
            Ok(changed)
        });
        if let Err(collision) = outcome {
            refused.push(collision);
        }
        refused
    }

    /// Removes a tool. An unknown name is no error.
    pub fn deregister(&self, name: &str, caller: &Origin) -> Result<Generation, NotYours> {
        self.change(caller.scope(), |next| {
            let Some(entry) = next.tools.get(name) else { return Ok(false) };
            if !caller.may_remove(entry) {
                return Err(NotYours {
                    name: entry.name.clone(),
                    holder: entry.origin.clone(),
                    caller: caller.clone(),
                });
            }
            let going = Arc::clone(entry);
            Ok(next.keep_only(|entry| !std::ptr::eq(entry, Arc::as_ptr(&going))))
        })
    }

    /// Removes everything this origin registered.
    pub fn deregister_all(&self, origin: &Origin) -> Generation {
        let outcome: Result<Generation, NotYours> =
            self.change(origin.scope(), |next| Ok(next.keep_only(|entry| entry.origin != *origin)));
        outcome.unwrap_or_default()
    }

    /// Gives a toolset a second name, for every session.
    pub fn register_toolset_alias(&self, alias: &str, toolset: &str) -> Generation {
        self.register_toolset_alias_of(&Origin::core(), alias, toolset)
    }

    /// Gives a toolset a second name where this origin's tools are seen.
    pub fn register_toolset_alias_of(
        &self,
        origin: &Origin,
        alias: &str,
        toolset: &str,
    ) -> Generation {
        let outcome: Result<Generation, NotYours> = self.change(origin.scope(), |next| {
            match next.aliases.insert(alias.into(), toolset.into()) {
                Some(old) if &*old == toolset => return Ok(false),
                Some(old) => warn!(alias, %old, toolset, "toolset alias points elsewhere now"),
                None => {}
            }
            Ok(true)
        });
        outcome.unwrap_or_default()
    }

    /// Makes `hermes-<platform>` a toolset: the core list and the platform's own tools.
    pub fn register_platform(&self, platform: &str) -> Generation {
        let outcome: Result<Generation, NotYours> =
            self.change(None, |next| Ok(next.platforms.insert(platform.into())));
        outcome.unwrap_or_default()
    }

    /// Copies, changes and publishes under the writers' lock, what all see or what one session
    /// does; the generation moves only when the change says that something changed.
    fn change<E>(
        &self,
        scope: Option<&SessionId>,
        change: impl FnOnce(&mut Snapshot) -> Result<bool, E>,
    ) -> Result<Generation, E> {
        let mut last = self.writing.lock();
        let before = scope.map_or_else(|| self.snapshot(), |session| self.seen_by(session));
        let mut next = Snapshot::clone(&before);
        if !change(&mut next)? {
            return Ok(next.generation);
        }
        *last += 1;
        next.generation = *last;
        let mut views = BTreeMap::clone(&self.views.load());
        match scope {
            None => {
                let all = Arc::new(next);
                for view in views.values_mut() {
                    *last += 1;
                    view.seen = Arc::new(all.with_own(&view.own, *last));
                }
                // Whoever looks between the two sees a session's tools on what all saw before.
                self.current.store(Arc::clone(&all));
                self.publish(views);
                Ok(all.generation)
            }
            Some(session) => {
                let all = self.snapshot();
                let own = Arc::new(next.own(session, &all));
                let seen = Arc::new(all.with_own(&own, *last));
                if own.tools.is_empty() {
                    views.remove(session);
                } else {
                    views.insert(session.clone(), View { own, seen });
                }
                self.publish(views);
                Ok(*last)
            }
        }
    }

    fn publish(&self, views: BTreeMap<SessionId, View>) {
        if !(views.is_empty() && self.views.load().is_empty()) {
            self.views.store(Arc::new(views));
        }
    }
}

/// Decides whether the newcomer may have the name: by trust, then by intent.
fn settle_collision(next: &Snapshot, newcomer: &Entry, intent: Intent) -> Result<(), Collision> {
    let name = &newcomer.name;
    if crate::search::is_bridge(name.as_str()) {
        return Err(Collision::Reserved { name: name.clone() });
    }
    let Some(holder) = next.tools.get(name) else { return Ok(()) };
    if newcomer.origin.trust() < holder.origin.trust() {
        let permitted = intent == Intent::Override && newcomer.origin.may_override();
        if !permitted {
            return Err(Collision::Outranked {
                name: name.clone(),
                holder: holder.origin.clone(),
                newcomer: newcomer.origin.clone(),
            });
        }
        info!(tool = %name, by = %newcomer.origin, "tool overridden with the operator's consent");
    } else if holder.toolset == newcomer.toolset || (holder.is_mcp() && newcomer.is_mcp()) {
        debug!(tool = %name, by = %newcomer.origin, "tool registered again");
    } else {
        warn!(
            tool = %name, old = %holder.toolset, new = %newcomer.toolset, by = %newcomer.origin,
            "tool registered under another toolset, the later registration wins"
        );
    }
    Ok(())
}

/// The names of the built-in tools, in the order in which they were declared.
pub fn discover_builtin_tools(tools: &[&'static ToolDef]) -> Vec<&'static str> {
    tools.iter().map(|tool| tool.name).collect()
}
