//! Where the questions of one session are put: one is open at a time, first come first served, and
//! its time begins when it is shown.
//!
//! With a store behind it, a question is kept before it is shown, and an answer counts once it is
//! kept. A process that dies in between loses nothing: the call that asked joins its question again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_store::{
    AnswerOutcome, ChangeFeed, NotAnswered, QuestionAnswer, QuestionId, QuestionState,
    QuestionStore, StoreError, Stores,
};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::Instant;
use tracing::warn;

use crate::event::SessionEvent;
use crate::question::{Answerer, Closed, Question, QuestionReply};
use crate::questions::AnswerError;
use crate::record;
use crate::ring::Ring;

/// After a hint so much time passes before the store is asked: hints come in crowds.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// A look at the store may be so old when it is told here.
const LOOK_AGE: Duration = Duration::from_secs(5);
/// So many questions that were put or closed here are remembered.
const OWN_MAX: usize = 16;

/// Where questions are kept.
pub(crate) struct Keeping {
    pub(crate) questions: Arc<dyn QuestionStore>,
    changes: Arc<dyn ChangeFeed>,
    redact: Box<dyn Fn(&str) -> String + Send + Sync>,
    /// The program ends and comes back: questions stay open.
    suspended: AtomicBool,
}

impl Keeping {
    pub(crate) fn new(
        stores: &Stores,
        redact: Box<dyn Fn(&str) -> String + Send + Sync>,
    ) -> Arc<Self> {
        let (questions, changes) = (Arc::clone(&stores.questions), Arc::clone(&stores.changes));
        Arc::new(Self { questions, changes, redact, suspended: AtomicBool::new(false) })
    }

    pub(crate) fn suspend(&self) {
        self.suspended.store(true, Ordering::Release);
    }

    /// Answers a question that no desk of this process has.
    pub(crate) async fn answer_elsewhere(
        &self,
        id: &QuestionId,
        reply: &QuestionReply,
        by: &Answerer,
    ) -> Result<(), AnswerError> {
        let record = self.questions.get(id).await?.ok_or(AnswerError::NotOpen)?;
        record::question(&record)?.admits(reply, by)?;
        self.answer(id, reply, by).await
    }

    /// Keeps an answer, which counts when it is the first.
    pub(crate) async fn answer(
        &self,
        id: &QuestionId,
        reply: &QuestionReply,
        by: &Answerer,
    ) -> Result<(), AnswerError> {
        let Some(answer) = record::answer(reply, by.name.as_deref()) else {
            return Err(AnswerError::NotOpen);
        };
        match self.questions.answer(id, answer).await? {
            AnswerOutcome::Counts => Ok(()),
            AnswerOutcome::Late(state) => Err(AnswerError::Decided { how: record::told(&state) }),
            AnswerOutcome::Unknown => Err(AnswerError::NotOpen),
        }
    }
}

/// Why nobody answered.
pub(crate) enum NoAnswer {
    Expired { after: Duration },
    Withdrawn,
    Unreachable(String),
}

/// The answer, and who gave it.
pub(crate) type Heard = Result<(QuestionReply, Option<String>), NoAnswer>;

/// The questions of one session.
#[derive(Debug)]
pub(crate) struct Desk {
    ring: Arc<Ring>,
    floor: Semaphore,
    /// How many wait for the floor.
    waiting: AtomicUsize,
    open: Mutex<Option<Open>>,
    /// A question that another process puts for this session.
    elsewhere: Mutex<Option<Arc<Question>>>,
    /// What was put or closed here a moment ago: the store may show it before it is open here, and
    /// an older look at the store after it was answered.
    own: Mutex<VecDeque<(QuestionId, Instant)>>,
}

#[derive(Debug)]
struct Open {
    question: Arc<Question>,
    reply: oneshot::Sender<(QuestionReply, Option<String>)>,
    clock: watch::Sender<Clock>,
}

/// How long an answer is waited for.
#[derive(Debug, Clone)]
enum Clock {
    Until(Instant),
    /// Nobody can be asked, for this reason.
    Unreachable(String),
}

/// Comes back when nobody waits any longer, with the reason when nobody could be asked.
async fn run_down(mut clock: watch::Receiver<Clock>) -> Option<String> {
    loop {
        let now = clock.borrow_and_update().clone();
        let until = match now {
            Clock::Until(until) => until,
            Clock::Unreachable(why) => return Some(why),
        };
        tokio::select! {
            () = tokio::time::sleep_until(until) => return None,
            changed = clock.changed() => {
                if changed.is_err() {
                    // Nobody sets it any more: it runs down as it is.
                    tokio::time::sleep_until(until).await;
                    return None;
                }
            }
        }
    }
}

impl Desk {
    pub(crate) fn new(ring: Arc<Ring>) -> Arc<Self> {
        let (floor, waiting) = (Semaphore::new(1), AtomicUsize::new(0));
        let (open, elsewhere, own) = (Mutex::new(None), Mutex::new(None), Mutex::default());
        Arc::new(Self { ring, floor, waiting, open, elsewhere, own })
    }

    /// Puts a question and waits for the answer.
    pub(crate) async fn ask(&self, question: Question, keeping: Option<&Arc<Keeping>>) -> Heard {
        let floor = if let Ok(floor) = self.floor.try_acquire() {
            Ok(floor)
        } else {
            let _waiting = Waiting::begin(&self.waiting);
            if self.open().is_some() {
                self.ring.push(SessionEvent::QuestionWaits);
            }
            self.floor.acquire().await
        };
        let Ok(_floor) = floor else {
            return Err(NoAnswer::Unreachable("the session is over".to_owned()));
        };
        let kept = keeping.and_then(|keeping| {
            Some((Arc::clone(keeping), record::kept(&question, &*keeping.redact)?))
        });
        let Some((keeping, new)) = kept else { return self.put(question, None).await };
        // Somebody may answer from elsewhere as soon as it is kept.
        let changes = keeping.changes.changes();
        self.remember(&question.id);
        let record = match keeping.questions.ask(new).await {
            Ok(record) => record,
            Err(error) => {
                return Err(NoAnswer::Unreachable(format!("the question was not kept: {error}")));
            }
        };
        let question = Question {
            id: record.asked.id.clone(),
            number: record.number,
            patience: record::left(record.asked.expires_ms),
            ..question
        };
        let kept = Kept { keeping, changes, id: question.id.clone(), settled: false };
        if let QuestionState::Answered(_) = record.state {
            return kept.taken().await;
        }
        self.put(question, Some(kept)).await
    }

    /// Shows a question that has the floor.
    async fn put(&self, question: Question, kept: Option<Kept>) -> Heard {
        let (id, patience) = (question.id.clone(), question.patience);
        let question = Arc::new(question);
        let (reply, answer) = oneshot::channel();
        let (clock, time) = watch::channel(Clock::Until(Instant::now() + patience));
        *self.open.lock() = Some(Open { question: Arc::clone(&question), reply, clock });
        let _asked = Asked { desk: self, id: &id };
        self.ring.push(SessionEvent::QuestionAsked(question));
        if self.waiting.load(Ordering::Acquire) > 0 {
            self.ring.push(SessionEvent::QuestionWaits);
        }
        let Some(mut kept) = kept else {
            return tokio::select! {
                biased;
                answer = answer => answer.map_err(|_| NoAnswer::Withdrawn),
                why = run_down(time) => {
                    self.close(&id, Closed::Expired);
                    Err(unanswered(why, patience))
                }
            };
        };
        let ended = tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(_) => Ended::Answered,
                Err(_) => Ended::Withdrawn,
            },
            () = kept.decided() => Ended::Answered,
            why = run_down(time) => Ended::RanDown(why),
        };
        self.settle(ended, kept, patience).await
    }

    async fn settle(&self, ended: Ended, kept: Kept, patience: Duration) -> Heard {
        let id = kept.id.clone();
        match ended {
            Ended::Answered => {
                let heard = kept.taken().await;
                self.close(&id, if heard.is_ok() { Closed::Answered } else { Closed::Withdrawn });
                heard
            }
            // Its record is closed with it.
            Ended::Withdrawn => Err(NoAnswer::Withdrawn),
            Ended::RanDown(why) => {
                let state = kept.keeping.questions.close(&id, NotAnswered::Expired).await;
                if let Ok(Some(QuestionState::Answered(_))) = state {
                    let heard = kept.taken().await;
                    self.close(&id, Closed::Answered);
                    return heard;
                }
                self.close(&id, Closed::Expired);
                Err(unanswered(why, patience))
            }
        }
    }

    /// From now on so much time is left to answer a question; whether it is open here.
    pub(crate) fn extend(&self, id: &QuestionId, patience: Duration) -> bool {
        self.set_clock(id, Clock::Until(Instant::now() + patience))
    }

    /// The people of a question cannot be asked.
    pub(crate) fn give_up(&self, id: &QuestionId, why: &str) {
        self.set_clock(id, Clock::Unreachable(why.to_owned()));
    }

    fn set_clock(&self, id: &QuestionId, clock: Clock) -> bool {
        let open = self.open.lock();
        let open = open.as_ref().filter(|open| open.question.id == *id);
        open.is_some_and(|open| open.clock.send(clock).is_ok())
    }

    /// The question that is open, here or in another process.
    pub(crate) fn open(&self) -> Option<Arc<Question>> {
        let here = self.open.lock().as_ref().map(|open| Arc::clone(&open.question));
        here.or_else(|| self.elsewhere.lock().clone())
    }

    /// What another process asks for this session now, if anything.
    pub(crate) fn asked_elsewhere(&self, question: Option<Question>) {
        let mut elsewhere = self.elsewhere.lock();
        let known = elsewhere.as_ref().map(|question| question.id.clone());
        let question = question.filter(|question| !self.knows(&question.id));
        if known.as_ref() == question.as_ref().map(|question| &question.id) {
            return;
        }
        if let Some(id) = known {
            let how = Closed::Answered;
            self.ring.push(SessionEvent::QuestionClosed { id, how });
        }
        *elsewhere = question.map(Arc::new);
        if let Some(question) = &*elsewhere {
            self.ring.push(SessionEvent::QuestionAsked(Arc::clone(question)));
        }
    }

    /// Whether it is this one.
    pub(crate) fn has(&self, id: &QuestionId) -> bool {
        self.open.lock().as_ref().is_some_and(|open| open.question.id == *id)
    }

    /// Whether it is put here, or was a moment ago.
    pub(crate) fn knows(&self, id: &QuestionId) -> bool {
        let recent = |(own, at): &(QuestionId, Instant)| own == id && at.elapsed() < LOOK_AGE;
        self.has(id) || self.own.lock().iter().any(recent)
    }

    fn remember(&self, id: &QuestionId) {
        let mut own = self.own.lock();
        own.truncate(OWN_MAX - 1);
        own.push_front((id.clone(), Instant::now()));
    }

    /// Answers the open question; the first valid answer counts.
    pub(crate) async fn answer(
        &self,
        id: &QuestionId,
        reply: QuestionReply,
        by: &Answerer,
        keeping: Option<&Arc<Keeping>>,
    ) -> Result<(), AnswerError> {
        let question = self.open.lock().as_ref().map(|open| Arc::clone(&open.question));
        let Some(question) = question.filter(|question| question.id == *id) else {
            let keeping = keeping.ok_or(AnswerError::NotOpen)?;
            return keeping.answer_elsewhere(id, &reply, by).await;
        };
        question.admits(&reply, by)?;
        if let Some(keeping) = keeping.filter(|_| !question.is_secret()) {
            keeping.answer(id, &reply, by).await?;
        }
        let open = self.open.lock().take_if(|open| open.question.id == *id);
        let Some(open) = open else {
            // Whoever asks may have heard it from the store by now.
            return if question.is_secret() { Err(AnswerError::NotOpen) } else { Ok(()) };
        };
        self.remember(id);
        let taken = open.reply.send((reply, by.name.clone())).is_ok();
        let how = if taken { Closed::Answered } else { Closed::Withdrawn };
        self.ring.push(SessionEvent::QuestionClosed { id: id.clone(), how });
        if taken { Ok(()) } else { Err(AnswerError::NotOpen) }
    }

    /// Whoever asked hears that there will be no answer.
    pub(crate) fn withdraw(&self) {
        let open = self.open();
        if let Some(question) = open {
            self.close(&question.id, Closed::Withdrawn);
        }
    }

    fn close(&self, id: &QuestionId, how: Closed) {
        let closed = self.open.lock().take_if(|open| open.question.id == *id).is_some();
        if closed {
            self.remember(id);
            self.ring.push(SessionEvent::QuestionClosed { id: id.clone(), how });
        }
    }
}

/// Somebody who waits for the floor.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// How the wait for an answer ended.
enum Ended {
    Answered,
    Withdrawn,
    RanDown(Option<String>),
}

/// Why there is no answer when the time is over.
fn unanswered(why: Option<String>, after: Duration) -> NoAnswer {
    why.map_or(NoAnswer::Expired { after }, NoAnswer::Unreachable)
}

/// A question whose asker gives up is closed.
struct Asked<'a> {
    desk: &'a Desk,
    id: &'a QuestionId,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.desk.close(self.id, Closed::Withdrawn);
    }
}

/// The record of an open question.
struct Kept {
    keeping: Arc<Keeping>,
    changes: watch::Receiver<u64>,
    id: QuestionId,
    settled: bool,
}

impl Kept {
    /// Comes back when somebody, in whichever process, has answered or closed it.
    async fn decided(&mut self) {
        loop {
            if self.changes.changed().await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(LOOK_PAUSE).await;
            self.changes.mark_unchanged();
            match self.keeping.questions.get(&self.id).await {
                Ok(Some(record)) if record.state == QuestionState::Open => {}
                Ok(_) => return,
                Err(error) => warn!(%error, question = %self.id, "a question was not looked at"),
            }
        }
    }

    /// Takes the answer.
    async fn taken(mut self) -> Heard {
        self.settled = true;
        let unreachable = |error: StoreError| NoAnswer::Unreachable(error.to_string());
        let taken = self.keeping.questions.take(&self.id).await.map_err(unreachable)?;
        let Some(answer) = taken else { return Err(NoAnswer::Withdrawn) };
        let QuestionAnswer { by, .. } = &answer;
        Ok((record::reply(&answer), by.clone()))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.settled && !self.keeping.suspended.load(Ordering::Acquire) {
            self.keeping.questions.close_later(&self.id, NotAnswered::Withdrawn);
        }
    }
}
