//! Answers to what runs ask: consent, and words.

use std::collections::BTreeMap;

use http::StatusCode;
use petasos_contract::approval::Scope;
use petasos_session::{AnswerError, Answerer, Question, QuestionKind, QuestionReply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer;
use crate::body;
use crate::error::ApiError;
use crate::keys::{ApiScope, Caller};
use crate::pump::word;
use crate::routes::Handled;
use crate::run_routes::missing;
use crate::runs::Found;
use crate::server::{Call, Inner};

/// A decision.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Decision {
    /// `once`, `session`, `always` or `deny`; `approve` means once.
    choice: String,
    /// Which request; may be left out while one is open.
    #[serde(default)]
    approval_id: Option<String>,
    /// Decides everything that is open.
    #[serde(default)]
    all: bool,
    /// What the model should know about it.
    #[serde(default)]
    comment: Option<String>,
}

/// An answer in words.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TextAnswer {
    /// The answer.
    #[serde(alias = "answer")]
    text: String,
    /// Which question; may be left out while one is open.
    #[serde(default)]
    input_id: Option<String>,
}

/// What was decided.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Decided {
    object: &'static str,
    /// The requests that are closed now.
    decided: Vec<String>,
}

/// A request that is open.
#[expect(clippy::struct_field_names, reason = "clients know it by this name")]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Approval {
    approval_id: String,
    run_id: String,
    session_id: String,
    tool: String,
    text: String,
    choices: Vec<String>,
}

/// All that are open.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ApprovalList {
    object: &'static str,
    data: Vec<Approval>,
}

fn reply(decision: &Decision) -> Result<QuestionReply, ApiError> {
    Ok(match decision.choice.to_lowercase().as_str() {
        "once" | "approve" | "approved" | "allow" => QuestionReply::Allow(Scope::Once),
        "session" => QuestionReply::Allow(Scope::Session),
        "always" => QuestionReply::Allow(Scope::Always),
        "deny" | "denied" => QuestionReply::Deny { comment: decision.comment.clone() },
        other => {
            let message = format!("`{other}` is no choice: once, session, always or deny");
            return Err(ApiError::field("choice", message));
        }
    })
}

fn not_pending() -> ApiError {
    ApiError::conflict("approval_not_pending", "no such request is open")
}

/// The open questions of a run that match.
async fn open(
    call: &Call,
    fits: fn(&Question) -> bool,
    id: Option<&str>,
    all: bool,
) -> Result<Vec<Question>, ApiError> {
    let run = call.place(0);
    let session = match call.server.runs.find(run, &call.caller.name).await? {
        None => return Err(missing(run)),
        Some(Found::Ended(row)) if row.ended_ms.is_some() => return Err(not_pending()),
        Some(Found::Ended(row)) => row.session,
        Some(Found::Live(run)) => run.facts.session.clone(),
    };
    let questions = call.server.conversations.sessions.questions().open(Some(&session)).await?;
    let mut found: Vec<Question> = questions.into_iter().filter(fits).collect();
    if let Some(id) = id {
        found.retain(|question| question.id.as_str() == id);
    }
    match found.len() {
        0 => Err(not_pending()),
        1 => Ok(found),
        _ if all => Ok(found),
        _ => {
            let message = "several requests are open: name one with `approval_id`";
            Err(ApiError::conflict("approval_ambiguous", message))
        }
    }
}

async fn close(
    server: &Inner,
    caller: &Caller,
    question: &Question,
    reply: QuestionReply,
) -> Result<String, ApiError> {
    let by = Answerer { name: Some(caller.name.clone()), address: None };
    let questions = server.conversations.sessions.questions();
    match questions.answer(&question.id, reply, &by).await {
        Ok(()) => Ok(question.id.to_string()),
        Err(AnswerError::Unfit { offered }) => {
            Err(ApiError::field("choice", format!("this request takes {offered}")))
        }
        Err(AnswerError::Store(error)) => Err(error.into()),
        Err(_) => Err(not_pending()),
    }
}

fn is_approval(question: &Question) -> bool {
    matches!(question.kind, QuestionKind::Approval(_))
}

fn is_choice(question: &Question) -> bool {
    matches!(question.kind, QuestionKind::Choice { .. })
}

fn decided(decided: Vec<String>) -> answer::Answer {
    answer::json(StatusCode::OK, &Decided { object: "decision", decided })
}

pub(crate) fn decide(mut call: Call) -> Handled {
    Box::pin(async move {
        let value = call.value().await?;
        let decision: Decision = body::shaped(value)?;
        let reply = reply(&decision)?;
        let id = decision.approval_id.as_deref();
        let mut closed = Vec::new();
        for question in open(&call, is_approval, id, decision.all).await? {
            closed.push(close(&call.server, &call.caller, &question, reply.clone()).await?);
        }
        Ok(decided(closed))
    })
}

pub(crate) fn answer(mut call: Call) -> Handled {
    Box::pin(async move {
        let value = call.value().await?;
        let words: TextAnswer = body::shaped(value)?;
        let mut closed = Vec::new();
        for question in open(&call, is_choice, words.input_id.as_deref(), false).await? {
            let reply = QuestionReply::Text(words.text.clone());
            closed.push(close(&call.server, &call.caller, &question, reply).await?);
        }
        Ok(decided(closed))
    })
}

/// Open requests for approval with their runs, of those that this key may answer.
async fn pending(call: &Call) -> Result<Vec<(Question, String)>, ApiError> {
    let everything = call.caller.may(ApiScope::Admin);
    let here = call.server.runs.all();
    let here = here.iter().map(|it| &it.facts).map(|it| (&it.id, &it.session, &it.owner));
    // Those of other processes on this home, too.
    let stored = call.server.runs.store().open_runs(0).await?;
    let stored = stored.iter().map(|it| (&it.id, &it.session, &it.owner));
    let runs: BTreeMap<_, _> = stored.chain(here).map(|it| (it.0, (it.1, it.2))).collect();
    let mut found = Vec::new();
    for (run, (session, _)) in
        runs.into_iter().filter(|(_, (_, owner))| everything || **owner == call.caller.name)
    {
        let questions = call.server.conversations.sessions.questions();
        let open = questions.open(Some(session)).await?;
        let open = open.into_iter().filter(is_approval);
        found.extend(open.map(|question| (question, run.clone())));
    }
    Ok(found)
}

pub(crate) fn list(call: Call) -> Handled {
    Box::pin(async move {
        let services = call.server.conversations.sessions.services();
        let shown = |(question, run): (Question, String)| {
            let QuestionKind::Approval(request) = &question.kind else { return None };
            let scopes = [Scope::Once, Scope::Session, Scope::Always];
            let allowed = scopes.iter().filter(|scope| **scope <= request.widest);
            Some(Approval {
                approval_id: question.id.to_string(),
                run_id: run,
                session_id: question.session.to_string(),
                tool: request.tool.to_string(),
                text: services.approval_text(request, false),
                choices: allowed
                    .map(|it| word(*it).to_owned())
                    .chain(["deny".to_owned()])
                    .collect(),
            })
        };
        let data = pending(&call).await?.into_iter().filter_map(shown).collect();
        Ok(answer::json(StatusCode::OK, &ApprovalList { object: "list", data }))
    })
}

pub(crate) fn decide_one(mut call: Call) -> Handled {
    Box::pin(async move {
        let value = call.value().await?;
        let reply = reply(&body::shaped(value)?)?;
        let found = pending(&call).await?.into_iter().map(|(question, _)| question);
        let found = found.into_iter().find(|question| question.id.as_str() == call.place(0));
        let question = found.ok_or_else(not_pending)?;
        Ok(decided(vec![close(&call.server, &call.caller, &question, reply).await?]))
    })
}
