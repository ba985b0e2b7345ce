//! Shell hooks: programs named under `hooks:` that read a moment on their input and say on their
//! output what they want.
//!
//! A hook runs only with consent, given once for an event, a command and what its scripts hold. A
//! hook before a tool call is a policy: when it cannot answer, the call is refused, unless it says otherwise.

mod consent;
mod listed;
mod run;

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::Settings;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_contract::processes::Processes;
use petasos_runtime::hooks::HookBus;

pub use consent::{Allowlist, Approval, Consent, ConsentError};
pub use listed::{HookSpec, Listing, listing};
pub use run::{Ran, Said, words};

/// The shell hooks of a configuration.
#[derive(Debug)]
pub struct ShellHooks {
    /// Those that may run.
    pub active: Vec<HookSpec>,
    /// Those that nobody has agreed to yet.
    pub pending: Vec<HookSpec>,
    /// Those whose script is another one than somebody agreed to.
    pub changed: Vec<HookSpec>,
    /// What is wrong with the configuration, for people.
    pub problems: Vec<String>,
}

impl ShellHooks {
    /// Reads the configuration and what was agreed to. Costs one look when there are none.
    pub fn of(settings: &Settings) -> Self {
        let Listing { hooks, problems } = listing(settings);
        let (active, pending, changed) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = Self { active, pending, changed, problems };
        if hooks.is_empty() || is_safe_mode(settings) {
            return found;
        }
        let accepted = settings.get("hooks_auto_accept") == Some(&serde_json::Value::Bool(true));
        let allowlist = Allowlist::of(settings);
        for hook in hooks {
            let consent = allowlist.consent(&hook, settings);
            match if accepted { Consent::Given } else { consent } {
                Consent::Given => found.active.push(hook),
                Consent::Outdated => found.changed.push(hook),
                Consent::Missing => found.pending.push(hook),
            }
        }
        found
    }

    /// Puts the active ones on the bus, behind what is there. One that guards calls and whose
    /// script has changed does not run, and what it guards does not run without it.
    pub fn register(&self, bus: &HookBus, processes: &Arc<dyn Processes>) {
        let held = self.changed.iter().filter(|spec| spec.on_failure == OnFailure::Block);
        let all = self.active.iter().map(|spec| (spec, false));
        for (spec, held) in all.chain(held.map(|spec| (spec, true))) {
            let (spec, processes) = (spec.clone(), Arc::clone(processes));
            bus.register(&(Arc::new(ShellHook { spec, processes, held }) as Arc<dyn Hook>));
        }
    }
}

/// Whether this start does without other people's code.
pub fn is_safe_mode(settings: &Settings) -> bool {
    settings.is_on("SAFE_MODE")
}

/// One hook on the bus.
struct ShellHook {
    spec: HookSpec,
    processes: Arc<dyn Processes>,
    /// Its script is another one than somebody agreed to.
    held: bool,
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

    fn deadline(&self, _: HookKind) -> Duration {
        // It ends its own program in time; the bus waits for that.
        self.spec.timeout + run::GRACE * 2
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(async move {
            if !self.spec.concerns(moment) {
                return Ok(Directive::Pass);
            }
            if self.held {
                return Err(HookError(format!(
                    "its script has changed since somebody agreed to it: the user looks at it and runs `petasos hooks approve '{}'`",
                    self.spec.command
                )));
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
