//! What was agreed to before: for a session, for good by key, and narrow grants beside keys.
//!
//! Keys for good live in `command_allowlist` of the user's `config.yaml`, where people see and edit
//! them; narrow grants live behind `GrantStore`, which is `grants.json` of the home. Both are written
//! whole, under a lock.

mod file;
mod memory;
mod narrow;

use std::path::{Path, PathBuf};

use petasos_config::{ConfigError, edit};
use petasos_contract::Settings;
use petasos_store::SessionScope;
use serde::Serialize;

use crate::keys::same_key;
use petasos_analysis::RULES;

pub use file::{GrantsFile, add, grants};
pub(crate) use memory::Memory;
pub(crate) use narrow::{Asked, Held, Spot, covered, offers};
pub use petasos_store::{GrantError, GrantRecord, GrantStore, NewGrant};

const ALLOWLIST: &str = "command_allowlist";

/// Something that needs no question any more.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ListedGrant {
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
    Grant(Box<GrantRecord>),
}

/// Everything that was granted for good, to whomever.
pub async fn list(
    settings: &Settings,
    store: &dyn GrantStore,
) -> Result<Vec<ListedGrant>, GrantError> {
    let file = config_file(settings.home());
    let entries = settings.names(ALLOWLIST).unwrap_or_default();
    let mut all: Vec<ListedGrant> = entries.into_iter().map(|entry| listed(entry, &file)).collect();
    let granted = store.granted(&SessionScope::Everyone).await?;
    all.extend(granted.into_iter().map(|grant| ListedGrant::Grant(Box::new(grant))));
    Ok(all)
}

fn listed(entry: String, file: &Path) -> ListedGrant {
    let wide = RULES.iter().any(|rule| same_key(rule.key, &entry));
    ListedGrant::Allowlist { entry, file: file.to_owned(), wide }
}

/// Puts a grant for one project in the place of an entry of the allow-list.
pub async fn narrow(
    home: &Path,
    store: &dyn GrantStore,
    key: &str,
    project: PathBuf,
) -> Result<GrantRecord, GrantError> {
    // First the wide one goes: whatever fails then, nothing is wider than it was.
    if !unlist(home, key)? {
        return Err(GrantError::Unknown(key.to_owned()));
    }
    let key = Some(key.to_owned());
    store.grant(NewGrant { key, project: Some(project), ..NewGrant::default() }, None).await
}

/// Revokes a narrow grant by its id, or an entry of the allow-list by its text.
pub async fn revoke(home: &Path, store: &dyn GrantStore, name: &str) -> Result<(), GrantError> {
    if store.revoke(name, &SessionScope::Everyone).await? || unlist(home, name)? {
        return Ok(());
    }
    Err(GrantError::Unknown(name.to_owned()))
}

/// Writes a key to the allow-list of the user's file, where the next start finds it.
pub(crate) fn keep(home: &Path, key: &str) -> Result<(), GrantError> {
    if home.as_os_str().is_empty() {
        return Err(GrantError::NoHome);
    }
    edit::append_to_list(&config_file(home), ALLOWLIST, key).map(drop).map_err(failed)
}

fn unlist(home: &Path, entry: &str) -> Result<bool, GrantError> {
    edit::remove_from_list(&config_file(home), ALLOWLIST, entry).map_err(failed)
}

fn failed(error: impl Into<ConfigError>) -> GrantError {
    GrantError::Failed(error.into().to_string())
}

fn config_file(home: &Path) -> PathBuf {
    home.join("config.yaml")
}
