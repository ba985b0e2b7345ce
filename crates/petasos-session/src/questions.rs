//! The one port to a person: approval, question and password, for every session of a program.
//!
//! Whoever asks is asking for a session. The question becomes an event of that session, and the
//! first valid answer from any surface closes it; where a store is given, from any process.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_agent::engine::{Asker, Question as Clarification};
use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Who};
use petasos_contract::context::Surface;
use petasos_contract::terminal::Passwords;
use petasos_contract::{BoxFuture, CallContext, Secret, SessionId};
use petasos_store::{QuestionId, StoreError, Stores};

use crate::desk::{Desk, Heard, Keeping, NoAnswer};
use crate::question::{Answerer, Question, QuestionKind, QuestionReply};
use crate::record;

/// How long an approval stays open when nobody says otherwise.
const APPROVAL: Duration = Duration::from_mins(1);
/// The same where nobody sits before it.
const APPROVAL_AWAY: Duration = Duration::from_mins(5);
/// Somebody at an open terminal decides in their own time.
const AT_A_TERMINAL: Duration = Duration::from_hours(24);
/// How long a password is waited for.
const PASSWORD: Duration = Duration::from_secs(45);

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// No such question is open.
    #[error("the question is no longer open")]
    NotOpen,
    /// Somebody was faster, or it is over.
    #[error("already decided: {how}")]
    Decided {
        /// How.
        how: String,
    },
    /// It was put in another chat.
    #[error("the question was put elsewhere: answer it there")]
    Elsewhere,
    /// The answer is none of those that were offered.
    #[error("that does not answer the question: type {offered}")]
    Unfit {
        /// What could be typed.
        offered: &'static str,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How long an approval stays open: people in chats and editors are not always at hand, and one at
/// a terminal decides as long as the window is open, unless another limit than the usual one was
/// chosen.
fn patience(cx: &CallContext) -> Duration {
    let (key, usual) = match cx.surface {
        Surface::Gateway | Surface::Acp | Surface::ApiServer | Surface::Cron => {
            ("approvals.gateway_timeout", APPROVAL_AWAY)
        }
        _ => ("approvals.timeout", APPROVAL),
    };
    let seconds = cx.settings.get(key).and_then(serde_json::Value::as_u64);
    let chosen = seconds.map_or(usual, Duration::from_secs);
    if cx.surface == Surface::Cli && chosen == APPROVAL { AT_A_TERMINAL } else { chosen }
}

/// Asks the people of all sessions.
#[derive(Default)]
pub struct Questions {
    desks: Mutex<HashMap<SessionId, Arc<Desk>>>,
    keeping: OnceLock<Arc<Keeping>>,
}

impl std::fmt::Debug for Questions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let desks = self.desks.lock().len();
        f.debug_struct("Questions").field("desks", &desks).finish_non_exhaustive()
    }
}

impl Questions {
    /// With nobody to ask yet. Until [`Questions::keep`] is called, questions live and die with
    /// this process.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Keeps questions in a store from now on, their texts redacted.
    pub fn keep(&self, stores: &Stores, redact: impl Fn(&str) -> String + Send + Sync + 'static) {
        self.keeping.get_or_init(|| Keeping::new(stores, Box::new(redact)));
    }

    /// The program ends in order to come back: kept questions stay open.
    pub fn suspend(&self) {
        if let Some(keeping) = self.keeping.get() {
            keeping.suspend();
        }
    }

    /// Kept questions that nobody has decided yet, of any process: of one session, or of all.
    pub async fn open(&self, session: Option<&SessionId>) -> Result<Vec<Question>, StoreError> {
        let Some(keeping) = self.keeping.get() else { return Ok(Vec::new()) };
        let records = keeping.questions.open(session).await?;
        records.iter().map(record::question).collect()
    }

    /// Answers a question of any session, in whichever process it waits.
    pub async fn answer(
        &self,
        id: &QuestionId,
        reply: QuestionReply,
        by: &Answerer,
    ) -> Result<(), AnswerError> {
        let keeping = self.keeping.get();
        let here = self.desks.lock().values().find(|desk| desk.has(id)).cloned();
        if let Some(desk) = here {
            return desk.answer(id, reply, by, keeping).await;
        }
        let keeping = keeping.ok_or(AnswerError::NotOpen)?;
        keeping.answer_elsewhere(id, &reply, by).await
    }

    /// From now on so much time is left to answer a question that is put in this process: its card
    /// is on the way, or has arrived.
    pub async fn extend(&self, id: &QuestionId, patience: Duration) -> Result<(), StoreError> {
        let here = self.desks.lock().values().find(|desk| desk.has(id)).cloned();
        if !here.is_some_and(|desk| desk.extend(id, patience)) {
            return Ok(());
        }
        match self.keeping.get() {
            Some(keeping) => keeping.questions.extend(id, record::until(patience)).await,
            None => Ok(()),
        }
    }

    /// The people of a question that is put in this process cannot be reached.
    pub fn give_up(&self, id: &QuestionId, why: &str) {
        let here = self.desks.lock().values().find(|desk| desk.has(id)).cloned();
        if let Some(desk) = here {
            desk.give_up(id, why);
        }
    }

    pub(crate) fn keeping(&self) -> Option<&Arc<Keeping>> {
        self.keeping.get()
    }

    /// Questions of this session are put here.
    pub(crate) fn admit(&self, session: SessionId, desk: &Arc<Desk>) {
        self.desks.lock().insert(session, Arc::clone(desk));
    }

    /// Nobody answers for this session any more.
    pub(crate) fn dismiss(&self, session: &SessionId) {
        self.desks.lock().remove(session);
    }

    async fn ask(&self, kind: QuestionKind, patience: Duration, cx: &CallContext) -> Heard {
        if !cx.attended {
            return Err(NoAnswer::Unreachable(UNATTENDED.to_owned()));
        }
        let desk = self.desks.lock().get(&cx.session).cloned();
        let Some(desk) = desk else { return Err(NoAnswer::Unreachable(UNREACHABLE.to_owned())) };
        let question = Question {
            id: record::new_id(),
            number: 0,
            session: cx.session.clone(),
            turn: cx.turn.clone(),
            call: cx.call.clone(),
            address: Arc::clone(&cx.address),
            kind,
            patience,
        };
        desk.ask(question, self.keeping.get()).await
    }

    async fn approve(&self, request: &ApprovalRequest, cx: &CallContext) -> Answer {
        let patience = patience(cx);
        let denied = |by, comment| Answer::Denied { by: Who::Person(by), comment };
        match self.ask(QuestionKind::Approval(request.clone()), patience, cx).await {
            Ok((QuestionReply::Allow(scope), by)) => Answer::Allowed { scope, by: Who::Person(by) },
            Ok((QuestionReply::Deny { comment }, by)) => denied(by, comment),
            Ok((_, by)) => denied(by, None),
            Err(NoAnswer::Expired { after }) => Answer::Expired { after },
            Err(NoAnswer::Withdrawn) => denied(None, Some("interrupted".to_owned())),
            Err(NoAnswer::Unreachable(reason)) => Answer::Undeliverable { reason },
        }
    }
}

const UNATTENDED: &str = "nobody is there: decide yourself and say what you assumed";
const UNREACHABLE: &str = "nobody is connected to this session";

impl Approver for Questions {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(self.approve(request, cx))
    }
}

impl Asker for Questions {
    fn ask<'a>(
        &'a self,
        question: &'a Clarification,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let (text, choices) = (question.text.clone(), question.choices.clone());
            let patience = cx.deadline.saturating_duration_since(Instant::now());
            match self.ask(QuestionKind::Choice { text, choices }, patience, cx).await {
                Ok((QuestionReply::Text(text), _)) => Ok(text),
                Ok(_) | Err(NoAnswer::Withdrawn) => {
                    Err("the user did not want to answer: decide yourself".to_owned())
                }
                Err(NoAnswer::Expired { .. }) => {
                    Err("the user did not answer in time: decide yourself".to_owned())
                }
                Err(NoAnswer::Unreachable(reason)) => Err(reason),
            }
        })
    }
}

impl Passwords for Questions {
    fn ask<'a>(&'a self, prompt: &'a str, cx: &'a CallContext) -> BoxFuture<'a, Option<Secret>> {
        Box::pin(async move {
            let kind = QuestionKind::Password { prompt: prompt.to_owned() };
            match self.ask(kind, PASSWORD, cx).await {
                Ok((QuestionReply::Password(password), _)) => Some(password),
                _ => None,
            }
        })
    }
}
