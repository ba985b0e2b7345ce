//! All servers of a configuration: started together, waited for briefly, ended with their owner.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use petasos_contract::{Settings, ToolName};
use serde::Serialize;
use serde_json::Value;

use super::shared::{Around, Shared};
use super::spec::{ServerSpec, SpecError};
use super::state::State;
use super::{keeper, register};

/// How long the first turn waits for servers, unless the configuration says otherwise.
pub const START_BUDGET: Duration = Duration::from_millis(750);

/// What people are told about a server that announces new tools all the time.
const RESTLESS: &str =
    "it says again and again that its tools have changed; its list is read at most once a minute";

/// How much of a reason the model reads.
const REASON_MAX: usize = 200;

/// The servers of a program. What it holds can change while it is used: see [`Servers::reload`].
pub struct Servers {
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    kept: Vec<Server>,
    broken: Vec<SpecError>,
    disabled: Vec<String>,
}

struct Server {
    shared: Arc<Shared>,
    /// Ends the server, its program and all of its tree when dropped.
    _keeper: Owned<()>,
}

/// What a reload did, by names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Reloaded {
    /// Servers that were not there before.
    pub started: Vec<String>,
    /// Servers whose entry changed.
    pub restarted: Vec<String>,
    /// Servers that are gone.
    pub stopped: Vec<String>,
    /// Servers that run on as they are.
    pub kept: Vec<String>,
    /// Entries that cannot be used.
    pub broken: Vec<String>,
}

impl Reloaded {
    /// Whether nothing is different.
    pub fn is_nothing(&self) -> bool {
        self.started.is_empty() && self.restarted.is_empty() && self.stopped.is_empty()
    }
}

impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("started", &self.started),
            ("restarted", &self.restarted),
            ("stopped", &self.stopped),
            ("unchanged", &self.kept),
            ("unusable", &self.broken),
        ];
        let told = parts.iter().filter(|(_, names)| !names.is_empty());
        let told: Vec<String> =
            told.map(|(word, names)| format!("{word}: {}", names.join(", "))).collect();
        f.write_str(if told.is_empty() { "no MCP servers are configured" } else { "" })?;
        f.write_str(&told.join("; "))
    }
}

/// How a server is doing.
#[derive(Debug, Clone, Serialize)]
pub struct ServerView {
    /// Its name.
    pub name: String,
    /// How it is doing.
    #[serde(flatten)]
    pub state: State,
    /// The command line or address.
    pub at: String,
    /// Whether a run stops without it.
    pub required: bool,
    /// Its tools, by their names on the wire.
    pub tools: Vec<String>,
    /// Tools that are not offered and notes about the entry.
    pub notes: Vec<String>,
}

/// A server that must be there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MCP server `{name}` is required and is {state}: `petasos mcp test {name}` shows more")]
pub struct Missing {
    /// The server.
    pub name: String,
    /// How it is doing.
    pub state: State,
}

impl Servers {
    /// Starts every enabled server of a snapshot, all at once; waits for none of them. Must be
    /// called on a runtime.
    pub fn start(around: &Around) -> Self {
        let (good, broken, disabled) = sorted(&around.settings);
        Self { now: Mutex::new(Now { kept: started(good, around), broken, disabled }) }
    }

    /// Starts just these.
    pub fn of(specs: Vec<ServerSpec>, around: &Around) -> Self {
        Self { now: Mutex::new(Now { kept: started(specs, around), ..Now::default() }) }
    }

    /// Follows a newer snapshot: servers whose entries are the same run on untouched, others are
    /// ended and started. Must be called on a runtime.
    pub fn reload(&self, around: &Around) -> Reloaded {
        let (good, broken, disabled) = sorted(&around.settings);
        let mut wanted = groups(good);
        let mut told = Reloaded {
            broken: broken.iter().map(|error| error.name.clone()).collect(),
            ..Reloaded::default()
        };
        let mut now = self.now.lock();
        let mut before = Vec::new();
        let mut stays = Vec::new();
        for server in std::mem::take(&mut now.kept) {
            let faces = described(&server.shared.faces);
            match wanted.iter().position(|group| described(group) == faces) {
                Some(at) => {
                    told.kept.extend(wanted.swap_remove(at).into_iter().map(|face| face.name));
                    stays.push(server);
                }
                // Gone before its successor begins, so that its tools are not taken for its.
                None => before.extend(server.shared.faces.iter().map(|face| face.name.clone())),
            }
        }
        let names = wanted.iter().flatten().map(|face| face.name.clone());
        (told.restarted, told.started) = names.partition(|name| before.contains(name));
        before.retain(|name| !told.restarted.contains(name));
        told.stopped = before;
        stays.extend(wanted.into_iter().map(|faces| Server::start(faces, around)));
        *now = Now { kept: stays, broken, disabled };
        for names in [&mut told.kept, &mut told.started, &mut told.restarted, &mut told.stopped] {
            names.sort();
        }
        told
    }

    /// Whether there is anything to wait for or to show.
    pub fn is_empty(&self) -> bool {
        let now = self.now.lock();
        now.kept.is_empty() && now.broken.is_empty()
    }

    /// Whether a call to any of them runs now.
    pub fn is_busy(&self) -> bool {
        self.now.lock().kept.iter().any(|server| !server.shared.running.lock().is_empty())
    }

    fn shared(&self) -> Vec<Arc<Shared>> {
        self.now.lock().kept.iter().map(|server| Arc::clone(&server.shared)).collect()
    }

    /// The start budget of a snapshot.
    pub fn budget(settings: &Settings) -> Duration {
        let seconds = settings.get("mcp_discovery_timeout").and_then(Value::as_f64);
        seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or(START_BUDGET)
    }

    /// Waits until every start is settled, for at most so long. Required ones get the time that
    /// their own start may take.
    pub async fn settle(&self, within: Duration) {
        let deadline = Instant::now() + within;
        let waits = self.shared().into_iter().map(|shared| async move {
            let spec = shared.spec();
            let required = shared.faces.iter().any(|face| face.required);
            let until =
                if required { deadline.max(Instant::now() + spec.connect) } else { deadline };
            let mut state = shared.state.subscribe();
            let settled = state.wait_for(State::is_settled);
            if tokio::time::timeout_at(until.into(), settled).await.is_err() {
                tracing::info!(server = spec.name, "the MCP server joins when it is ready");
            }
        });
        futures::future::join_all(waits).await;
    }

    /// The first required server that does not work, after the start has settled.
    pub fn missing(&self) -> Option<Missing> {
        let views = self.views();
        let bad = views.into_iter().find(|view| view.required && !view.state.offers())?;
        Some(Missing { name: bad.name, state: bad.state })
    }

    /// How all of them are doing, by name.
    pub fn views(&self) -> Vec<ServerView> {
        let now = self.now.lock();
        let mut views: Vec<ServerView> = now.kept.iter().flat_map(Server::views).collect();
        views.extend(now.broken.iter().map(|error| ServerView {
            name: error.name.clone(),
            state: State::Failed(error.problem.clone()),
            at: String::new(),
            required: false,
            tools: Vec::new(),
            notes: Vec::new(),
        }));
        views.extend(now.disabled.iter().map(|name| ServerView {
            name: name.clone(),
            state: State::Disabled,
            at: String::new(),
            required: false,
            tools: Vec::new(),
            notes: Vec::new(),
        }));
        drop(now);
        views.sort_by(|a, b| a.name.cmp(&b.name));
        views
    }

    /// What the model should know about servers that are not ready, a line each; none when all
    /// are. What a server itself wrote is left out: it is a stranger's text.
    pub fn notice(&self) -> Option<String> {
        let troubled = self.views().into_iter().filter(|view| !is_well(&view.state));
        let lines: Vec<String> = troubled.map(|view| told(&view)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// The tools that may change something and the servers of them that the configuration does not
    /// trust. A tool changes nothing only where its server says so.
    pub fn untrusted(&self) -> Vec<(ToolName, String)> {
        let mut untrusted = Vec::new();
        for shared in self.shared() {
            let hints = shared.hints.lock();
            for face in shared.faces.iter().filter(|face| !face.trusted) {
                let changing = hints.iter().filter(|(_, hints)| !hints.read_only);
                untrusted.extend(changing.map(|(tool, _)| {
                    (register::full_name(&face.name, tool).into(), face.name.clone())
                }));
            }
        }
        untrusted
    }

    /// What a server said when it last asked for a sign-in.
    pub fn challenge(&self, name: &str) -> Option<String> {
        let named = |shared: &&Arc<Shared>| shared.faces.iter().any(|face| face.name == name);
        let shared = self.shared();
        shared.iter().find(named)?.challenge.lock().clone()
    }

    /// Asks a server to connect again at once.
    pub fn reconnect(&self, name: &str) {
        for shared in self.shared() {
            if shared.faces.iter().any(|face| face.name == name) {
                shared.nudge.notify_one();
            }
        }
    }
}

fn is_well(state: &State) -> bool {
    matches!(state, State::Ready | State::Resting | State::Disabled)
}

/// A server that is not ready, in one line for the model.
fn told(view: &ServerView) -> String {
    let name = &view.name;
    let does = match &view.state {
        State::Starting => "is starting: its tools join at a later turn".to_owned(),
        State::NeedsAuth(_) => {
            format!("needs a sign-in: the user runs `petasos mcp login {name}`")
        }
        State::Retrying(reason) => {
            format!("could not be started and is tried again: {}", ours(reason))
        }
        other => format!("{}: {}", other.word(), ours(other.reason().unwrap_or_default())),
    };
    format!("MCP server `{name}` {does}")
}

/// Our part of a reason, on one line.
fn ours(reason: &str) -> String {
    let reason = reason.split_once(super::state::WROTE).map_or(reason, |(ours, _)| ours);
    let plain = reason.chars().map(|c| if c.is_control() { ' ' } else { c });
    super::results::mask(&plain.take(REASON_MAX).collect::<String>())
}

/// The entries of a snapshot: those to start, those that cannot work, those that are off.
fn sorted(settings: &Settings) -> (Vec<ServerSpec>, Vec<SpecError>, Vec<String>) {
    let (mut good, mut broken, mut disabled) = (Vec::new(), Vec::new(), Vec::new());
    for spec in ServerSpec::all(settings) {
        match spec {
            Ok(spec) if spec.enabled => good.push(spec),
            Ok(spec) => disabled.push(spec.name),
            Err(error) => {
                tracing::warn!(%error, "an entry cannot be used");
                broken.push(error);
            }
        }
    }
    (good, broken, disabled)
}

/// Everything that entries say; equal texts mean that nothing changed.
fn described(faces: &[ServerSpec]) -> String {
    format!("{faces:?}")
}

/// Entries that start the same server belong together.
fn groups(specs: Vec<ServerSpec>) -> Vec<Vec<ServerSpec>> {
    let mut groups: Vec<([u8; 32], Vec<ServerSpec>)> = Vec::new();
    for spec in specs {
        let digest = spec.digest();
        match groups.iter_mut().find(|(known, _)| *known == digest) {
            Some((_, faces)) => faces.push(spec),
            None => groups.push((digest, vec![spec])),
        }
    }
    groups.into_iter().map(|(_, faces)| faces).collect()
}

/// One keeper for all entries that start the same server.
fn started(specs: Vec<ServerSpec>, around: &Around) -> Vec<Server> {
    groups(specs).into_iter().map(|faces| Server::start(faces, around)).collect()
}

impl Server {
    fn start(faces: Vec<ServerSpec>, around: &Around) -> Self {
        let shared = Arc::new(Shared::new(faces, around.clone()));
        Self { _keeper: Owned::start(keeper::keep(Arc::clone(&shared))), shared }
    }

    fn views(&self) -> Vec<ServerView> {
        let state = self.shared.state.borrow().clone();
        let tools = self.shared.tools();
        let view = |face: &ServerSpec| ServerView {
            name: face.name.clone(),
            state: state.clone(),
            at: face.shown().to_owned(),
            required: face.required,
            tools: tools
                .names_in(&register::toolset(face))
                .iter()
                .map(|name| name.as_str().to_owned())
                .collect(),
            notes: face
                .notes
                .iter()
                .cloned()
                .chain(self.shared.left_out.lock().iter().cloned())
                .chain(self.shared.is_restless().then(|| RESTLESS.to_owned()))
                .collect(),
        };
        self.shared.faces.iter().map(view).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        register::withdraw(&self.shared);
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.views().iter().map(|view| (&view.name, view.state.word())))
            .finish()
    }
}
