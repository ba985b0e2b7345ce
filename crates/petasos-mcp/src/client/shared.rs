//! What the keeper of a server, its tools and its questions to us share.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use petasos_contract::approval::Approver;
use petasos_contract::event::Event;
use petasos_contract::model::Model;
use petasos_contract::processes::Processes;
use petasos_contract::{CallContext, CallId, SessionId, Settings};
use petasos_net::Net;
use petasos_runtime::Registry;
use petasos_runtime::registry::{Origin, Snapshot};
use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::sync::{Notify, Semaphore, watch};

use super::breaker::Breaker;
use super::register::Hints;
use super::spec::ServerSpec;
use super::state::State;

/// What servers are started with and what their questions reach.
#[derive(Clone)]
pub struct Around {
    /// The snapshot.
    pub settings: Arc<Settings>,
    /// The way out.
    pub net: Arc<Net>,
    /// Who starts programs.
    pub processes: Option<Arc<dyn Processes>>,
    /// Where tools are registered.
    pub registry: Arc<Registry>,
    /// The session that alone sees them; all do without one.
    pub session: Option<SessionId>,
    /// Who answers when a server asks for a completion.
    pub model: Option<Arc<dyn Model>>,
    /// Who is asked when a server asks the user.
    pub people: Option<Arc<dyn Approver>>,
}

impl fmt::Debug for Around {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A live connection.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) peer: Peer<RoleClient>,
    /// Another number each time that the connection was made, or found to work.
    pub(super) proof: u64,
}

/// One server.
pub(super) struct Shared {
    /// The entries that mean this server; the first one says how it is started.
    pub(super) faces: Vec<ServerSpec>,
    pub(super) around: Around,
    pub(super) state: watch::Sender<State>,
    pub(super) live: watch::Sender<Option<Live>>,
    /// How often a connection was made, or found to work.
    proofs: AtomicU64,
    pub(super) breaker: Breaker,
    /// The server says that its tools have changed.
    pub(super) tools_changed: Notify,
    /// Somebody needs it now.
    pub(super) nudge: Notify,
    /// One call at a time, for programs that did not say that they take more.
    pub(super) turn: Semaphore,
    pub(super) last_call: Mutex<Instant>,
    /// What it promises about its tools, by its own names for them.
    pub(super) hints: Mutex<BTreeMap<String, Hints>>,
    /// Its tools change all the time.
    pub(super) restless: AtomicBool,
    /// Tools that are not offered, each with why.
    pub(super) left_out: Mutex<Vec<String>>,
    pub(super) running: Mutex<Running>,
    /// What the server said when it last asked for a sign-in.
    pub(super) challenge: Mutex<Option<String>>,
    /// When it asked for completions, within the last minute.
    pub(super) asked: Mutex<VecDeque<Instant>>,
}

/// The calls that run now.
#[derive(Default)]
pub(super) struct Running {
    next: u64,
    calls: Vec<(u64, CallContext)>,
    progress: HashMap<String, (petasos_contract::event::EventSink, CallId)>,
}

impl Running {
    /// Whether no call runs.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

impl Shared {
    pub(super) fn new(faces: Vec<ServerSpec>, around: Around) -> Self {
        Self {
            faces,
            around,
            state: watch::Sender::new(State::Starting),
            live: watch::Sender::new(None),
            proofs: AtomicU64::new(0),
            breaker: Breaker::default(),
            tools_changed: Notify::new(),
            nudge: Notify::new(),
            turn: Semaphore::new(1),
            last_call: Mutex::new(Instant::now()),
            hints: Mutex::default(),
            restless: AtomicBool::new(false),
            left_out: Mutex::new(Vec::new()),
            running: Mutex::new(Running::default()),
            challenge: Mutex::new(None),
            asked: Mutex::new(VecDeque::new()),
        }
    }

    /// Who brings the tools of an entry.
    pub(super) fn origin(&self, face: &ServerSpec) -> Origin {
        let origin = Origin::mcp(&face.name);
        match &self.around.session {
            Some(session) => origin.within(session),
            None => origin,
        }
    }

    /// The tools beside which its own are.
    pub(super) fn tools(&self) -> Arc<Snapshot> {
        let registry = &self.around.registry;
        let session = self.around.session.as_ref();
        session.map_or_else(|| registry.snapshot(), |session| registry.seen_by(session))
    }

    /// The entry that says how it is started. There is always one.
    pub(super) fn spec(&self) -> &ServerSpec {
        // `Servers` makes no server without an entry.
        &self.faces[0]
    }

    pub(super) fn set(&self, state: State) {
        tracing::debug!(server = self.spec().name, %state, "MCP server");
        self.state.send_replace(state);
    }

    pub(super) fn is_restless(&self) -> bool {
        self.restless.load(Ordering::Relaxed)
    }

    /// The connection was made, or found to work.
    pub(super) fn works(&self, peer: &Peer<RoleClient>) {
        self.live.send_modify(|live| {
            let proof = self.proofs.fetch_add(1, Ordering::Relaxed) + 1;
            *live = Some(Live { peer: peer.clone(), proof });
        });
    }

    /// The state between two starts: its tools stay while it is reached again.
    pub(super) fn waiting(&self, why: &str) -> State {
        match self.proofs.load(Ordering::Relaxed) {
            0 => State::Retrying(why.to_owned()),
            _ => State::Degraded(why.to_owned()),
        }
    }

    pub(super) fn live(&self) -> Option<Live> {
        self.live.borrow().clone()
    }

    /// A call begins; it is known until what is returned is dropped.
    pub(super) fn begin(&self, cx: &CallContext) -> Begun<'_> {
        *self.last_call.lock() = Instant::now();
        let mut running = self.running.lock();
        running.next += 1;
        let id = running.next;
        running.calls.push((id, cx.clone()));
        Begun { shared: self, id, token: Mutex::new(None) }
    }

    /// The newest call that runs now: what a server asks, it asks for that one.
    pub(super) fn newest_call(&self) -> Option<CallContext> {
        self.running.lock().calls.last().map(|(_, cx)| cx.clone())
    }

    /// Progress of a call, told where its output is told.
    pub(super) fn progress(&self, token: &str, text: &str) {
        let found = self.running.lock().progress.get(token).cloned();
        let Some((events, call)) = found else { return };
        events.emit(|| Event::ToolOutput { call, text: format!("{text}\n") });
    }
}

/// A call that runs.
pub(super) struct Begun<'a> {
    shared: &'a Shared,
    id: u64,
    token: Mutex<Option<String>>,
}

impl Begun<'_> {
    /// Progress under this token belongs to the call.
    pub(super) fn follow(&self, token: String, cx: &CallContext) {
        let told = (cx.events.clone(), cx.call.clone());
        self.shared.running.lock().progress.insert(token.clone(), told);
        *self.token.lock() = Some(token);
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        *self.shared.last_call.lock() = Instant::now();
        let mut running = self.shared.running.lock();
        running.calls.retain(|(id, _)| *id != self.id);
        if let Some(token) = self.token.lock().take() {
            running.progress.remove(&token);
        }
    }
}
