//! A reviewing model before people: it approves one call, advises against it, or leaves it to them.
//!
//! Its answer is one exact word; anything else is no answer. A model that cannot be reached neither
//! approves nor denies. What a person must agree to each time is never put to it.

mod prompt;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::approval::{Answer, ApprovalRequest, Approver, FindingKind, Scope, Who};
use petasos_contract::{BoxFuture, CallContext};

pub use prompt::Question;

use crate::policy::layers::finding;
use crate::settings::{Approvals, Mode};

const REVIEW_MAX: Duration = Duration::from_secs(30);

/// Puts a question to a model.
pub trait Reviewer: Send + Sync {
    /// The model's words, or why there are none.
    fn review<'a>(
        &'a self,
        question: &'a Question,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// Asks a reviewing model where `approvals.mode` is `smart`, and people where it is not.
pub struct SmartApprover {
    reviewer: Arc<dyn Reviewer>,
    people: Option<Arc<dyn Approver>>,
}

impl fmt::Debug for SmartApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmartApprover").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Approve,
    Deny,
    Other,
}

fn word(text: &str) -> Word {
    match text.trim() {
        "APPROVE" => Word::Approve,
        "DENY" => Word::Deny,
        _ => Word::Other,
    }
}

impl SmartApprover {
    /// Asks this reviewer, then these people, if there are any.
    pub fn new(reviewer: Arc<dyn Reviewer>, people: Option<Arc<dyn Approver>>) -> Self {
        Self { reviewer, people }
    }

    async fn put(&self, request: &ApprovalRequest, cx: &CallContext) -> Answer {
        let smart = Approvals::read(&cx.settings).is_ok_and(|found| found.mode == Mode::Smart);
        let for_people = request
            .findings
            .iter()
            .any(|finding| finding.widest == Scope::Once || finding.kind == FindingKind::Person);
        if !smart || for_people {
            let nobody = || unreachable_people("a person must agree to this");
            return self.ask_people(request, cx).await.unwrap_or_else(nobody);
        }
        let question = Question::about(request, cx);
        let review = self.reviewer.review(&question, cx);
        let said = match tokio::time::timeout(REVIEW_MAX, review).await {
            Ok(said) => said,
            Err(_) => Err(format!("no answer within {} s", REVIEW_MAX.as_secs())),
        };
        match said.as_deref().map(word) {
            Ok(Word::Approve) => Answer::Allowed { scope: Scope::Once, by: Who::Reviewer },
            Ok(Word::Deny) => {
                let advised = advised_against(request);
                self.ask_people(&advised, cx)
                    .await
                    .unwrap_or(Answer::Denied { by: Who::Reviewer, comment: None })
            }
            Ok(Word::Other) => self
                .ask_people(request, cx)
                .await
                .unwrap_or_else(|| unreachable_people("the reviewing model leaves it to a person")),
            Err(reason) => self
                .ask_people(request, cx)
                .await
                .unwrap_or_else(|| Answer::ReviewerUnavailable { reason: reason.clone() }),
        }
    }

    async fn ask_people(&self, request: &ApprovalRequest, cx: &CallContext) -> Option<Answer> {
        match &self.people {
            Some(people) => Some(people.ask(request, cx).await),
            None => None,
        }
    }
}

impl Approver for SmartApprover {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(self.put(request, cx))
    }
}

/// People may overrule the model for this one call, and are told that they would.
fn advised_against(request: &ApprovalRequest) -> ApprovalRequest {
    let mut advised = request.clone();
    advised.widest = Scope::Once;
    let why = "the reviewing model advises against this".to_owned();
    advised.findings.push(finding("reviewing model", why, Scope::Once));
    advised
}

fn unreachable_people(why: &str) -> Answer {
    Answer::Undeliverable { reason: why.to_owned() }
}
