//! The `apptainer` program of this machine: what containers there are, starting, stopping,
//! building. Containers must outlive the call that starts them and may be shared by programs, so
//! starting is the one thing that does not go through the keeper.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use petasos_contract::Settings;
use serde::Deserialize;

use super::argv::{self, Beginning};
use crate::childenv::{self, Surroundings, Variables};
use crate::remote::{find_program, outside};
use crate::settings::TerminalSettings;
use crate::tree;

/// How long starting, listing and stopping may take.
const START: Duration = Duration::from_mins(2);
const LIST: Duration = Duration::from_secs(15);
const STOP: Duration = Duration::from_secs(20);
/// How long building an image may take, downloads included.
const BUILD: Duration = Duration::from_mins(10);

/// Variables that tell the program where its own files are.
pub(super) const PLACES: &[&str] = &[
    "APPTAINER_CACHEDIR",
    "APPTAINER_CONFIGDIR",
    "APPTAINER_TMPDIR",
    "SINGULARITY_CACHEDIR",
    "SINGULARITY_CONFIGDIR",
    "SINGULARITY_TMPDIR",
];

/// The program.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) program: PathBuf,
    variables: Variables,
}

/// A container that the program knows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Known {
    #[serde(rename = "instance")]
    pub(super) name: String,
    pub(super) pid: u32,
    #[serde(rename = "logErrPath", default)]
    errors: PathBuf,
    #[serde(rename = "logOutPath", default)]
    output: PathBuf,
}

impl Known {
    /// Whether its first process lives; the list keeps some that do not.
    pub(super) fn lives(&self) -> bool {
        tree::runs(self.pid)
    }

    fn forget_logs(&self) {
        for log in [&self.errors, &self.output] {
            if log.is_file()
                && let Err(error) = std::fs::remove_file(log)
            {
                tracing::debug!(%error, log = %log.display(), "a container's log stays behind");
            }
        }
    }
}

#[derive(Deserialize)]
struct Listed {
    instances: Option<Vec<Known>>,
}

/// Finds the program under either name; apptainer is the newer one.
pub(super) fn program(settings: &Settings) -> Result<PathBuf, String> {
    find_program(settings, &["apptainer", "singularity"]).ok_or_else(|| {
        "there is neither `apptainer` nor `singularity` on the search path: install apptainer"
            .to_owned()
    })
}

impl Engine {
    pub(super) fn new(settings: &Settings) -> Result<Self, String> {
        let program = program(settings)?;
        let terminal = TerminalSettings::of(settings).map_err(|error| error.to_string())?;
        let surroundings = Surroundings { install: None, terminal: false };
        let mut variables = childenv::base(settings, &terminal, &surroundings);
        variables.extend(places(settings));
        Ok(Self { program, variables })
    }

    /// Starts a container; the error is what the program said.
    pub(super) async fn start(&self, beginning: &Beginning<'_>) -> Result<(), String> {
        self.ask(argv::start(&self.program, beginning), START).await.map(drop)
    }

    /// The containers of this user.
    pub(super) async fn list(&self) -> Result<Vec<Known>, String> {
        let text = self.ask(argv::list(&self.program), LIST).await?;
        let listed: Listed = serde_json::from_str(&text)
            .map_err(|error| format!("its list of containers cannot be read: {error}"))?;
        Ok(listed.instances.unwrap_or_default())
    }

    /// Ends a container and removes its logs, which the program leaves.
    pub(super) async fn stop(&self, known: &Known) -> Result<(), String> {
        let stopped = self.ask(argv::stop(&self.program, &known.name), STOP).await;
        known.forget_logs();
        stopped.map(drop)
    }

    /// The same for a program that is about to end and can wait for nobody else.
    #[expect(clippy::disallowed_methods, reason = "a container outlives whoever starts it")]
    pub(super) fn stop_now(&self, known: &Known) {
        let argv = argv::stop(&self.program, &known.name);
        let Some((program, words)) = argv.split_first() else { return };
        let mut command = std::process::Command::new(program);
        command.args(words).env_clear().envs(&self.variables).current_dir("/");
        // The program itself insists after its own three seconds.
        let ended =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if let Err(error) = ended {
            tracing::warn!(%error, container = %known.name, "a container keeps running");
        }
        known.forget_logs();
    }

    /// Builds an image file.
    pub(super) async fn build(&self, file: &Path, address: &str) -> Result<(), String> {
        self.ask(argv::build(&self.program, file, address), BUILD).await.map(drop)
    }

    /// Runs the program to its end; gives its output, or what it said when it failed.
    async fn ask(&self, argv: Vec<String>, patience: Duration) -> Result<String, String> {
        let said = outside(&argv, &self.variables, patience).await?;
        let output = String::from_utf8_lossy(&said.output).into_owned();
        if said.code == 0 { Ok(output) } else { Err(format!("{}\n{output}", said.errors)) }
    }
}

/// The variables about the program's own files, as the user has them.
pub(super) fn places(settings: &Settings) -> Variables {
    let value = |name: &str| settings.variable(name).map(|one| one.value.expose().to_owned());
    PLACES.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect()
}

/// How many processes the kernel has ended for want of memory in the group of this process.
pub(super) fn memory_kills(pid: u32) -> Option<u64> {
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let files = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        match (parts.next()?, parts.next()?) {
            ("", path) => Some(format!("/sys/fs/cgroup{path}/memory.events")),
            ("memory", path) => Some(format!("/sys/fs/cgroup/memory{path}/memory.oom_control")),
            _ => None,
        }
    });
    let mut kills = files.filter_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    });
    kills.next()
}
