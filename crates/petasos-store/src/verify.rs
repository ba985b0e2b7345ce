//! Is the file sound, and making it so.
//!
//! `check` only looks. `mend` rebuilds what is derived, repairs torn conversations, and when the
//! file itself is damaged saves every row that can still be read into a new one; the damaged file
//! is kept beside it.

use std::path::{Path, PathBuf};

use petasos_contract::SessionId;
use petasos_contract::store::StoreError;
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;

use crate::sqlite::failed;
use crate::stamp::now_ms;
use crate::{messages, migrations, repair, sessions};

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The conversation, when it is about one.
    pub session: Option<String>,
    /// What, in words for a person.
    pub what: String,
}

/// What a look at the file found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// How many conversations there are.
    pub sessions: u64,
    /// How many rows.
    pub messages: u64,
    /// What is not as it should be; empty means sound.
    pub findings: Vec<Finding>,
}

/// Looks at everything, or at one conversation.
pub(crate) fn check(
    connection: &Connection,
    only: Option<&SessionId>,
) -> Result<Verified, StoreError> {
    let mut found = Verified::default();
    if only.is_none() {
        check_file(connection, &mut found)?;
    }
    let sql = "SELECT id FROM sessions WHERE ?1 IS NULL OR id = ?1 ORDER BY id";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let ids = statement
        .query_map([only.map(SessionId::as_str)], |row| row.get::<_, String>(0))
        .map_err(failed)?;
    for id in ids {
        let id = SessionId::new(id.map_err(failed)?);
        found.sessions += 1;
        check_session(connection, &id, &mut found)?;
    }
    Ok(found)
}

fn check_file(connection: &Connection, found: &mut Verified) -> Result<(), StoreError> {
    let mut statement = connection.prepare("PRAGMA integrity_check(20)").map_err(failed)?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
    for line in lines {
        let line = line.map_err(failed)?;
        if line != "ok" {
            found.findings.push(Finding { session: None, what: format!("database: {line}") });
        }
    }
    Ok(())
}

fn check_session(
    connection: &Connection,
    id: &SessionId,
    found: &mut Verified,
) -> Result<(), StoreError> {
    let mut tell = |what: String| {
        found.findings.push(Finding { session: Some(id.to_string()), what });
    };
    let sql = format!(
        "SELECT {} FROM messages WHERE session = ?1 ORDER BY place, id",
        messages::columns()
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut rows = statement.query([id.as_str()]).map_err(failed)?;
    let mut replayed = Vec::new();
    let mut count = 0;
    while let Some(row) = rows.next().map_err(failed)? {
        count += 1;
        let seq: i64 = row.get(0).map_err(failed)?;
        match messages::read_row(row) {
            Ok((loaded, sound)) => {
                if !sound {
                    tell(format!("message {seq} is not what was written"));
                }
                if loaded.active {
                    replayed.push(loaded);
                }
            }
            Err(error) => tell(format!("message {seq} cannot be read: {error}")),
        }
    }
    for fault in repair::faults(&replayed) {
        tell(match fault {
            repair::Fault::Unanswered { call, tool, .. } => {
                format!("`{tool}` ({call}) has no result: the next resume repairs it")
            }
            repair::Fault::Stray { seq } => format!("result {seq} answers no call"),
        });
    }
    found.messages += count;
    Ok(())
}

/// Rebuilds the indexes and repairs every torn conversation; gives what was done, in words.
pub(crate) fn mend(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut done = Vec::new();
    for table in ["messages_words", "messages_trigrams"] {
        let sql = format!("INSERT INTO {table}({table}) VALUES ('rebuild')");
        connection.execute(&sql, []).map_err(failed)?;
    }
    done.push("search indexes were rebuilt".to_owned());
    let mut statement = connection.prepare("SELECT id FROM sessions").map_err(failed)?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
    let ids = ids.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    for id in ids {
        let id = SessionId::new(id);
        let rows = messages::rows(connection, &id, false)?;
        let faults = repair::faults(&rows);
        let journal = repair::journal(connection, &id)?;
        let words = repair::mend(connection, &id, &faults, Some(&journal))?;
        done.extend(words.into_iter().map(|what| format!("{id}: {what}")));
        sessions::recount(connection, &id)?;
    }
    Ok(done)
}

/// Saves what can be read of a damaged file into a new one at the same path.
pub(crate) fn salvage(path: &Path) -> Result<Vec<String>, StoreError> {
    let io = |error: std::io::Error| StoreError::Failed(format!("`{}`: {error}", path.display()));
    let fresh = beside(path, &format!("salvage-{}", now_ms()));
    let kept = beside(path, &format!("damaged-{}", now_ms()));
    let old =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    let mut new = Connection::open(&fresh).map_err(failed)?;
    migrations::apply(&mut new)?;
    let mut done = Vec::new();
    new.execute_batch("BEGIN").map_err(failed)?;
    for table in ["sessions", "messages", "calls", "usage"] {
        let (saved, lost) = copy_rows(&old, &new, table);
        done.push(format!("{table}: {saved} rows saved, {lost} could not be read"));
    }
    new.execute_batch("COMMIT").map_err(failed)?;
    drop(new);
    // A damaged file may not close cleanly; it is kept as it is either way.
    drop(old);
    std::fs::rename(path, &kept).map_err(io)?;
    for tail in ["-wal", "-shm"] {
        let from = beside_exactly(path, tail);
        if from.exists() {
            std::fs::rename(&from, beside_exactly(&kept, tail)).map_err(io)?;
        }
    }
    std::fs::rename(&fresh, path).map_err(io)?;
    done.push(format!("the damaged file is kept as `{}`", kept.display()));
    Ok(done)
}

fn copy_rows(old: &Connection, new: &Connection, table: &str) -> (u64, u64) {
    let mut counts = (0, 0);
    let Ok(mut select) = old.prepare(&format!("SELECT * FROM {table}")) else { return counts };
    let names: Vec<String> = select.column_names().map(str::to_owned).collect();
    let places: Vec<String> = (1..=names.len()).map(|at| format!("?{at}")).collect();
    let insert = format!(
        "INSERT OR IGNORE INTO {table}({}) VALUES ({})",
        names.join(", "),
        places.join(", ")
    );
    let Ok(mut rows) = select.query([]) else { return counts };
    loop {
        match rows.next() {
            Ok(None) => return counts,
            Ok(Some(row)) => {
                let values: Result<Vec<rusqlite::types::Value>, _> =
                    (0..names.len()).map(|at| row.get(at)).collect();
                let saved = values.and_then(|values| {
                    new.prepare_cached(&insert)?.execute(rusqlite::params_from_iter(values))
                });
                match saved {
                    Ok(_) => counts.0 += 1,
                    Err(_) => counts.1 += 1,
                }
            }
            // Behind a broken page nothing more comes from this walk.
            Err(_) => {
                counts.1 += 1;
                return counts;
            }
        }
    }
}

fn beside(path: &Path, word: &str) -> PathBuf {
    beside_exactly(path, &format!(".{word}"))
}

fn beside_exactly(path: &Path, tail: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(tail);
    path.with_file_name(name)
}
