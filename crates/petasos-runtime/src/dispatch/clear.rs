//! Door 7: policy judges what the call would do; whoever must agree is asked.
//!
//! Judging never waits and asking never decides. Each way it can end is a different refusal, so
//! that the model, the hooks and the log can tell a denial from a silence.

use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Digest, Finding, Intent, Policy, Scope, Settlement, Verdict,
};
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::effect::Effect;
use petasos_contract::hook::{ApprovalMoment, Moment};
use petasos_contract::{Args, CallContext, ToolName, wait};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Cleared, Dispatcher, Granted, consent, run};
use crate::budget;

/// What a denied model must understand, whoever denied.
const NO_CONSENT: &str = "The user has not consented to this action. Do not retry it, rephrase \
     it, or reach the same effect another way. Stop and wait for the user.";

/// The longest a question stays open, whoever asks it.
const ANSWER_MAX: Duration = Duration::from_hours(24);

/// Judges a call and, where a person must agree, asks.
pub(super) async fn check(
    call: Granted,
    mut escalated: Vec<Finding>,
    door: &Dispatcher,
    cx: &CallContext,
) -> Result<Cleared, Refusal> {
    let policy = door.policy.as_ref();
    let effects = call.entry.tool.effects(&call.args, cx);
    let untrusted = budget::reads_untrusted(door.spill(), &effects, cx)?;
    let tool = &call.entry.name;
    let unscanned = Intent { tool, args: &call.args, effects: &effects, escalated: &escalated };
    let scanned = scanned(&unscanned, &call, policy, cx).await?;
    escalated.extend(scanned);
    let intent = Intent { tool, args: &call.args, effects: &effects, escalated: &escalated };
    let verdict = policy.judge(&intent, cx);
    let mut agreed_to = None;
    let mut consent = None;
    let (answer, refusal) = match &verdict {
        Verdict::Allow => (None, None),
        Verdict::Block(findings) => (None, Some(blocked(findings))),
        Verdict::Ask(findings) => {
            let request = request(&intent, findings);
            let answer = asked(door, &request, cx).await;
            agreed_to = Some(request.digest);
            consent = consent::note(&answer, findings, &effects);
            let refusal = refused(&answer, findings);
            (Some(answer), refusal)
        }
    };
    let settlement = Settlement { intent: &intent, verdict: &verdict, answer: answer.as_ref() };
    policy.settle(&settlement, cx).map_err(|error| super::broken(&error.to_string()))?;
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let Granted { id, entry, args, .. } = call;
    Ok(Cleared { id, entry, args, approved: agreed_to, consent, escalated, untrusted, effects })
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
    call: &Granted,
    policy: &dyn Policy,
    cx: &CallContext,
) -> Result<Vec<Finding>, Refusal> {
    let Some(scan) = policy.scan(intent, cx) else { return Ok(Vec::new()) };
    if matches!(policy.judge(intent, cx), Verdict::Block(_)) {
        return Ok(Vec::new());
    }
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(run::cancelled(&call.entry)),
        findings = scan => Ok(findings),
    }
}

/// Identifies a tool with its arguments, whatever the order of their keys.
pub(super) fn digest(tool: &ToolName, args: &Args) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(tool.as_str().as_bytes());
    hasher.update([0]);
    hasher.update(canonical(&Value::Object(args.object().clone())).to_string().as_bytes());
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

fn request(intent: &Intent<'_>, findings: &[Finding]) -> ApprovalRequest {
    let widest = findings.iter().map(|finding| finding.widest).min().unwrap_or(Scope::Once);
    ApprovalRequest {
        tool: intent.tool.clone(),
        subject: subject(intent),
        cwd: directory(intent),
        findings: findings.to_vec(),
        digest: digest(intent.tool, intent.args),
        widest,
    }
}

/// Where the command would run, or the program.
fn directory(intent: &Intent<'_>) -> Option<PathBuf> {
    intent.effects.iter().find_map(|effect| match effect {
        Effect::Command { cwd, .. } | Effect::Code { cwd, .. } => Some(cwd.clone()),
        _ => None,
    })
}

/// What a person is shown: the command or the paths, else the arguments.
fn subject(intent: &Intent<'_>) -> String {
    let lines: Vec<String> = intent
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Command { script, .. } => Some(script.clone()),
            Effect::Code { source, .. } => Some(source.clone()),
            Effect::Write(path) => Some(format!("write {}", path.display())),
            Effect::Read(path) => Some(format!("read {}", path.display())),
            Effect::Reach(host) => Some(format!("reach {host}")),
            Effect::Send { target } => Some(format!("send to {target}")),
            _ => None,
        })
        .collect();
    if lines.is_empty() {
        return format!("{} {}", intent.tool, Value::Object(intent.args.object().clone()));
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
            let by = petasos_contract::approval::Who::Person(None);
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
        Answer::Denied { by, comment } => {
            let reason = comment
                .as_ref()
                .map(|text| format!(" Their reason: \"{text}\"."))
                .unwrap_or_default();
            let message = format!("Denied by {by} ({what}).{reason} {NO_CONSENT}");
            Refusal::new(RefusalKind::Denied, message).with("outcome", "denied")
        }
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
            Refusal::new(RefusalKind::Undeliverable, message).with("outcome", "undeliverable")
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
    Some(refusal.with("user_consent", false).with("pattern_keys", keys(findings)))
}

fn blocked(findings: &[Finding]) -> Refusal {
    let reasons: Vec<&str> = findings.iter().map(|finding| finding.why.as_str()).collect();
    let message = format!(
        "Blocked by policy ({}): {}. No approval can change this: do not try another way.",
        names(findings),
        reasons.join("; ")
    );
    Refusal::new(RefusalKind::Policy, message)
        .with("outcome", "blocked")
        .with("pattern_keys", keys(findings))
}

fn names(findings: &[Finding]) -> String {
    findings.iter().map(|finding| &*finding.key).collect::<Vec<_>>().join(", ")
}

fn keys(findings: &[Finding]) -> Value {
    findings.iter().map(|finding| Value::from(&*finding.key)).collect()
}
