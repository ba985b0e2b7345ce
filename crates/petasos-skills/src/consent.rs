//! What a person agreed to about skills: folders of a project, variables and files for a skill.
//!
//! Kept beside the configuration and not among the skills, which a model may write to: consent is
//! given by a person, with `petasos skills trust` and `petasos skills allow-env`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use petasos_contract::Settings;
use petasos_fs::Record;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::error::SkillError;

const FILE: &str = "skill_consent.json";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Given {
    /// The digest that was agreed to, by folder.
    folders: BTreeMap<String, String>,
    /// The variables that a skill may pass on, by its digest.
    variables: BTreeMap<String, BTreeSet<String>>,
    /// The files of the home that are lent where commands run, by the digest of a skill.
    files: BTreeMap<String, BTreeSet<String>>,
}

/// What was agreed to, as it is now.
#[derive(Debug, Clone, Default)]
pub struct Consent(Given);

impl Consent {
    /// Reads it; a file that cannot be read agrees to nothing.
    pub fn of(settings: &Settings) -> Self {
        let given = record(settings).read();
        Self(given.unwrap_or_else(|error| {
            tracing::warn!(%error, "what was agreed to about skills is not known");
            Given::default()
        }))
    }

    /// Whether a person agreed to just this content of the folder.
    pub fn covers(&self, folder: &Path, digest: &Digest) -> bool {
        let agreed = self.0.folders.get(&folder.display().to_string());
        agreed.is_some_and(|agreed| agreed == digest.as_str())
    }

    /// Whether a person agreed to an earlier content of the folder.
    pub fn knew(&self, folder: &Path) -> bool {
        self.0.folders.contains_key(&folder.display().to_string())
    }

    /// The variables that a skill with this content may pass on.
    pub fn variables(&self, digest: &Digest) -> BTreeSet<String> {
        self.0.variables.get(digest.as_str()).cloned().unwrap_or_default()
    }

    /// The files that a skill with this content may use where commands run.
    pub fn files(&self, digest: &Digest) -> BTreeSet<String> {
        self.0.files.get(digest.as_str()).cloned().unwrap_or_default()
    }

    /// A person agrees to a folder as it is.
    pub fn agree(settings: &Settings, folder: &Path, digest: &Digest) -> Result<(), SkillError> {
        let (folder, digest) = (folder.display().to_string(), digest.as_str().to_owned());
        edit(settings, |given| {
            given.folders.insert(folder, digest);
        })
    }

    /// A person lets a skill with this content pass variables on.
    pub fn allow(
        settings: &Settings,
        digest: &Digest,
        names: impl IntoIterator<Item = String>,
    ) -> Result<(), SkillError> {
        edit(settings, |given| {
            given.variables.entry(digest.as_str().to_owned()).or_default().extend(names);
        })
    }

    /// A person lets a skill with this content use files of the home.
    pub fn allow_files(
        settings: &Settings,
        digest: &Digest,
        names: impl IntoIterator<Item = String>,
    ) -> Result<(), SkillError> {
        edit(settings, |given| {
            given.files.entry(digest.as_str().to_owned()).or_default().extend(names);
        })
    }

    /// What was let through for one content holds for another, as after an update that a person
    /// has seen.
    pub fn carry(settings: &Settings, old: &Digest, new: &Digest) -> Result<(), SkillError> {
        edit(settings, |given| {
            for granted in [&mut given.variables, &mut given.files] {
                if let Some(names) = granted.remove(old.as_str()) {
                    granted.insert(new.as_str().to_owned(), names);
                }
            }
        })
    }
}

fn record(settings: &Settings) -> Record {
    Record::at(settings.home().join(FILE))
}

fn edit(settings: &Settings, change: impl FnOnce(&mut Given)) -> Result<(), SkillError> {
    let record = record(settings);
    record.edit(change).map_err(|error| SkillError::disk("written", record.path(), &error))
}
