//! The service: opens sessions, gives every surface the same one, and ends them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_agent::Agent;
use petasos_agent::engine::{Choice, Engine};
use petasos_contract::SessionId;
use petasos_contract::wait::Owned;
use petasos_store::WaitingCalls;
use tokio::sync::mpsc;

use crate::command::{self, CommandInfo, Extra, Page};
use crate::event::SessionEvent;
use crate::live::LiveSession;
use crate::owner::{Owner, Request};
use crate::questions::Questions;
use crate::services::Services;
use crate::session::{Session, SessionError, Shared};
use crate::state::{EndReason, SessionState};

/// So many requests wait for an owner; then whoever asks waits.
const MAILBOX: usize = 32;

/// What sessions are made of.
pub struct SessionParts {
    /// What agents share.
    pub engine: Arc<Engine>,
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

/// What is shared by all owners.
pub(crate) struct Parts {
    pub(crate) engine: Arc<Engine>,
    pub(crate) services: Arc<dyn Services>,
    pub(crate) questions: Arc<Questions>,
    pub(crate) states: Vec<Arc<dyn SessionState>>,
    pub(crate) extras: Vec<Arc<dyn Extra>>,
}

/// The sessions of a program.
pub struct Sessions {
    parts: Arc<Parts>,
    new_id: fn() -> SessionId,
    resident: Mutex<HashMap<SessionId, Resident>>,
    /// One session is opened at a time, so that no conversation gets two owners.
    opening: tokio::sync::Mutex<()>,
    refused: Vec<String>,
}

/// A session with its owner, which ends with it.
struct Resident {
    shared: Arc<Shared>,
    mailbox: mpsc::Sender<Request>,
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
        let SessionParts { engine, services, questions, states, extras, new_id } = parts;
        let (extras, refused) = command::admitted(extras);
        let parts = Arc::new(Parts { engine, services, questions, states, extras });
        let (resident, opening) = (Mutex::default(), tokio::sync::Mutex::default());
        Arc::new(Self { parts, new_id, resident, opening, refused })
    }

    /// Added commands that are not used because a built-in one has their name.
    pub fn refused_commands(&self) -> &[String] {
        &self.refused
    }

    /// Every command, for help and completion.
    pub fn commands(&self) -> Vec<CommandInfo> {
        command::listed(&self.parts.extras)
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
        let _opening = self.opening.lock().await;
        let (id, choice, after, resumed) = match begin {
            Begin::New { choice, after } => {
                let id = choice.new.id.clone().unwrap_or_else(self.new_id);
                (id, *choice, after, None)
            }
            Begin::Resume { session, choice } => {
                if let Some(open) = self.find(&session) {
                    return Ok(open);
                }
                let engine = Arc::clone(&self.parts.engine);
                // Where nobody can be asked, nothing goes on waiting for an answer.
                let attended = self.parts.services.context(&session).attended;
                let waiting = if attended { WaitingCalls::Keep } else { WaitingCalls::Close };
                let own = (*choice).clone();
                let resumed = Agent::resume_with(engine, own, &session, waiting).await?;
                (session, *choice, None, Some(resumed))
            }
        };
        let shared = Shared::new(id.clone());
        let (agent, repairs) = resumed.map_or((None, Vec::new()), |(agent, it)| (Some(agent), it));
        for repair in repairs {
            let page = Page::Warning(format!("repaired: {repair}"));
            shared.ring.push(SessionEvent::Page(page));
        }
        let mut live = LiveSession::new(Arc::clone(&shared), Arc::clone(&self.parts), choice);
        (live.agent, live.after) = (agent, after);
        live.go_on();
        let (mailbox, requests) = mpsc::channel(MAILBOX);
        let owner = Owned::start(Owner::new(live, requests).run());
        let resident =
            Resident { shared: Arc::clone(&shared), mailbox: mailbox.clone(), _owner: owner };
        self.resident.lock().insert(id, resident);
        Ok(Session { shared, mailbox, service: Arc::clone(self) })
    }

    /// The session, when it is open.
    pub fn find(self: &Arc<Self>, session: &SessionId) -> Option<Session> {
        let resident = self.resident.lock();
        let found = resident.get(session)?;
        let (shared, mailbox) = (Arc::clone(&found.shared), found.mailbox.clone());
        Some(Session { shared, mailbox, service: Arc::clone(self) })
    }

    /// Those that are open.
    pub fn resident(&self) -> Vec<SessionId> {
        self.resident.lock().keys().cloned().collect()
    }

    /// Goes from a session to another one, which chooses what the first one chose; the first ends.
    pub async fn switch(
        self: &Arc<Self>,
        from: &Session,
        to: SwitchTo,
    ) -> Result<Session, SessionError> {
        let view = from.view().await?;
        let choice = Box::new(view.choice);
        match to {
            SwitchTo::Stored(session) => {
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
