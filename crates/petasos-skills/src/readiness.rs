//! What a skill lacks here: variables, programs, files.

use std::path::{Component, Path};

use petasos_contract::Settings;

use crate::front::Front;

/// Files of the home that no skill gets, whatever it declares.
const MASTER_STORES: [&str; 8] = [
    "auth.json",
    "config.yaml",
    "approvals.json",
    "skill_consent.json",
    "providers.yaml",
    "credentials.json",
    "processes.json",
    "ssh_known_hosts",
];
/// Folders of the home with secrets of others.
const MASTER_FOLDERS: [&str; 4] = ["mcp-tokens", "pairing", "sessions", "logs"];

/// What is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub(crate) variables: Vec<String>,
    pub(crate) programs: Vec<String>,
    pub(crate) files: Vec<String>,
    /// Files that are declared and never handed out.
    pub(crate) refused_files: Vec<String>,
}

impl Readiness {
    /// What these settings lack. Programs are looked for only where commands run on this machine.
    pub(crate) fn of(front: &Front, settings: &Settings) -> Self {
        let set = |name: &String| {
            settings.variable(name).is_some_and(|known| !known.value.expose().is_empty())
        };
        let here = is_local(settings);
        let path = settings.variable("PATH").map_or("", |path| path.value.expose());
        let found = |name: &String| !here || is_program(name, path);
        let (files, refused_files): (Vec<&String>, Vec<&String>) =
            front.credential_files.iter().partition(|file| may_be_offered(file));
        let missing = |file: &&String| !settings.home().join(file.as_str()).is_file();
        Self {
            variables: front.variable_names().into_iter().filter(|name| !set(name)).collect(),
            programs: front.programs.iter().filter(|name| !found(name)).cloned().collect(),
            files: files.into_iter().filter(missing).cloned().collect(),
            refused_files: refused_files.into_iter().cloned().collect(),
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.variables.is_empty() && self.programs.is_empty() && self.files.is_empty()
    }

    /// What to do, in one sentence.
    pub(crate) fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.variables.is_empty() {
            parts.push(format!("set {} in the home's .env", self.variables.join(", ")));
        }
        if !self.programs.is_empty() {
            parts.push(format!("install {}", self.programs.join(", ")));
        }
        if !self.files.is_empty() {
            parts.push(format!("put {} into the home", self.files.join(", ")));
        }
        if !self.refused_files.is_empty() {
            parts.push(format!("do without {}: no skill gets it", self.refused_files.join(", ")));
        }
        (!parts.is_empty()).then(|| format!("To use it fully: {}.", parts.join("; ")))
    }
}

/// Whether commands run on this machine.
pub(crate) fn is_local(settings: &Settings) -> bool {
    settings.text("terminal.backend").is_none_or(|backend| backend == "local")
}

/// Whether a file of the home may be handed to a skill: below it, and none of the home's own.
pub fn may_be_offered(file: &str) -> bool {
    let inside = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    // File systems differ in whether capitals do.
    let lower = file.to_lowercase();
    let first = lower.split('/').next().unwrap_or_default();
    let is_store = MASTER_STORES.contains(&lower.as_str())
        || MASTER_FOLDERS.contains(&first)
        || first.starts_with(".env")
        || first.contains(".db");
    inside && !file.is_empty() && !file.contains(char::is_control) && !is_store
}

fn is_program(name: &str, path: &str) -> bool {
    let plain = !name.is_empty() && !name.contains('/');
    plain
        && path
            .split(':')
            .any(|folder| !folder.is_empty() && Path::new(folder).join(name).is_file())
}
