//! The engine behind the ports: places, shells, jobs and passwords, and who shares what.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::clock::{Clock, SystemClock};
use petasos_contract::environment::{EnvError, Environment, Environments, Sandbox};
use petasos_contract::path::TargetPath;
use petasos_contract::ports::Ports;
use petasos_contract::terminal::Passwords;
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use tokio::sync::OnceCell;

use crate::backend::{BackendDef, Opening};
use crate::backends::BACKENDS;
use crate::jobs::JobTable;
use crate::output::Masker;
use crate::sandbox;
use crate::settings::TerminalSettings;
use crate::shell::{self, Shells};
use crate::sudo::Sudo;

type Place = Arc<OnceCell<Arc<dyn Environment>>>;

/// Everything this crate offers, for one program.
pub struct Engine {
    places: Mutex<HashMap<&'static str, Place>>,
    pub(crate) shells: Shells,
    pub(crate) jobs: Arc<JobTable>,
    pub(crate) sudo: Sudo,
    pub(crate) passwords: Option<Arc<dyn Passwords>>,
    masker: Mutex<Option<(u64, Arc<Masker>)>>,
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
        let install = std::env::current_exe().ok();
        Arc::new(Self {
            places: Mutex::new(HashMap::new()),
            shells: Shells::default(),
            jobs: Arc::new(JobTable::new(clock)),
            sudo: Sudo::default(),
            passwords,
            masker: Mutex::new(None),
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

    /// Finds the jobs of earlier programs again; returns how many live. For the start of a
    /// program that lives long.
    pub async fn restore_jobs(&self, settings: &Arc<Settings>) -> Result<usize, EnvError> {
        let environment = self.place(settings).await?;
        let masker = self.masker(settings);
        self.jobs
            .restore(&environment, &masker, settings)
            .await
            .map_err(|error| EnvError::Settings(format!("`processes.json` is unusable: {error}")))
    }

    /// Forgets where a session was and what it exported.
    pub fn forget_session(&self, session: &SessionId) {
        self.shells.forget(session);
    }

    /// What masks the secrets of a snapshot.
    pub fn masker(&self, settings: &Settings) -> Arc<Masker> {
        let mut cached = self.masker.lock();
        if let Some((fingerprint, masker)) = &*cached
            && *fingerprint == settings.fingerprint()
        {
            return Arc::clone(masker);
        }
        let masker = Arc::new(Masker::new(settings));
        *cached = Some((settings.fingerprint(), Arc::clone(&masker)));
        masker
    }

    /// The confinement that a call's commands should have.
    pub(crate) fn wanted_sandbox(cx: &CallContext) -> Result<Sandbox, EnvError> {
        let terminal = TerminalSettings::of(&cx.settings)?;
        Ok(sandbox::wanted(&terminal, cx))
    }

    async fn place(&self, settings: &Arc<Settings>) -> Result<Arc<dyn Environment>, EnvError> {
        let terminal = TerminalSettings::of(settings)?;
        let backend = backend(&terminal.backend)?;
        let place = Arc::clone(self.places.lock().entry(backend.name).or_default());
        let opening = Opening { settings, install: self.install.as_deref() };
        place.get_or_try_init(|| (backend.open)(opening)).await.cloned()
    }
}

/// The backend of a name.
pub fn backend(name: &str) -> Result<&'static BackendDef, EnvError> {
    BACKENDS.iter().find(|backend| backend.name == name).copied().ok_or_else(|| {
        let known: Vec<&str> = BACKENDS.iter().map(|backend| backend.name).collect();
        EnvError::Unknown { name: name.to_owned(), known: known.join(", ") }
    })
}

impl Environments for Engine {
    fn of<'a>(
        &'a self,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Arc<dyn Environment>, EnvError>> {
        Box::pin(self.place(&cx.settings))
    }

    fn cwd(&self, cx: &CallContext) -> TargetPath {
        shell::cwd(&self.shells.record(cx), cx)
    }

    fn set_cwd(&self, cx: &CallContext, cwd: TargetPath) {
        self.shells.set_cwd(cx, cwd);
    }
}
