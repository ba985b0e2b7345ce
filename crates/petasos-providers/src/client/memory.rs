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
    windows: Mutex<BTreeMap<Place, u64>>,
    only: Mutex<BTreeMap<String, String>>,
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

    /// The context that a model's own refusal stated.
    pub(super) fn window(&self, runtime: &ProviderRuntime) -> Option<u64> {
        lock(&self.windows).get(&place(runtime)).copied()
    }

    /// Keeps the context that a refusal stated, so that the next question fits at once.
    pub(super) fn keep_window(&self, runtime: &ProviderRuntime, tokens: u64) {
        lock(&self.windows).insert(place(runtime), tokens);
    }

    /// The one model of an endpoint that lists no other.
    pub(super) fn only_model(&self, address: &str) -> Option<String> {
        lock(&self.only).get(address).cloned()
    }

    /// Keeps the one model of an endpoint.
    pub(super) fn keep_only_model(&self, address: &str, model: &str) {
        lock(&self.only).insert(address.to_owned(), model.to_owned());
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
