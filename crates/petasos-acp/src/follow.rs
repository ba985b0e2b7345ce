//! Follows one session for one client: events become updates, questions become permission requests.
//!
//! The answer to a prompt waits until everything of its turn has been sent ([`Progress::reached`]).

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    NoticeSeverity, SessionId, SessionNotification, SessionUpdate,
};
use parking_lot::Mutex;
use petasos_contract::CallId;
use petasos_contract::event::Event;
use petasos_contract::reply::{Served, Step};
use petasos_contract::wait::Owned;
use petasos_session::{
    EventStream, Question, QuestionId, Session, SessionEvent, StreamItem, SubmissionId,
};
use tokio::sync::{Notify, watch};

use crate::editor::EditorSession;
use crate::options;
use crate::permit::Asking;
use crate::port::ModelOption;
use crate::render::Renderer;
use crate::replay;
use crate::rpc::Peer;
use crate::texts;

/// What a running command prints is shown at most this often.
const OUTPUT_EVERY: Duration = Duration::from_millis(100);
/// A call of another window is shown within this time after it is asked about.
const CALL_SHOWN: Duration = Duration::from_secs(2);
/// What a client is told.
const UPDATE: &str = "session/update";
/// So many ended turns are remembered for prompts that have not asked yet.
const ENDED_MAX: usize = 256;

/// How far the client has been told.
#[derive(Debug)]
pub(crate) struct Progress {
    ended: Mutex<HashSet<SubmissionId>>,
    /// How often events were missed: what ended then is not known.
    gaps: AtomicU64,
    /// Nobody follows any more.
    over: AtomicBool,
    changed: Notify,
    running: watch::Sender<Option<SubmissionId>>,
    /// Messages whose turns are stopped when they begin: nobody waits for them any more.
    withdrawn: Mutex<HashSet<SubmissionId>>,
    /// The prompts of this client, which it shows by itself. Held while one is being submitted.
    own: tokio::sync::Mutex<HashSet<SubmissionId>>,
}

impl Progress {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            ended: Mutex::default(),
            gaps: AtomicU64::new(0),
            over: AtomicBool::new(false),
            changed: Notify::new(),
            running: watch::Sender::new(None),
            withdrawn: Mutex::default(),
            own: tokio::sync::Mutex::default(),
        })
    }

    /// The prompts of this client; locked while one is submitted, so that its turn is known as its
    /// own before it is followed.
    pub(crate) fn own(&self) -> &tokio::sync::Mutex<HashSet<SubmissionId>> {
        &self.own
    }

    /// How often events were missed so far.
    pub(crate) fn gaps(&self) -> u64 {
        self.gaps.load(Ordering::Acquire)
    }

    /// Comes back when everything of a turn has been sent, or when its end may be among events that
    /// were missed since there were so many gaps.
    pub(crate) async fn reached(&self, id: SubmissionId, gaps: u64) {
        loop {
            let changed = self.changed.notified();
            let lost = self.gaps() != gaps || self.over.load(Ordering::Acquire);
            if lost || self.ended.lock().contains(&id) {
                return;
            }
            changed.await;
        }
    }

    /// Comes back when the turn of a message runs.
    pub(crate) async fn begun(&self, id: SubmissionId) {
        let mut running = self.running.subscribe();
        // The sender lives as long as this.
        drop(running.wait_for(|now| *now == Some(id)).await);
    }

    /// Nobody waits for a message any more: its turn is stopped, and no other.
    pub(crate) fn withdraw(&self, id: SubmissionId, session: &Session) {
        let mut withdrawn = self.withdrawn.lock();
        if *self.running.borrow() == Some(id) {
            session.interrupt();
        } else {
            withdrawn.insert(id);
        }
    }

    fn started(&self, id: SubmissionId, session: &Session) {
        let mut withdrawn = self.withdrawn.lock();
        self.running.send_replace(Some(id));
        if withdrawn.remove(&id) {
            session.interrupt();
        }
    }

    fn ended(&self, id: SubmissionId) {
        let mut ended = self.ended.lock();
        if ended.len() >= ENDED_MAX {
            ended.clear();
        }
        ended.insert(id);
        drop(ended);
        self.running.send_replace(None);
        self.changed.notify_waiters();
    }

    fn gap(&self) {
        self.gaps.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_waiters();
    }
}

/// Follows a session until it ends or the client is gone.
pub(crate) struct Follower {
    pub(crate) open: Weak<EditorSession>,
    pub(crate) wire: SessionId,
    pub(crate) session: Session,
    pub(crate) peer: Arc<Peer>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) asking: Arc<Asking>,
    pub(crate) renderer: Arc<Mutex<Renderer>>,
    /// Calls that have printed something which the client has not seen.
    pub(crate) printed: HashSet<CallId>,
    /// Questions that the client is asked.
    pub(crate) questions: HashMap<QuestionId, Owned<()>>,
    /// The last row that the client was shown before.
    pub(crate) shown: i64,
    /// Whether somebody else answered last than was chosen.
    pub(crate) fell_back: bool,
    /// A question of another window, about a call that the client has not been shown yet.
    pub(crate) early: Option<Arc<Question>>,
}

impl Drop for Follower {
    /// Whoever waits for what it would have sent waits no longer.
    fn drop(&mut self) {
        self.progress.over.store(true, Ordering::Release);
        self.progress.gap();
    }
}

impl Follower {
    /// Sends what happens, from now on.
    pub(crate) async fn run(mut self, mut events: EventStream) {
        if let Some(question) = self.session.question() {
            self.ask(question);
        }
        loop {
            let wait = match (self.printed.is_empty(), &self.early) {
                (false, _) => OUTPUT_EVERY,
                (true, Some(_)) => CALL_SHOWN,
                (true, None) => Duration::from_hours(24),
            };
            let item = tokio::select! {
                item = events.next() => item,
                () = tokio::time::sleep(wait) => {
                    self.send_output().await;
                    self.ask_early();
                    continue;
                }
                () = self.peer.gone().cancelled() => return,
            };
            match item {
                Some(StreamItem::Event(envelope)) => self.take(&envelope.event).await,
                Some(StreamItem::Gap { missed }) => self.missed(missed).await,
                None => return,
            }
        }
    }

    async fn missed(&mut self, count: u64) {
        let text = format!("{count} updates were missed: load the session again to see everything");
        let update = self.renderer.lock().notice(NoticeSeverity::Warning, &text);
        self.send(update).await;
        self.progress.gap();
    }

    async fn take(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TurnStarted { id } => {
                let own = self.progress.own.lock().await.contains(id);
                let words = self.renderer.lock().words(*id);
                if let Some(words) = words.filter(|_| !own) {
                    let update = self.renderer.lock().user(&words);
                    self.send(update).await;
                }
                self.progress.started(*id, &self.session);
            }
            SessionEvent::QuestionAsked(question) => {
                self.send_output().await;
                let known = self.asking.ruled.saw(&question.call)
                    || self.renderer.lock().announced(&question.call).is_some();
                if known {
                    self.ask(Arc::clone(question));
                } else {
                    self.early = Some(Arc::clone(question));
                }
            }
            SessionEvent::QuestionClosed { id, .. } => {
                self.early.take_if(|question| question.id == *id);
                // Whoever still waits for the client's answer withdraws the request.
                self.questions.remove(id);
            }
            SessionEvent::Agent(Event::ToolOutput { call, .. }) => {
                self.printed.insert(call.clone());
            }
            SessionEvent::Agent(Event::ToolAnswered { call, .. }) => {
                self.printed.remove(call);
            }
            SessionEvent::Agent(Event::MessageAdded { seq, .. }) => {
                self.added(*seq).await;
                let call = self.early.as_ref().map(|question| question.call.clone());
                if call.is_some_and(|call| self.renderer.lock().announced(&call).is_some()) {
                    self.ask_early();
                }
                return;
            }
            SessionEvent::Agent(Event::Replied { served, path, .. }) => {
                let fell = path.iter().any(|step| matches!(step, Step::FellBack { .. }));
                self.answers(served, fell).await;
            }
            _ => {}
        }
        let updates = self.renderer.lock().event(event);
        for update in updates {
            self.send(update).await;
        }
        if let SessionEvent::TurnEnded { id, .. } = event {
            self.send_title().await;
            if let Some(open) = self.open.upgrade() {
                open.tell_new_commands().await;
            }
            self.progress.ended(*id);
        }
    }

    /// Another window, perhaps of another process, has added a message.
    async fn added(&mut self, seq: i64) {
        if seq <= self.shown {
            return;
        }
        self.shown = seq;
        let message = match self.asking.host.message(self.session.id(), seq).await {
            Ok(Some(message)) => message,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(error, "a message of another window is not shown");
                return;
            }
        };
        let updates = replay::said(&mut self.renderer.lock(), &message);
        for update in updates {
            self.send(update).await;
        }
        self.send_title().await;
    }

    /// Who answers in the place of whom was chosen is shown as the choice, until that one is back.
    async fn answers(&mut self, served: &Served, fell_back: bool) {
        if !fell_back && !self.fell_back {
            return;
        }
        self.fell_back = fell_back;
        let Some(open) = self.open.upgrade() else { return };
        let by = ModelOption { provider: served.provider.clone(), model: served.model.clone() };
        let by = fell_back.then_some(by);
        let before = std::mem::replace(&mut *open.served.lock(), by.clone());
        if before != by {
            options::tell(&open, self.asking.host.as_ref()).await;
        }
    }

    fn ask(&mut self, question: Arc<Question>) {
        let id = question.id.clone();
        let asking = Arc::clone(&self.asking);
        let (session, renderer) = (self.session.clone(), Arc::clone(&self.renderer));
        let work = async move { asking.put(&question, &session, &renderer).await };
        self.questions.insert(id, Owned::start(work));
    }

    fn ask_early(&mut self) {
        if let Some(question) = self.early.take() {
            self.ask(question);
        }
    }

    async fn send_output(&mut self) {
        for call in std::mem::take(&mut self.printed) {
            let update = self.renderer.lock().output(&call);
            if let Some(update) = update {
                self.send(update).await;
            }
        }
    }

    async fn send_title(&self) {
        if let Some(open) = self.open.upgrade() {
            open.tell_title().await;
        }
    }

    async fn send(&self, update: SessionUpdate) {
        send(&self.peer, &self.wire, update).await;
    }
}

/// Tells a client something about a session. Of a call that is too long for a message only its state
/// is told: it must not stay open.
pub(crate) async fn send(peer: &Peer, session: &SessionId, update: SessionUpdate) {
    let note = SessionNotification::new(session.clone(), update);
    if peer.notify(UPDATE, &note).await {
        return;
    }
    if let Some(update) = texts::shortened(note.update) {
        peer.notify(UPDATE, &SessionNotification::new(session.clone(), update)).await;
    }
}
