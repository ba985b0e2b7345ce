//! Asking over a chat or an editor: a durable record, a notice to the surface, and a wait.
//!
//! The record is the truth: answers are written to it, whoever waits reads them from it. Signals
//! inside the process only make that sooner.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Who};
use petasos_contract::{BoxFuture, CallContext, SessionId};
use tokio::sync::Notify;

use super::record::{AnswerError, Card, Decided, Reply, State, answer_of};
use super::store::{Store, now_millis};
use petasos_redact::Redactor;

const PATIENCE: Duration = Duration::from_mins(5);
/// A surface that takes longer has not got the message.
const DELIVERY_MAX: Duration = Duration::from_secs(30);
/// How soon an answer from another process is seen.
const POLL: Duration = Duration::from_secs(1);

/// Brings questions to people.
pub trait Notifier: Send + Sync {
    /// Shows a question; returns when the surface has acknowledged it, or why it cannot be shown.
    fn deliver<'a>(&'a self, card: &'a Card) -> BoxFuture<'a, Result<(), String>>;
}

/// Asks through a notifier, and takes the answers.
pub struct Desk {
    store: Store,
    owner: String,
    turns: AtomicU64,
    notifier: Arc<dyn Notifier>,
    waiting: Mutex<HashMap<String, Arc<Notify>>>,
    /// Held as long as the desk lives; see `Store::live`.
    alive: Option<File>,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Desk {
    /// Opens the desk of a home.
    pub fn open(home: &Path, notifier: Arc<dyn Notifier>) -> Result<Self, AnswerError> {
        let store = Store::new(home);
        let owner = crate::id::fresh();
        let alive = Some(store.live(&owner)?);
        store.prune();
        Ok(Self {
            store,
            owner,
            turns: AtomicU64::new(0),
            notifier,
            waiting: Mutex::default(),
            alive,
        })
    }

    /// Answers a question, whichever process asked it.
    pub fn answer(&self, id: &str, reply: &Reply) -> Result<Card, AnswerError> {
        let answered = self.store.answer(id, reply)?;
        self.wake(id);
        Ok(answered)
    }

    /// Answers the oldest open question of a session.
    pub fn answer_oldest(
        &self,
        session: &SessionId,
        reply: &Reply,
    ) -> Option<Result<Card, AnswerError>> {
        let oldest = self.pending(session).into_iter().next()?;
        Some(self.answer(&oldest.id, reply))
    }

    /// Answers every open question of a session, oldest first.
    pub fn answer_all(&self, session: &SessionId, reply: &Reply) -> Vec<Result<Card, AnswerError>> {
        self.pending(session).iter().map(|card| self.answer(&card.id, reply)).collect()
    }

    /// Denies everything that is open in a session that ends or begins anew.
    pub fn end_session(&self, session: &SessionId) {
        let reply = Reply {
            decided: Decided::Deny(Some("the session ended".to_owned())),
            by: Who::Rule("session end".to_owned()),
            digest: None,
        };
        for refused in self.answer_all(session, &reply).into_iter().filter_map(Result::err) {
            tracing::debug!(%refused, "not denied at the end of its session");
        }
    }

    /// The open questions of a session, oldest first.
    pub fn pending(&self, session: &SessionId) -> Vec<Card> {
        let mut cards = self.store.all();
        cards.retain(|card| card.is_open() && card.session == session.as_str());
        cards
    }

    /// Shows the open questions of a session again, for a surface that has come back.
    pub async fn redeliver(&self, session: &SessionId) -> Vec<(String, Result<(), String>)> {
        let mut told = Vec::new();
        for card in self.pending(session) {
            let sent = self.notify(&card).await;
            told.push((card.id, sent));
        }
        told
    }

    /// Releases everybody who waits: there is no surface any more.
    pub fn close(&self, reason: &str) {
        let waiting: Vec<String> = self.waiting.lock().keys().cloned().collect();
        for id in waiting {
            self.finish(&id, State::Undeliverable { reason: reason.to_owned() });
            self.wake(&id);
        }
    }

    async fn notify(&self, card: &Card) -> Result<(), String> {
        match tokio::time::timeout(DELIVERY_MAX, self.notifier.deliver(card)).await {
            Ok(sent) => sent,
            Err(_) => Err(format!("not acknowledged within {} s", DELIVERY_MAX.as_secs())),
        }
    }

    async fn put(&self, request: &ApprovalRequest, cx: &CallContext) -> Answer {
        let patience = super::patience(&cx.settings, |it| it.gateway_timeout, PATIENCE);
        let card = self.card(request, cx, patience);
        let id = card.id.clone();
        let woken = Arc::new(Notify::new());
        self.waiting.lock().insert(id.clone(), Arc::clone(&woken));
        // Declared before anything can fail or be given up: whatever happens, the record says so.
        let leaving = Leaving { desk: self, id: id.clone() };
        if let Err(error) = self.store.create(&card) {
            return Answer::Undeliverable { reason: error.to_string() };
        }
        let deadline = Instant::now() + patience;
        match self.notify(&card).await {
            Ok(()) => {
                if let Err(error) = self.store.deliver(&id) {
                    // Answered already, which the next look finds.
                    tracing::debug!(%error, "not marked as delivered");
                }
            }
            Err(reason) => self.finish(&id, State::Undeliverable { reason }),
        }
        let answer = self.wait(&id, &woken, deadline, patience).await;
        drop(leaving);
        answer
    }

    async fn wait(&self, id: &str, woken: &Notify, deadline: Instant, open: Duration) -> Answer {
        loop {
            match self.store.read(id) {
                Ok(card) => {
                    if let Some(answer) = answer_of(card.state, open) {
                        return answer;
                    }
                }
                Err(error) => return Answer::Undeliverable { reason: error.to_string() },
            }
            if tokio::time::Instant::now() >= deadline.into() {
                self.finish(id, State::Expired);
                continue;
            }
            let pause = tokio::time::Instant::now() + POLL;
            let until = pause.min(deadline.into());
            // Woken or not: the record decides.
            tokio::select! {
                () = woken.notified() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    fn card(&self, request: &ApprovalRequest, cx: &CallContext, patience: Duration) -> Card {
        let asked = now_millis();
        let redactor = Redactor::of(&cx.settings);
        let subject = redactor.command(&request.subject).into_owned();
        let mut findings = request.findings.clone();
        for finding in &mut findings {
            finding.why = redactor.command(&finding.why).into_owned();
            finding.stores = finding.stores.as_deref().map(|it| redactor.command(it).into_owned());
            if subject != request.subject {
                // The place was counted in a text that nobody is shown.
                finding.span = None;
            }
        }
        let open = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        Card {
            id: crate::id::fresh(),
            session: cx.session.to_string(),
            tool: request.tool.to_string(),
            subject,
            cwd: request.cwd.clone(),
            findings,
            digest: request.digest.to_string(),
            widest: request.widest,
            asked,
            turn: self.turns.fetch_add(1, Ordering::Relaxed),
            expires: asked.saturating_add(open),
            delivered: false,
            owner: self.owner.clone(),
            state: State::Open,
        }
    }

    /// Ends a question from our side; an answer that came first stands.
    fn finish(&self, id: &str, state: State) {
        match self.store.decide(id, state) {
            Ok(_) | Err(AnswerError::AlreadyDecided { .. }) => {}
            Err(error) => tracing::warn!(%error, id, "an approval record could not be closed"),
        }
    }

    fn wake(&self, id: &str) {
        if let Some(waiting) = self.waiting.lock().get(id) {
            waiting.notify_one();
        }
    }
}

/// Takes a question off the desk when nobody waits for it any more.
struct Leaving<'a> {
    desk: &'a Desk,
    id: String,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.desk.waiting.lock().remove(&self.id);
        if self.desk.store.read(&self.id).is_ok_and(|card| card.is_open()) {
            self.desk.finish(&self.id, State::Abandoned);
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.alive = None;
        self.store.retire(&self.owner);
    }
}

impl Approver for Desk {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(self.put(request, cx))
    }
}
