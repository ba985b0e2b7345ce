//! All servers of a configuration: started together, waited for briefly, ended with their owner.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::Settings;
use petasos_contract::wait::Owned;
use serde::Serialize;
use serde_json::Value;

use super::shared::{Around, Shared};
use super::spec::{ServerSpec, SpecError};
use super::state::State;
use super::{keeper, register};

/// How long the first turn waits for servers, unless the configuration says otherwise.
pub const START_BUDGET: Duration = Duration::from_millis(750);

/// The servers of a program.
pub struct Servers {
    kept: Vec<Server>,
    broken: Vec<SpecError>,
    disabled: Vec<String>,
}

struct Server {
    shared: Arc<Shared>,
    /// Ends the server, its program and all of its tree when dropped.
    _keeper: Owned<()>,
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
        let (mut good, mut broken, mut disabled) = (Vec::new(), Vec::new(), Vec::new());
        for spec in ServerSpec::all(&around.settings) {
            match spec {
                Ok(spec) if spec.enabled => good.push(spec),
                Ok(spec) => disabled.push(spec.name),
                Err(error) => {
                    tracing::warn!(%error, "an entry cannot be used");
                    broken.push(error);
                }
            }
        }
        Self { kept: started(good, around), broken, disabled }
    }

    /// Starts just these.
    pub fn of(specs: Vec<ServerSpec>, around: &Around) -> Self {
        Self { kept: started(specs, around), broken: Vec::new(), disabled: Vec::new() }
    }

    /// Whether there is anything to wait for or to show.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.broken.is_empty()
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
        let waits = self.kept.iter().map(|server| async move {
            let spec = server.shared.spec();
            let required = server.shared.faces.iter().any(|face| face.required);
            let until =
                if required { deadline.max(Instant::now() + spec.connect) } else { deadline };
            let mut state = server.shared.state.subscribe();
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
        let mut views: Vec<ServerView> = self.kept.iter().flat_map(Server::views).collect();
        views.extend(self.broken.iter().map(|error| ServerView {
            name: error.name.clone(),
            state: State::Failed(error.problem.clone()),
            at: String::new(),
            required: false,
            tools: Vec::new(),
            notes: Vec::new(),
        }));
        views.extend(self.disabled.iter().map(|name| ServerView {
            name: name.clone(),
            state: State::Disabled,
            at: String::new(),
            required: false,
            tools: Vec::new(),
            notes: Vec::new(),
        }));
        views.sort_by(|a, b| a.name.cmp(&b.name));
        views
    }

    /// A line for the model about servers that are not ready; none when all are.
    pub fn notice(&self) -> Option<String> {
        let troubled = self
            .views()
            .into_iter()
            .filter(|view| !matches!(view.state, State::Ready | State::Resting | State::Disabled));
        let lines: Vec<String> =
            troubled.map(|view| format!("{}: {}", view.name, view.state)).collect();
        (!lines.is_empty()).then(|| format!("MCP servers that are not ready: {}", lines.join("; ")))
    }

    /// What a server said when it last asked for a sign-in.
    pub fn challenge(&self, name: &str) -> Option<String> {
        let named = |server: &&Server| server.shared.faces.iter().any(|face| face.name == name);
        self.kept.iter().find(named)?.shared.challenge.lock().clone()
    }

    /// Asks a server to connect again at once.
    pub fn reconnect(&self, name: &str) {
        for server in &self.kept {
            if server.shared.faces.iter().any(|face| face.name == name) {
                server.shared.nudge.notify_one();
            }
        }
    }
}

/// One keeper for all entries that start the same server.
fn started(specs: Vec<ServerSpec>, around: &Around) -> Vec<Server> {
    let mut groups: Vec<([u8; 32], Vec<ServerSpec>)> = Vec::new();
    for spec in specs {
        let digest = spec.digest();
        match groups.iter_mut().find(|(known, _)| *known == digest) {
            Some((_, faces)) => faces.push(spec),
            None => groups.push((digest, vec![spec])),
        }
    }
    let start = |faces: Vec<ServerSpec>| {
        let shared = Arc::new(Shared::new(faces, around.clone()));
        Server { _keeper: Owned::start(keeper::keep(Arc::clone(&shared))), shared }
    };
    groups.into_iter().map(|(_, faces)| start(faces)).collect()
}

impl Server {
    fn views(&self) -> Vec<ServerView> {
        let state = self.shared.state.borrow().clone();
        let tools = self.shared.around.registry.snapshot();
        let view = |face: &ServerSpec| ServerView {
            name: face.name.clone(),
            state: state.clone(),
            at: face.shown(),
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
