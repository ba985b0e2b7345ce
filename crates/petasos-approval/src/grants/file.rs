//! `grants.json` of a home as a `GrantStore`: read again when it changed, written whole and under a
//! lock.
//!
//! A file that cannot be read grants nothing; the commands that list and change it say why.

use std::fs::Metadata;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use petasos_contract::address::Address;
use petasos_fs::Mode;
use petasos_store::{GrantError, GrantFuture, GrantRecord, GrantStore, NewGrant, SessionScope};
use serde::{Deserialize, Serialize};

use super::failed;
use super::narrow::{Held, made};

#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    version: u32,
    grants: Vec<GrantRecord>,
}

/// When it was written, its length and which file it is: two quick writes may share a date.
type Stamp = (SystemTime, u64, u64);
type Cached = (Option<Stamp>, Arc<Vec<GrantRecord>>);

/// The narrow grants of one home.
#[derive(Debug)]
pub struct GrantsFile {
    home: PathBuf,
    seen: Mutex<Option<Cached>>,
}

impl GrantsFile {
    /// The file of this home, which need not be there yet.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), seen: Mutex::default() }
    }
}

impl GrantStore for GrantsFile {
    /// A look at the file's date is cheap, and a revoked grant must not live on.
    fn snapshot(&self) -> Arc<Vec<GrantRecord>> {
        if self.home.as_os_str().is_empty() {
            return Arc::default();
        }
        let stamp = stamp(&file(&self.home));
        let mut seen = self.seen.lock();
        if let Some((known, grants)) = &*seen
            && *known == stamp
        {
            return Arc::clone(grants);
        }
        let read = grants(&self.home).unwrap_or_else(|error| {
            tracing::warn!(%error, "narrow grants are not used");
            Vec::new()
        });
        let read = Arc::new(read);
        *seen = Some((stamp, Arc::clone(&read)));
        read
    }

    fn granted<'a>(&'a self, scope: &'a SessionScope) -> GrantFuture<'a, Vec<GrantRecord>> {
        let mut read = grants(&self.home);
        if let Ok(grants) = &mut read {
            grants.retain(|grant| scope.sees(grant.owner.as_ref()));
        }
        Box::pin(ready(read))
    }

    fn grant(&self, what: NewGrant, owner: Option<Address>) -> GrantFuture<'_, GrantRecord> {
        let made = put(&self.home, what, owner);
        *self.seen.lock() = None;
        Box::pin(ready(made))
    }

    fn revoke<'a>(&'a self, id: &'a str, scope: &'a SessionScope) -> GrantFuture<'a, bool> {
        let removed = remove(&self.home, id, scope);
        *self.seen.lock() = None;
        Box::pin(ready(removed))
    }
}

/// The narrow grants of a home, expired ones too.
pub fn grants(home: &Path) -> Result<Vec<GrantRecord>, GrantError> {
    Ok(read(&file(home))?.grants)
}

/// Makes a narrow grant that holds everywhere in a home.
pub fn add(home: &Path, what: NewGrant) -> Result<GrantRecord, GrantError> {
    put(home, what, None)
}

fn put(home: &Path, what: NewGrant, owner: Option<Address>) -> Result<GrantRecord, GrantError> {
    if home.as_os_str().is_empty() {
        return Err(GrantError::NoHome);
    }
    let held = Held::new(made(what, owner)).map_err(GrantError::Refused)?;
    let file = file(home);
    let lock = petasos_fs::lock(&file).map_err(failed)?;
    let mut all = read(&file)?;
    let same = |it: &&GrantRecord| it.what == held.grant.what && it.owner == held.grant.owner;
    if let Some(known) = all.grants.iter().find(same) {
        return Ok(known.clone());
    }
    all.version = 1;
    all.grants.push(held.grant.clone());
    write(&file, &all)?;
    drop(lock);
    Ok(held.grant)
}

fn remove(home: &Path, id: &str, scope: &SessionScope) -> Result<bool, GrantError> {
    let file = file(home);
    if stamp(&file).is_none() {
        return Ok(false);
    }
    let lock = petasos_fs::lock(&file).map_err(failed)?;
    let mut all = read(&file)?;
    let before = all.grants.len();
    all.grants.retain(|grant| grant.id != id || !scope.sees(grant.owner.as_ref()));
    let found = all.grants.len() < before;
    if found {
        write(&file, &all)?;
    }
    drop(lock);
    Ok(found)
}

fn file(home: &Path) -> PathBuf {
    home.join("grants.json")
}

fn stamp(file: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len(), number(&found)))
}

#[cfg(unix)]
fn number(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

fn read(file: &Path) -> Result<Written, GrantError> {
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| damaged(file, &error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Written::default()),
        Err(error) => Err(damaged(file, &error)),
    }
}

fn write(file: &Path, all: &Written) -> Result<(), GrantError> {
    let text = serde_json::to_vec_pretty(all).map_err(|error| damaged(file, &error))?;
    petasos_fs::write(file, &text, Mode::Exactly(0o600)).map_err(failed)
}

fn damaged(file: &Path, problem: &dyn std::fmt::Display) -> GrantError {
    GrantError::Damaged { file: file.to_path_buf(), problem: problem.to_string() }
}
