//! Who agreed to which hook: a file in the home that only its owner may read.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use petasos_contract::Settings;
use petasos_fs::Mode;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::HookSpec;
use super::run::words;

/// How much of a script is looked at.
const SCRIPT_MAX: u64 = 16 * 1024 * 1024;
const FILE: &str = "shell-hooks-allowlist.json";

/// A consent that could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("the consent could not be kept in `{path}`: {why}")]
pub struct ConsentError {
    path: PathBuf,
    why: String,
}

/// One consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The event, as configured.
    pub event: String,
    /// The command, as configured.
    pub command: String,
    /// Seconds since 1970.
    #[serde(default)]
    pub approved_at: u64,
    /// When the script was last changed, in seconds, when it was looked at.
    #[serde(default)]
    pub script_mtime_at_approval: Option<u64>,
    /// What the scripts held, when they were looked at; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripts_sha256: Option<String>,
}

/// Whether somebody agreed to a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Somebody did, and its scripts are the same.
    Given,
    /// Somebody did, to other scripts.
    Outdated,
    /// Nobody did.
    Missing,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    #[serde(default)]
    approvals: Vec<Approval>,
}

/// What was agreed to.
#[derive(Debug)]
pub struct Allowlist {
    path: PathBuf,
    written: Written,
}

impl Allowlist {
    /// The list of this home; an unreadable one allows nothing.
    pub fn of(settings: &Settings) -> Self {
        let path = settings.home().join(FILE);
        let written = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(path = %path.display(), %error, "consents are unreadable");
                Written::default()
            }),
            Err(_) => Written::default(),
        };
        Self { path, written }
    }

    /// Whether somebody agreed to this hook as it is now.
    pub fn consent(&self, hook: &HookSpec, settings: &Settings) -> Consent {
        let Some(approval) = self.approval(hook) else { return Consent::Missing };
        let home = settings.user_home();
        let same = match &approval.scripts_sha256 {
            Some(known) => *known == scripts(hook, home),
            None => approval.script_mtime_at_approval == script_mtime(hook, home),
        };
        if same { Consent::Given } else { Consent::Outdated }
    }

    /// The consent to this hook.
    pub fn approval(&self, hook: &HookSpec) -> Option<&Approval> {
        let same = |one: &&Approval| one.event == hook.event_name && one.command == hook.command;
        self.written.approvals.iter().find(same)
    }

    /// Remembers a consent.
    pub fn approve(&mut self, hook: &HookSpec, settings: &Settings) -> Result<(), ConsentError> {
        let seconds = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.forget(hook);
        self.written.approvals.push(Approval {
            event: hook.event_name.clone(),
            command: hook.command.clone(),
            approved_at: seconds.as_secs(),
            script_mtime_at_approval: script_mtime(hook, settings.user_home()),
            scripts_sha256: Some(scripts(hook, settings.user_home())),
        });
        self.save()
    }

    /// Takes a consent back.
    pub fn revoke(&mut self, hook: &HookSpec) -> Result<(), ConsentError> {
        self.forget(hook);
        self.save()
    }

    fn forget(&mut self, hook: &HookSpec) {
        let other = |one: &Approval| one.event != hook.event_name || one.command != hook.command;
        self.written.approvals.retain(other);
    }

    fn save(&self) -> Result<(), ConsentError> {
        let fail = |why: String| ConsentError { path: self.path.clone(), why };
        let text = serde_json::to_vec_pretty(&self.written).map_err(|e| fail(e.to_string()))?;
        petasos_fs::write(&self.path, &text, Mode::Exactly(0o600))
            .map_err(|error| fail(error.to_string()))
    }
}

/// What the scripts that the command names hold. Programs of the system change with its updates
/// and are not what somebody looked at.
fn scripts(hook: &HookSpec, home: &Path) -> String {
    let mut hash = Sha256::new();
    for word in words(&hook.command, home).unwrap_or_default() {
        let Ok(file) = std::fs::File::open(&word) else { continue };
        let mut bytes = Vec::new();
        let read = file.take(SCRIPT_MAX).read_to_end(&mut bytes);
        if read.is_ok() && !bytes.starts_with(b"\x7fELF") {
            hash.update(word.as_bytes());
            hash.update(Sha256::digest(&bytes));
        }
    }
    let digest: Vec<String> = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    digest.concat()
}

/// When the first word of the command that is a file was last changed.
fn script_mtime(hook: &HookSpec, home: &Path) -> Option<u64> {
    let words = words(&hook.command, home).ok()?;
    let known = words.iter().filter(|word| word.contains('/'));
    let known = known.filter_map(|word| std::fs::metadata(word).ok());
    let changed =
        known.filter(std::fs::Metadata::is_file).find_map(|known| known.modified().ok())?;
    changed.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}
