//! The policy: every effect of every tool, judged in layers, with memory and a log.
//!
//! [`Engine::decide`] is pure and takes microseconds; [`Policy::judge`] is its verdict alone, and
//! the command line explains with the same function. Asking is not done here.

mod archives;
pub mod decision;
pub mod explain;
pub(crate) mod inspect;
pub(crate) mod layers;
mod outward;
mod own;
pub(crate) mod paths;
mod records;
mod scanning;
mod scripts;
mod settle;
mod spending;
mod tainted;
mod trees;
mod waive;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::approval::{
    Finding, Intent, Policy, PolicyError, Reading, Settlement, Verdict,
};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::{BoxFuture, CallContext, CallId, SessionId, Settings, ToolName, TurnId};
use petasos_store::{DecisionLog, GrantStore};

use crate::grants::Memory;
use crate::permissions::{Anchors, Deed, Kind};
use crate::scan::Scanner;
use crate::settings::{ApprovalSettingsError, Approvals, Backend};
use decision::{Decision, Observed};
use inspect::Seen;
use petasos_analysis::Facts;
use records::Records;
use scripts::Disk;

/// Snapshots that may be in use at once: each profile and each reload has its own.
const SNAPSHOTS_KEPT: usize = 16;
const COMMANDS_TOLD: usize = 16;
/// Calls that were judged and whose reading nobody has taken yet.
const NOTED_MAX: usize = 64;

type Loaded = Result<Approvals, ApprovalSettingsError>;

/// The policy of a process, for all its sessions.
#[derive(Debug, Default)]
pub struct Engine {
    snapshots: Mutex<VecDeque<(u64, Arc<Loaded>)>>,
    memory: Memory,
    records: Records,
    scanner: Scanner,
    /// The process is itself a command of a session: nothing here may loosen what that one asks.
    supervised: bool,
    /// What was judged last: it is most often the next to be settled.
    judged: Mutex<Option<(Judged, Decision)>>,
    /// What was read for calls that were judged just now, the newest last.
    noted: Mutex<VecDeque<(Called, Reading)>>,
}

/// Which call it is.
type Called = (SessionId, TurnId, CallId);

/// Which call was judged, and with what to agree to.
type Judged = (Called, ToolName, Effects, Vec<Finding>);

impl Engine {
    /// A policy that refuses to start with settings it cannot use.
    pub fn new(settings: &Settings) -> Result<Self, ApprovalSettingsError> {
        Approvals::read(settings)?;
        Ok(Self::default())
    }

    /// For a process below a supervisor of ours: modes, lists and grants that spare a question
    /// are left aside, because whoever is judged above may have chosen them.
    #[must_use]
    pub fn supervised(mut self, supervised: bool) -> Self {
        self.supervised = supervised;
        self
    }

    /// The same with these stores for a home, instead of its files.
    #[must_use]
    pub fn keeping(
        self,
        home: &Path,
        grants: Arc<dyn GrantStore>,
        decisions: Arc<dyn DecisionLog>,
    ) -> Self {
        self.records.put(home, grants, decisions);
        self
    }

    /// Judges a call and says why. Waits for nobody.
    pub fn decide(&self, intent: &Intent<'_>, cx: &CallContext) -> Decision {
        let loaded = self.load(&cx.settings);
        let approvals = match &*loaded {
            Ok(approvals) => approvals,
            Err(error) => return layers::broken(error),
        };
        let mut facts = facts(approvals, cx);
        facts.variables = intent.plan.exports.clone().into_iter().collect();
        if let Some(home) = &intent.plan.home {
            facts.home = home.to_string();
        }
        let local = approvals.backend == Backend::Local;
        let disk = Arc::new(Disk::new(self.memory.written(&cx.session)));
        facts.scripts = local.then(|| Arc::clone(&disk) as _);
        let mut observed: Vec<Observed> = Vec::new();
        let (mut deeds, mut written) = (Vec::new(), Vec::new());
        // An answer that nobody sees need not be a sentence of any language.
        let confined = intent.plan.confined.as_ref();
        let hidden = intent.plan.effects.iter().any(|effect| *effect == Effect::HiddenInput);
        for mut seen in inspected(intent, &facts) {
            seen.said.retain(|said| !(hidden && said.is_blind()));
            let cwd = facts.cwd.as_deref().unwrap_or("/");
            if local {
                inspect::follow_links(&mut seen, &facts, Path::new(cwd));
                written.extend(inspect::written(&seen.deed, &facts));
            }
            let place = layers::Place { approvals, facts: &facts, cx, confined };
            let mut here = layers::observe(&seen, &place);
            self.waive(&mut here, &seen.deed, &place);
            observed.append(&mut here);
            deeds.push(seen.deed);
        }
        let commands = deeds.iter().flat_map(|deed| &deed.steps).map(|step| step.argv.clone());
        let mut commands: Vec<Vec<String>> = commands.collect();
        if intent.plan.effects.iter().count() > 1 {
            // A span is of one text, and the question shows several.
            for it in &mut observed {
                it.finding.span = None;
            }
        }
        let mut escalated = layers::escalated(intent.escalated);
        let anchors = Anchors { home: Path::new(&facts.home), workspace: &cx.workspace };
        escalated.extend(tainted::gates(intent, (&deeds, anchors), approvals, cx));
        let spent = self.memory.spent(&cx.session);
        escalated.extend(spending::gates(intent, spent, &approvals.spending, cx));
        self.waive_escalated(&mut escalated, approvals, cx);
        observed.append(&mut escalated);
        let verdict = layers::weigh(&mut observed, approvals, cx);
        let reaches = tainted::reaches(intent, &commands);
        commands.truncate(COMMANDS_TOLD);
        let reading = Reading { pins: disk.pins(), reaches };
        Decision { verdict, observed, commands, written, reading }
    }

    /// Turns approvals off for one session, or on again.
    pub fn set_session_off(&self, session: &SessionId, off: bool) {
        self.memory.set_off(session, off);
    }

    /// What a person allowed beforehand is approved for one session: these rules and no others.
    pub fn allow_in(&self, session: &SessionId, keys: &[String]) {
        for key in keys {
            self.memory.remember_session(session, key);
        }
    }

    /// Forgets what was approved for a session.
    pub fn end_session(&self, session: &SessionId) {
        self.memory.end(session);
    }

    /// Forgets a key that was approved for good in this process; the file is edited by
    /// [`crate::grants::revoke`].
    pub fn forget(&self, home: &Path, key: &str) {
        self.memory.forget(home, key);
    }

    fn note(&self, reading: Reading, cx: &CallContext) {
        let call = called(cx);
        let mut noted = self.noted.lock();
        noted.retain(|(known, _)| *known != call);
        if reading != Reading::default() {
            noted.push_back((call, reading));
        }
        if noted.len() > NOTED_MAX {
            noted.pop_front();
        }
    }

    fn load(&self, settings: &Settings) -> Arc<Loaded> {
        let fingerprint = settings.fingerprint();
        let mut kept = self.snapshots.lock();
        if let Some((_, loaded)) = kept.iter().find(|(known, _)| *known == fingerprint) {
            return Arc::clone(loaded);
        }
        let read = Approvals::read(settings);
        let loaded = Arc::new(if self.supervised { read.map(Approvals::tightened) } else { read });
        kept.push_back((fingerprint, Arc::clone(&loaded)));
        if kept.len() > SNAPSHOTS_KEPT {
            kept.pop_front();
        }
        loaded
    }
}

fn known(intent: &Intent<'_>, cx: &CallContext) -> Judged {
    let (tool, effects) = (intent.tool.clone(), intent.plan.effects.clone());
    (called(cx), tool, effects, intent.escalated.to_vec())
}

fn called(cx: &CallContext) -> Called {
    (cx.session.clone(), cx.turn.clone(), cx.call.clone())
}

fn inspected(intent: &Intent<'_>, facts: &Facts) -> Vec<Seen> {
    let tool = intent.tool.as_str();
    let seen: Vec<Seen> =
        intent.plan.effects.iter().map(|effect| inspect::effect(effect, tool, facts)).collect();
    if seen.is_empty() {
        // Rules about tools hold for those without effects, too.
        return vec![Seen { deed: Deed::new(tool, Kind::Other), said: Vec::new() }];
    }
    seen
}

/// What the analyser is told about the place a call happens in.
pub(crate) fn facts(approvals: &Approvals, cx: &CallContext) -> Facts {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let known = |path: &Path| !path.as_os_str().is_empty();
    let settings = &cx.settings;
    let mut facts = Facts::default();
    if known(settings.user_home()) {
        facts.home = text(settings.user_home());
    }
    facts.cwd = known(&cx.workspace).then(|| text(&cx.workspace));
    facts.workspace.clone_from(&facts.cwd);
    facts.agent_home = known(settings.home()).then(|| text(settings.home()));
    facts.isolated = approvals.backend == Backend::Isolated;
    facts.elsewhere = approvals.backend != Backend::Local;
    facts
}

impl Policy for Engine {
    fn judge(&self, intent: &Intent<'_>, cx: &CallContext) -> Verdict {
        let mut decision = self.decide(intent, cx);
        let verdict = decision.verdict.clone();
        self.note(std::mem::take(&mut decision.reading), cx);
        *self.judged.lock() = Some((known(intent, cx), decision));
        verdict
    }

    fn reading(&self, cx: &CallContext) -> Reading {
        let call = called(cx);
        let mut noted = self.noted.lock();
        let at = noted.iter().rposition(|(known, _)| *known == call);
        at.and_then(|at| noted.remove(at)).map(|(_, reading)| reading).unwrap_or_default()
    }

    fn scan<'a>(
        &'a self,
        intent: &Intent<'a>,
        cx: &'a CallContext,
    ) -> Option<BoxFuture<'a, Vec<Finding>>> {
        let scanning = self.scanning(intent, cx)?;
        Some(Box::pin(async move {
            scanning.await.into_iter().flat_map(|scanned| scanned.findings).collect()
        }))
    }

    fn settle<'a>(
        &'a self,
        settled: &'a Settlement<'a>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), PolicyError>> {
        Box::pin(async move {
            self.settled(settled, cx).await.map_err(|error| PolicyError(error.to_string()))
        })
    }
}
