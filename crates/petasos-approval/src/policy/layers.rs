//! The layers of §13.1 as data: what is observed about one effect, and what it comes to in the end.
//!
//! Setting observations aside is the business of `waive`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use petasos_contract::CallContext;
use petasos_contract::approval::{Finding, Reading, Scope, Verdict};
use petasos_contract::context::{Principal, Surface};
use petasos_contract::environment::Sandbox;

use super::decision::{Class, Decision, Observed, Waiver};
use super::inspect::{Said, Seen, Sort};
use super::{own, paths};
use crate::grants::{self, Spot};
use crate::permissions::deed::Step;
use crate::permissions::{Access, Anchors, Deed, Kind, List, rule};
use crate::settings::{Absent, ApprovalSettingsError, Approvals, Switch};
use petasos_analysis::{Facts, Nature};

/// The tool whose whole program is put up for approval over chat.
const CODE_TOOL: &str = "execute_code";

/// Where a call happens.
pub(super) struct Place<'a> {
    pub(super) approvals: &'a Approvals,
    pub(super) facts: &'a Facts,
    pub(super) cx: &'a CallContext,
    /// The confinement that the call is sure to have.
    pub(super) confined: Option<&'a Sandbox>,
}

impl Place<'_> {
    pub(super) fn anchors(&self) -> Anchors<'_> {
        Anchors { home: Path::new(&self.facts.home), workspace: &self.cx.workspace }
    }
}

/// Settings that cannot be used let nothing pass.
pub(super) fn broken(error: &ApprovalSettingsError) -> Decision {
    let finding = finding("approval settings", error.to_string(), Scope::Once);
    let observed = vec![Observed::new(finding.clone(), Class::Broken)];
    Decision {
        verdict: Verdict::Block(vec![finding]),
        observed,
        commands: Vec::new(),
        written: Vec::new(),
        reading: Reading::default(),
    }
}

/// Everything that speaks against one effect.
pub(super) fn observe(seen: &Seen, place: &Place<'_>) -> Vec<Observed> {
    let mut found: Vec<Observed> = seen.said.iter().map(|said| built_in(said, place)).collect();
    own_files(&mut found, &seen.deed, place);
    user_rules(&mut found, &seen.deed, place);
    found.extend(outside_safe_roots(&seen.deed, place));
    found.extend(whole_program(&seen.deed, place));
    found
}

fn built_in(said: &Said, place: &Place<'_>) -> Observed {
    let inside = place.approvals.in_gateway || place.cx.surface == Surface::Gateway;
    let nature = if let Sort::Rule(nature) = said.sort { nature } else { Nature::Plain };
    let class = match said.sort {
        Sort::Rule(Nature::SelfHarm) if inside => Class::Gateway,
        _ if said.blocks => Class::Hardline,
        Sort::Rule(Nature::Sudo) if is_fed(&said.leaf) && !place.approvals.sudo_password => {
            Class::Sudo
        }
        Sort::Rule(Nature::OwnFiles) => Class::OwnFiles,
        Sort::Rule(_) | Sort::Passing => Class::Rule,
        Sort::Unconfined => Class::Unconfined,
        Sort::Guarded => Class::Guarded,
    };
    let mut observed = Observed::new(finding(said.key, said.why.clone(), Scope::Once), class);
    observed.finding.span.clone_from(&said.span);
    observed.spots.clone_from(&said.spots);
    observed.nature = nature;
    if class == Class::Rule {
        observed.finding.widest = match nature {
            Nature::Blind => Scope::Once,
            Nature::SecretRead => Scope::Session,
            _ if said.sort == Sort::Passing => Scope::Session,
            _ => Scope::Always,
        };
        offer(&mut observed, place);
    }
    observed
}

/// Whether a command hands sudo a password, which is a guess where none was configured.
fn is_fed(leaf: &str) -> bool {
    leaf.split_whitespace().any(|word| match word.strip_prefix("--") {
        Some(long) => long.len() > 2 && "stdin".starts_with(long),
        None => word.strip_prefix('-').is_some_and(|flags| flags.contains('S')),
    })
}

/// Says what an answer for longer than once would store; where nothing narrow can be named, it
/// holds once.
fn offer(observed: &mut Observed, place: &Place<'_>) {
    let (key, project) = (&observed.finding.key, &place.cx.workspace);
    match grants::offers(key, &observed.spots, project) {
        Some(offers) if observed.finding.widest > Scope::Once => {
            let words: Vec<String> = offers.iter().map(ToString::to_string).collect();
            observed.finding.stores = Some(words.join("; "));
        }
        _ => observed.finding.widest = Scope::Once,
    }
}

/// A path of the agent's own that a built-in rule saw otherwise keeps that rule's key.
fn own_files(found: &mut Vec<Observed>, deed: &Deed, place: &Place<'_>) {
    if own::reads_credentials(deed, place.facts) {
        for it in found.iter_mut().filter(|it| it.nature == Nature::SecretRead) {
            (it.class, it.finding.widest) = (Class::OwnFiles, Scope::Once);
        }
    }
    let Some(path) = own::written(deed, place.facts) else { return };
    if found.iter().any(|it| it.class == Class::OwnFiles) {
        return;
    }
    let why = format!("`{path}` holds the agent's own settings, rules or credentials");
    let mut observed = Observed::new(finding(own::KEY, why, Scope::Once), Class::OwnFiles);
    observed.spots.push(Spot { leaf: path.clone(), target: Some(path), cwd: None });
    found.push(observed);
}

fn user_rules(found: &mut Vec<Observed>, deed: &Deed, place: &Place<'_>) {
    let mut push = |class, key: String, why: String, widest| {
        let mut observed = Observed::new(finding(key, why, widest), class);
        if widest > Scope::Once {
            observed.spots = whole(deed, place);
            offer(&mut observed, place);
        }
        found.push(observed);
    };
    let denied = &place.approvals.deny;
    let spelled = if denied.is_empty() { Vec::new() } else { texts(deed) };
    for glob in denied {
        if spelled.iter().any(|text| glob.matches(text)) {
            let key = format!("approvals.deny: {}", glob.as_str());
            push(Class::UserDeny, key, "the user refuses this".to_owned(), Scope::Once);
        }
    }
    for list in [List::Deny, List::Ask] {
        let (class, widest) = match list {
            List::Deny => (Class::UserDeny, Scope::Once),
            // For good, it would only be a way of taking the rule back.
            _ => (Class::UserAsk, Scope::Session),
        };
        for rule in place.approvals.permissions.touching(list, deed, place.anchors()) {
            let why = rule.why.clone().unwrap_or_else(|| {
                let wish = if list == List::Deny { "refuses this" } else { "wants to be asked" };
                format!("a rule of the user or the project {wish}")
            });
            push(class, format!("{}: {rule}", list.key()), why, widest);
        }
    }
    if place.approvals.asks_push == Switch::On && deed.steps.iter().any(is_git_push) {
        let why = "`approvals.git_push` is `ask`".to_owned();
        push(Class::Rule, "git push".to_owned(), why, Scope::Always);
    }
}

/// All of an effect, for a finding that is about no part of it.
fn whole(deed: &Deed, place: &Place<'_>) -> Vec<Spot> {
    let spot = |leaf: &str, target: Option<&str>| Spot {
        leaf: leaf.to_owned(),
        target: target.map(str::to_owned),
        cwd: place.facts.cwd.clone(),
    };
    match &deed.script {
        Some(script) => vec![spot(script, None)],
        None => deed.touched.iter().map(|it| spot(&it.path, Some(&it.path))).collect(),
    }
}

fn is_git_push(step: &Step) -> bool {
    let mut words = step.argv.iter().map(String::as_str);
    if words.next().map(rule::base) != Some("git") {
        return false;
    }
    while let Some(word) = words.next() {
        match word {
            // Options of git itself that take the next word.
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            command => return command == "push",
        }
    }
    false
}

/// The spellings that a refusal is compared with: the whole text, and each command in it.
fn texts(deed: &Deed) -> Vec<String> {
    let collapsed = |words: &mut dyn Iterator<Item = &str>| words.collect::<Vec<_>>().join(" ");
    let mut texts: Vec<String> =
        deed.script.iter().map(|script| collapsed(&mut script.split_whitespace())).collect();
    for step in &deed.steps {
        let words = || step.argv.iter().map(String::as_str);
        texts.push(collapsed(&mut words()));
        let named = words().next().map(rule::base);
        texts.push(collapsed(&mut named.into_iter().chain(words().skip(1))));
        if !step.via.is_empty() {
            texts.push(collapsed(&mut step.via.iter().map(String::as_str).chain(words())));
        }
    }
    texts
}

fn outside_safe_roots(deed: &Deed, place: &Place<'_>) -> Option<Observed> {
    let roots = &place.approvals.safe_roots;
    if roots.is_empty() {
        return None;
    }
    let (home, root) = (Path::new(&place.facts.home), Path::new("/"));
    let real = roots.iter().map(|path| paths::real(path, root, home));
    let all: Vec<PathBuf> = roots.iter().cloned().chain(real).collect();
    let cwd = Path::new(place.facts.cwd.as_deref().unwrap_or("/"));
    let outside =
        deed.touched.iter().filter(|touch| touch.access != Access::Read).find(|touch| {
            let path = paths::folded(Path::new(&touch.path), cwd, home);
            !path.starts_with("/dev") && !all.iter().any(|root| path.starts_with(root))
        })?;
    let why = format!(
        "`{}` lies outside the directories that may be written to (`PETASOS_WRITE_SAFE_ROOT`)",
        outside.path
    );
    let finding = finding("write outside the safe root", why, Scope::Once);
    Some(Observed::new(finding, Class::SafeRoot))
}

/// Over chat nobody sees what a program does step by step, so that all of it is shown first; a
/// scheduled run has nobody to show it to.
fn whole_program(deed: &Deed, place: &Place<'_>) -> Option<Observed> {
    let is_code = deed.kind == Kind::Program && deed.script.is_none() && deed.tool == CODE_TOOL;
    let unattended = place.cx.surface == Surface::Cron && place.approvals.cron == Absent::Deny;
    if !is_code || !(unattended || place.cx.surface == Surface::Gateway) {
        return None;
    }
    let why = "a program is run whole".to_owned();
    let finding = finding(CODE_TOOL, why, Scope::Always);
    Some(Observed::new(finding, Class::Code))
}

/// What hooks and scanners want a person to agree to.
pub(super) fn escalated(findings: &[Finding]) -> Vec<Observed> {
    let observed = |finding: &Finding| Observed::new(finding.clone(), Class::Escalated);
    findings.iter().map(observed).collect()
}

/// What is left comes to a verdict; where nobody can be asked, a setting answers.
pub(super) fn weigh(observed: &mut [Observed], approvals: &Approvals, cx: &CallContext) -> Verdict {
    let blocking = left(observed, |it| it.class.blocks());
    if !blocking.is_empty() {
        return Verdict::Block(blocking);
    }
    let (setting, absent) = match absent(approvals, cx) {
        Some((setting, absent)) => (setting, Some(absent)),
        None => ("", None),
    };
    if absent == Some(Absent::Approve) {
        for it in observed.iter_mut().filter(|it| it.waived.is_none()) {
            if !it.class.needs_presence() {
                it.waived = Some(Waiver::Setting(setting));
            }
        }
    }
    let mut asking = left(observed, |_| true);
    if asking.is_empty() {
        return Verdict::Allow;
    }
    // Without a chat or a terminal behind it, a question is for the approver to refuse: a program
    // that embeds us may have somebody after all.
    if absent.is_none() || setting == HEADLESS {
        return Verdict::Ask(asking);
    }
    for finding in &mut asking {
        finding.why = format!("{} ({}, see `{setting}`)", finding.why, nobody(setting));
    }
    Verdict::Block(asking)
}

const CRON: &str = "approvals.cron_mode";
const SUBAGENT: &str = "delegation.subagent_auto_approve";
const HEADLESS: &str = "approvals.headless_mode";

fn absent(approvals: &Approvals, cx: &CallContext) -> Option<(&'static str, Absent)> {
    // A scheduled run is attended where its questions are led to a chat.
    if cx.surface == Surface::Cron && !cx.attended {
        Some((CRON, approvals.cron))
    } else if (cx.principal == Principal::Subagent || cx.depth > 0) && !asks_above(approvals, cx) {
        Some((SUBAGENT, approvals.subagents))
    } else if !cx.attended {
        Some((HEADLESS, approvals.headless))
    } else {
        None
    }
}

/// An editor shows the calls of subagents: its person is asked about them, too.
fn asks_above(approvals: &Approvals, cx: &CallContext) -> bool {
    cx.surface == Surface::Acp && cx.attended && approvals.subagents == Absent::Deny
}

fn nobody(setting: &str) -> &'static str {
    if setting == CRON {
        "a scheduled run has nobody to ask; remember its key beforehand or leave it out"
    } else {
        "a subagent may not ask; leave it to the main conversation"
    }
}

fn left(observed: &[Observed], wanted: impl Fn(&Observed) -> bool) -> Vec<Finding> {
    observed
        .iter()
        .filter(|it| it.waived.is_none() && wanted(it))
        .map(|it| match it.class {
            Class::Escalated => it.finding.clone(),
            class => Finding { kind: class.finding_kind(), ..it.finding.clone() },
        })
        .collect()
}

pub(crate) fn finding(key: impl Into<Cow<'static, str>>, why: String, widest: Scope) -> Finding {
    Finding {
        key: key.into(),
        why,
        kind: petasos_contract::approval::FindingKind::Rule,
        span: None,
        widest,
        stores: None,
    }
}
