//! What was installed from where: `skills/.hub/lock.json`, in the format that older homes have.
//! Fields that we do not know are kept.

use std::collections::BTreeMap;
use std::path::PathBuf;

use petasos_contract::Settings;
use petasos_fs::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::SkillError;
use crate::places;

/// One installed skill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Installed {
    /// The kind of source: `github`, `url`, `folder`, `git`.
    pub source: String,
    /// What a person typed to get it.
    pub identifier: String,
    /// `official`, `trusted` or `community`.
    pub trust_level: String,
    /// `safe`, `caution` or `dangerous`.
    pub scan_verdict: String,
    /// The digest, as older homes have it.
    pub content_hash: String,
    /// Its folder below the skills of the home.
    pub install_path: String,
    /// Its files.
    pub files: Vec<String>,
    /// What its source said of it.
    pub metadata: Map<String, Value>,
    /// What scanned it.
    pub scan_provenance: Value,
    /// When it was installed.
    pub installed_at: String,
    /// When it was last replaced.
    pub updated_at: String,
    /// The commit that it is pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The digest of its folder, by which it is verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Who agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// The variables that were agreed to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_granted: Vec<String>,
    /// Whether it was changed here on purpose.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
    /// What takes its place right now. A death in the middle leaves it: the folder then says which
    /// of the two holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Box<Installed>>,
    /// What we do not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Installed {
    /// What holds of a folder with this digest: the one that was about to be installed, when its
    /// files came to be there.
    pub(crate) fn settled(mut self, digest: Option<&str>) -> Option<Self> {
        match self.next.take() {
            Some(next) if digest.is_some() && next.sha256.as_deref() == digest => Some(*next),
            // Nothing was installed before.
            Some(_) if self.source.is_empty() => None,
            _ => Some(self),
        }
    }
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockFile {
    /// The format.
    pub version: u64,
    /// What is installed, by name.
    pub installed: BTreeMap<String, Installed>,
    /// What we do not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { version: 1, installed: BTreeMap::new(), other: Map::new() }
    }
}

/// Reads it. A file that cannot be read says so: what it guards is then not known to be safe.
pub fn read(settings: &Settings) -> Result<LockFile, SkillError> {
    let record = record(settings);
    record.read().map_err(|error| SkillError::disk("read", record.path(), &error))
}

/// Changes it, beside other processes that do.
pub(crate) fn edit<R>(
    settings: &Settings,
    change: impl FnOnce(&mut LockFile) -> R,
) -> Result<R, SkillError> {
    let record = record(settings);
    record.edit(change).map_err(|error| SkillError::disk("written", record.path(), &error))
}

/// A skill was changed here on purpose.
pub(crate) fn touched(settings: &Settings, name: &str) -> Result<(), SkillError> {
    if !read(settings)?.installed.contains_key(name) {
        return Ok(());
    }
    edit(settings, |file| {
        if let Some(installed) = file.installed.get_mut(name) {
            installed.modified = true;
        }
    })
}

/// A skill is gone.
pub(crate) fn forget(settings: &Settings, name: &str) -> Result<(), SkillError> {
    if !read(settings)?.installed.contains_key(name) {
        return Ok(());
    }
    edit(settings, |file| {
        file.installed.remove(name);
    })
}

/// Whether a skill came from a hub.
pub(crate) fn is_installed(settings: &Settings, name: &str) -> bool {
    // What cannot be read guards whatever it may name.
    read(settings).map_or(true, |file| file.installed.contains_key(name))
}

/// Whether an installed skill was changed here.
pub(crate) fn is_modified(settings: &Settings, name: &str) -> bool {
    let file = read(settings).unwrap_or_default();
    file.installed.get(name).is_some_and(|installed| installed.modified)
}

pub(crate) fn folder(settings: &Settings) -> PathBuf {
    places::home(settings).join(".hub")
}

fn record(settings: &Settings) -> Record {
    Record::at(folder(settings).join("lock.json"))
}
