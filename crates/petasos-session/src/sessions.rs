//! The service: opens sessions, gives every surface the same one, and ends them.

mod skills;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_agent::engine::{Choice, Engine};
use petasos_agent::{Agent, TurnError};
use petasos_contract::context::{CALLER_DEADLINE, Phase};
use petasos_contract::wait::Owned;
use petasos_contract::{BoxFuture, SessionId};
use petasos_store::{StoreError, Stores, WaitingCalls};
use tokio::sync::{OwnedMutexGuard, Semaphore, mpsc};

use crate::command::{self, CommandInfo, Extra, Page};
use crate::correspondent::{Correspondent, Letter};
use crate::event::SessionEvent;
use crate::follow;
use crate::limits::MAILBOX;
use crate::live::{LiveSession, give_way, recall};
use crate::owner::{Owner, Request};
use crate::questions::Questions;
use crate::services::Services;
use crate::session::{Session, SessionError, Shared};
use crate::state::{EndReason, SessionState};

/// How often a drain looks whether turns have ended.
const DRAIN_LOOK: Duration = Duration::from_millis(50);

/// What sessions are made of.
pub struct SessionParts {
    /// What agents share.
    pub engine: Arc<Engine>,
    /// Where everything is kept.
    pub stores: Stores,
    /// The program around.
    pub services: Arc<dyn Services>,
    /// The port by which the engine asks people.
    pub questions: Arc<Questions>,
    /// Who keeps something for a session.
    pub states: Vec<Arc<dyn SessionState>>,
    /// Commands besides the built-in ones.
    pub extras: Vec<Arc<dyn Extra>>,
    /// Names a new session.
    pub new_id: fn() -> SessionId,
}

impl std::fmt::Debug for SessionParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionParts").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// How a session begins.
#[derive(Debug)]
pub enum Begin {
    /// A new conversation. It is stored with its first message.
    New {
        /// What it chooses.
        choice: Box<Choice>,
        /// The one whose place it takes.
        after: Option<SessionId>,
    },
    /// A new conversation that is stored at once, so that it can be gone on with though nothing was
    /// said in it.
    Kept {
        /// What it chooses.
        choice: Box<Choice>,
    },
    /// A conversation that is stored.
    Resume {
        /// Which.
        session: SessionId,
        /// What it chooses.
        choice: Box<Choice>,
    },
}

/// Where a surface goes from a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchTo {
    /// To a new conversation.
    New,
    /// To one that is stored.
    Stored(SessionId),
}

/// What became of the turns that ran when a program was drained.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// Those that were stopped.
    pub interrupted: Vec<SessionId>,
    /// Those that wait for a person, and go on in the next program.
    pub waiting: Vec<SessionId>,
}

/// What is shared by all owners.
pub(crate) struct Parts {
    pub(crate) engine: Arc<Engine>,
    pub(crate) services: Arc<dyn Services>,
    pub(crate) questions: Arc<Questions>,
    pub(crate) states: Vec<Arc<dyn SessionState>>,
    pub(crate) extras: Vec<Arc<dyn Extra>>,
    /// The turns that may run at once.
    pub(crate) turns: Arc<Semaphore>,
    /// Who hears what sessions do unasked.
    pub(crate) correspondent: Mutex<Option<Arc<dyn Correspondent>>>,
}

impl Parts {
    /// Hands a letter over; whether somebody took it.
    pub(crate) async fn carried(&self, session: &SessionId, letter: Letter) -> bool {
        let correspondent = self.correspondent.lock().clone();
        match correspondent {
            Some(correspondent) => correspondent.carry(session, letter).await,
            None => false,
        }
    }
}

/// The sessions of a program.
pub struct Sessions {
    pub(crate) parts: Arc<Parts>,
    stores: Stores,
    new_id: fn() -> SessionId,
    resident: Mutex<HashMap<SessionId, Resident>>,
    /// A session is opened by one at a time, so that no conversation gets two owners.
    opening: Mutex<HashMap<SessionId, Weak<tokio::sync::Mutex<()>>>>,
    following: Mutex<Option<Owned<()>>>,
    draining: AtomicBool,
    refused: Vec<String>,
}

/// A session with its owner, which ends with it.
struct Resident {
    shared: Arc<Shared>,
    mailbox: mpsc::Sender<Request>,
    used: Instant,
    _owner: Owned<()>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let resident = self.resident.lock().len();
        f.debug_struct("Sessions").field("resident", &resident).finish_non_exhaustive()
    }
}

impl Sessions {
    /// No session yet.
    pub fn new(parts: SessionParts) -> Arc<Self> {
        let SessionParts { engine, stores, services, questions, states, extras, new_id } = parts;
        let (extras, refused) = command::admitted(extras);
        let turns = Arc::new(Semaphore::new(services.limits().turns.max(1)));
        let correspondent = Mutex::new(None);
        let parts = Parts { engine, services, questions, states, extras, turns, correspondent };
        let parts = Arc::new(parts);
        let (resident, opening) = (Mutex::default(), Mutex::default());
        let (following, draining) = (Mutex::new(None), AtomicBool::new(false));
        Arc::new(Self { parts, stores, new_id, resident, opening, following, draining, refused })
    }

    /// Added commands that are not used because a built-in one has their name.
    pub fn refused_commands(&self) -> &[String] {
        &self.refused
    }

    /// Whether a conversation is being shortened for its model: what is said meanwhile waits.
    pub fn is_shortening(&self, session: &SessionId) -> bool {
        self.parts.engine.is_shortening(session)
    }

    /// Every command, for help and completion.
    pub fn commands(&self) -> Vec<CommandInfo> {
        command::listed(&self.parts.extras)
    }

    /// From now on this hears what sessions do unasked, and says what is stored with their turns.
    pub fn correspond(&self, with: Arc<dyn Correspondent>) {
        *self.parts.correspondent.lock() = Some(with);
    }

    /// The questions of all sessions.
    pub fn questions(&self) -> &Arc<Questions> {
        &self.parts.questions
    }

    /// The program around.
    pub fn services(&self) -> &Arc<dyn Services> {
        &self.parts.services
    }

    /// Opens a session. One that is open already is given as it is, to any number of surfaces.
    pub async fn open(self: &Arc<Self>, begin: Begin) -> Result<Session, SessionError> {
        let id = match &begin {
            Begin::New { choice, .. } | Begin::Kept { choice } => {
                choice.new.id.clone().unwrap_or_else(self.new_id)
            }
            Begin::Resume { session, .. } => session.clone(),
        };
        let _opening = self.opening(&id).await;
        if self.draining.load(Ordering::Acquire) {
            return Err(SessionError::Draining);
        }
        self.follow_others();
        let (shared, choice, after, resumed) = match begin {
            Begin::New { choice, after } => {
                // Two who begin the same conversation share it.
                if let Some(open) = self.find(&id) {
                    return Ok(open);
                }
                (Shared::new(id), *choice, after, None)
            }
            Begin::Kept { mut choice } => {
                choice.new.id = Some(id.clone());
                let engine = Arc::clone(&self.parts.engine);
                let mut agent = Agent::begin(engine, (*choice).clone()).await?;
                agent.wait_for_others(CALLER_DEADLINE);
                (Shared::new(id), *choice, None, Some((agent, Vec::new())))
            }
            Begin::Resume { session, mut choice } => {
                if let Some(open) = self.find(&session) {
                    return Ok(open);
                }
                recall(&*self.parts.engine.store, &session, &mut choice).await?;
                let resumed = self.resumed(&session, &choice).await?;
                (Shared::new(session), *choice, None, Some(resumed))
            }
        };
        self.start(&shared, choice, after, resumed);
        Ok(Session { shared, service: Arc::clone(self) })
    }

    /// Nobody else opens, wakes or cools this session meanwhile.
    pub(crate) async fn opening(&self, session: &SessionId) -> OwnedMutexGuard<()> {
        let turn = {
            let mut opening = self.opening.lock();
            let known = opening.get(session).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                opening.retain(|_, turn| turn.strong_count() > 0);
                let turn = Arc::default();
                opening.insert(session.clone(), Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }

    /// A conversation from the store, and what had to be repaired of it.
    async fn resumed(
        &self,
        session: &SessionId,
        choice: &Choice,
    ) -> Result<(Agent, Vec<String>), SessionError> {
        let engine = Arc::clone(&self.parts.engine);
        // Where nobody can be asked, nothing goes on waiting for an answer.
        let attended = self.parts.services.context(session).attended;
        let waiting = if attended { WaitingCalls::Keep } else { WaitingCalls::Close };
        let resumed =
            Agent::resume_with(Arc::clone(&engine), choice.clone(), session, waiting).await;
        let (mut agent, repairs) = match resumed {
            // Whoever works on it lives: it is gone along with, and not repaired.
            Err(TurnError::Store(StoreError::Leased { .. })) => {
                (Agent::attach(engine, choice.clone(), session).await?, Vec::new())
            }
            resumed => resumed?,
        };
        agent.wait_for_others(CALLER_DEADLINE);
        Ok((agent, repairs))
    }

    /// Starts the owner of a session; gives the way to it.
    fn start(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        choice: Choice,
        after: Option<SessionId>,
        resumed: Option<(Agent, Vec<String>)>,
    ) -> mpsc::Sender<Request> {
        let (agent, repairs) = resumed.map_or((None, Vec::new()), |(agent, it)| (Some(agent), it));
        for repair in repairs {
            let page = Page::Warning(format!("repaired: {repair}"));
            shared.ring.push(SessionEvent::Page(page));
        }
        let mut live = LiveSession::new(Arc::clone(shared), Arc::clone(&self.parts), choice);
        if let Some(agent) = &agent {
            crate::live::follow::show_missed(&shared.ring, agent);
        }
        (live.agent, live.after) = (agent, after);
        live.go_on();
        let (mailbox, requests) = mpsc::channel(MAILBOX);
        let owner = Owned::start(Owner::new(live, requests, Arc::downgrade(self)).run());
        let resident = Resident {
            shared: Arc::clone(shared),
            mailbox: mailbox.clone(),
            used: Instant::now(),
            _owner: owner,
        };
        self.make_room();
        self.resident.lock().insert(shared.id.clone(), resident);
        mailbox
    }

    /// The way to the owner of a session; one that has gone cold is woken.
    pub(crate) async fn mailbox(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
    ) -> Result<mpsc::Sender<Request>, SessionError> {
        if let Some(mailbox) = self.live_mailbox(&shared.id) {
            return Ok(mailbox);
        }
        let _opening = self.opening(&shared.id).await;
        if let Some(mailbox) = self.live_mailbox(&shared.id) {
            return Ok(mailbox);
        }
        self.woken(shared).await
    }

    /// Wakes a session that has gone cold; whoever calls holds the lock for opening. Boxed: the
    /// future of an owner must not contain the one of the next.
    pub(crate) fn woken<'a>(
        self: &'a Arc<Self>,
        shared: &'a Arc<Shared>,
    ) -> BoxFuture<'a, Result<mpsc::Sender<Request>, SessionError>> {
        Box::pin(async move {
            let ended = || SessionError::Ended(shared.id.clone());
            let choice = shared.cold.lock().take().ok_or_else(ended)?;
            match self.resumed(&shared.id, &choice).await {
                Ok(resumed) => Ok(self.start(shared, *choice, None, Some(resumed))),
                Err(error) => {
                    *shared.cold.lock() = Some(choice);
                    Err(error)
                }
            }
        })
    }

    /// Tells an owner something for which nobody waits; one that has gone cold needs no telling.
    pub(crate) fn tell(&self, session: &SessionId, request: Request) {
        let mailbox = self.resident.lock().get(session).map(|one| one.mailbox.clone());
        if let Some(mailbox) = mailbox {
            drop(mailbox.try_send(request));
        }
    }

    fn live_mailbox(&self, session: &SessionId) -> Option<mpsc::Sender<Request>> {
        let mut resident = self.resident.lock();
        let found = resident.get_mut(session).filter(|found| !found.mailbox.is_closed())?;
        found.used = Instant::now();
        Some(found.mailbox.clone())
    }

    /// Forgets sessions that have gone cold and that nobody holds, and asks those that were not used
    /// for longest to go cold when there are too many.
    fn make_room(&self) {
        let limits = self.parts.services.limits();
        let mut resident = self.resident.lock();
        resident.retain(|_, one| !one.mailbox.is_closed() || Arc::strong_count(&one.shared) > 1);
        let live = resident.values().filter(|one| !one.mailbox.is_closed()).count();
        let over = (live + 1).saturating_sub(limits.resident);
        if over == 0 || limits.cold_after.is_none() {
            return;
        }
        let mut oldest: Vec<&Resident> =
            resident.values().filter(|one| !one.mailbox.is_closed()).collect();
        oldest.sort_by_key(|one| one.used);
        for one in oldest.into_iter().take(over) {
            // One that has no room in its mailbox is not idle.
            drop(one.mailbox.try_send(Request::Cool));
        }
    }

    /// Other processes are followed as long as this service is there.
    fn follow_others(self: &Arc<Self>) {
        let mut following = self.following.lock();
        if following.as_ref().is_none_or(Owned::is_finished) {
            let work = follow::follow(Arc::downgrade(self), self.stores.clone());
            *following = Some(Owned::start(work));
        }
    }

    /// The session, when it is open here, in memory or gone cold.
    pub fn find(self: &Arc<Self>, session: &SessionId) -> Option<Session> {
        let resident = self.resident.lock();
        let shared = Arc::clone(&resident.get(session)?.shared);
        Some(Session { shared, service: Arc::clone(self) })
    }

    /// Those whose conversations are in memory.
    pub fn resident(&self) -> Vec<SessionId> {
        let resident = self.resident.lock();
        let live = resident.iter().filter(|(_, one)| !one.mailbox.is_closed());
        live.map(|(id, _)| id.clone()).collect()
    }

    /// Opens the sessions whose turns wait for a person since an earlier process, so that they go
    /// on; what each chooses is the caller's to know. Gives those that were opened.
    pub async fn recover(
        self: &Arc<Self>,
        choice: impl Fn(&SessionId) -> Option<Box<Choice>>,
    ) -> Result<Vec<Session>, SessionError> {
        let mut recovered = Vec::new();
        for record in self.stores.questions.open(None).await? {
            let session = record.asked.session;
            let known = recovered.iter().any(|one: &Session| *one.id() == session);
            let busy = self.stores.sessions.holder(&session).await?.is_some();
            if known || busy || self.find(&session).is_some() {
                continue;
            }
            if let Some(choice) = choice(&session) {
                recovered.push(self.open(Begin::Resume { session, choice }).await?);
            }
        }
        Ok(recovered)
    }

    /// The program ends in order to come back: nothing new begins, what runs may end until then, and
    /// the rest is stopped. Kept questions stay open for the next program.
    pub async fn drain(&self, until: Instant) -> DrainReport {
        self.draining.store(true, Ordering::Release);
        let report = loop {
            if let Some(report) = self.drained(until) {
                break report;
            }
            tokio::time::sleep(DRAIN_LOOK).await;
        };
        self.parts.questions.suspend();
        report
    }

    /// How far a drain has come; nothing while turns run that may still end.
    fn drained(&self, until: Instant) -> Option<DrainReport> {
        let resident = self.resident.lock();
        let works = |one: &&Resident| !one.mailbox.is_closed() && one.shared.work().is_some();
        let busy = resident.values().filter(works);
        // Who waits for a person goes on waiting in the next program.
        let (waiting, working): (Vec<_>, Vec<_>) =
            busy.partition(|one| one.shared.desk.open().is_some());
        if !working.is_empty() && Instant::now() < until {
            return None;
        }
        let ids = |some: &[&Resident]| some.iter().map(|one| one.shared.id.clone()).collect();
        for one in &working {
            one.shared.interrupt();
        }
        Some(DrainReport { interrupted: ids(&working), waiting: ids(&waiting) })
    }

    /// Goes from a session to another one, which chooses what the first one chose; the first ends.
    pub async fn switch(
        self: &Arc<Self>,
        from: &Session,
        to: SwitchTo,
    ) -> Result<Session, SessionError> {
        let view = from.view().await?;
        let mut choice = Box::new(view.choice);
        match to {
            SwitchTo::Stored(session) => {
                // Whether it only plans is its own, and so is what was chosen in it.
                choice.phase = Phase::Work;
                give_way(&*self.parts.engine.store, &session, &mut choice).await;
                let next = self.open(Begin::Resume { session: session.clone(), choice }).await?;
                if next.id() != from.id() {
                    from.end(EndReason::Switched(session)).await?;
                }
                Ok(next)
            }
            SwitchTo::New => {
                from.end(EndReason::NewSession).await?;
                let after = view.head.map(|head| head.session());
                self.open(Begin::New { choice, after }).await
            }
        }
    }

    pub(crate) fn forget(&self, session: &SessionId) {
        self.resident.lock().remove(session);
    }
}
