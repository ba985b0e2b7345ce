//! Programs of this machine that carry to a target: `docker`, `ssh`, `apptainer`.
//!
//! They are started through the keeper like any command, so they are contained and reaped, and
//! their variables are built by `childenv`: a carrier names what it grants beyond the base.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::environment::{
    Control, EnvError, Environment, Exports, Input, Launch, Process, Program, Stdin, Step,
};
use petasos_contract::path::TargetPath;
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings, wait};

use super::{Captured, Order, outside};
use crate::backend::Opening;
use crate::backends::BACKENDS;
use crate::childenv::{self, Surroundings};
use crate::settings::TerminalSettings;

/// How long a carrying program may take to read its first input.
const FEED_PATIENCE: Duration = Duration::from_secs(30);

/// Starts programs of this machine on behalf of a carrier.
#[derive(Clone)]
pub(crate) struct HostPrograms {
    local: Arc<dyn Environment>,
    cx: CallContext,
    grants: Exports,
}

impl std::fmt::Debug for HostPrograms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostPrograms").finish_non_exhaustive()
    }
}

impl HostPrograms {
    /// With the settings of an opening; `grants` are variables for the carrying program alone.
    pub(crate) async fn new(opening: Opening<'_>, grants: Exports) -> Result<Self, EnvError> {
        let settings = Arc::clone(opening.settings);
        let session = SessionId::new("backend");
        let cx = CallContext::new(settings, Surface::OneShot, session);
        let local = BACKENDS.iter().find(|backend| backend.name == "local");
        let local = local.ok_or_else(|| EnvError::Settings("no local terminal".to_owned()))?;
        let local = (local.open)(opening).await?;
        Ok(Self { local, cx, grants })
    }

    /// Starts `order.argv`, whose first word is a full path on this machine.
    pub(crate) async fn start(&self, order: Order) -> Result<Box<dyn Process>, EnvError> {
        let mut launch = Launch::of(Program::Argv(order.argv), TargetPath::new("/"));
        launch.exports = self.grants.clone();
        launch.exports.extend(order.variables);
        launch.stderr = order.stderr;
        launch.pty = order.pty;
        launch.stdin = match (order.open, order.stdin.is_empty()) {
            (true, _) => Stdin::Open,
            (false, true) => Stdin::Closed,
            (false, false) => Stdin::Bytes(order.stdin.clone()),
        };
        let mut process = self.local.spawn(launch, &self.cx).await?;
        if !order.open || order.stdin.is_empty() {
            return Ok(process);
        }
        let mut input = process.input();
        if let Some(input) = &mut input {
            let deadline = Instant::now() + FEED_PATIENCE;
            let fed =
                wait::until(deadline, "a carrying program to read", input.write(&order.stdin));
            let why = match fed.await {
                // One that reads nothing tells why by its end.
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = why {
                let target = "carrying program".to_owned();
                return Err(EnvError::Lost { target, why });
            }
        }
        Ok(Box::new(Fed { process, input }))
    }

    /// Runs a program to its end and leaves what it started alone, which a carrier that makes
    /// containers needs.
    pub(crate) async fn leaving(
        &self,
        argv: &[String],
        patience: Duration,
    ) -> Result<Captured, String> {
        let settings = &self.cx.settings;
        let terminal = TerminalSettings::of(settings).map_err(|error| error.to_string())?;
        let surroundings = Surroundings { install: None, terminal: false };
        let mut variables = childenv::base(settings, &terminal, &surroundings);
        variables.extend(self.grants.clone());
        outside(argv, &variables, patience).await
    }

    /// The settings that the carrier was opened with.
    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.cx.settings
    }
}

/// The first of these programs on the search path that commands have.
pub(crate) fn find_program(settings: &Settings, names: &[&str]) -> Option<PathBuf> {
    let path = childenv::search_path(settings);
    names.iter().find_map(|name| {
        path.split(':').map(|folder| PathBuf::from(folder).join(name)).find(|file| file.is_file())
    })
}

/// A process whose input was used once already.
struct Fed {
    process: Box<dyn Process>,
    input: Option<Box<dyn Input>>,
}

impl Process for Fed {
    fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    fn next<'a>(&'a mut self, into: &'a mut Vec<u8>) -> BoxFuture<'a, Result<Step, EnvError>> {
        self.process.next(into)
    }

    fn input(&mut self) -> Option<Box<dyn Input>> {
        self.input.take()
    }

    fn control(&self) -> Arc<dyn Control> {
        self.process.control()
    }

    fn confinement(&self) -> &str {
        self.process.confinement()
    }
}
