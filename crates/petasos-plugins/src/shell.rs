//! Shell hooks: programs named under `hooks:` that read a moment on their input and say on their
//! output what they want.
//!
//! A hook runs only with consent, given once for an event and a command. A hook before a tool
//! call is a policy: when it cannot answer, the call is refused, unless it says otherwise.

mod consent;
mod listed;
mod run;

use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_contract::Settings;
use petasos_contract::hook::{Directive, Hook, HookError, HookSet, Moment, OnFailure};
use petasos_contract::processes::Processes;
use petasos_runtime::hooks::HookBus;

pub use consent::{Allowlist, Approval, ConsentError};
pub use listed::{HookSpec, Listing, listing};
pub use run::{Ran, Said};

/// The shell hooks of a configuration.
#[derive(Debug)]
pub struct ShellHooks {
    /// Those that may run.
    pub active: Vec<HookSpec>,
    /// Those that nobody has agreed to yet.
    pub pending: Vec<HookSpec>,
    /// What is wrong with the configuration, for people.
    pub problems: Vec<String>,
}

impl ShellHooks {
    /// Reads the configuration and what was agreed to. Costs one look when there are none.
    pub fn of(settings: &Settings) -> Self {
        let Listing { hooks, problems } = listing(settings);
        let mut found = Self { active: Vec::new(), pending: Vec::new(), problems };
        if hooks.is_empty() || is_safe_mode(settings) {
            return found;
        }
        let accepted = settings.get("hooks_auto_accept") == Some(&serde_json::Value::Bool(true));
        let allowlist = Allowlist::of(settings);
        for hook in hooks {
            if accepted || allowlist.allows(&hook) {
                found.active.push(hook);
            } else {
                found.pending.push(hook);
            }
        }
        found
    }

    /// Puts the active ones on the bus, behind what is there.
    pub fn register(&self, bus: &HookBus, processes: &Arc<dyn Processes>) {
        for spec in &self.active {
            let hook = ShellHook { spec: spec.clone(), processes: Arc::clone(processes) };
            bus.register(&(Arc::new(hook) as Arc<dyn Hook>));
        }
    }
}

/// Whether this start does without other people's code.
pub fn is_safe_mode(settings: &Settings) -> bool {
    settings.role("SAFE_MODE").is_some_and(|value| is_yes(value.value.expose()))
}

pub(crate) fn is_yes(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// One hook on the bus.
struct ShellHook {
    spec: HookSpec,
    processes: Arc<dyn Processes>,
}

impl Hook for ShellHook {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn wants(&self) -> HookSet {
        HookSet::EMPTY.with(self.spec.event)
    }

    fn on_failure(&self) -> OnFailure {
        self.spec.on_failure
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(async move {
            if !self.spec.concerns(moment) {
                return Ok(Directive::Pass);
            }
            run::run(&self.spec, moment, self.processes.as_ref()).await?.directive
        })
    }
}

/// Runs a hook for a person who wants to see what it does.
pub async fn try_out(
    spec: &HookSpec,
    moment: &Moment<'_>,
    processes: &dyn Processes,
) -> Result<Ran, HookError> {
    run::run(spec, moment, processes).await
}
