//! Removing conversations that nobody has used for long, and giving their space back.
//!
//! One goes at a time, in a transaction of its own; those that somebody is at work on, and those
//! that were archived, stay.

use std::path::Path;
use std::time::{Duration, Instant};

use petasos_contract::wait;
use petasos_store::{SessionHead, SessionStore as _, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use crate::maintain::{PAUSE, Pace, Progress, STEP_MAX};
use crate::sessions;
use crate::sqlite::{self, OpenOptions, failed};
use crate::stamp::now_ms;
use crate::store::Store;

/// How often the program removes old conversations by itself.
const EVERY_MS: i64 = 24 * 60 * 60 * 1000;
/// So many pages are given back at once.
const PAGES: u32 = 500;
const CHORE: &str = "prune";

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Their identities.
    pub removed: Vec<String>,
    /// Those that somebody is at work on.
    pub busy: Vec<String>,
}

impl Store {
    /// Conversations that were not used for this long, the oldest first.
    pub async fn unused_for(&self, age: Duration) -> Result<Vec<SessionHead>, StoreError> {
        let before = now_ms() - i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let look = move |connection: &Connection| {
            let sql = format!(
                "SELECT {} FROM sessions s WHERE s.updated_ms < ?1 AND s.archived = 0 \
                 ORDER BY s.updated_ms",
                sessions::COLUMNS
            );
            let mut statement = connection.prepare(&sql).map_err(failed)?;
            let found = statement.query_map([before], |row| sessions::read_head(row, 0));
            found.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
        };
        self.readers.read("old conversations", look).await
    }

    /// Removes what was not used for this long.
    pub async fn prune(
        &self,
        age: Duration,
        progress: impl Fn(Progress),
    ) -> Result<Pruned, StoreError> {
        let old = self.unused_for(age).await?;
        let (mut pruned, mut pace, total) = (Pruned::default(), Pace::new(), old.len() as u64);
        for (at, head) in old.into_iter().enumerate() {
            progress(Progress { what: "old conversations", done: at as u64, total });
            match self.delete(&head.session()).await {
                Ok(()) => pruned.removed.push(head.id),
                Err(StoreError::Leased { .. }) => pruned.busy.push(head.id),
                // Somebody else was faster.
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
            pace.step().await;
        }
        Ok(pruned)
    }

    /// The same, once a day at most; `None` when it was done less than a day ago.
    pub async fn prune_daily(&self, age: Duration) -> Result<Option<Pruned>, StoreError> {
        let look = |connection: &Connection| {
            let sql = "SELECT at_ms FROM chores WHERE name = ?1";
            connection
                .query_row(sql, [CHORE], |row| row.get::<_, i64>(0))
                .optional()
                .map_err(failed)
        };
        let last = self.readers.read("the last pruning", look).await?;
        // A clock that was set back must not put it off for ever.
        if last.is_some_and(|last| (0..EVERY_MS).contains(&(now_ms() - last))) {
            return Ok(None);
        }
        let pruned = self.prune(age, |_| ()).await?;
        let job = |connection: &Connection| {
            let sql = "INSERT OR REPLACE INTO chores(name, at_ms) VALUES (?1, ?2)";
            connection.execute(sql, params![CHORE, now_ms()]).map(drop).map_err(failed)
        };
        self.writer.write("the last pruning", job).await?;
        Ok(Some(pruned))
    }

    /// Gives the space of what was deleted back to the disk; gives how many bytes.
    pub async fn compact(&self) -> Result<u64, StoreError> {
        let path = self.path().to_owned();
        let what = "giving space back";
        let work = tokio::task::spawn_blocking(move || compact(&path));
        match wait::until(Instant::now() + STEP_MAX, what, work).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => Err(StoreError::Failed(format!("{what}: {error}"))),
            Err(_) => Err(StoreError::Slow { what }),
        }
    }
}

fn compact(path: &Path) -> Result<u64, StoreError> {
    let size = || std::fs::metadata(path).map_or(0, |found| found.len());
    let before = size();
    let (connection, _) = sqlite::open_writer(&OpenOptions::new(path))?;
    let number =
        |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failed);
    if number("PRAGMA auto_vacuum")? == 2 {
        while number("PRAGMA freelist_count")? > 0 {
            let sql = format!("PRAGMA incremental_vacuum({PAGES})");
            let mut statement = connection.prepare(&sql).map_err(failed)?;
            let mut rows = statement.query([]).map_err(failed)?;
            while rows.next().map_err(failed)?.is_some() {}
            std::thread::sleep(PAUSE);
        }
    } else {
        // Made by an earlier version: written anew, once, in one step.
        connection.execute_batch("VACUUM").map_err(failed)?;
    }
    // The log may still hold what was deleted. A reader in another process can keep it there.
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    connection.query_row(sql, [], |_| Ok(())).map_err(failed)?;
    Ok(before.saturating_sub(size()))
}
