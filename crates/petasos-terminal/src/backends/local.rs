//! `local`: commands on this machine, in trees that are owned and, when asked, confined.

mod files;
mod found;
mod pipes;
mod plain;
mod process;
mod script;
mod snapshot;
mod spawn;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::environment::{
    Capability, EnvError, Environment, Facts, Files, Health, Isolation, Launch, Process, Program,
};
use petasos_contract::path::TargetPath;
use petasos_contract::{BoxFuture, CallContext, Settings};
use tokio::sync::OnceCell;

use crate::backend::{BackendDef, Opening};
use crate::keeper::Keeper;
use crate::sandbox;
use crate::settings::TerminalSettings;
use files::LocalFiles;
use snapshot::Snapshot;

/// The backend.
pub(super) static BACKEND: BackendDef = BackendDef {
    name: "local",
    summary: "this machine, as the user who runs petasos",
    usable: |_| shell().map(drop),
    reach: None,
    open: |opening| Box::pin(async move { open(opening).map(|local| local as _) }),
};

/// Places where a shell is looked for; the search path of a command must not choose its shell.
const SHELLS: &[&str] =
    &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];

fn shell() -> Result<&'static str, String> {
    let found = SHELLS.iter().find(|shell| Path::new(shell).exists());
    found.copied().ok_or_else(|| format!("no bash at {}: install it", SHELLS.join(", ")))
}

/// This machine.
#[derive(Debug)]
struct Local {
    facts: Facts,
    shell: &'static str,
    install: Option<PathBuf>,
    keeper: Mutex<Option<Arc<Keeper>>>,
    null: OwnedFd,
    snapshot: OnceCell<Snapshot>,
    files: LocalFiles,
}

fn open(opening: Opening<'_>) -> Result<Arc<Local>, EnvError> {
    let not_started = |why: String| EnvError::NotStarted { what: "the local terminal".into(), why };
    let shell = shell().map_err(not_started)?;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    let null = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty())
        .map_err(|error| not_started(error.to_string()))?;
    let keeper = Keeper::start().map_err(|error| not_started(error.to_string()))?;
    let capabilities =
        [Capability::Pty, Capability::Stdin, Capability::Detach, Capability::Sandbox];
    Ok(Arc::new(Local {
        facts: Facts {
            backend: "local",
            target: "local".to_owned(),
            isolation: Isolation::Host,
            cwd: start(opening.settings),
            temp: TargetPath::new(opening.settings.temp()),
            capabilities: BTreeSet::from(capabilities),
        },
        shell,
        install: opening.install.map(Path::to_owned),
        keeper: Mutex::new(Some(Arc::new(keeper))),
        null,
        snapshot: OnceCell::new(),
        files: LocalFiles,
    }))
}

fn start(settings: &Settings) -> TargetPath {
    TargetPath::new(settings.workspace().to_path_buf())
}

impl Local {
    /// The keeper; a new one when the old one was killed. Nothing has run through it then.
    fn keeper(&self) -> io::Result<Arc<Keeper>> {
        let mut keeper = self.keeper.lock();
        if let Some(keeper) = keeper.as_ref().filter(|keeper| keeper.lives()) {
            return Ok(Arc::clone(keeper));
        }
        let new = Arc::new(Keeper::start()?);
        *keeper = Some(Arc::clone(&new));
        Ok(new)
    }

    fn forget_keeper(&self) {
        let old = self.keeper.lock().take();
        drop(old);
    }

    fn home(cx: &CallContext) -> String {
        let home = cx.settings.user_home();
        home.to_str().filter(|home| !home.is_empty()).unwrap_or("/nonexistent").to_owned()
    }
}

impl Environment for Local {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn warm<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Settings that cannot be read are told by the command that needs them.
            if let Ok(terminal) = TerminalSettings::of(&cx.settings) {
                self.snapshot(&terminal, cx).await;
            }
        })
    }

    fn spawn<'a>(
        &'a self,
        launch: Launch,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Process>, EnvError>> {
        Box::pin(async move {
            let keeps_state = matches!(launch.program, Program::Shell(_));
            let process = self.start(launch, cx, keeps_state).await?;
            Ok(Box::new(process) as Box<dyn Process>)
        })
    }

    fn find<'a>(
        &'a self,
        handle: &'a str,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Process>>, EnvError>> {
        Box::pin(async move { found::find(handle) })
    }

    fn files(&self) -> &dyn Files {
        &self.files
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async move {
            match self.keeper() {
                Ok(keeper) => {
                    let groups = if keeper.has_groups() { ", control groups" } else { "" };
                    let (shell, sandbox) = (self.shell, sandbox::level());
                    Health::Ready { detail: format!("{shell}, {sandbox}{groups}") }
                }
                Err(error) => Health::Lost { reason: format!("no keeper process: {error}") },
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            self.forget_keeper();
            Ok(())
        })
    }
}
