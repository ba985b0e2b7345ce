//! What sets an observation aside: isolation, approvals that are off, the allow-list, the user's
//! rules, and what was approved before. What is never runnable stays, whatever is said here.

use std::path::Path;

use petasos_analysis::{FINDINGS_MAX, Nature};
use petasos_contract::CallContext;
use petasos_contract::approval::Scope;
use petasos_contract::environment::Sandbox;
use petasos_contract::path::TargetPath;

use super::Engine;
use super::decision::{Class, Observed, Waiver};
use super::layers::Place;
use crate::grants::{self, Asked, Held};
use crate::keys::same_key;
use crate::permissions::deed::is_compound;
use crate::permissions::glob::is_pattern;
use crate::permissions::{Deed, Glob, Kind};
use crate::settings::{Approvals, Backend, Mode};

impl Engine {
    /// Sets aside what does not count for one effect.
    pub(super) fn waive(&self, observed: &mut [Observed], deed: &Deed, place: &Place<'_>) {
        if observed.is_empty() {
            return;
        }
        let (approvals, cx) = (place.approvals, place.cx);
        if approvals.backend == Backend::Isolated && matches!(deed.kind, Kind::Program | Kind::File)
        {
            set(observed, &Waiver::Isolated, |it| {
                matches!(it.class, Class::Hardline | Class::Sudo | Class::Rule | Class::Code)
            });
        }
        if let Some(sandbox) = place.confined {
            set(observed, &Waiver::Confined, |it| is_held(it, sandbox));
        }
        self.waive_off(observed, approvals, cx);
        if let Some(entry) = allowlisted(&approvals.allowlist, deed) {
            let waiver = Waiver::Allowlist(entry.to_owned());
            set(observed, &waiver, |it| it.class == Class::Rule);
        }
        if observed.iter().any(is_ruled)
            && let Some(rules) = approvals.permissions.allowing(deed, place.anchors())
        {
            set(observed, &Waiver::AllowRule(rules), is_ruled);
        }
        self.waive_remembered(observed, approvals, cx);
        if self.supervised {
            return;
        }
        let records = self.records.of(cx.settings.home());
        for it in observed.iter_mut().filter(|it| is_grantable(it)) {
            let asked = Asked { key: &it.finding.key, spots: &it.spots, deed };
            let session = self.memory.held(&cx.session);
            let session: Vec<&Held> = session.iter().collect();
            it.waived = if grants::covered(&session, &asked, place.anchors()).is_some() {
                Some(Waiver::Session)
            } else {
                records.granting(&asked, place.anchors(), cx).map(Waiver::Grant)
            };
        }
    }

    /// The same for what hooks and scanners escalated, which only a person's own word sets aside.
    pub(super) fn waive_escalated(
        &self,
        observed: &mut [Observed],
        approvals: &Approvals,
        cx: &CallContext,
    ) {
        self.waive_off(observed, approvals, cx);
        self.waive_remembered(observed, approvals, cx);
    }

    fn waive_off(&self, observed: &mut [Observed], approvals: &Approvals, cx: &CallContext) {
        if approvals.mode == Mode::Off || !self.supervised && self.memory.is_off(&cx.session) {
            set(observed, &Waiver::Off, |it| is_rememberable(it.class));
        }
    }

    fn waive_remembered(&self, observed: &mut [Observed], approvals: &Approvals, cx: &CallContext) {
        let open =
            observed.iter_mut().filter(|it| it.waived.is_none() && is_rememberable(it.class));
        for it in open {
            let (key, widest) = (&it.finding.key, it.finding.widest);
            if widest >= Scope::Session && self.memory.in_session(&cx.session, key) {
                it.waived = Some(Waiver::Session);
            } else if (widest == Scope::Always || it.class == Class::Rule)
                && (approvals.allowlist.iter().any(|entry| same_key(entry, key))
                    || self.memory.always(cx.settings.home(), key))
            {
                it.waived = Some(Waiver::Always(key.clone()));
            }
        }
    }
}

/// The entry that names this command text; never for more than one simple command.
pub(crate) fn allowlisted<'a>(entries: &'a [String], deed: &Deed) -> Option<&'a str> {
    let script = deed.script.as_deref()?;
    if is_compound(script) {
        return None;
    }
    let text = script.trim();
    let found = entries
        .iter()
        .find(|entry| *entry == text || is_pattern(entry) && Glob::new(entry).matches(text));
    found.map(String::as_str)
}

fn is_rememberable(class: Class) -> bool {
    matches!(class, Class::UserAsk | Class::Rule | Class::Code | Class::Escalated | Class::Tainted)
}

fn is_ruled(it: &Observed) -> bool {
    it.waived.is_none() && matches!(it.class, Class::Rule | Class::Code | Class::Guarded)
}

/// Whether all that made a rule speak is a path that the sandbox keeps from being changed.
fn is_held(it: &Observed, sandbox: &Sandbox) -> bool {
    let below = |path: &Path, roots: &[TargetPath]| {
        roots.iter().any(|root| path.starts_with(root.as_path()))
    };
    let held = |target: &str| {
        let path = Path::new(target);
        let known = target.starts_with('/') && !target.contains(['*', '?', '[', '…', '$', '~']);
        // Below a folder that goes with everything in it may lie what can be written.
        let above = sandbox.writable.iter().any(|root| root.as_path().starts_with(path));
        let outside = !above && !below(path, &sandbox.writable) && !path.starts_with("/dev");
        known && (outside || below(path, &sandbox.protected))
    };
    let changes = matches!(it.class, Class::Rule | Class::OwnFiles)
        && !matches!(it.nature, Nature::SecretRead | Nature::Blind);
    let all = !it.spots.is_empty() && it.spots.len() < FINDINGS_MAX;
    changes && all && it.spots.iter().all(|spot| spot.target.as_deref().is_some_and(held))
}

fn is_grantable(it: &Observed) -> bool {
    it.waived.is_none()
        && (is_ruled(it) || it.class == Class::UserAsk && it.finding.widest > Scope::Once)
}

fn set(observed: &mut [Observed], waiver: &Waiver, applies: impl Fn(&Observed) -> bool) {
    for it in observed.iter_mut().filter(|it| it.waived.is_none()) {
        if applies(it) {
            it.waived = Some(waiver.clone());
        }
    }
}
