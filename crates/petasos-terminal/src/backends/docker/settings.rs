//! The keys of the `terminal` section that containers obey.

use std::collections::BTreeMap;
use std::path::PathBuf;

use petasos_contract::Settings;
use petasos_contract::environment::{EnvError, Exports};
use petasos_contract::settings::Section;
use serde::Deserialize;

use crate::childenv;
use crate::settings::TerminalSettings;

/// The keys, as they are written.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the shape of the configuration")]
pub(super) struct DockerSettings {
    pub(super) container_cpu: f64,
    pub(super) container_memory: u64,
    pub(super) container_disk: u64,
    pub(super) container_persistent: bool,
    pub(super) docker_image: String,
    pub(super) docker_network: bool,
    pub(super) docker_read_only: bool,
    pub(super) docker_volumes: Vec<String>,
    pub(super) docker_mount_cwd_to_workspace: bool,
    pub(super) docker_run_as_host_user: bool,
    pub(super) docker_env: BTreeMap<String, String>,
    pub(super) docker_forward_env: Vec<String>,
    pub(super) docker_extra_args: Vec<String>,
    pub(super) docker_persist_across_processes: bool,
    pub(super) docker_orphan_reaper: bool,
    pub(super) lifetime_seconds: u64,
    pub(super) sandbox_dir: String,
}

impl Default for DockerSettings {
    fn default() -> Self {
        Self {
            container_cpu: 1.0,
            container_memory: 5120,
            container_disk: 51200,
            container_persistent: true,
            docker_image: "nikolaik/python-nodejs:python3.11-nodejs20".to_owned(),
            docker_network: true,
            docker_read_only: false,
            docker_volumes: Vec::new(),
            docker_mount_cwd_to_workspace: false,
            docker_run_as_host_user: false,
            docker_env: BTreeMap::new(),
            docker_forward_env: Vec::new(),
            docker_extra_args: Vec::new(),
            docker_persist_across_processes: true,
            docker_orphan_reaper: true,
            lifetime_seconds: 300,
            sandbox_dir: String::new(),
        }
    }
}

impl Section for DockerSettings {
    const NAME: &'static str = "terminal";
}

impl DockerSettings {
    /// The section of a snapshot.
    pub(super) fn of(settings: &Settings) -> Result<Self, EnvError> {
        settings.section().map_err(|error| EnvError::Settings(error.to_string()))
    }

    /// Whether the container is left for the next program.
    pub(super) fn is_kept(&self) -> bool {
        self.container_persistent && self.docker_persist_across_processes
    }

    /// Whether a folder of the user is inside: then it is no place apart.
    pub(super) fn touches_host(&self) -> bool {
        let opens = |word: &String| {
            ["-v", "--volume", "--mount", "--privileged", "--pid", "--device", "--volumes-from"]
                .iter()
                .any(|option| word == option || word.starts_with(&format!("{option}=")))
                || (word.starts_with("-v") && word.len() > 2)
        };
        self.docker_mount_cwd_to_workspace
            || self.volumes().any(is_of_host)
            || self.docker_extra_args.iter().any(opens)
    }

    /// Mounts; an entry without a colon is no mount.
    pub(super) fn volumes(&self) -> impl Iterator<Item = &str> {
        self.docker_volumes.iter().map(String::as_str).filter(|volume| volume.contains(':'))
    }

    /// Where commands begin.
    pub(super) fn cwd(&self, terminal: &TerminalSettings) -> String {
        let looks_local = |cwd: &str| {
            !cwd.starts_with('/') || cwd.starts_with("/Users/") || cwd.starts_with("/home/")
        };
        match terminal.cwd().filter(|cwd| !looks_local(cwd)) {
            Some(cwd) if !self.docker_mount_cwd_to_workspace => cwd.to_owned(),
            None if !self.docker_mount_cwd_to_workspace && !self.docker_run_as_host_user => {
                "/root".to_owned()
            }
            Some(_) | None => "/workspace".to_owned(),
        }
    }

    /// Where folders that outlive a container are.
    pub(super) fn sandboxes(&self, settings: &Settings) -> PathBuf {
        match self.sandbox_dir.trim() {
            "" => settings.home().join("sandboxes"),
            folder => settings.home().join(folder),
        }
    }

    /// Variables for commands: set ones, and forwarded ones by name. No credential of a model
    /// provider is ever among them.
    pub(super) fn variables(&self, settings: &Settings, terminal: &TerminalSettings) -> Exports {
        let named = self.docker_forward_env.iter().chain(&terminal.env_passthrough);
        let mut variables: Exports = named
            .filter(|name| !childenv::is_provider_secret(name))
            .filter_map(|name| {
                let variable = settings.variable(name)?;
                Some((name.clone(), variable.value.expose().to_owned()))
            })
            .collect();
        variables.extend(self.docker_env.clone());
        variables
    }
}

/// Whether a mount's source is a folder of the host; a plain name is a volume of the engine.
fn is_of_host(volume: &str) -> bool {
    volume.starts_with(['/', '~', '.']) || volume.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(change: impl FnOnce(&mut DockerSettings)) -> DockerSettings {
        let mut settings = DockerSettings::default();
        change(&mut settings);
        settings
    }

    #[test]
    fn only_folders_of_the_user_make_a_container_touch_the_host() {
        assert!(!settings(|_| ()).touches_host());
        assert!(!settings(|s| s.docker_volumes = vec!["nothing".into()]).touches_host());
        assert!(!settings(|s| s.docker_volumes = vec!["cache:/c".into()]).touches_host());
        assert!(settings(|s| s.docker_volumes = vec!["/a:/b".into()]).touches_host());
        assert!(settings(|s| s.docker_mount_cwd_to_workspace = true).touches_host());
        assert!(settings(|s| s.docker_extra_args = vec!["--mount=x".into()]).touches_host());
    }

    #[test]
    fn paths_of_the_host_are_no_starting_place() {
        let at = |cwd: &str| {
            let terminal = TerminalSettings { cwd: cwd.to_owned(), ..TerminalSettings::default() };
            settings(|_| ()).cwd(&terminal)
        };
        assert_eq!(at("."), "/root");
        assert_eq!(at("/srv/app"), "/srv/app");
        assert_eq!(at("/home/me/app"), "/root");
        assert_eq!(at("src"), "/root");
    }
}
