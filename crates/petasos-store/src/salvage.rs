//! What can be read of a damaged file, in a new one; the damaged file is kept beside it.

use std::path::{Path, PathBuf};

use petasos_contract::store::StoreError;
use rusqlite::{Connection, OpenFlags};

use crate::migrations;
use crate::sqlite::failed;
use crate::stamp::now_ms;

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
