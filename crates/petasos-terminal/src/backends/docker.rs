//! `docker`: a container of docker or podman, limited and stripped of rights, kept or thrown away.
//!
//! Commands go through `docker exec`. What they are told in secret travels by input, so it is
//! neither in an argument nor in what the engine remembers of the container.

mod cli;
mod container;
mod settings;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_contract::environment::{
    Capability, Ending, EnvError, Environment, Exports, Health, Isolation, Process,
};

use crate::backend::{BackendDef, Opening};
use crate::remote::{Carrier, HostPrograms, Order, Profile, Remote, capture};
use crate::settings::TerminalSettings;
use cli::{Cli, explain, is_gone, is_unreachable, not_started};
use container::{Container, PATIENCE, Plan, remove};
use settings::DockerSettings;

/// The backend.
pub(super) static BACKEND: BackendDef = BackendDef {
    name: "docker",
    summary: "a container of docker or podman on this machine",
    usable: |settings| {
        DockerSettings::of(settings).map_err(|error| error.to_string())?;
        cli::program(settings).map(drop)
    },
    reach: Some(|opening| Box::pin(reach(opening))),
    open: |opening| Box::pin(open(opening)),
};

/// Counts kills for memory, in either layout of the kernel.
const MEMORY_KILLS: &str = "cat /sys/fs/cgroup/memory.events \
    /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null; true";

/// How long an engine may take to say which one it is.
const REACH: Duration = Duration::from_millis(1800);

async fn reach(opening: Opening<'_>) -> Result<(), String> {
    let program = cli::program(opening.settings)?;
    let programs = HostPrograms::new(opening, Exports::new()).await.map_err(|no| no.to_string())?;
    let told = Cli::new(programs, &program).ask(&["version"], REACH).await;
    match told.map_err(|error| error.to_string())? {
        told if told.code == 0 => Ok(()),
        told => Err(explain(&told.errors)),
    }
}

async fn open(opening: Opening<'_>) -> Result<Arc<dyn Environment>, EnvError> {
    let snapshot = opening.settings;
    let docker = DockerSettings::of(snapshot)?;
    let terminal = TerminalSettings::of(snapshot)?;
    let program = cli::program(snapshot).map_err(not_started)?;
    let programs = HostPrograms::new(opening, Exports::new()).await?;
    let cli = Cli::new(programs, &program);
    let plan = Plan::new(docker.clone(), snapshot, opening.task)?;
    if docker.docker_orphan_reaper {
        plan.sweep(&cli).await;
    }
    let container = plan.container(&cli).await?;
    let short: String = container.id.chars().take(12).collect();
    let isolation = if docker.touches_host() { Isolation::Mounted } else { Isolation::Apart };
    let profile = Profile {
        backend: "docker",
        target: format!("docker:{short}"),
        isolation,
        cwd: Some(docker.cwd(&terminal)),
        base: docker.variables(snapshot, &terminal),
        capabilities: vec![Capability::Pty, Capability::Stdin, Capability::Detach],
        lifeline: true,
        ahead: true,
    };
    let docker =
        Arc::new(Docker { cli, plan, container: Mutex::new(container), kills: AtomicU64::new(0) });
    match Remote::open(Arc::clone(&docker) as Arc<dyn Carrier>, profile).await {
        Ok(place) => Ok(place),
        Err(error) => {
            // A container without a shell is of no use to anybody.
            let id = docker.id();
            remove(&docker.cli, &id).await;
            Err(error)
        }
    }
}

/// The way into one container.
struct Docker {
    cli: Cli,
    plan: Plan,
    container: Mutex<Container>,
    /// How many kills for memory were seen so far.
    kills: AtomicU64,
}

impl Docker {
    fn id(&self) -> String {
        self.container.lock().id.clone()
    }

    /// `running`, `exited`, … or nothing when there is no such container.
    async fn state(&self) -> Result<Option<String>, EnvError> {
        let id = self.id();
        let words = ["inspect", "--format", "{{.State.Status}} {{.State.OOMKilled}}", &id];
        let done = self.cli.ask(&words, PATIENCE).await?;
        if done.code == 0 {
            return Ok(Some(String::from_utf8_lossy(&done.output).trim().to_owned()));
        }
        if is_unreachable(&done.errors) {
            return Err(not_started(explain(&done.errors)));
        }
        Ok(None)
    }

    async fn judged(&self, ending: Ending, noise: &str) -> Result<Ending, EnvError> {
        let lost = |why: String| EnvError::Lost { target: "docker".to_owned(), why };
        if is_gone(noise) {
            return Err(not_started(explain(noise)));
        }
        if noise.contains("OCI runtime exec failed") || noise.contains("no space left on device") {
            return Err(not_started(explain(noise)));
        }
        match self.state().await {
            Ok(Some(state)) if state.starts_with("running") => Ok(ending),
            Ok(Some(state)) if state.ends_with("true") => {
                let memory = self.plan.settings.container_memory;
                Err(lost(format!("the container was killed for its memory limit of {memory} MB")))
            }
            Ok(Some(state)) => Err(lost(format!("the container was stopped or killed ({state})"))),
            Ok(None) => Err(lost("the container was removed".to_owned())),
            Err(error) => Err(lost(error.to_string())),
        }
    }

    async fn revived(&self, why: &EnvError) -> Result<(), EnvError> {
        let id = self.id();
        match self.state().await? {
            // The container is fine, so it was something else.
            Some(state) if state.starts_with("running") => Err(why.clone()),
            Some(state) if state.starts_with("paused") => Err(not_started(format!(
                "the container is paused: continue it with `docker unpause {id}`"
            ))),
            Some(_) if self.cli.begin(&["start", &id], PATIENCE).await.is_ok() => Ok(()),
            Some(_) | None => {
                remove(&self.cli, &id).await;
                let new = self.plan.container(&self.cli).await?;
                tracing::warn!(old = id, new = new.id, "a container was gone and is made anew");
                *self.container.lock() = new;
                Ok(())
            }
        }
    }
}

impl Carrier for Docker {
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Process>, EnvError>> {
        Box::pin(async move {
            let mut words = vec!["exec".to_owned()];
            if order.open || !order.stdin.is_empty() {
                words.push("-i".to_owned());
            }
            if order.pty.is_some() {
                words.push("-t".to_owned());
            }
            for (name, value) in &order.variables {
                words.extend(["-e".to_owned(), format!("{name}={value}")]);
            }
            words.push(self.id());
            words.extend(order.argv);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let argv = self.cli.argv(&words);
            self.cli.programs.start(Order { argv, variables: Vec::new(), ..order }).await
        })
    }

    fn judge<'a>(
        &'a self,
        ending: Ending,
        noise: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EnvError>> {
        Box::pin(self.judged(ending, noise))
    }

    fn revive<'a>(&'a self, why: &'a EnvError) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(self.revived(why))
    }

    fn remark(&self, _: i32) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let told = capture(self, Order::script(MEMORY_KILLS, &[]), PATIENCE).await.ok()?;
            let text = String::from_utf8_lossy(&told.output).into_owned();
            let count = |line: &str| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok();
            let kills: u64 = text.lines().filter_map(count).sum();
            let memory = self.plan.settings.container_memory;
            (kills > self.kills.swap(kills, Ordering::Relaxed)).then(|| {
                format!(
                    "killed: the container's memory limit of {memory} MB was reached; raise \
                     `terminal.container_memory`"
                )
            })
        })
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async move {
            let lacks = self.container.lock().lacks.clone();
            match capture(self, Order::script("echo well", &[]), PATIENCE).await {
                Ok(done) if done.output == b"well\n" => match lacks {
                    Some(reason) => Health::Degraded { reason },
                    None => Health::Ready { detail: self.plan.settings.docker_image.clone() },
                },
                Ok(done) => Health::Lost { reason: explain(&done.errors) },
                Err(error) => Health::Lost { reason: error.to_string() },
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            if self.plan.settings.is_kept() {
                return Ok(());
            }
            let id = self.id();
            match self.cli.told(&["rm", "-f", "-v", &id], PATIENCE).await {
                Err(EnvError::NotStarted { why, .. }) if is_gone(&why) => Ok(()),
                removed => removed.map(drop),
            }
        })
    }
}
