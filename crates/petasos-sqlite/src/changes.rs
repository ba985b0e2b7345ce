//! Hearing of changes: those of this process at once, those of others by a look at the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use petasos_store::{CHANGE_LATE_MAX, ChangeFeed, StoreError};
use rusqlite::Connection;
use tokio::sync::watch;
use tracing::warn;

use crate::sqlite::{failed, open_reader};
use crate::store::Store;

/// How often the file is looked at while somebody listens.
const LOOK: Duration = Duration::from_millis(500);
const _: () = assert!(LOOK.as_millis() < CHANGE_LATE_MAX.as_millis(), "a look takes time too");

/// Who listens, and the task that looks for them.
pub(crate) struct Feed {
    path: PathBuf,
    count: Arc<watch::Sender<u64>>,
    looking: Mutex<Option<Owned<()>>>,
}

impl Feed {
    pub(crate) fn new(path: &Path) -> Self {
        let (count, looking) = (Arc::new(watch::Sender::new(0)), Mutex::new(None));
        Self { path: path.to_owned(), count, looking }
    }

    /// What the writer calls after a commit.
    pub(crate) fn bell(&self) -> Arc<watch::Sender<u64>> {
        Arc::clone(&self.count)
    }

    /// A listener, and a task that looks for it.
    fn listen(&self) -> watch::Receiver<u64> {
        let receiver = self.count.subscribe();
        let mut looking = self.looking.lock();
        if looking.as_ref().is_none_or(Owned::is_finished) {
            let (path, count) = (self.path.clone(), Arc::clone(&self.count));
            *looking = Some(Owned::start(look(path, count)));
        }
        receiver
    }
}

impl ChangeFeed for Store {
    fn changes(&self) -> watch::Receiver<u64> {
        self.feed.listen()
    }
}

/// Looks for as long as the store is open, and only while somebody listens.
async fn look(path: PathBuf, count: Arc<watch::Sender<u64>>) {
    let mut connection: Option<Connection> = None;
    let mut seen = None;
    loop {
        tokio::time::sleep(LOOK).await;
        if count.receiver_count() == 0 {
            continue;
        }
        let (path, before) = (path.clone(), connection.take());
        let looked = tokio::task::spawn_blocking(move || version(before, &path)).await;
        match looked.map_err(|error| StoreError::Failed(error.to_string())).flatten() {
            Ok((open, version)) => {
                // Nobody knows what happened before the first look.
                if seen.replace(version) != Some(version) {
                    count.send_modify(|count| *count += 1);
                }
                connection = Some(open);
            }
            Err(error) => warn!(%error, "changes of other processes are not seen"),
        }
    }
}

/// SQLite's own count of what other connections have written.
fn version(connection: Option<Connection>, path: &Path) -> Result<(Connection, i64), StoreError> {
    let connection = connection.map_or_else(|| open_reader(path), Ok)?;
    let version = connection.query_row("PRAGMA data_version", [], |row| row.get(0));
    let version = version.map_err(failed)?;
    Ok((connection, version))
}
