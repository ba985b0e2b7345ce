//! The engine behind the ports: places, shells, jobs and passwords, and who shares what.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::clock::{Clock, SystemClock};
use petasos_contract::environment::{EnvError, Environment, Environments, Located};
use petasos_contract::path::TargetPath;
use petasos_contract::ports::Ports;
use petasos_contract::settings::Parts;
use petasos_contract::terminal::Passwords;
use petasos_contract::wait::{self, Owned};
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings, TaskId};
use petasos_redact::Redactor;
use serde_json::{Map, Value};

use crate::backend::{BackendDef, Opening};
use crate::backends::BACKENDS;
use crate::jobs::{JobTable, Restore};
use crate::places::{Key, Places};
use crate::settings::TerminalSettings;
use crate::shell::{self, Shells};
use crate::sudo::Sudo;

/// How long warming may take before it is given up.
const WARMING: Duration = Duration::from_secs(20);

/// How long a place may take to answer whether it is there.
const REACH: Duration = Duration::from_secs(2);

/// The isolation of every task that has no place of its own.
const SHARED: &str = "default";

/// Everything this crate offers, for one program.
pub struct Engine {
    backends: Vec<&'static BackendDef>,
    places: Places,
    own_backends: Mutex<HashMap<TaskId, Own>>,
    pub(crate) shells: Shells,
    pub(crate) jobs: Arc<JobTable>,
    pub(crate) sudo: Sudo,
    pub(crate) passwords: Option<Arc<dyn Passwords>>,
    install: Option<PathBuf>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine with nothing started yet.
    pub fn new(passwords: Option<Arc<dyn Passwords>>) -> Arc<Self> {
        Self::with_clock(passwords, Arc::new(SystemClock))
    }

    /// An engine whose rate limits follow this clock.
    pub fn with_clock(passwords: Option<Arc<dyn Passwords>>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Self::with_backends(passwords, clock, &[])
    }

    /// An engine that knows backends of other crates besides its own.
    pub fn with_backends(
        passwords: Option<Arc<dyn Passwords>>,
        clock: Arc<dyn Clock>,
        added: &[&'static BackendDef],
    ) -> Arc<Self> {
        let install = std::env::current_exe().ok();
        let mut backends = [BACKENDS, added].concat();
        backends.sort_by_key(|backend| backend.name);
        Arc::new_cyclic(|engine| Self {
            backends,
            places: Places::default(),
            own_backends: Mutex::new(HashMap::new()),
            shells: Shells::default(),
            jobs: Arc::new(JobTable::new(clock, Weak::clone(engine))),
            sudo: Sudo::default(),
            passwords,
            install: install.and_then(|program| program.parent().map(PathBuf::from)),
        })
    }

    /// Fills the ports that this crate serves.
    pub fn fill(self: &Arc<Self>, ports: &mut Ports) {
        ports.environments = Some(Arc::clone(self) as _);
        ports.terminal = Some(Arc::clone(self) as _);
        ports.jobs = Some(Arc::clone(&self.jobs) as _);
        ports.processes = Some(crate::processes::Helpers::new() as _);
    }

    /// The background jobs.
    pub fn jobs(&self) -> &Arc<JobTable> {
        &self.jobs
    }

    /// Finds the jobs of other programs again; returns how many live.
    pub async fn restore_jobs(&self, settings: &Arc<Settings>) -> Result<usize, EnvError> {
        self.restore(settings, None).await
    }

    /// The same for the jobs of one session, which has come back.
    pub async fn restore_jobs_of(
        &self,
        session: &SessionId,
        settings: &Arc<Settings>,
    ) -> Result<usize, EnvError> {
        self.restore(settings, Some(session)).await
    }

    async fn restore(
        &self,
        settings: &Arc<Settings>,
        owner: Option<&SessionId>,
    ) -> Result<usize, EnvError> {
        if !crate::jobs::are_recorded(settings) {
            return Ok(0);
        }
        let environment = &self.place(settings, &TaskId::new(SHARED)).await?;
        let redactor = &Redactor::of(settings);
        let restored = self.jobs.restore(Restore { environment, redactor, settings, owner }).await;
        restored
            .map_err(|error| EnvError::Settings(format!("`processes.json` is unusable: {error}")))
    }

    /// Begins to learn what the login files of this machine set up, which the first command would
    /// wait for. Nothing elsewhere: other places cost something before they are needed.
    pub fn warm(self: &Arc<Self>, cx: CallContext) -> Option<Owned<()>> {
        let terminal = TerminalSettings::of(&cx.settings).ok()?;
        let engine = (terminal.backend == "local").then(|| Arc::clone(self))?;
        Some(Owned::start(async move {
            let warmed = async {
                engine.of(&cx).await?.warm(&cx).await;
                Ok::<(), EnvError>(())
            };
            let until = Instant::now() + WARMING;
            match wait::until(until, "the terminal to get ready", warmed).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "the terminal was not warmed"),
                Err(error) => tracing::debug!(%error, "the terminal was not warmed"),
            }
        }))
    }

    /// Forgets where a session was, what it exported, and passwords that were typed for it.
    pub fn forget_session(&self, session: &SessionId) {
        self.shells.forget(session);
        self.sudo.forget(session);
    }

    /// Gives a task a place of its own, with another backend or image; applies to its next call.
    pub fn give_place(&self, task: TaskId, own: Own) {
        self.own_backends.lock().insert(task, own);
    }

    /// The place for a task, opened on first need.
    pub async fn place(
        &self,
        settings: &Arc<Settings>,
        task: &TaskId,
    ) -> Result<Arc<dyn Environment>, EnvError> {
        let own = self.own_backends.lock().get(task).cloned();
        let (settings, task) = match own {
            Some(own) => (Arc::new(own.over(settings)), task.as_str()),
            None => (Arc::clone(settings), SHARED),
        };
        let terminal = TerminalSettings::of(&settings)?;
        let backend = self.backend(&terminal.backend)?;
        let key = key(backend, &settings, task);
        let place = self.places.take(&key, terminal.lifetime());
        let opening = Opening { settings: &settings, install: self.install.as_deref(), task };
        place.get_or_try_init(|| (backend.open)(opening)).await.cloned()
    }

    /// The place of a call, when it is open already.
    fn opened(&self, cx: &CallContext) -> Option<Arc<dyn Environment>> {
        let own = self.own_backends.lock().get(&cx.task).cloned();
        let (settings, task) = match own {
            Some(own) => (Arc::new(own.over(&cx.settings)), cx.task.as_str()),
            None => (Arc::clone(&cx.settings), SHARED),
        };
        let terminal = TerminalSettings::of(&settings).ok()?;
        let backend = self.backend(&terminal.backend).ok()?;
        self.places.opened(&key(backend, &settings, task))
    }

    /// Whether commands could run and their place answers.
    pub(crate) async fn reach(&self, settings: &Arc<Settings>) -> Result<(), String> {
        let terminal = TerminalSettings::of(settings).map_err(|error| error.to_string())?;
        let backend = self.backend(&terminal.backend).map_err(|error| error.to_string())?;
        self.ask(backend, settings).await
    }

    /// Whether a place of this kind could be used with these settings and would answer. Nobody is
    /// asked about an open place, which tells by itself what becomes of it.
    pub async fn ask(
        &self,
        backend: &'static BackendDef,
        settings: &Arc<Settings>,
    ) -> Result<(), String> {
        (backend.usable)(settings)?;
        let Some(reach) = backend.reach else { return Ok(()) };
        if self.places.opened(&key(backend, settings, SHARED)).is_some() {
            return Ok(());
        }
        let opening = Opening { settings, install: self.install.as_deref(), task: SHARED };
        let asked = wait::until(Instant::now() + REACH, "a place to answer", reach(opening)).await;
        asked.unwrap_or_else(|_| {
            let (name, seconds) = (backend.name, REACH.as_secs());
            Err(format!("the {name} terminal did not answer within {seconds} s"))
        })
    }

    /// Every backend that this engine knows, by name.
    pub fn backends(&self) -> &[&'static BackendDef] {
        &self.backends
    }

    /// The backend of a name.
    pub fn backend(&self, name: &str) -> Result<&'static BackendDef, EnvError> {
        self.backends.iter().find(|backend| backend.name == name).copied().ok_or_else(|| {
            let known: Vec<&str> = self.backends.iter().map(|backend| backend.name).collect();
            EnvError::Unknown { name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// Whether a place other than this machine is open.
    pub fn is_away(&self) -> bool {
        self.places.is_away()
    }

    /// Lets go of every place but this machine: what is not kept is removed. Says what failed.
    pub async fn close_places(&self) -> Vec<EnvError> {
        self.places.close().await
    }

    /// Closes places that nobody has used for `terminal.lifetime_seconds`, which also happens
    /// every minute by itself; tells how many those were.
    pub async fn close_idle(&self) -> usize {
        self.places.sweep().await
    }
}

/// A task's own place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    /// The backend, when not the configured one.
    pub backend: Option<String>,
    /// The image, for backends that have images.
    pub image: Option<String>,
    /// Whether it goes with this program, whatever the settings keep.
    pub throw_away: bool,
}

impl Own {
    fn over(&self, settings: &Settings) -> Settings {
        let mut changes = Vec::new();
        if let Some(backend) = &self.backend {
            changes.push(("backend".to_owned(), backend.clone()));
        }
        if let Some(image) = &self.image {
            let kinds = ["docker_image", "singularity_image", "modal_image", "daytona_image"];
            changes.extend(kinds.map(|kind| (kind.to_owned(), image.clone())));
        }
        let mut values = settings.values().clone();
        let terminal = values.entry("terminal").or_insert_with(|| Value::Object(Map::new()));
        if let Some(terminal) = terminal.as_object_mut() {
            terminal.extend(changes.into_iter().map(|(key, value)| (key, Value::String(value))));
            if self.throw_away {
                terminal.insert("container_persistent".to_owned(), Value::Bool(false));
            }
        }
        Settings::new(Parts {
            home: settings.home().to_owned(),
            user_home: settings.user_home().to_owned(),
            workspace: settings.workspace().to_path_buf(),
            temp: settings.temp().to_owned(),
            values,
            sources: settings.sources().clone(),
            limits: settings.limits().clone(),
            variables: settings.variables().clone(),
            secrets: settings.secrets().to_vec(),
            notices: settings.notices().to_vec(),
        })
    }
}

/// What of the settings makes a place another one.
fn key(backend: &'static BackendDef, settings: &Settings, task: &str) -> Key {
    let mut hasher = DefaultHasher::new();
    // This machine is the same one whatever the settings say.
    if backend.name != "local" {
        settings.get("terminal").map(ToString::to_string).hash(&mut hasher);
        settings.home().hash(&mut hasher);
        settings.workspace().hash(&mut hasher);
    }
    Key { backend: backend.name, settings: hasher.finish(), task: task.to_owned() }
}

impl Environments for Engine {
    fn of<'a>(
        &'a self,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Arc<dyn Environment>, EnvError>> {
        Box::pin(self.place(&cx.settings, &cx.task))
    }

    fn cwd(&self, cx: &CallContext) -> TargetPath {
        let record = self.shells.record(cx);
        match self.opened(cx).filter(|place| place.facts().backend != "local") {
            Some(place) => shell::away(&record, place.facts()),
            None => shell::cwd(&record, cx),
        }
    }

    fn locate<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Result<Located, EnvError>> {
        Box::pin(async move {
            let environment = self.of(cx).await?;
            // Asked once the place is open: before, its directory would be one of this machine.
            let record = self.shells.record(cx);
            let cwd = match environment.facts() {
                facts if facts.backend == "local" => shell::cwd(&record, cx),
                facts => shell::away(&record, facts),
            };
            let (home, unset) = (environment.home(cx), record.unset.into_iter().collect());
            Ok(Located { environment, cwd, home, exports: record.exports, unset })
        })
    }

    fn set_cwd(&self, cx: &CallContext, cwd: TargetPath) {
        self.shells.set_cwd(cx, cwd);
    }
}
