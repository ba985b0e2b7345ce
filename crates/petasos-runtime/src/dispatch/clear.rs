//! Clearing: policy judges the plan of a call; whoever must agree is asked.
//!
//! Judging never waits and asking never decides. Each way it can end is a different refusal, so
//! that the model, the hooks and the log can tell a denial from a silence.

use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Digest, Finding, FindingKind, Intent, Policy, Scope,
    Settlement, Verdict, Who,
};
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::effect::Effect;
use petasos_contract::hook::{ApprovalMoment, Moment};
use petasos_contract::{Args, CallContext, Cleared, Plan, ToolName, wait};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::origin::{self, Origin};
use super::{ClearedCall, Dispatcher, PlannedCall, consent, edits, plan, planning, run};
use crate::budget;
use crate::registry::Entry;

/// What a denied model must understand, whoever denied.
const NO_CONSENT: &str = "The user has not consented to this action. Do not retry it, rephrase \
     it, or reach the same effect another way. Stop and wait for the user.";

/// The longest a question stays open, whoever asks it.
const ANSWER_MAX: Duration = Duration::from_hours(24);

/// Judges a planned call and, where a person must agree, asks.
pub(super) async fn check(
    call: PlannedCall,
    mut escalated: Vec<Finding>,
    door: &Dispatcher,
    cx: &CallContext,
) -> Result<ClearedCall, Refusal> {
    let PlannedCall { id, entry, mut plan } = call;
    planning::check(&entry, &plan, cx)?;
    let policy = door.policy.as_ref();
    let untrusted = budget::reads_untrusted(door.spill(), &plan.effects, cx)?;
    let tool = &entry.name;
    escalated.extend(edits::wanted(&plan, cx));
    let unscanned = Intent { tool, plan: &plan, escalated: &escalated };
    let scanned = scanned(&unscanned, &entry, policy, cx).await?;
    escalated.extend(scanned);
    let verdict = policy.judge(&Intent { tool, plan: &plan, escalated: &escalated }, cx);
    let reading = policy.reading(cx);
    plan.pins.extend(reading.pins);
    let origin = Origin::of(&entry, &plan, untrusted || reading.reaches, cx);
    let intent = Intent { tool, plan: &plan, escalated: &escalated };
    let mut consent = None;
    let (answer, refusal) = match &verdict {
        Verdict::Allow => (None, None),
        Verdict::Block(findings) => {
            (None, Some(origin::told(blocked(findings), findings, &plan, cx)))
        }
        Verdict::Ask(findings) => {
            let request = request(&intent, findings, cx).await?;
            let answer = asked(door, &request, cx).await;
            consent = consent::note(&answer, findings, &plan.effects);
            let refusal = refused(&answer, findings);
            let refusal = refusal.map(|refusal| origin::told(refusal, findings, &plan, cx));
            (Some(answer), refusal)
        }
    };
    let settlement = Settlement { intent: &intent, verdict: &verdict, answer: answer.as_ref() };
    policy.settle(&settlement, cx).await.map_err(|error| super::broken(&error.to_string()))?;
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let cleared = Cleared::new(plan);
    Ok(ClearedCall { id, entry, cleared, consent, escalated, origin })
}

/// Plans and judges a call once more: its arguments, its directory or the files behind it are not
/// what was judged. Nobody is asked twice, so that anything but a plain yes refuses it.
pub(super) async fn again(
    entry: &Entry,
    args: Args,
    escalated: &[Finding],
    policy: &dyn Policy,
    cx: &CallContext,
) -> Result<Cleared, Refusal> {
    let mut plan = plan::make(entry, args, cx).await?;
    planning::check(entry, &plan, cx)?;
    let tool = &entry.name;
    let scanned = scanned(&Intent { tool, plan: &plan, escalated }, entry, policy, cx).await?;
    let escalated = [escalated, &scanned].concat();
    let verdict = policy.judge(&Intent { tool, plan: &plan, escalated: &escalated }, cx);
    plan.pins.extend(policy.reading(cx).pins);
    let intent = Intent { tool, plan: &plan, escalated: &escalated };
    let settlement = Settlement { intent: &intent, verdict: &verdict, answer: None };
    policy.settle(&settlement, cx).await.map_err(|error| super::broken(&error.to_string()))?;
    match verdict {
        Verdict::Allow => Ok(Cleared::new(plan)),
        Verdict::Ask(_) | Verdict::Block(_) => Err(altered()),
    }
}

/// The world moved, and what would happen now was not agreed to.
pub(super) fn altered() -> Refusal {
    let message = "Not run: its arguments, its directory or the files behind its paths changed \
                   after it had been judged, and it needs approval as it is now.";
    Refusal::new(RefusalKind::Altered, message)
}

/// Puts the question. Hooks that watch hold back nobody who interrupts.
async fn asked(door: &Dispatcher, request: &ApprovalRequest, cx: &CallContext) -> Answer {
    let about = ApprovalMoment { cx, request };
    let before = Moment::PreApprovalRequest(&about);
    wait::unless_cancelled(&cx.cancel, Duration::ZERO, door.hooks.observe(&before)).await;
    let answer = narrowed(ask(door.approver.as_ref(), request, cx).await, request.widest);
    let after = Moment::PostApprovalResponse(&about, &answer);
    wait::unless_cancelled(&cx.cancel, wait::LAST_WORDS, door.hooks.observe(&after)).await;
    answer
}

/// What a scanner finds in a call that is not blocked anyway.
async fn scanned(
    intent: &Intent<'_>,
    entry: &Entry,
    policy: &dyn Policy,
    cx: &CallContext,
) -> Result<Vec<Finding>, Refusal> {
    let Some(scan) = policy.scan(intent, cx) else { return Ok(Vec::new()) };
    if matches!(policy.judge(intent, cx), Verdict::Block(_)) {
        return Ok(Vec::new());
    }
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(run::cancelled(entry)),
        findings = scan => Ok(findings),
    }
}

/// Identifies a tool with what it would do, whatever the order of its arguments' keys.
fn digest(tool: &ToolName, plan: &Plan) -> Digest {
    let mut hasher = Sha256::new();
    let args = canonical(&Value::Object(plan.args.object().clone())).to_string();
    let effects = serde_json::to_string(&plan.effects).unwrap_or_default();
    for part in [tool.as_str(), &args, &effects, &format!("{:?}", plan.pins)] {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    Digest(hasher.finalize().into())
}

/// The same value with sorted keys.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let sorted = keys
                .into_iter()
                .map(|key| (key.clone(), object.get(key).map_or(Value::Null, canonical)));
            Value::Object(sorted.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

async fn request(
    intent: &Intent<'_>,
    findings: &[Finding],
    cx: &CallContext,
) -> Result<ApprovalRequest, Refusal> {
    let edits = edits::shown(intent.plan, findings, cx).await?;
    Ok(ApprovalRequest {
        tool: intent.tool.clone(),
        subject: subject(intent),
        cwd: directory(intent),
        findings: findings.to_vec(),
        edits,
        digest: digest(intent.tool, intent.plan),
        widest: widest(findings),
    })
}

/// The widest scope that every finding permits.
fn widest(findings: &[Finding]) -> Scope {
    findings.iter().map(|finding| finding.widest).min().unwrap_or(Scope::Once)
}

/// Where the command would run, or the program.
fn directory(intent: &Intent<'_>) -> Option<PathBuf> {
    intent.plan.effects.iter().find_map(|effect| match effect {
        Effect::Command { cwd, .. } | Effect::Code { cwd, .. } => Some(cwd.clone()),
        _ => None,
    })
}

/// What a person is shown: the command or the paths, else the arguments.
fn subject(intent: &Intent<'_>) -> String {
    if !intent.plan.subject.is_empty() {
        return intent.plan.subject.clone();
    }
    let lines: Vec<String> = intent
        .plan
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Command { script, .. } => Some(script.clone()),
            Effect::Code { source, .. } => Some(source.clone()),
            Effect::Write(path) => Some(format!("write {}", path.display())),
            Effect::Read(path) => Some(format!("read {}", path.display())),
            Effect::Reach(host) => Some(format!("reach {host}")),
            Effect::Send { target } => Some(format!("send to {target}")),
            Effect::Actuate { target, .. } => Some(format!("move {target}")),
            Effect::Remember { store } => Some(format!("keep in {store}")),
            _ => None,
        })
        .collect();
    if lines.is_empty() {
        return format!("{} {}", intent.tool, Value::Object(intent.plan.args.object().clone()));
    }
    lines.join("\n")
}

/// Waits for the answer. Whoever asks has a limit of their own; the time a person takes counts
/// against no call's deadline.
async fn ask(approver: &dyn Approver, request: &ApprovalRequest, cx: &CallContext) -> Answer {
    let answer = cx.pauses.during(approver.ask(request, cx));
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {
            let by = Who::Person(None);
            Answer::Denied { by, comment: Some("the turn was interrupted".to_owned()) }
        }
        answer = tokio::time::timeout(ANSWER_MAX, answer) => {
            answer.unwrap_or(Answer::Expired { after: ANSWER_MAX })
        }
    }
}

/// A surface may offer more than the findings permit; what counts is what they permit.
fn narrowed(answer: Answer, widest: Scope) -> Answer {
    match answer {
        Answer::Allowed { scope, by } => Answer::Allowed { scope: scope.min(widest), by },
        other => other,
    }
}

fn refused(answer: &Answer, findings: &[Finding]) -> Option<Refusal> {
    let what = names(findings);
    let refusal = match answer {
        Answer::Allowed { .. } => return None,
        Answer::Denied { by, comment } => denied(by, comment.as_deref(), &what),
        Answer::Expired { after } => {
            let message = format!(
                "Nobody answered the approval request for {what} within {} s. Silence is not \
                 consent. {NO_CONSENT}",
                after.as_secs()
            );
            Refusal::new(RefusalKind::Expired, message).with("outcome", "timeout")
        }
        Answer::Undeliverable { reason } => {
            let message = format!(
                "This needs approval ({what}) and nobody can be asked: {reason}. It was not run. \
                 Tell the user what you wanted to do."
            );
            Refusal::new(RefusalKind::Undeliverable, message)
                .with("outcome", "undeliverable")
                .with("status", "pending_approval")
                .with("approval_pending", true)
        }
        Answer::ReviewerUnavailable { reason } => {
            let message = format!(
                "This needs approval ({what}), the reviewing model is unavailable ({reason}) and \
                 nobody else can be asked. It was not run."
            );
            Refusal::new(RefusalKind::ReviewerUnavailable, message)
                .with("outcome", "reviewer_unavailable")
        }
    };
    let lasting = widest(findings) == Scope::Always;
    let refusal = refusal.with("user_consent", false).with("allow_permanent", lasting);
    Some(described(refusal, findings))
}

fn denied(by: &Who, comment: Option<&str>, what: &str) -> Refusal {
    let reason = comment.map(|text| format!(" Their reason: \"{text}\".")).unwrap_or_default();
    let message = format!("Denied by {by} ({what}).{reason} {NO_CONSENT}");
    let mut refusal = Refusal::new(RefusalKind::Denied, message).with("outcome", "denied");
    if let Some(comment) = comment {
        refusal = refusal.with("deny_reason", comment);
    }
    if *by == Who::Reviewer { refusal.with("smart_denied", true) } else { refusal }
}

fn blocked(findings: &[Finding]) -> Refusal {
    let message = format!(
        "Blocked by policy ({}): {}. No approval can change this: do not try another way.",
        names(findings),
        reasons(findings)
    );
    let mut refusal = Refusal::new(RefusalKind::Policy, message).with("outcome", "blocked");
    let marks = [(FindingKind::Hardline, "hardline"), (FindingKind::UserDeny, "user_deny")];
    for (kind, key) in marks {
        if findings.iter().any(|finding| finding.kind == kind) {
            refusal = refusal.with(key, true);
        }
    }
    described(refusal, findings)
}

/// What it was about: the first key alone, as older readers want it, and all of them.
fn described(refusal: Refusal, findings: &[Finding]) -> Refusal {
    let refusal = refusal.with("pattern_keys", keys(findings));
    match findings.first() {
        Some(first) => {
            refusal.with("pattern_key", &*first.key).with("description", reasons(findings))
        }
        None => refusal,
    }
}

fn reasons(findings: &[Finding]) -> String {
    findings.iter().map(|finding| finding.why.as_str()).collect::<Vec<_>>().join("; ")
}

fn names(findings: &[Finding]) -> String {
    findings.iter().map(|finding| &*finding.key).collect::<Vec<_>>().join(", ")
}

fn keys(findings: &[Finding]) -> Value {
    findings.iter().map(|finding| Value::from(&*finding.key)).collect()
}
