//! Questions and answers as they are kept, and back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use petasos_contract::approval::{ApprovalRequest, Digest, Finding, Scope};
use petasos_store::{
    NewQuestion, NotAnswered, QuestionAnswer, QuestionId, QuestionRecord, QuestionState, StoreError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::question::{Question, QuestionKind, QuestionReply};

/// A question in the store.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptQuestion {
    Approval {
        tool: String,
        subject: String,
        cwd: Option<PathBuf>,
        findings: Vec<Finding>,
        widest: Scope,
    },
    Choice {
        text: String,
        choices: Vec<String>,
    },
}

/// An answer in the store.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptReply {
    Allow(Scope),
    Deny(Option<String>),
    Text(String),
    Decline,
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A name for a new question.
pub(crate) fn new_id() -> QuestionId {
    let mut bits = [0; 10];
    if getrandom::fill(&mut bits).is_err() {
        // Without random bytes the clock tells questions apart; nobody guesses it to the nanosecond.
        let since = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos().to_be_bytes();
        bits.iter_mut().zip(since.iter().rev()).for_each(|(bit, now)| *bit = *now);
    }
    QuestionId::of(bits)
}

/// The record of a question; `None` for what is never kept. Secrets in it are redacted, and places
/// in a text that was redacted are no longer known.
pub(crate) fn kept(question: &Question, redact: &dyn Fn(&str) -> String) -> Option<NewQuestion> {
    let (kind, digest, body) = match &question.kind {
        QuestionKind::Password { .. } => return None,
        QuestionKind::Choice { text, choices } => {
            let choices = choices.iter().map(|choice| redact(choice)).collect();
            ("choice", String::new(), KeptQuestion::Choice { text: redact(text), choices })
        }
        QuestionKind::Approval(request) => {
            let subject = redact(&request.subject);
            let same = subject == request.subject;
            let findings = request.findings.iter().map(|finding| Finding {
                why: redact(&finding.why),
                span: finding.span.clone().filter(|_| same),
                ..finding.clone()
            });
            let body = KeptQuestion::Approval {
                tool: request.tool.to_string(),
                subject,
                cwd: request.cwd.clone(),
                findings: findings.collect(),
                widest: request.widest,
            };
            ("approval", request.digest.to_string(), body)
        }
    };
    let opened_ms = now_ms();
    let patience = i64::try_from(question.patience.as_millis()).unwrap_or(i64::MAX);
    Some(NewQuestion {
        id: question.id.clone(),
        session: question.session.clone(),
        turn: question.turn.clone(),
        call: question.call.clone(),
        kind: kind.to_owned(),
        digest,
        body: serde_json::to_value(body).unwrap_or(Value::Null),
        address: (*question.address).clone(),
        opened_ms,
        expires_ms: opened_ms.saturating_add(patience),
    })
}

/// The question of a record; its time is what is left of it.
pub(crate) fn question(record: &QuestionRecord) -> Result<Question, StoreError> {
    let asked = &record.asked;
    let unreadable = |why: &str| {
        StoreError::Failed(format!("question `{}` of the store cannot be read: {why}", asked.id))
    };
    let body: KeptQuestion = serde_json::from_value(asked.body.clone())
        .map_err(|error| unreadable(&error.to_string()))?;
    let kind = match body {
        KeptQuestion::Choice { text, choices } => QuestionKind::Choice { text, choices },
        KeptQuestion::Approval { tool, subject, cwd, findings, widest } => {
            let digest = parsed(&asked.digest).ok_or_else(|| unreadable("its digest is none"))?;
            let tool = tool.into();
            let edits = Vec::new();
            let request = ApprovalRequest { tool, subject, cwd, findings, edits, digest, widest };
            QuestionKind::Approval(request)
        }
    };
    Ok(Question {
        id: asked.id.clone(),
        number: record.number,
        session: asked.session.clone(),
        turn: asked.turn.clone(),
        call: asked.call.clone(),
        address: Arc::new(asked.address.clone()),
        kind,
        patience: left(asked.expires_ms),
    })
}

/// The moment after so much time, in milliseconds since 1970.
pub(crate) fn until(patience: Duration) -> i64 {
    now_ms().saturating_add(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX))
}

/// How long until then.
pub(crate) fn left(expires_ms: i64) -> Duration {
    let left = expires_ms.saturating_sub(now_ms());
    Duration::from_millis(u64::try_from(left).unwrap_or_default())
}

fn parsed(hex: &str) -> Option<Digest> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
    let bytes: Vec<u8> = digits?
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    bytes.try_into().ok().map(Digest)
}

/// An answer as it is kept; `None` for a password.
pub(crate) fn answer(reply: &QuestionReply, by: Option<&str>) -> Option<QuestionAnswer> {
    let reply = match reply {
        QuestionReply::Allow(scope) => KeptReply::Allow(*scope),
        QuestionReply::Deny { comment } => KeptReply::Deny(comment.clone()),
        QuestionReply::Text(text) => KeptReply::Text(text.clone()),
        QuestionReply::Decline => KeptReply::Decline,
        QuestionReply::Password(_) => return None,
    };
    let reply = serde_json::to_value(reply).unwrap_or(Value::Null);
    Some(QuestionAnswer { reply, by: by.map(str::to_owned), at_ms: now_ms() })
}

/// The reply of an answer; whatever cannot be read agrees to nothing.
pub(crate) fn reply(answer: &QuestionAnswer) -> QuestionReply {
    match serde_json::from_value(answer.reply.clone()) {
        Ok(KeptReply::Allow(scope)) => QuestionReply::Allow(scope),
        Ok(KeptReply::Deny(comment)) => QuestionReply::Deny { comment },
        Ok(KeptReply::Text(text)) => QuestionReply::Text(text),
        Ok(KeptReply::Decline) | Err(_) => QuestionReply::Decline,
    }
}

/// What became of a question, in words.
pub(crate) fn told(state: &QuestionState) -> String {
    let answer = match state {
        QuestionState::Open => return "it is open".to_owned(),
        QuestionState::Closed(NotAnswered::Expired) => {
            return "nobody answered in time".to_owned();
        }
        QuestionState::Closed(NotAnswered::Withdrawn) => {
            return "whoever asked no longer waits".to_owned();
        }
        QuestionState::Closed(NotAnswered::Cancelled) => return "it was cancelled".to_owned(),
        QuestionState::Answered(answer) | QuestionState::Taken(answer) => answer,
    };
    let how = match reply(answer) {
        QuestionReply::Allow(Scope::Once) => "allowed once",
        QuestionReply::Allow(Scope::Session) => "allowed for the session",
        QuestionReply::Allow(Scope::Always) => "allowed always",
        QuestionReply::Deny { .. } => "denied",
        QuestionReply::Text(_) | QuestionReply::Password(_) => "answered",
        QuestionReply::Decline => "declined",
    };
    match &answer.by {
        Some(by) => format!("{how} by {by}"),
        None => how.to_owned(),
    }
}
