//! The handle of a session: what any surface can do with it.
//!
//! Cheap to clone, and every clone is the same session. Interrupting, steering and answering take
//! effect at once; everything else is asked of the owner, in the order in which it was asked.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use petasos_agent::engine::Choice;
use petasos_agent::steer::Inbox;
use petasos_agent::{Input, TurnEnd, TurnError};
use petasos_contract::message::Content;
use petasos_contract::{CallContext, SessionId};
use petasos_store::{SessionHead, StoreError, Stored};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::command::CommandOutcome;
use crate::desk::Desk;
use crate::event::SubmissionId;
use crate::offers::{Offer, OfferKind};
use crate::owner::Request;
use crate::question::{Answerer, Question, QuestionId, QuestionReply};
use crate::questions::AnswerError;
use crate::ring::{EventStream, Replay, Ring};
use crate::sessions::Sessions;
use crate::state::EndReason;

/// Why a session did not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SessionError {
    /// It is over.
    #[error("session {0} has ended: open it again")]
    Ended(SessionId),
    /// A turn runs, and the message may not wait.
    #[error("the agent works: stop it first, or wait")]
    Busy,
    /// As many messages wait as may.
    #[error("{0} messages wait already: wait for a turn to end")]
    Full(usize),
    /// The program is about to end.
    #[error("the program is about to end: say it again when it is back")]
    Draining,
    /// Something in the message is not taken.
    #[error("{0}")]
    NotTaken(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The conversation could not be begun or resumed.
    #[error(transparent)]
    Turn(#[from] TurnError),
}

/// What a message does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBusy {
    /// It waits for the end of the turn.
    Queue,
    /// The model reads it behind the next results.
    Steer,
    /// The turn is stopped, and the message begins the next one.
    Interrupt,
    /// It is not taken.
    Refuse,
}

/// What became of a message.
#[derive(Debug)]
pub enum Admission {
    /// Its turn begins.
    Started(TurnHandle),
    /// It waits.
    Queued {
        /// How many go first, the running turn included.
        ahead: usize,
        /// Its turn.
        turn: TurnHandle,
    },
    /// The running turn gets it.
    Steered,
}

/// The turn of a message.
#[derive(Debug)]
pub struct TurnHandle {
    /// Which message.
    pub id: SubmissionId,
    pub(crate) end: oneshot::Receiver<Result<TurnEnd, TurnError>>,
}

impl TurnHandle {
    /// Waits for its end; `None` when the session ended before.
    pub async fn end(self) -> Option<Result<TurnEnd, TurnError>> {
        self.end.await.ok()
    }
}

/// How a session is.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// Its identity.
    pub id: SessionId,
    /// Whether a turn runs.
    pub busy: bool,
    /// How many messages wait.
    pub waiting: usize,
    /// How many of its background jobs run.
    pub jobs: usize,
    /// What it chooses.
    pub choice: Choice,
    /// The window of the chosen model, in tokens.
    pub window: u64,
    /// Whether somebody has said so; else it is assumed.
    pub is_window_known: bool,
    /// What the store knows; nothing before the first message.
    pub head: Option<SessionHead>,
}

/// What the owner and every handle share.
pub(crate) struct Shared {
    pub(crate) id: SessionId,
    pub(crate) ring: Arc<Ring>,
    pub(crate) desk: Arc<Desk>,
    work: Mutex<Option<Work>>,
    /// What a session that has gone cold chooses when it is woken.
    pub(crate) cold: Mutex<Option<Box<Choice>>>,
    /// What its next turn chooses, where whoever asks for it says so.
    pub(crate) wished: Mutex<Option<Box<Choice>>>,
    /// How many messages were accepted.
    pub(crate) submitted: AtomicU64,
}

/// Something that runs and can be stopped.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) cancel: CancellationToken,
    /// Where guidance for a turn is left.
    pub(crate) inbox: Option<Inbox>,
}

impl Shared {
    pub(crate) fn new(id: SessionId) -> Arc<Self> {
        let ring = Ring::new(id.clone());
        let desk = Desk::new(Arc::clone(&ring));
        let (work, cold, wished) = (Mutex::new(None), Mutex::new(None), Mutex::new(None));
        Arc::new(Self { id, ring, desk, work, cold, wished, submitted: AtomicU64::new(0) })
    }

    /// What runs now.
    pub(crate) fn work(&self) -> Option<Work> {
        self.work.lock().clone()
    }

    /// Something begins; it can be stopped from now on.
    pub(crate) fn begin(&self, cx: &CallContext, inbox: Option<Inbox>) {
        *self.work.lock() = Some(Work { cancel: cx.cancel.clone(), inbox });
    }

    /// Nothing runs.
    pub(crate) fn rest(&self) {
        *self.work.lock() = None;
    }

    /// Stops what runs; whether something did.
    pub(crate) fn interrupt(&self) -> bool {
        self.desk.withdraw();
        let work = self.work();
        work.inspect(|work| work.cancel.cancel()).is_some()
    }
}

/// A session. The task behind it comes and goes: one that has gone cold is woken by the next
/// request.
#[derive(Clone)]
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) service: Arc<Sessions>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&self.shared.id).finish()
    }
}

impl Session {
    /// Its identity.
    pub fn id(&self) -> &SessionId {
        &self.shared.id
    }

    /// The service it belongs to.
    pub fn service(&self) -> &Arc<Sessions> {
        &self.service
    }

    /// Says something to the agent.
    pub async fn submit(
        &self,
        mut input: Input,
        busy: WhenBusy,
    ) -> Result<Admission, SessionError> {
        if let Content::Parts(_) = &input.content {
            let services = self.service.services();
            let cx = services.context(self.id());
            let taken = services.taken(input.content, &cx).await;
            input.content = taken.map_err(SessionError::NotTaken)?;
        }
        self.ask(|reply| Request::Submit { input, busy, reply }).await?
    }

    /// Runs a command of the person in the session's terminal. It waits for a turn that runs.
    pub async fn run(&self, command: &str) -> Result<Admission, SessionError> {
        let command = command.to_owned();
        self.ask(|reply| Request::Run { command, reply }).await?
    }

    /// Adds words to the running turn; without one they are a message.
    pub async fn steer(&self, text: &str) -> Result<Admission, SessionError> {
        match self.shared.work().and_then(|work| work.inbox) {
            Some(inbox) => {
                inbox.steer(text);
                Ok(Admission::Steered)
            }
            None => self.submit(text.into(), WhenBusy::Steer).await,
        }
    }

    /// From its next turn on the model, the provider, the effort and the sampling of this choice
    /// hold, however long it has been open.
    pub fn wish(&self, choice: Choice) {
        *self.shared.wished.lock() = Some(Box::new(choice));
    }

    /// Adds words to the running turn; whether one runs that can take them.
    pub fn guide(&self, text: &str) -> bool {
        let inbox = self.shared.work().and_then(|work| work.inbox);
        inbox.inspect(|inbox| inbox.steer(text)).is_some()
    }

    /// Stops what runs, at once; whether something did.
    pub fn interrupt(&self) -> bool {
        self.shared.interrupt()
    }

    /// The question that is open.
    pub fn question(&self) -> Option<Arc<Question>> {
        self.shared.desk.open()
    }

    /// Answers a question. The first valid answer from any surface counts.
    pub async fn answer(
        &self,
        id: &QuestionId,
        reply: QuestionReply,
        by: &Answerer,
    ) -> Result<(), AnswerError> {
        let keeping = self.service.questions().keeping();
        self.shared.desk.answer(id, reply, by, keeping).await
    }

    /// Runs a slash command; what it says is in the outcome.
    pub async fn command(&self, line: &str) -> Result<CommandOutcome, SessionError> {
        let line = line.to_owned();
        self.ask(|reply| Request::Command { line, submits: true, reply }).await
    }

    /// The same for a surface that keeps messages itself: one that follows from the command is in
    /// the outcome, and nobody has said it yet.
    pub async fn command_alone(&self, line: &str) -> Result<CommandOutcome, SessionError> {
        let line = line.to_owned();
        self.ask(|reply| Request::Command { line, submits: false, reply }).await
    }

    /// How it is.
    pub async fn view(&self) -> Result<SessionView, SessionError> {
        self.ask(|reply| Request::View { reply }).await?
    }

    /// What there is to choose from, or why nothing.
    pub async fn offers(&self, kind: OfferKind) -> Result<Vec<Offer>, String> {
        let asked = self.ask(|reply| Request::Offers { kind, reply }).await;
        asked.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// The newest messages, oldest first.
    pub async fn recent(&self, most: usize) -> Result<Vec<Stored>, SessionError> {
        self.ask(|reply| Request::Recent { most, reply }).await
    }

    /// Takes back a message that waits; its words, unless its turn has begun.
    pub async fn take_back(&self, id: SubmissionId) -> Result<Option<String>, SessionError> {
        self.ask(|reply| Request::TakeBack { id, reply }).await
    }

    /// What happens, from somewhere on.
    pub fn events(&self, from: Replay) -> EventStream {
        self.shared.ring.watch(from)
    }

    /// Ends it: what runs is stopped, hooks and engines hear of it. The conversation stays stored.
    pub async fn end(&self, why: EndReason) -> Result<(), SessionError> {
        self.shared.interrupt();
        let ended = self.ask(|reply| Request::End { why, reply }).await;
        self.service.forget(&self.shared.id);
        ended
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        let mut request = request(reply);
        loop {
            let mailbox = self.service.mailbox(&self.shared).await?;
            match mailbox.send(request).await {
                Ok(()) => break,
                // It went cold in this very moment.
                Err(back) => request = back.0,
            }
        }
        answer.await.map_err(|_| SessionError::Ended(self.shared.id.clone()))
    }
}
