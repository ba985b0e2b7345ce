//! `singularity`: a container of apptainer, or of singularity where that is what there is.
//!
//! Closed off from the host except for the folders that were named. Changed files last in an
//! overlay, or are gone with the container. It is shared by programs of the same user with the
//! same wishes and stopped by the last one.

mod argv;
mod engine;
mod instance;
mod lease;
mod trouble;
mod wish;

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::environment::{
    Capability, Ending, EnvError, Environment, Exports, Health, Isolation, Process,
};

use crate::backend::{BackendDef, Opening};
use crate::remote::{Carrier, HostPrograms, Order, Profile, Remote, capture};
use crate::settings::TerminalSettings;
use crate::sync::FileSync;
use engine::Engine;
use instance::{Instance, no};
use wish::Wish;

/// The backend.
pub(super) static BACKEND: BackendDef = BackendDef {
    name: "singularity",
    summary: "a container of apptainer or singularity",
    usable: |settings| {
        Wish::of(settings)?;
        engine::program(settings).map(drop)
    },
    reach: None,
    open: |opening| Box::pin(open(opening)),
};

/// How long the container may take for a small question.
const ANSWER: Duration = Duration::from_secs(15);

async fn open(opening: Opening<'_>) -> Result<Arc<dyn Environment>, EnvError> {
    let settings = opening.settings;
    let wish = Wish::of(settings).map_err(EnvError::Settings)?;
    let wish = Wish { task: opening.task.to_owned(), ..wish };
    let engine = Engine::new(settings).map_err(|why| no(&why))?;
    let terminal = TerminalSettings::of(settings)?;
    let host = HostPrograms::new(opening, engine::places(settings)).await?;
    let isolation = if wish.binds.is_empty() { Isolation::Apart } else { Isolation::Mounted };
    let sync = FileSync::of(settings);
    let instance = Instance::open(engine, wish).await?;
    let profile = Profile {
        backend: "singularity",
        target: format!("singularity:{}", instance.name),
        isolation,
        cwd: terminal.cwd().filter(|cwd| !looks_local(cwd)).map(str::to_owned),
        base: Exports::new(),
        capabilities: vec![Capability::Pty, Capability::Stdin, Capability::Detach],
        lifeline: true,
        ahead: true,
    };
    Remote::open(Arc::new(Apptainer { host, instance, sync }), profile).await
}

/// A directory that was meant for the host is none in the container.
fn looks_local(cwd: &str) -> bool {
    !cwd.starts_with('/') || cwd.starts_with("/Users/") || cwd.starts_with("/home/")
}

/// The way into the container.
struct Apptainer {
    host: HostPrograms,
    instance: Instance,
    sync: FileSync,
}

impl Carrier for Apptainer {
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Process>, EnvError>> {
        Box::pin(async move {
            self.instance.ensure().await?;
            let argv = argv::run(&self.instance.engine.program, &self.instance.name, &order.argv);
            // The program hands these on without their prefix; as arguments a comma would split.
            let variables = order.variables.iter().flat_map(|(name, value)| {
                ["APPTAINERENV", "SINGULARITYENV"]
                    .map(|prefix| (format!("{prefix}_{name}"), value.clone()))
            });
            let variables = variables.collect();
            self.host.start(Order { argv, variables, ..order }).await
        })
    }

    fn judge<'a>(
        &'a self,
        ending: Ending,
        noise: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EnvError>> {
        Box::pin(async move {
            if self.instance.lives() {
                return Ok(ending);
            }
            if trouble::is_gone(noise) {
                return Err(no("the container was gone before the command began"));
            }
            let why = "the container ended while a command ran: whether it did its work is \
                       unknown, and it is not run again";
            let target = format!("singularity:{}", self.instance.name);
            Err(EnvError::Lost { target, why: why.to_owned() })
        })
    }

    fn revive<'a>(&'a self, _why: &'a EnvError) -> BoxFuture<'a, Result<(), EnvError>> {
        self.sync.forget();
        Box::pin(self.instance.ensure())
    }

    fn remark(&self, code: i32) -> BoxFuture<'_, Option<String>> {
        let killed = (code == 137).then(|| self.instance.pid().and_then(engine::memory_kills));
        let killed = killed.flatten().filter(|kills| *kills > 0);
        Box::pin(async move {
            killed.map(|_| {
                "the container's memory limit (`terminal.container_memory`) has ended processes"
                    .to_owned()
            })
        })
    }

    fn before(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(self.sync.before(self))
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async move {
            match capture(self, Order::script("exit 0", &[]), ANSWER).await {
                Err(error) => Health::Lost { reason: error.to_string() },
                Ok(answer) if answer.code != 0 => {
                    let reason = format!("its shell ends with {}: {}", answer.code, answer.errors);
                    Health::Lost { reason }
                }
                Ok(_) => {
                    let troubles = self.instance.missing().into_iter();
                    let troubles: Vec<String> = troubles.chain(self.sync.trouble()).collect();
                    if troubles.is_empty() {
                        return Health::Ready { detail: self.instance.detail() };
                    }
                    Health::Degraded { reason: troubles.join("; ") }
                }
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            self.sync.back(self).await;
            self.instance.close().await
        })
    }
}
