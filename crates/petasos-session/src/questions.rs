//! The one port to a person: approval, question and password, for every session of a program.
//!
//! Whoever asks is asking for a session. The question becomes an event of that session, and the
//! first valid answer from any surface closes it. One question of a session is open at a time,
//! first come first served, and its time begins when it is shown.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_agent::engine::{Asker, Question as Clarification};
use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Who};
use petasos_contract::terminal::Passwords;
use petasos_contract::{BoxFuture, CallContext, Secret, SessionId};
use tokio::sync::{Semaphore, oneshot};

use crate::event::SessionEvent;
use crate::question::{Closed, Question, QuestionId, QuestionKind, QuestionReply};
use crate::ring::Ring;

/// How long an approval stays open when nobody says otherwise.
const APPROVAL: Duration = Duration::from_mins(1);
/// How long a password is waited for.
const PASSWORD: Duration = Duration::from_secs(45);

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// No such question is open.
    #[error("the question is no longer open")]
    NotOpen,
    /// The answer is none of those that were offered.
    #[error("that does not answer the question: type {offered}")]
    Unfit {
        /// What could be typed.
        offered: &'static str,
    },
}

/// Why nobody answered.
enum NoAnswer {
    Expired { after: Duration },
    Withdrawn,
    Unreachable,
}

/// Asks the people of all sessions.
#[derive(Debug, Default)]
pub struct Questions {
    desks: Mutex<HashMap<SessionId, Arc<Desk>>>,
}

impl Questions {
    /// With nobody to ask yet.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Questions of this session are put here.
    pub(crate) fn admit(&self, session: SessionId, desk: &Arc<Desk>) {
        self.desks.lock().insert(session, Arc::clone(desk));
    }

    /// Nobody answers for this session any more.
    pub(crate) fn dismiss(&self, session: &SessionId) {
        self.desks.lock().remove(session);
    }

    async fn ask(
        &self,
        kind: QuestionKind,
        patience: Duration,
        cx: &CallContext,
    ) -> Result<QuestionReply, NoAnswer> {
        let desk = self.desks.lock().get(&cx.session).cloned();
        match desk {
            Some(desk) => desk.ask(&cx.session, kind, patience).await,
            None => Err(NoAnswer::Unreachable),
        }
    }

    async fn approve(&self, request: &ApprovalRequest, cx: &CallContext) -> Answer {
        let seconds = cx.settings.get("approvals.timeout").and_then(serde_json::Value::as_u64);
        let patience = seconds.map_or(APPROVAL, Duration::from_secs);
        let denied = |comment| Answer::Denied { by: Who::Person(None), comment };
        match self.ask(QuestionKind::Approval(request.clone()), patience, cx).await {
            Ok(QuestionReply::Allow(scope)) => Answer::Allowed { scope, by: Who::Person(None) },
            Ok(QuestionReply::Deny { comment }) => denied(comment),
            Ok(_) => denied(None),
            Err(NoAnswer::Expired { after }) => Answer::Expired { after },
            Err(NoAnswer::Withdrawn) => denied(Some("interrupted".to_owned())),
            Err(NoAnswer::Unreachable) => Answer::Undeliverable { reason: UNREACHABLE.to_owned() },
        }
    }
}

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
                Ok(QuestionReply::Text(text)) => Ok(text),
                Ok(_) | Err(NoAnswer::Withdrawn) => {
                    Err("the user did not want to answer: decide yourself".to_owned())
                }
                Err(NoAnswer::Expired { .. }) => {
                    Err("the user did not answer in time: decide yourself".to_owned())
                }
                Err(NoAnswer::Unreachable) => Err(UNREACHABLE.to_owned()),
            }
        })
    }
}

impl Passwords for Questions {
    fn ask<'a>(&'a self, prompt: &'a str, cx: &'a CallContext) -> BoxFuture<'a, Option<Secret>> {
        Box::pin(async move {
            let kind = QuestionKind::Password { prompt: prompt.to_owned() };
            match self.ask(kind, PASSWORD, cx).await {
                Ok(QuestionReply::Password(password)) => Some(password),
                _ => None,
            }
        })
    }
}

/// Where the questions of one session are put.
#[derive(Debug)]
pub(crate) struct Desk {
    ring: Arc<Ring>,
    floor: Semaphore,
    open: Mutex<Option<Open>>,
    numbered: AtomicU64,
}

#[derive(Debug)]
struct Open {
    question: Arc<Question>,
    reply: oneshot::Sender<QuestionReply>,
}

impl Desk {
    pub(crate) fn new(ring: Arc<Ring>) -> Arc<Self> {
        let (open, numbered) = (Mutex::new(None), AtomicU64::new(1));
        Arc::new(Self { ring, floor: Semaphore::new(1), open, numbered })
    }

    async fn ask(
        &self,
        session: &SessionId,
        kind: QuestionKind,
        patience: Duration,
    ) -> Result<QuestionReply, NoAnswer> {
        let floor = if let Ok(floor) = self.floor.try_acquire() {
            Ok(floor)
        } else {
            self.ring.push(SessionEvent::QuestionWaits);
            self.floor.acquire().await
        };
        let Ok(_floor) = floor else { return Err(NoAnswer::Unreachable) };
        let id = QuestionId(self.numbered.fetch_add(1, Ordering::Relaxed));
        let question = Arc::new(Question { id, session: session.clone(), kind, patience });
        let (reply, answer) = oneshot::channel();
        *self.open.lock() = Some(Open { question: Arc::clone(&question), reply });
        let asked = Asked { desk: self, id };
        self.ring.push(SessionEvent::QuestionAsked(question));
        match tokio::time::timeout(patience, answer).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) => Err(NoAnswer::Withdrawn),
            Err(_) => {
                asked.desk.close(id, Closed::Expired);
                Err(NoAnswer::Expired { after: patience })
            }
        }
    }

    /// The question that is open.
    pub(crate) fn open(&self) -> Option<Arc<Question>> {
        self.open.lock().as_ref().map(|open| Arc::clone(&open.question))
    }

    /// Answers the open question; the first valid answer counts.
    pub(crate) fn answer(&self, id: QuestionId, reply: QuestionReply) -> Result<(), AnswerError> {
        let mut open = self.open.lock();
        let asked = open.as_ref().filter(|open| open.question.id == id);
        let question = Arc::clone(&asked.ok_or(AnswerError::NotOpen)?.question);
        if !question.takes(&reply) {
            return Err(AnswerError::Unfit { offered: question.choices() });
        }
        let taken = open.take().is_some_and(|open| open.reply.send(reply).is_ok());
        drop(open);
        let how = if taken { Closed::Answered } else { Closed::Withdrawn };
        self.ring.push(SessionEvent::QuestionClosed { id, how });
        if taken { Ok(()) } else { Err(AnswerError::NotOpen) }
    }

    /// Whoever asked hears that there will be no answer.
    pub(crate) fn withdraw(&self) {
        let open = self.open();
        if let Some(question) = open {
            self.close(question.id, Closed::Withdrawn);
        }
    }

    fn close(&self, id: QuestionId, how: Closed) {
        let mut open = self.open.lock();
        let closed = open.take_if(|open| open.question.id == id).is_some();
        drop(open);
        if closed {
            self.ring.push(SessionEvent::QuestionClosed { id, how });
        }
    }
}

/// A question whose asker gives up is closed.
struct Asked<'a> {
    desk: &'a Desk,
    id: QuestionId,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.desk.close(self.id, Closed::Withdrawn);
    }
}
