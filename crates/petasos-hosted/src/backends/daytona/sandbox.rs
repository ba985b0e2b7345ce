//! From a plan to a sandbox that runs, and back to none, or to one that sleeps.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::api::{Api, BuildInfo, NewSandbox, Sandbox};
use crate::{HostedSettings, Owner, VendorError, plain_name};
use petasos_terminal::ids;

/// The most disk that the vendor gives, in GiB.
const DISK_MAX: u32 = 10;

/// How long a sandbox may take to start; a new image is built first.
const STARTING: Duration = Duration::from_mins(10);

/// Whose sandboxes these are.
const MARK: &str = "petasos";
const OWNER: &str = "petasos-owner";
const MACHINE: &str = "petasos-machine";

/// What becomes of a sandbox at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// It is stopped and found again by its name.
    Stopped,
    /// It is removed.
    Removed,
}

/// The sandbox that is wanted.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) keeping: Keeping,
    task: String,
    image: String,
    sizes: [u32; 3],
    target: Option<String>,
}

impl Plan {
    /// From the settings.
    pub(super) fn of(settings: &HostedSettings, task: &str, target: Option<String>) -> Self {
        let task = plain_name(task);
        let (keeping, name) = if settings.container_persistent {
            (Keeping::Stopped, format!("hermes-{task}"))
        } else {
            (Keeping::Removed, format!("hermes-{task}-{}", ids::hex(4)))
        };
        let disk = settings.disk_gib();
        if disk > DISK_MAX {
            tracing::debug!(wanted = disk, given = DISK_MAX, "the vendor gives less disk");
        }
        let sizes = [settings.cpus(), settings.memory_gib(), disk.min(DISK_MAX)];
        Self { name, task, keeping, image: settings.daytona_image.clone(), sizes, target }
    }

    fn new_sandbox(&self) -> NewSandbox {
        let [cpu, memory, disk] = self.sizes;
        let mut labels = BTreeMap::from([("hermes_task_id".to_owned(), self.task.clone())]);
        if self.keeping == Keeping::Removed {
            labels.extend(labels_of(&Owner::this().label()));
        }
        NewSandbox {
            name: self.name.clone(),
            labels,
            cpu,
            memory,
            disk,
            auto_stop_interval: 0,
            // One that stops for any reason is of no use to anybody.
            auto_delete_interval: (self.keeping == Keeping::Removed).then_some(0),
            target: self.target.clone(),
            build_info: BuildInfo { dockerfile_content: format!("FROM {}\n", self.image) },
        }
    }
}

/// The labels of a throw-away sandbox of this machine.
pub(super) fn labels_of(owner: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (MARK.to_owned(), "throw-away".to_owned()),
        (OWNER.to_owned(), owner.to_owned()),
        (MACHINE.to_owned(), machine()),
    ])
}

/// Which machine this is, for telling our own orphans from a colleague's running sandboxes.
fn machine() -> String {
    let id = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let text: String = id.trim().chars().chain(boot.trim().chars()).collect();
    let digits: String = text.chars().filter(char::is_ascii_alphanumeric).take(60).collect();
    if digits.is_empty() { "unknown".to_owned() } else { digits }
}

/// A sandbox that runs: the one of the name, else a new one.
pub(super) async fn acquire(api: &Api, plan: &Plan) -> Result<Sandbox, VendorError> {
    if plan.keeping == Keeping::Stopped {
        match api.get(&plan.name).await {
            Ok(found) if is_broken(&found) => api.delete(&found.id).await?,
            Ok(found) => return running(api, found).await,
            Err(VendorError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let made = match api.create(&plan.new_sandbox()).await {
        Ok(made) => made,
        Err(error) => {
            if !error.did_nothing() && plan.keeping == Keeping::Removed {
                remove_by_name(api, &plan.name).await;
            }
            return Err(error);
        }
    };
    let id = made.id.clone();
    match running(api, made).await {
        Ok(running) => Ok(running),
        Err(error) => {
            if let Err(leftover) = api.delete(&id).await {
                tracing::warn!(%leftover, id, "a sandbox may be left behind");
            }
            Err(error)
        }
    }
}

/// The answer to making it was lost: it may be there all the same.
async fn remove_by_name(api: &Api, name: &str) {
    let removed = match api.get(name).await {
        Ok(found) => api.delete(&found.id).await,
        Err(VendorError::Missing { .. }) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = removed {
        tracing::warn!(%error, name, "a sandbox may be left; the next start looks for it");
    }
}

fn is_broken(sandbox: &Sandbox) -> bool {
    matches!(sandbox.state.as_str(), "error" | "build_failed" | "destroyed" | "destroying")
}

/// Waits until a sandbox runs, starting it when it does not.
async fn running(api: &Api, mut sandbox: Sandbox) -> Result<Sandbox, VendorError> {
    let deadline = Instant::now() + STARTING;
    let mut pause = Duration::from_millis(100);
    loop {
        match sandbox.state.as_str() {
            "started" => return Ok(sandbox),
            "stopped" | "archived" => api.start(&sandbox.id).await?,
            _ if is_broken(&sandbox) => {
                let reason = sandbox.error_reason.as_deref().unwrap_or("no reason given");
                let why = format!("the sandbox is in state `{}`: {reason}", sandbox.state);
                return Err(VendorError::Refused { why });
            }
            _ => {}
        }
        if Instant::now() + pause >= deadline {
            let (state, limit) = (&sandbox.state, STARTING.as_secs());
            let why = format!("the sandbox is in state `{state}` and not started after {limit} s");
            return Err(VendorError::Unknown { why });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(2));
        sandbox = api.get(&sandbox.id).await?;
    }
}

/// Lets go of a sandbox as planned.
pub(super) async fn release(api: &Api, plan: &Plan, id: &str) -> Result<(), VendorError> {
    match plan.keeping {
        Keeping::Removed => api.delete(id).await,
        Keeping::Stopped => match api.stop(id).await {
            Ok(()) | Err(VendorError::Missing { .. }) => Ok(()),
            Err(error) => Err(error),
        },
    }
}

/// Removes the throw-away sandboxes of programs of this machine that are gone. Failing at that is
/// no reason not to work.
pub(super) async fn remove_orphans(api: &Api) {
    let labels = BTreeMap::from([
        (MARK.to_owned(), "throw-away".to_owned()),
        (MACHINE.to_owned(), machine()),
    ]);
    let found = match api.list(&labels).await {
        Ok(found) => found,
        Err(error) => {
            tracing::debug!(%error, "orphans are not looked for");
            return;
        }
    };
    for sandbox in found {
        let owner = sandbox.labels.get(OWNER).and_then(|label| Owner::from_label(label));
        if owner.is_none_or(Owner::lives) {
            continue;
        }
        match api.delete(&sandbox.id).await {
            Ok(()) => tracing::info!(name = sandbox.name, "removed the sandbox of a dead program"),
            Err(error) => tracing::warn!(%error, name = sandbox.name, "an orphan is left"),
        }
    }
}
