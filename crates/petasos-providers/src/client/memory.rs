//! What one client remembers between questions: counters, notices, learnt repairs.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::retry::Limits;
use crate::runtime::ProviderRuntime;
use crate::transport::target::Repair;

/// An address and a model.
type Place = (String, Option<String>);

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct Memory {
    limits: Mutex<BTreeMap<String, Limits>>,
    told: Mutex<HashSet<String>>,
    repairs: Mutex<BTreeMap<Place, BTreeSet<Repair>>>,
}

impl Memory {
    /// The newest counters of each provider.
    pub(super) fn limits(&self) -> Vec<(String, Limits)> {
        let limits = lock(&self.limits);
        limits.iter().map(|(provider, limits)| (provider.clone(), *limits)).collect()
    }

    /// Keeps a provider's counters, when it told any.
    pub(super) fn keep_limits(&self, provider: &str, limits: Limits) {
        if !limits.is_empty() {
            lock(&self.limits).insert(provider.to_owned(), limits);
        }
    }

    /// Whether this is the first time.
    pub(super) fn is_new(&self, key: String) -> bool {
        lock(&self.told).insert(key)
    }

    /// Repairs that the same model needed before, so that each is learnt once.
    pub(super) fn repairs(&self, runtime: &ProviderRuntime) -> BTreeSet<Repair> {
        lock(&self.repairs).get(&place(runtime)).cloned().unwrap_or_default()
    }

    /// Keeps the repairs that the next question needs too.
    pub(super) fn keep_repairs(&self, runtime: &ProviderRuntime, repairs: &BTreeSet<Repair>) {
        let lasting: BTreeSet<Repair> = repairs.iter().filter(|one| one.lasts()).cloned().collect();
        if !lasting.is_empty() {
            lock(&self.repairs).insert(place(runtime), lasting);
        }
    }
}

fn place(runtime: &ProviderRuntime) -> Place {
    (runtime.base_url.to_string(), runtime.model.clone())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
