//! What one plugin brought, and taking it back.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::hook::{Hook, HookKind, HookSet};
use petasos_contract::ports::BroughtSkill;
use serde::Serialize;
use serde_json::Value;

use super::Plugin;
use super::heed::PluginHook;

/// A command for the conversation: `/name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: String,
    /// One line.
    pub description: String,
    /// What it takes, for people.
    pub args_hint: String,
}

/// A skill that is read and never listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillInfo {
    /// `<plugin>:<name>`.
    pub name: String,
    /// Its file or folder.
    pub path: String,
    /// One line.
    pub description: String,
}

/// What a plugin brought.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Registered {
    /// Its tools.
    pub tools: BTreeSet<String>,
    /// The moments it listens to.
    pub hooks: BTreeSet<&'static str>,
    /// Its middleware, by kind.
    pub middleware: Vec<String>,
    /// Its commands in a conversation.
    pub commands: Vec<CommandInfo>,
    /// Its commands of the program.
    pub cli_commands: Vec<CommandInfo>,
    /// Its skills.
    pub skills: Vec<SkillInfo>,
    /// What it registered and nothing here uses.
    pub unserved: Vec<String>,
    /// What was odd.
    pub warnings: Vec<String>,
    #[serde(skip)]
    pub(crate) wanted: HookSet,
}

impl Plugin {
    /// Puts a new set in the place of the old one: what only the old one had is removed.
    pub(crate) fn replace_registered(self: &Arc<Self>, new: &Registered) {
        let old = std::mem::replace(&mut *self.registered.lock(), new.clone());
        for name in old.tools.difference(&new.tools) {
            if let Err(error) = self.host.registry.deregister(name, &self.origin) {
                tracing::warn!(%error, "a plugin's old tool stays");
            }
        }
        // A hook that wants the same keeps its place among the others.
        if old.wanted != new.wanted {
            self.host.hooks.deregister(&self.name());
            if new.wanted != HookSet::EMPTY {
                let hook = PluginHook::new(self, new.wanted);
                self.host.hooks.register(&(Arc::new(hook) as Arc<dyn Hook>));
            }
        }
        if old.skills != new.skills {
            self.bring(&new.skills);
        }
    }

    fn bring(&self, skills: &[SkillInfo]) {
        let brought = |skill: &SkillInfo| BroughtSkill {
            name: skill.name.clone(),
            path: PathBuf::from(&skill.path),
        };
        if let Some(shelf) = &self.host.skills {
            shelf.bring(&self.manifest.key, skills.iter().map(brought).collect());
        }
    }

    /// The deciding moments that its manifest promises to attend to, and what its entry in the
    /// configuration insists on.
    pub(super) fn promised(&self) -> impl Iterator<Item = HookKind> {
        let promised = self.manifest.provides_hooks.iter().filter_map(|name| HookKind::named(name));
        let insists = self.setting("on_failure").and_then(Value::as_str) == Some("block");
        let guard = insists.then_some(HookKind::PreToolCall);
        promised.filter(|kind| kind.decides()).chain(guard)
    }

    /// Holds its place among the hooks before it has started: what it guards waits for it.
    pub(crate) fn hold_place(self: &Arc<Self>) {
        let wanted = self.promised().fold(HookSet::EMPTY, HookSet::with);
        self.replace_registered(&Registered { wanted, ..Registered::default() });
    }

    /// Takes everything back.
    pub(super) fn withdraw(&self) {
        *self.registered.lock() = Registered::default();
        self.host.registry.deregister_all(&self.origin);
        self.host.hooks.deregister(&self.name());
        self.host.middleware.deregister(&self.name());
        self.bring(&[]);
    }
}
