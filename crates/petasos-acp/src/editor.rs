//! A session that is open at a client.

use std::any::Any;
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionId, SessionInfoUpdate,
    SessionUpdate, UnstructuredCommandInput,
};
use parking_lot::Mutex;
use petasos_contract::CallId;
use petasos_contract::wait::Owned;
use petasos_session::{CommandInfo, EventStream, Replay, Session};
use tokio_util::sync::CancellationToken;

use crate::follow::{Follower, Progress, send};
use crate::permit::Asking;
use crate::port::{EditorHost, ModelOption};
use crate::render::{Abilities, CallRecord, Lookup, Renderer};
use crate::rpc::Peer;
use crate::rules::RuledSession;

/// One session at one client.
pub(crate) struct EditorSession {
    pub(crate) wire: SessionId,
    pub(crate) session: Session,
    pub(crate) cwd: PathBuf,
    pub(crate) ruled: Arc<RuledSession>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) renderer: Arc<Mutex<Renderer>>,
    /// Prompts that are not answered yet, in the order in which they came.
    pub(crate) prompts: Mutex<VecDeque<CancellationToken>>,
    /// Prompts pass in the order in which they came, however long one takes to be read.
    pub(crate) turnstile: tokio::sync::Mutex<()>,
    /// Who answered in the place of whom was chosen.
    pub(crate) served: Mutex<Option<ModelOption>>,
    peer: Arc<Peer>,
    follower: Mutex<Option<Owned<()>>>,
    /// What happens while the client is still being shown what was said before.
    watched: Mutex<Option<EventStream>>,
    /// The last row that the client was shown.
    shown: Mutex<i64>,
    soon: Mutex<Option<Owned<()>>>,
    /// The slash commands that the client knows.
    commands: Mutex<Option<AvailableCommandsUpdate>>,
    /// The title that the client knows.
    title: Mutex<Option<String>>,
    _servers: Box<dyn Any + Send + Sync>,
}

/// What a session is opened with.
pub(crate) struct Opening {
    pub(crate) wire: SessionId,
    pub(crate) session: Session,
    pub(crate) cwd: PathBuf,
    pub(crate) ruled: Arc<RuledSession>,
    pub(crate) servers: Box<dyn Any + Send + Sync>,
    pub(crate) abilities: Abilities,
}

struct Known {
    ruled: Arc<RuledSession>,
    host: Arc<dyn EditorHost>,
}

impl Lookup for Known {
    fn record(&self, call: &CallId) -> CallRecord {
        self.ruled.record(call)
    }

    fn redact(&self, text: &str) -> String {
        self.host.redact(text)
    }
}

impl EditorSession {
    pub(crate) fn new(opening: Opening, peer: &Arc<Peer>, host: &Arc<dyn EditorHost>) -> Arc<Self> {
        let Opening { wire, session, cwd, ruled, servers, abilities } = opening;
        let lookup = Arc::new(Known { ruled: Arc::clone(&ruled), host: Arc::clone(host) });
        let renderer = Renderer::new(cwd.clone(), tag(), abilities, lookup);
        let renderer = Arc::new(Mutex::new(renderer));
        if let Some(terminals) = &ruled.terminals {
            terminals.shown_by(&renderer);
        }
        Arc::new(Self {
            wire,
            session,
            cwd,
            ruled,
            progress: Progress::new(),
            renderer,
            prompts: Mutex::default(),
            turnstile: tokio::sync::Mutex::default(),
            served: Mutex::default(),
            peer: Arc::clone(peer),
            follower: Mutex::new(None),
            watched: Mutex::new(None),
            shown: Mutex::default(),
            soon: Mutex::new(None),
            commands: Mutex::new(None),
            title: Mutex::new(None),
            _servers: servers,
        })
    }

    /// From here on nothing that happens is missed, though it is told later.
    pub(crate) fn watch(&self) {
        if self.follower.lock().is_none() {
            *self.watched.lock() = Some(self.session.events(Replay::Now));
        }
    }

    /// The client has been shown everything up to this row.
    pub(crate) fn shown_until(&self, row: Option<i64>) {
        *self.shown.lock() = row.unwrap_or_default();
    }

    /// Begins to tell the client what happens; a second time changes nothing.
    pub(crate) fn follow(
        self: &Arc<Self>,
        host: &Arc<dyn EditorHost>,
        forms: bool,
        title: Option<String>,
    ) {
        let mut following = self.follower.lock();
        if following.is_some() {
            return;
        }
        *self.title.lock() = title;
        let asking = Arc::new(Asking {
            wire: self.wire.clone(),
            peer: Arc::clone(&self.peer),
            ruled: Arc::clone(&self.ruled),
            host: Arc::clone(host),
            forms,
        });
        let follower = Follower {
            open: Arc::downgrade(self),
            wire: self.wire.clone(),
            session: self.session.clone(),
            peer: Arc::clone(&self.peer),
            progress: Arc::clone(&self.progress),
            asking,
            renderer: Arc::clone(&self.renderer),
            printed: HashSet::new(),
            questions: HashMap::new(),
            shown: *self.shown.lock(),
            fell_back: false,
            early: None,
        };
        let watched = self.watched.lock().take();
        let events = watched.unwrap_or_else(|| self.session.events(Replay::Now));
        *following = Some(Owned::start(follower.run(events)));
    }

    /// Does something after what is being done now; it ends with the session.
    pub(crate) fn soon(&self, work: impl Future<Output = ()> + Send + 'static) {
        *self.soon.lock() = Some(Owned::start(async move {
            tokio::task::yield_now().await;
            work.await;
        }));
    }

    /// Tells the client something about the session.
    pub(crate) async fn tell(&self, update: SessionUpdate) {
        send(&self.peer, &self.wire, update).await;
    }

    /// Which slash commands there are.
    pub(crate) async fn tell_commands(&self) {
        let update = self.known_commands();
        *self.commands.lock() = Some(update.clone());
        self.tell(SessionUpdate::AvailableCommandsUpdate(update)).await;
    }

    /// The same, where they are not what the client was told: a skill may have come meanwhile.
    pub(crate) async fn tell_new_commands(&self) {
        let update = self.known_commands();
        let before = self.commands.lock().clone();
        if before.is_some_and(|before| before != update) {
            self.tell_commands().await;
        }
    }

    fn known_commands(&self) -> AvailableCommandsUpdate {
        let commands = self.session.service().commands();
        let listed = commands.iter().filter(|one| is_here(&one.name)).map(command);
        AvailableCommandsUpdate::new(listed.collect())
    }

    /// A title that has changed.
    pub(crate) async fn tell_title(&self) {
        let Ok(view) = self.session.view().await else { return };
        let Some(title) = view.head.and_then(|head| head.title) else { return };
        let before = self.title.lock().replace(title.clone());
        if before.as_ref() != Some(&title) {
            let info = SessionInfoUpdate::new().title(title).updated_at(crate::time::now());
            self.tell(SessionUpdate::SessionInfoUpdate(info)).await;
        }
    }

    /// The command that a name means, whichever of its names that is.
    pub(crate) fn meant(&self, name: &str) -> String {
        let commands = self.session.service().commands();
        let known = commands.into_iter().find(|one| one.aliases.iter().any(|it| it == name));
        known.map_or_else(|| name.to_owned(), |one| one.name)
    }

    /// Stops what runs: the first prompt that is not answered, or whatever else does.
    pub(crate) fn cancel(&self) {
        let first = self.prompts.lock().front().cloned();
        match first {
            Some(prompt) => prompt.cancel(),
            None => {
                self.session.interrupt();
            }
        }
    }
}

/// Whether a command can be typed in an editor. Some make no sense there: it has its own ways to
/// answer and to set up. What the table does not know is a plugin's or a skill's.
pub(crate) fn is_here(name: &str) -> bool {
    petasos_session::command_row(name).is_none_or(|row| row.places.contains('e'))
}

fn command(info: &CommandInfo) -> AvailableCommand {
    let input = (!info.usage.is_empty()).then(|| {
        AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(info.usage.clone()))
    });
    AvailableCommand::new(info.name.clone(), info.about.clone()).input(input)
}

/// Tells the messages of this connection from those of others.
fn tag() -> String {
    let mut bytes = [0_u8; 6];
    if getrandom::fill(&mut bytes).is_err() {
        return format!("m{:x}", std::process::id());
    }
    crate::paging::hex(&bytes)
}
