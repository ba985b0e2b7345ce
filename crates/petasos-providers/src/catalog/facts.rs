//! What was found out about models, kept between runs: `cache/model_facts.json` in the home.
//!
//! A start must not ask an endpoint again what it said an hour ago, and a model that nobody
//! describes must not be asked about at every start: an entry without facts says so.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use petasos_fs::Record;
use serde::{Deserialize, Serialize};

use super::{Price, Which};
use crate::credential::now_ms;

/// Where, below the home.
const FILE: &str = "cache/model_facts.json";
/// How long what was found out is taken for true without asking again: a local server may have
/// been started with another window since.
const FRESH: Duration = Duration::from_hours(1);
/// Models that are remembered; the ones found out longest ago go first.
const ENTRIES_MAX: usize = 500;

/// What is known of one model at one endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFact {
    /// How much it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// When it was found out.
    #[serde(default)]
    pub at_ms: u64,
}

impl ModelFact {
    /// Whether it need not be asked for again yet.
    pub fn is_fresh(&self) -> bool {
        let age = now_ms().saturating_sub(self.at_ms);
        u128::from(age) < FRESH.as_millis()
    }
}

type Entries = BTreeMap<String, ModelFact>;

/// The facts of each home that was asked for, read once.
#[derive(Debug, Default)]
pub(super) struct Facts {
    homes: RwLock<HashMap<PathBuf, Entries>>,
}

impl Facts {
    /// What is known of a model.
    pub(super) fn get(&self, home: &Path, which: Which<'_>) -> Option<ModelFact> {
        if home.as_os_str().is_empty() {
            return None;
        }
        let known = self.homes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = known.get(home) {
            return entries.get(&name(which)).copied();
        }
        drop(known);
        // A cache that cannot be read is one that knows nothing.
        let entries: Entries = Record::at(home.join(FILE)).read().unwrap_or_default();
        let fact = entries.get(&name(which)).copied();
        self.homes.write().unwrap_or_else(PoisonError::into_inner).insert(home.to_owned(), entries);
        fact
    }

    /// Keeps what was found out, for this process and the next ones.
    pub(super) fn keep(&self, home: &Path, which: Which<'_>, fact: ModelFact) -> io::Result<()> {
        let fact = ModelFact { at_ms: now_ms(), ..fact };
        let mut homes = self.homes.write().unwrap_or_else(PoisonError::into_inner);
        homes.entry(home.to_owned()).or_default().insert(name(which), fact);
        drop(homes);
        if !home.is_dir() {
            return Ok(());
        }
        let file = home.join(FILE);
        let record = Record::at(&file);
        if record.read::<Entries>().is_err() {
            std::fs::remove_file(&file)?;
        }
        record.edit(|entries: &mut Entries| {
            entries.insert(name(which), fact);
            while entries.len() > ENTRIES_MAX {
                let oldest = entries.iter().min_by_key(|(_, fact)| fact.at_ms);
                let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { break };
                entries.remove(&oldest);
            }
        })
    }
}

/// The key of an entry. A query may hold a secret and is no part of the place.
fn name(which: Which<'_>) -> String {
    let address = which.base_url.split(['?', '#']).next().unwrap_or_default();
    format!("{}@{address}", which.model)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHICH: Which<'_> = Which { base_url: "http://127.0.0.1:1/v1?key=secret", model: "m" };

    #[test]
    fn another_process_knows_it_too_and_no_secret_is_written() {
        let home = tempfile::tempdir().unwrap();
        let fact = ModelFact { context_length: Some(4096), ..ModelFact::default() };
        Facts::default().keep(home.path(), WHICH, fact).unwrap();
        let read = Facts::default().get(home.path(), WHICH).unwrap();
        assert_eq!(read.context_length, Some(4096));
        assert!(read.is_fresh());
        let text = std::fs::read_to_string(home.path().join(FILE)).unwrap();
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn a_damaged_file_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("cache")).unwrap();
        let mode = petasos_fs::Mode::Exactly(0o600);
        petasos_fs::write(&home.path().join(FILE), b"{", mode).unwrap();
        assert_eq!(Facts::default().get(home.path(), WHICH), None);
        Facts::default().keep(home.path(), WHICH, ModelFact::default()).unwrap();
        assert!(Facts::default().get(home.path(), WHICH).is_some());
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let home = tempfile::tempdir().unwrap();
        let facts = Facts::default();
        let entries: Entries = (0..u64::try_from(ENTRIES_MAX).unwrap() + 20)
            .map(|n| (format!("m{n}@x"), ModelFact { at_ms: n, ..ModelFact::default() }))
            .collect();
        Record::at(home.path().join(FILE)).edit(|file: &mut Entries| *file = entries).unwrap();
        facts.keep(home.path(), WHICH, ModelFact::default()).unwrap();
        let kept: Entries = Record::at(home.path().join(FILE)).read().unwrap();
        assert_eq!(kept.len(), ENTRIES_MAX);
        assert!(!kept.contains_key("m0@x"), "the oldest go first");
    }
}
