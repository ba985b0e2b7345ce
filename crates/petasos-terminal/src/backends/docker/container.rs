//! One container: what it is made with, finding it again, making it, and clearing away those
//! that nobody owns any more.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use petasos_contract::Settings;
use petasos_contract::environment::EnvError;

use super::cli::{Cli, explain, not_started};
use super::settings::DockerSettings;
use crate::{ids, tree};

/// Making a container, with the time to fetch its image.
const CREATE_PATIENCE: Duration = Duration::from_mins(10);
/// Any other question to the engine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What a container is made with.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) settings: DockerSettings,
    /// Labels by which it is found again.
    profile: String,
    task: String,
    words: Vec<String>,
    fingerprint: String,
}

/// A container that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) id: String,
    /// What could not be had, for people.
    pub(super) lacks: Option<String>,
}

impl Plan {
    /// From the settings; makes the folders that outlive the container.
    pub(super) fn new(
        docker: DockerSettings,
        settings: &Settings,
        task: &str,
    ) -> Result<Self, EnvError> {
        let mut words = hardening(&docker);
        words.extend(storage(&docker, settings, task)?);
        if !docker.docker_network {
            words.push("--network=none".to_owned());
        }
        if docker.docker_run_as_host_user {
            let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
            words.extend(["--user".to_owned(), format!("{}:{}", user.as_raw(), group.as_raw())]);
        }
        words.extend(docker.docker_extra_args.iter().cloned());
        let mut hasher = DefaultHasher::new();
        let limits = (docker.container_cpu.to_bits(), docker.container_memory);
        (&words, &docker.docker_image, limits, docker.container_disk).hash(&mut hasher);
        let mut home = DefaultHasher::new();
        settings.home().hash(&mut home);
        Ok(Self {
            profile: label(&format!("{:016x}", home.finish())),
            task: label(task),
            fingerprint: format!("{:016x}", hasher.finish()),
            words,
            settings: docker,
        })
    }

    fn labels(&self) -> Vec<String> {
        let kind = if self.settings.is_kept() { "kept" } else { "throw-away" };
        vec![
            "hermes-agent=1".to_owned(),
            format!("hermes-task-id={}", self.task),
            format!("hermes-profile={}", self.profile),
            format!("petasos-plan={}", self.fingerprint),
            format!("petasos-kind={kind}"),
            format!("petasos-owner={}", owner()),
        ]
    }

    /// The container for this plan: a kept one, or a new one.
    pub(super) async fn container(&self, cli: &Cli) -> Result<Container, EnvError> {
        if self.settings.is_kept()
            && let Some(found) = self.find(cli).await?
        {
            return Ok(found);
        }
        self.create(cli).await
    }

    /// A kept container, started when it was stopped. Stopped ones made with other settings go.
    async fn find(&self, cli: &Cli) -> Result<Option<Container>, EnvError> {
        let task = format!("label=hermes-task-id={}", self.task);
        let profile = format!("label=hermes-profile={}", self.profile);
        let words = [
            "ps",
            "-a",
            "--no-trunc",
            "--filter",
            "label=petasos-kind=kept",
            "--filter",
            &task,
            "--filter",
            &profile,
            "--format",
            "{{.ID}} {{.Label \"petasos-plan\"}} {{.State}}",
        ];
        let told = cli.told(&words, PATIENCE).await?;
        let mut stopped = None;
        for line in told.lines() {
            let mut words = line.split(' ');
            let (Some(id), Some(plan)) = (words.next(), words.next()) else { continue };
            let runs = words.next() == Some("running");
            match (plan == self.fingerprint, runs) {
                (true, true) => return Ok(Some(Container { id: id.to_owned(), lacks: None })),
                (true, false) => stopped = Some(id.to_owned()),
                (false, false) => remove(cli, id).await,
                // Another program may be at work in it.
                (false, true) => {}
            }
        }
        let Some(id) = stopped else { return Ok(None) };
        if cli.begin(&["start", &id], PATIENCE).await.is_ok() {
            return Ok(Some(Container { id, lacks: None }));
        }
        remove(cli, &id).await;
        Ok(None)
    }

    async fn create(&self, cli: &Cli) -> Result<Container, EnvError> {
        let limits = limits(&self.settings);
        let disk = self.disk(cli).await;
        let lacks_disk = match disk {
            None => Some("no disk limit: this engine's storage has no quotas".to_owned()),
            Some(_) => None,
        };
        let mut words = limits.clone();
        words.extend(disk);
        match self.run(cli, &words).await {
            Ok(id) => Ok(Container { id, lacks: lacks_disk }),
            Err(said) if is_about_limits(&said) => {
                tracing::warn!(%said, "the container engine cannot limit this container");
                let id = self.run(cli, &[]).await.map_err(|said| not_started(explain(&said)))?;
                let first = said.lines().next().unwrap_or_default();
                Ok(Container {
                    id,
                    lacks: Some(format!("no limits of cpu, memory or pids: {first}")),
                })
            }
            Err(said) => Err(not_started(explain(&said))),
        }
    }

    /// The option for a disk quota, where the storage can have one.
    async fn disk(&self, cli: &Cli) -> Option<String> {
        let words = ["info", "--format", "{{.Driver}} {{json .DriverStatus}}"];
        let info = cli.told(&words, PATIENCE).await.ok()?.to_lowercase();
        let driver = info.split(' ').next().unwrap_or_default();
        let able = matches!(driver, "btrfs" | "zfs" | "devicemapper" | "windowsfilter");
        able.then(|| format!("--storage-opt=size={}m", self.settings.container_disk))
    }

    /// Runs it; a failed start leaves nothing behind.
    async fn run(&self, cli: &Cli, limits: &[String]) -> Result<String, String> {
        let name = format!("hermes-{}", ids::hex(4));
        let mut words: Vec<String> =
            ["run", "-d", "--init", "--name", &name].map(str::to_owned).into();
        for label in self.labels() {
            words.extend(["--label".to_owned(), label]);
        }
        words.extend_from_slice(limits);
        words.extend_from_slice(&self.words);
        words.push(self.settings.docker_image.clone());
        words.extend(["sleep", "infinity"].map(str::to_owned));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = match cli.begin(&words, CREATE_PATIENCE).await {
            Ok(told) => return Ok(told.lines().last().unwrap_or_default().trim().to_owned()),
            Err(said) => said,
        };
        if !super::cli::is_unreachable(&said) {
            remove(cli, &name).await;
        }
        Err(said)
    }

    /// Clears away what earlier programs left: throw-away containers without an owner, and kept
    /// ones that ended long ago.
    pub(super) async fn sweep(&self, cli: &Cli) {
        let profile = format!("label=hermes-profile={}", self.profile);
        let words = [
            "ps",
            "-a",
            "--no-trunc",
            "--filter",
            "label=hermes-agent=1",
            "--filter",
            &profile,
            "--format",
            "{{.ID}} {{.State}} {{.Label \"petasos-kind\"}} {{.Label \"petasos-owner\"}}",
        ];
        let Ok(told) = cli.told(&words, PATIENCE).await else { return };
        for line in told.lines() {
            let mut words = line.split(' ');
            let (Some(id), Some(state)) = (words.next(), words.next()) else { continue };
            let (kind, owner) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let is_orphan = match kind {
                "throw-away" => !lives(owner),
                _ if state == "exited" => self.ended_long_ago(cli, id).await,
                _ => false,
            };
            if is_orphan {
                tracing::info!(container = id, "a container that nobody owns is removed");
                remove(cli, id).await;
            }
        }
    }

    async fn ended_long_ago(&self, cli: &Cli, id: &str) -> bool {
        let words = ["inspect", "--format", "{{.State.FinishedAt}}", id];
        let Ok(ended) = cli.told(&words, PATIENCE).await else { return false };
        let age = self.settings.lifetime_seconds.saturating_mul(2).max(120);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        seconds(&ended).is_some_and(|ended| ended + age < now)
    }
}

/// Removes a container; one that is gone already is what was wanted.
pub(super) async fn remove(cli: &Cli, id: &str) {
    if let Err(error) = cli.told(&["rm", "-f", "-v", id], PATIENCE).await {
        tracing::debug!(%error, container = id, "a container is not removed");
    }
}

fn is_about_limits(said: &str) -> bool {
    let said = said.to_lowercase();
    said.contains("cgroup") || said.contains("storage-opt") || said.contains("pids limit")
}

fn limits(docker: &DockerSettings) -> Vec<String> {
    let mut words = vec!["--pids-limit=256".to_owned()];
    if docker.container_cpu > 0.0 {
        words.push(format!("--cpus={}", docker.container_cpu));
    }
    if docker.container_memory > 0 {
        words.push(format!("--memory={}m", docker.container_memory));
    }
    words
}

fn hardening(docker: &DockerSettings) -> Vec<String> {
    let mut capabilities = vec!["DAC_OVERRIDE", "CHOWN", "FOWNER"];
    if !docker.docker_run_as_host_user {
        capabilities.extend(["SETUID", "SETGID"]);
    }
    let mut words = vec!["--cap-drop=ALL".to_owned()];
    words.extend(capabilities.iter().map(|capability| format!("--cap-add={capability}")));
    words.push("--security-opt=no-new-privileges".to_owned());
    if docker.docker_read_only {
        words.push("--read-only".to_owned());
    }
    for place in [
        "/tmp:rw,exec,nosuid,size=512m",
        "/var/tmp:rw,noexec,nosuid,size=256m",
        "/run:rw,noexec,nosuid,size=64m",
    ] {
        words.push(format!("--tmpfs={place}"));
    }
    words
}

fn storage(
    docker: &DockerSettings,
    settings: &Settings,
    task: &str,
) -> Result<Vec<String>, EnvError> {
    let mut words = Vec::new();
    let mut mount =
        |from: &Path, to: &str| words.extend(["-v".to_owned(), format!("{}:{to}", from.display())]);
    let mounts_cwd = docker.docker_mount_cwd_to_workspace;
    if docker.container_persistent {
        let folder = docker.sandboxes(settings).join("docker").join(label(task));
        for (name, to) in [("home", "/root"), ("workspace", "/workspace")] {
            if mounts_cwd && to == "/workspace" {
                continue;
            }
            let from = folder.join(name);
            fs::create_dir_all(&from).map_err(|error| {
                not_started(format!("the folder `{}` cannot be made: {error}", from.display()))
            })?;
            mount(&from, to);
        }
    } else {
        let places = [("/workspace", "10g"), ("/home", "1g"), ("/root", "1g")];
        for (place, size) in places {
            if !(mounts_cwd && place == "/workspace") {
                words.push(format!("--tmpfs={place}:rw,exec,mode=1777,size={size}"));
            }
        }
    }
    if mounts_cwd {
        words.extend(["-v".to_owned(), format!("{}:/workspace", settings.workspace().display())]);
    }
    words.extend(docker.volumes().flat_map(|volume| ["-v".to_owned(), expanded(volume, settings)]));
    Ok(words)
}

fn expanded(volume: &str, settings: &Settings) -> String {
    match volume.strip_prefix("~/") {
        Some(rest) => format!("{}/{rest}", settings.user_home().display()),
        None => volume.to_owned(),
    }
}

/// A value that a label can hold.
fn label(text: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.') {
            letter
        } else {
            '-'
        }
    };
    text.chars().map(plain).take(63).collect()
}

/// This program, in a way that no later one can be taken for it.
fn owner() -> String {
    let pid = std::process::id();
    format!("{pid}-{}", tree::start_time(pid).unwrap_or(0))
}

fn lives(owner: &str) -> bool {
    let Some((pid, started)) = owner.split_once('-') else { return false };
    let Ok(pid) = pid.parse() else { return false };
    started.parse().is_ok_and(|started| tree::start_time(pid) == Some(started))
}

/// Seconds since the epoch of a time such as `2026-01-02T03:04:05.6Z`.
fn seconds(text: &str) -> Option<u64> {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next()?.parse::<i64>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let (hour, minute, second) = (next()?, next()?, next()?);
    // Days from the civil calendar, counted from a March so that leap days come last.
    let (shifted_year, shifted_month) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year - era * 400;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    u64::try_from(days * 86_400 + hour * 3600 + minute * 60 + second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_engine_are_read() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2024-02-29T12:00:01.5Z"), Some(1_709_208_001));
        assert_eq!(seconds("0001-01-01T00:00:00Z"), None);
    }

    #[test]
    fn an_owner_lives_only_as_the_same_process() {
        assert!(lives(&owner()));
        assert!(!lives("1-1"));
        assert!(!lives(""));
    }
}
