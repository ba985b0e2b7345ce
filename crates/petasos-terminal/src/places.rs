//! The places that are open, and closing those that nobody has used for a while.
//!
//! A place is in use as long as a call or a running job holds it. This machine is never closed:
//! it costs nothing to have.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::environment::{EnvError, Environment};
use petasos_contract::wait::Owned;
use tokio::sync::OnceCell;

/// How often unused places are looked for.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// What makes two calls share a place: the backend, what its settings say, the isolation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) backend: &'static str,
    pub(crate) settings: u64,
    pub(crate) task: String,
}

impl Key {
    fn is_away(&self) -> bool {
        self.backend != "local"
    }
}

/// A place that is open, or being opened.
pub(crate) type Place = Arc<OnceCell<Arc<dyn Environment>>>;

struct Entry {
    place: Place,
    used: Instant,
    lifetime: Option<Duration>,
}

/// All places of one program.
#[derive(Default)]
pub(crate) struct Places {
    open: Arc<Mutex<HashMap<Key, Entry>>>,
    sweeping: Mutex<Option<Owned<()>>>,
}

impl Places {
    /// The place of a key, which counts as used now.
    pub(crate) fn take(&self, key: &Key, lifetime: Option<Duration>) -> Place {
        if key.is_away() && lifetime.is_some() {
            self.keep_sweeping();
        }
        let mut open = self.open.lock();
        let entry = open.entry(key.clone()).or_insert_with(|| Entry {
            place: Place::default(),
            used: Instant::now(),
            lifetime,
        });
        entry.used = Instant::now();
        entry.lifetime = lifetime;
        Arc::clone(&entry.place)
    }

    /// The place of a key, when it is open.
    pub(crate) fn opened(&self, key: &Key) -> Option<Arc<dyn Environment>> {
        self.open.lock().get(key)?.place.get().cloned()
    }

    /// Whether a place other than this machine is open.
    pub(crate) fn is_away(&self) -> bool {
        self.open.lock().keys().any(Key::is_away)
    }

    /// Closes every place but this machine, and says what failed.
    pub(crate) async fn close(&self) -> Vec<EnvError> {
        let away = removed(&self.open, |key, _| key.is_away());
        closed(away).await
    }

    /// Closes the places that nobody has used for their lifetime; tells how many those were.
    pub(crate) async fn sweep(&self) -> usize {
        sweep(&self.open).await
    }

    fn keep_sweeping(&self) {
        let mut sweeping = self.sweeping.lock();
        if sweeping.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let open = Arc::clone(&self.open);
        *sweeping = Some(Owned::start(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                sweep(&open).await;
            }
        }));
    }
}

async fn sweep(open: &Mutex<HashMap<Key, Entry>>) -> usize {
    let idle = removed(open, |key, entry| {
        let is_over = entry.lifetime.is_some_and(|lifetime| entry.used.elapsed() > lifetime);
        // Whoever is about to use it, or still does, holds it.
        let is_held = Arc::strong_count(&entry.place) > 1
            || entry.place.get().is_some_and(|place| Arc::strong_count(place) > 1);
        key.is_away() && is_over && !is_held
    });
    let count = idle.len();
    for error in closed(idle).await {
        tracing::warn!(%error, "an unused place was not closed");
    }
    count
}

fn removed(
    open: &Mutex<HashMap<Key, Entry>>,
    is_wanted: impl Fn(&Key, &Entry) -> bool,
) -> Vec<Place> {
    let mut open = open.lock();
    open.extract_if(|key, entry| is_wanted(key, entry)).map(|(_, entry)| entry.place).collect()
}

async fn closed(places: Vec<Place>) -> Vec<EnvError> {
    let mut failed = Vec::new();
    for place in places.iter().filter_map(|place| place.get()) {
        failed.extend(place.close().await.err());
    }
    failed
}
