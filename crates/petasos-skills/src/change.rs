//! A change of a skill as data: what it does to which files, on what it rests, and doing it whole.

use std::fs;
use std::path::{Component, Path, PathBuf};

use petasos_contract::Settings;
use petasos_fs::Mode;
use serde::{Deserialize, Serialize};

use crate::digest::sha256;
use crate::error::SkillError;
use crate::format::MAIN_FILE;
use crate::usage::{self, Happened, Usage};
use crate::{lock, places};

/// What becomes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStep {
    /// Its path below the skill's folder.
    pub path: String,
    /// The SHA-256 of what it replaces; nothing is there without.
    pub before: Option<String>,
    /// Its new text; it goes without.
    pub after: Option<String>,
}

/// A change of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What it is, in the words of `skill_manage`.
    pub action: String,
    /// The skill.
    pub name: String,
    /// The skill's folder below the skills of the home.
    pub folder: PathBuf,
    /// What becomes of its files; of none when the whole skill goes.
    pub files: Vec<FileStep>,
    /// The skill that takes the place of one that goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed_into: Option<String>,
    /// The change as a unified diff, for people.
    #[serde(default)]
    pub diff: String,
}

impl Change {
    /// The files that would be written or removed.
    pub fn paths(&self, settings: &Settings) -> Vec<PathBuf> {
        let folder = places::home(settings).join(&self.folder);
        if self.files.is_empty() {
            return vec![folder.join(MAIN_FILE)];
        }
        self.files.iter().map(|step| folder.join(&step.path)).collect()
    }

    /// Makes it, all or nothing; says where the skill is then.
    pub fn apply(&self, settings: &Settings) -> Result<PathBuf, SkillError> {
        self.check()?;
        let root = places::home(settings);
        let lock = petasos_fs::lock(&root.join(".write"));
        let _lock = lock.map_err(|error| SkillError::disk("locked", &root, &error))?;
        let folder = root.join(&self.folder);
        let there = match self.action.as_str() {
            "delete" => self.put_away(&root, &folder, settings)?,
            "disable" => {
                let off = |record: &mut usage::Record| record.state = Some("disabled".to_owned());
                Usage::edit(settings, &self.name, off)?;
                return Ok(folder);
            }
            _ if folder.exists() => self.rewrite(&folder)?,
            _ => self.make(&root, &folder)?,
        };
        if self.action == "create" {
            Usage::edit(settings, &self.name, |record| {
                record.created_by = Some("agent".to_owned());
                record.state = None;
                record.archived_at = None;
            })?;
        } else if self.action != "delete" {
            Usage::count(settings, &self.name, Happened::Changed);
            lock::touched(settings, &self.name)?;
        }
        Ok(there)
    }

    /// A change may have lain in a file since it was made; nothing in it leads elsewhere.
    fn check(&self) -> Result<(), SkillError> {
        let inside = |path: &Path| {
            let mut parts = path.components().peekable();
            parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        let steps = self.files.iter().all(|step| inside(Path::new(&step.path)));
        if inside(&self.folder) && steps {
            return Ok(());
        }
        Err(SkillError::denied("the change leads out of the skills of the home"))
    }

    fn make(&self, root: &Path, folder: &Path) -> Result<PathBuf, SkillError> {
        let failed = |error| SkillError::disk("written", folder, &error);
        fs::create_dir_all(root).map_err(failed)?;
        let draft = tempfile::Builder::new().prefix(".draft-").tempdir_in(root).map_err(failed)?;
        for step in &self.files {
            if step.before.is_some() {
                return Err(moved(&self.name, &step.path));
            }
            if let Some(text) = &step.after {
                put(&draft.path().join(&step.path), text)?;
            }
        }
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let draft = draft.keep();
        open_up(&draft);
        fs::rename(&draft, folder).map_err(|error| {
            // What is left of the draft is hidden, and nothing reads it.
            if let Err(error) = fs::remove_dir_all(&draft) {
                tracing::warn!(%error, "a draft of a skill stays");
            }
            failed(error)
        })?;
        Ok(folder.to_owned())
    }

    fn rewrite(&self, folder: &Path) -> Result<PathBuf, SkillError> {
        for step in &self.files {
            let path = folder.join(&step.path);
            stays_inside(folder, &path)?;
            let now = fs::read(&path).ok().map(|bytes| sha256(&bytes));
            if now != step.before {
                return Err(moved(&self.name, &step.path));
            }
        }
        for step in &self.files {
            let path = folder.join(&step.path);
            match &step.after {
                Some(text) => put(&path, text)?,
                None => {
                    fs::remove_file(&path)
                        .map_err(|error| SkillError::disk("removed", &path, &error))?;
                }
            }
        }
        Ok(folder.to_owned())
    }

    /// Nothing is deleted for good: the folder goes to the archive.
    fn put_away(
        &self,
        root: &Path,
        folder: &Path,
        settings: &Settings,
    ) -> Result<PathBuf, SkillError> {
        let to = archived(root, folder, &self.name)?;
        Usage::edit(settings, &self.name, |record| {
            record.state = Some("archived".to_owned());
            record.archived_at = Some(usage::now());
            if let Some(other) = &self.absorbed_into {
                record.other.insert("absorbed_into".to_owned(), other.as_str().into());
            }
        })?;
        lock::forget(settings, &self.name)?;
        Ok(to)
    }
}

/// Moves a skill's folder to the archive.
pub(crate) fn archived(root: &Path, folder: &Path, name: &str) -> Result<PathBuf, SkillError> {
    let archive = root.join(".archive");
    fs::create_dir_all(&archive).map_err(|error| SkillError::disk("written", &archive, &error))?;
    let stamp = usage::now().replace([':', '-'], "");
    let mut to = archive.join(format!("{name}-{stamp}"));
    let mut number = 1;
    while to.exists() {
        number += 1;
        to = archive.join(format!("{name}-{stamp}-{number}"));
    }
    fs::rename(folder, &to).map_err(|error| SkillError::disk("put away", folder, &error))?;
    Ok(to)
}

fn moved(name: &str, path: &str) -> SkillError {
    let said = format!("`{path}` of skill `{name}` was changed meanwhile: look at it again");
    SkillError::new("stale", said)
}

/// No folder on the way is a link that leads out.
fn stays_inside(folder: &Path, path: &Path) -> Result<(), SkillError> {
    let root = folder.canonicalize().map_err(|error| SkillError::disk("read", folder, &error))?;
    let mut nearest = path;
    while let Some(parent) = nearest.parent() {
        if fs::symlink_metadata(nearest).is_ok() {
            break;
        }
        nearest = parent;
    }
    let real = nearest.canonicalize().map_err(|error| SkillError::disk("read", nearest, &error))?;
    if real.starts_with(&root) {
        return Ok(());
    }
    Err(SkillError::denied(format!("`{}` leads out of the skill's folder", path.display())))
}

fn put(path: &Path, text: &str) -> Result<(), SkillError> {
    let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
    petasos_fs::write(path, text.as_bytes(), Mode::KeepOr(mode))
        .map_err(|error| SkillError::disk("written", path, &error))
}

/// A draft is made private; the skill is like other folders of the home.
fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if let Err(error) = fs::set_permissions(folder, fs::Permissions::from_mode(0o755)) {
        tracing::debug!(%error, "a skill's folder stays private");
    }
}
