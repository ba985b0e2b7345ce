//! A few connections that cannot write; each query has a deadline and is interrupted at it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::wait;
use petasos_store::StoreError;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::sqlite::open_reader;

/// So many queries run at once.
const READERS_MAX: usize = 4;
/// How long a query may take.
const READ_DEADLINE: Duration = Duration::from_secs(20);

/// The pool; connections are opened when they are first needed.
pub(crate) struct Readers {
    path: PathBuf,
    turns: Semaphore,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    /// For this file.
    pub(crate) fn new(path: &Path) -> Self {
        let turns = Semaphore::new(READERS_MAX);
        Self { path: path.to_owned(), turns, idle: Arc::default() }
    }

    /// Runs a query off the caller's thread.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        what: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_within(READ_DEADLINE, what, query).await
    }

    /// The same for a query that may take longer, or shorter.
    pub(crate) async fn read_within<T: Send + 'static>(
        &self,
        limit: Duration,
        what: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + limit;
        let turn = wait::until(deadline, what, self.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else { return Err(StoreError::Slow { what }) };
        let connection = match self.idle.lock().pop() {
            Some(connection) => Ok(connection),
            None => open_reader(&self.path),
        }?;
        let interrupt = connection.get_interrupt_handle();
        let idle = Arc::clone(&self.idle);
        let work = tokio::task::spawn_blocking(move || {
            let result = query(&connection);
            idle.lock().push(connection);
            result
        });
        match wait::until(deadline, what, work).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(StoreError::Failed(format!("a query ended early: {error}"))),
            Err(_) => {
                interrupt.interrupt();
                Err(StoreError::Slow { what })
            }
        }
    }
}
