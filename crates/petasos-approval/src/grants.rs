//! What was agreed to before: for a session, for good by key, and narrow grants beside keys.
//!
//! Keys for good live in `command_allowlist` of the user's `config.yaml`, where people see and edit
//! them; narrow grants live in `grants.json` of the home. Both are written whole, under a lock.

mod memory;
mod narrow;
mod shelf;

use std::path::{Path, PathBuf};

use petasos_config::{ConfigError, edit};
use petasos_contract::Settings;
use serde::Serialize;

use crate::keys::same_key;
use petasos_analysis::RULES;

pub(crate) use memory::Memory;
pub(crate) use narrow::{Asked, Spot, covered, offers};
pub use narrow::{Grant, NewGrant};
pub(crate) use shelf::Shelf;
pub use shelf::{add, grants};

const ALLOWLIST: &str = "command_allowlist";

/// Why a grant was not made, read or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// The grants file is not one.
    #[error("`{}` cannot be read: {problem}; move it away to start afresh", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A grant that cannot be made.
    #[error("this cannot be granted: {0}")]
    Refused(String),
    /// Nothing has this name.
    #[error("nothing is granted under `{0}`; see `petasos approval list`")]
    Unknown(String),
    /// There is no home to keep it in.
    #[error(
        "there is no agent home to keep a lasting approval in; approve once or for the session"
    )]
    NoHome,
}

/// Something that needs no question any more.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Listed {
    /// An entry of `command_allowlist`: a key, a command text or a pattern.
    Allowlist {
        /// The entry, which is also its name for revoking.
        entry: String,
        /// The file it was read from.
        file: PathBuf,
        /// Whether it is the key of a rule: everything that the rule asks about, everywhere.
        wide: bool,
    },
    /// A narrow grant.
    Grant(Grant),
}

/// Everything that was granted for good.
pub fn list(settings: &Settings) -> Result<Vec<Listed>, GrantError> {
    let file = config_file(settings.home());
    let entries = settings.names(ALLOWLIST).unwrap_or_default();
    let mut listed: Vec<Listed> = entries.into_iter().map(|entry| listed(entry, &file)).collect();
    listed.extend(grants(settings.home())?.into_iter().map(Listed::Grant));
    Ok(listed)
}

fn listed(entry: String, file: &Path) -> Listed {
    let wide = RULES.iter().any(|rule| same_key(rule.key, &entry));
    Listed::Allowlist { entry, file: file.to_owned(), wide }
}

/// Puts a grant for one project in the place of an entry of the allow-list.
pub fn narrow(home: &Path, key: &str, project: PathBuf) -> Result<Grant, GrantError> {
    // First the wide one goes: whatever fails then, nothing is wider than it was.
    if !edit::remove_from_list(&config_file(home), ALLOWLIST, key)? {
        return Err(GrantError::Unknown(key.to_owned()));
    }
    let key = Some(key.to_owned());
    add(home, NewGrant { key, project: Some(project), ..NewGrant::default() })
}

/// Takes back a narrow grant by its id, or an entry of the allow-list by its text.
pub fn revoke(home: &Path, name: &str) -> Result<(), GrantError> {
    if shelf::remove(home, name)? {
        return Ok(());
    }
    if edit::remove_from_list(&config_file(home), ALLOWLIST, name)? {
        return Ok(());
    }
    Err(GrantError::Unknown(name.to_owned()))
}

/// Writes a key to the allow-list of the user's file, where the next start finds it.
pub(crate) fn keep(home: &Path, key: &str) -> Result<(), GrantError> {
    if home.as_os_str().is_empty() {
        return Err(GrantError::NoHome);
    }
    edit::append_to_list(&config_file(home), ALLOWLIST, key)?;
    Ok(())
}

fn config_file(home: &Path) -> PathBuf {
    home.join("config.yaml")
}
