//! The engine's command line: finding it, asking it, and what its complaints mean.
//!
//! Measured on the test machine: `docker exec` takes about 90 ms, of which the command line
//! itself is 15; a client of the engine's API would save those and would have to bring its own
//! TLS, contexts and ssh transports, so the command line it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use petasos_contract::Settings;
use petasos_contract::environment::EnvError;

use crate::remote::{Captured, HostPrograms, Order, collect, find_program};

/// Places where an engine's program is besides the search path.
const KNOWN: &[&str] = &[
    "/usr/local/bin/docker",
    "/opt/homebrew/bin/docker",
    "/Applications/Docker.app/Contents/Resources/bin/docker",
    "/opt/podman/bin/podman",
];

/// The engine's program.
pub(super) fn program(settings: &Settings) -> Result<PathBuf, String> {
    if let Some(chosen) = settings.role("DOCKER_BINARY") {
        let name = chosen.value.expose();
        let found = if name.contains('/') {
            Some(PathBuf::from(name)).filter(|path| path.is_file())
        } else {
            find_program(settings, &[name])
        };
        return found.ok_or_else(|| {
            format!("`PETASOS_DOCKER_BINARY` names `{name}`, which is no program here")
        });
    }
    let known = || KNOWN.iter().map(PathBuf::from).find(|path| path.is_file());
    find_program(settings, &["docker", "podman"]).or_else(known).ok_or_else(|| {
        "neither `docker` nor `podman` is on the search path: install one, or name it in \
         `PETASOS_DOCKER_BINARY`"
            .to_owned()
    })
}

/// Asks the engine.
#[derive(Debug, Clone)]
pub(super) struct Cli {
    pub(super) programs: HostPrograms,
    program: String,
}

impl Cli {
    pub(super) fn new(programs: HostPrograms, program: &Path) -> Self {
        Self { programs, program: program.display().to_string() }
    }

    /// The program with these words after it.
    pub(super) fn argv(&self, words: &[&str]) -> Vec<String> {
        std::iter::once(self.program.as_str())
            .chain(words.iter().copied())
            .map(str::to_owned)
            .collect()
    }

    /// Runs it to its end.
    pub(super) async fn ask(
        &self,
        words: &[&str],
        patience: Duration,
    ) -> Result<Captured, EnvError> {
        let order = Order { argv: self.argv(words), ..Order::script("", &[]) };
        let started = self.programs.start(order).await?;
        collect(started, patience).await.map_err(|error| match error {
            EnvError::Lost { .. } => not_started(format!(
                "the container engine did not answer `{}` within {} s",
                words.first().copied().unwrap_or_default(),
                patience.as_secs()
            )),
            other => other,
        })
    }

    /// Starts a container; it lives on when the engine has no daemon to hold it.
    pub(super) async fn begin(&self, words: &[&str], patience: Duration) -> Result<String, String> {
        let done = self.programs.leaving(&self.argv(words), patience).await?;
        if done.code == 0 {
            return Ok(String::from_utf8_lossy(&done.output).trim().to_owned());
        }
        Err(done.errors)
    }

    /// Its output, when it went well.
    pub(super) async fn told(
        &self,
        words: &[&str],
        patience: Duration,
    ) -> Result<String, EnvError> {
        let done = self.ask(words, patience).await?;
        if done.code == 0 {
            return Ok(String::from_utf8_lossy(&done.output).trim().to_owned());
        }
        Err(not_started(explain(&done.errors)))
    }
}

/// Nothing has run, and why.
pub(super) fn not_started(why: String) -> EnvError {
    EnvError::NotStarted { what: "the docker terminal".to_owned(), why }
}

/// Whether the engine itself is out of reach.
pub(super) fn is_unreachable(said: &str) -> bool {
    let said = said.to_lowercase();
    [
        "cannot connect to the docker daemon",
        "error during connect",
        "connection refused",
        "is the docker daemon running",
        "permission denied while trying to connect",
        "cannot connect to podman",
    ]
    .iter()
    .any(|word| said.contains(word))
}

/// Whether there is no such running container.
pub(super) fn is_gone(said: &str) -> bool {
    let said = said.to_lowercase();
    [
        "is not running",
        "no such container",
        "is paused",
        "is restarting",
        "container state improper",
        "no container with name or id",
    ]
    .iter()
    .any(|word| said.contains(word))
}

/// The engine's complaint, and what to do about it.
pub(super) fn explain(said: &str) -> String {
    let lower = said.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let hint = if is_unreachable(said) {
        "no container engine answers: start docker or podman, or set `DOCKER_HOST`"
    } else if has(&["no space left on device", "disk quota exceeded"]) {
        "the disk is full: free some space, for example with `docker system prune`"
    } else if has(&[
        "unable to find image",
        "no such image",
        "manifest unknown",
        "pull access denied",
        "repository does not exist",
        "image not known",
    ]) {
        "the image is not here and cannot be fetched: set `terminal.docker_image` to one that is, \
         or pull it"
    } else if has(&["container-init binary not found", "docker-init"]) {
        "the engine has no init program for containers: install `catatonit` (podman) or `tini` \
         (docker)"
    } else if has(&["permission denied"]) {
        "the engine refuses this user: join its group, or run it without root"
    } else {
        "the container engine says"
    };
    let last: String = said.trim().chars().take(600).collect();
    if last.is_empty() { hint.to_owned() } else { format!("{hint}: {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_say_what_to_do() {
        for (said, told) in [
            (
                "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
                "start docker",
            ),
            ("Unable to find image 'nope:1' locally", "terminal.docker_image"),
            ("write /var/lib/x: no space left on device", "disk is full"),
            ("Error: container-init binary not found on the host: stat /x", "catatonit"),
            ("something else", "something else"),
        ] {
            assert!(explain(said).contains(told), "{said}");
        }
        assert!(is_gone("Error response from daemon: Container ab is not running"));
    }
}
