//! Which commands are shown to somebody else's scanner: those that rules alone would not stop and
//! that no setting lets pass unseen.

use std::future::Future;
use std::sync::Arc;

use petasos_contract::CallContext;
use petasos_contract::approval::Intent;
use petasos_contract::effect::Effect;
use petasos_contract::processes::Processes;

use super::Engine;
use super::waive::allowlisted;
use crate::permissions::{Deed, Kind};
use crate::scan::{Scanned, Scanner};
use crate::settings::{Approvals, Backend, Mode};

impl Engine {
    /// A policy that can start the scanner, where the settings name one or it is installed.
    #[must_use]
    pub fn with_processes(mut self, processes: Option<Arc<dyn Processes>>) -> Self {
        self.scanner = Scanner::new(processes);
        self
    }

    /// What the scanner says about the commands of a call; nothing where it is not to be asked.
    pub fn scanning<'a>(
        &'a self,
        intent: &Intent<'a>,
        cx: &'a CallContext,
    ) -> Option<impl Future<Output = Vec<Scanned>> + Send + use<'a>> {
        let scripts: Vec<&str> = intent.plan.effects.iter().filter_map(script).collect();
        if scripts.is_empty() {
            return None;
        }
        let loaded = self.load(&cx.settings);
        let approvals = loaded.as_ref().as_ref().ok()?;
        let wish = approvals.scan.as_ref()?;
        let is_off = approvals.mode == Mode::Off || self.memory.is_off(&cx.session);
        if is_off || approvals.backend == Backend::Isolated || !self.scanner.is_wanted(wish, cx) {
            return None;
        }
        let tool = intent.tool.as_str();
        let shown: Vec<&str> =
            scripts.into_iter().filter(|script| !is_listed(script, tool, approvals)).collect();
        if shown.is_empty() {
            return None;
        }
        Some(async move {
            let wish = loaded.as_ref().as_ref().ok().and_then(|approvals| approvals.scan.as_ref());
            let mut scanned = Vec::new();
            for (script, wish) in shown.into_iter().zip(wish) {
                scanned.push(self.scanner.scan(script, wish, cx).await);
            }
            scanned
        })
    }
}

fn script(effect: &Effect) -> Option<&str> {
    match effect {
        Effect::Command { script, .. } => Some(script),
        _ => None,
    }
}

fn is_listed(script: &str, tool: &str, approvals: &Approvals) -> bool {
    if approvals.allowlist.is_empty() {
        return false;
    }
    let mut deed = Deed::new(tool, Kind::Program);
    deed.script = Some(script.to_owned());
    allowlisted(&approvals.allowlist, &deed).is_some()
}
