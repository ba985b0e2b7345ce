//! One decision as it is written down.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::CallContext;
use petasos_contract::approval::{Answer, Intent, Scope, Settlement, Verdict};
use petasos_contract::context::Principal;
use petasos_contract::effect::Effect;
use petasos_contract::taint::Heat;
use petasos_redact::Redactor;
use petasos_store::{DecisionEntry, DecisionOutcome, DecisionReason, owner_of};
use sha2::{Digest as _, Sha256};

use crate::id::hex;
use crate::policy::decision::{Decision, Observed, word};

/// Stands for what was typed while a terminal hid it.
const HIDDEN: &str = "hidden input";
const SUBJECT_CHARS: usize = 2000;
const READ_CHARS: usize = 16_000;
const REASONS_MAX: usize = 16;
const WHY_CHARS: usize = 400;
const COMMANDS_MAX: usize = 8;
const WORDS_MAX: usize = 12;
const WORD_CHARS: usize = 100;

/// An entry that has no place in the chain yet.
pub(crate) fn entry(
    settled: &Settlement<'_>,
    decision: &Decision,
    cx: &CallContext,
) -> DecisionEntry {
    let redactor = Redactor::of(&cx.settings);
    let clean = |text: &str, chars| cut(&redactor.command(&cut(text, READ_CHARS)), chars);
    let hidden = is_hidden(settled.intent);
    let subject = if hidden { HIDDEN.to_owned() } else { subject(settled.intent) };
    let (outcome, by, scope, comment) = answered(settled);
    let reason = |it: &Observed| DecisionReason {
        key: clean(&it.finding.key, WHY_CHARS),
        why: if hidden { HIDDEN.to_owned() } else { clean(&it.finding.why, WHY_CHARS) },
        waived: it.waived.as_ref().map(|waiver| {
            clean(&serde_json::to_value(waiver).unwrap_or_default().to_string(), WHY_CHARS)
        }),
    };
    let words = |argv: &Vec<String>| {
        // Joined first: what precedes a word tells whether it is a secret.
        let line = clean(&argv.join("\u{1f}"), COMMANDS_MAX * WORDS_MAX * WORD_CHARS);
        line.split('\u{1f}').take(WORDS_MAX).map(|word| cut(word, WORD_CHARS)).collect()
    };
    DecisionEntry {
        seq: 0,
        at: now_millis(),
        session: cut(cx.session.as_str(), WHY_CHARS),
        owner: owner_of(cx),
        call: cut(cx.call.as_str(), WORD_CHARS),
        heat: Some(cx.words.heat()).filter(|it| *it != Heat::Clean).map(|it| it.to_string()),
        sources: cx
            .words
            .sources()
            .iter()
            .rev()
            .take(COMMANDS_MAX)
            .map(|source| clean(&source.to_string(), WORD_CHARS))
            .collect(),
        surface: cx.surface,
        principal: principal(&cx.principal),
        workspace: cut(&cx.workspace.to_string_lossy(), WHY_CHARS),
        tool: cut(settled.intent.tool.as_str(), WHY_CHARS),
        subject_hash: hex(&Sha256::digest(subject.as_bytes())),
        subject: clean(&subject, SUBJECT_CHARS),
        verdict: Cow::Borrowed(word(settled.verdict)),
        outcome,
        by,
        scope,
        comment: comment.map(|text| clean(&text, WHY_CHARS)),
        reasons: decision.observed.iter().take(REASONS_MAX).map(reason).collect(),
        commands: decision
            .commands
            .iter()
            .take(if hidden { 0 } else { COMMANDS_MAX })
            .map(words)
            .collect(),
        prev: None,
    }
}

type Answered = (DecisionOutcome, Option<String>, Option<Scope>, Option<String>);

fn answered(settled: &Settlement<'_>) -> Answered {
    match (settled.verdict, settled.answer) {
        (Verdict::Allow, _) => (DecisionOutcome::Allowed, None, None, None),
        (Verdict::Block(_), _) => (DecisionOutcome::Blocked, None, None, None),
        (Verdict::Ask(_), Some(Answer::Allowed { scope, by })) => {
            (DecisionOutcome::Allowed, Some(by.to_string()), Some(*scope), None)
        }
        (Verdict::Ask(_), Some(Answer::Denied { by, comment })) => {
            (DecisionOutcome::Denied, Some(by.to_string()), None, comment.clone())
        }
        (Verdict::Ask(_), Some(Answer::Expired { after })) => {
            (DecisionOutcome::Expired, None, None, Some(format!("after {} s", after.as_secs())))
        }
        (Verdict::Ask(_), Some(Answer::Undeliverable { reason })) => {
            (DecisionOutcome::Undeliverable, None, None, Some(reason.clone()))
        }
        (Verdict::Ask(_), Some(Answer::ReviewerUnavailable { reason })) => {
            (DecisionOutcome::ReviewerUnavailable, None, None, Some(reason.clone()))
        }
        (Verdict::Ask(_), None) => {
            (DecisionOutcome::Undeliverable, None, None, Some("nobody was asked".to_owned()))
        }
    }
}

/// Whether nothing of what was typed may be written down.
fn is_hidden(intent: &Intent<'_>) -> bool {
    intent.plan.effects.iter().any(|effect| *effect == Effect::HiddenInput)
}

/// What would happen, in one text.
fn subject(intent: &Intent<'_>) -> String {
    intent.plan.effects.iter().map(told).collect::<Vec<_>>().join("\n")
}

fn told(effect: &Effect) -> String {
    match effect {
        Effect::Command { script, .. } => script.clone(),
        Effect::Code { source, .. } => source.clone(),
        Effect::Write(path) => format!("write {}", path.display()),
        Effect::Read(path) => format!("read {}", path.display()),
        Effect::Reach(host) => format!("reach {host}"),
        Effect::Send { target } => format!("send to {target}"),
        Effect::Actuate { target, .. } => format!("move {target}"),
        Effect::Remember { store } => format!("keep in {store}"),
        Effect::Spend { cents } => format!("spend {cents} cents"),
        other => format!("{other:?}"),
    }
}

fn principal(principal: &Principal) -> String {
    match principal {
        Principal::Plugin(name) => format!("plugin:{name}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// The beginning of a text.
fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
