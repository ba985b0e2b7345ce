//! `grants.json` of a home: read again when it changed, written whole and under a lock.
//!
//! A file that cannot be read grants nothing; the commands that list and change it say why.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use petasos_config::ConfigError;
use petasos_contract::CallContext;
use petasos_fs::Mode;
use serde::{Deserialize, Serialize};

use super::GrantError;
use super::narrow::{Asked, Grant, Held, NewGrant, covered};
use crate::permissions::Anchors;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    version: u32,
    grants: Vec<Grant>,
}

type Stamp = (SystemTime, u64);
type Cached = (Option<Stamp>, Arc<Vec<Held>>);

/// The grants of every home this process works with.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    homes: Mutex<HashMap<PathBuf, Cached>>,
}

impl Shelf {
    /// The grants that between them cover all that was found.
    pub(crate) fn granting(
        &self,
        asked: &Asked<'_>,
        anchors: Anchors<'_>,
        cx: &CallContext,
    ) -> Option<String> {
        covered(&self.held(cx.settings.home()), asked, anchors)
    }

    /// A look at the file's date is cheap, and a revoked grant must not live on.
    fn held(&self, home: &Path) -> Arc<Vec<Held>> {
        if home.as_os_str().is_empty() {
            return Arc::default();
        }
        let stamp = stamp(&file(home));
        let mut homes = self.homes.lock();
        if let Some((known, held)) = homes.get(home)
            && *known == stamp
        {
            return Arc::clone(held);
        }
        let read = grants(home).unwrap_or_else(|error| {
            tracing::warn!(%error, "narrow grants are not used");
            Vec::new()
        });
        let usable = |grant: Grant| {
            let id = grant.id.clone();
            Held::new(grant)
                .inspect_err(|problem| tracing::warn!(id, problem, "a grant is not used"))
                .ok()
        };
        let held: Arc<Vec<Held>> = Arc::new(read.into_iter().filter_map(usable).collect());
        homes.insert(home.to_path_buf(), (stamp, Arc::clone(&held)));
        held
    }
}

/// The narrow grants of a home, expired ones too.
pub fn grants(home: &Path) -> Result<Vec<Grant>, GrantError> {
    Ok(read(&file(home))?.grants)
}

/// Makes a narrow grant.
pub fn add(home: &Path, what: NewGrant) -> Result<Grant, GrantError> {
    if home.as_os_str().is_empty() {
        return Err(GrantError::NoHome);
    }
    let held = Held::new(Grant::new(what)).map_err(GrantError::Refused)?;
    let file = file(home);
    let lock = petasos_fs::lock(&file).map_err(ConfigError::from)?;
    let mut all = read(&file)?;
    if let Some(known) = all.grants.iter().find(|grant| grant.what == held.grant.what) {
        return Ok(known.clone());
    }
    all.version = 1;
    all.grants.push(held.grant.clone());
    write(&file, &all)?;
    drop(lock);
    Ok(held.grant)
}

/// Takes a narrow grant back; says whether there was one.
pub(super) fn remove(home: &Path, id: &str) -> Result<bool, GrantError> {
    let file = file(home);
    if stamp(&file).is_none() {
        return Ok(false);
    }
    let lock = petasos_fs::lock(&file).map_err(ConfigError::from)?;
    let mut all = read(&file)?;
    let before = all.grants.len();
    all.grants.retain(|grant| grant.id != id);
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
    Some((found.modified().ok()?, found.len()))
}

fn read(file: &Path) -> Result<Written, GrantError> {
    let damaged = |problem: String| GrantError::Damaged { file: file.to_path_buf(), problem };
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Written::default()),
        Err(error) => Err(damaged(error.to_string())),
    }
}

fn write(file: &Path, all: &Written) -> Result<(), GrantError> {
    let text = serde_json::to_vec_pretty(all).map_err(|error| GrantError::Damaged {
        file: file.to_path_buf(),
        problem: error.to_string(),
    })?;
    petasos_fs::write(file, &text, Mode::Exactly(0o600))
        .map_err(|error| ConfigError::from(error).into())
}
