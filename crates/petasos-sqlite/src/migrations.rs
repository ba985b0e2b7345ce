//! The format of the file, as numbered steps; each is one transaction.

use petasos_store::StoreError;
use rusqlite::Connection;

use crate::sqlite::failed;

/// Every step, in order; its number is its place, counted from one.
static STEPS: &[&str] = &[
    include_str!("migrations/0001_sessions.sql"),
    include_str!("migrations/0002_leases.sql"),
    include_str!("migrations/0003_forgetting.sql"),
    include_str!("migrations/0004_gateway.sql"),
    include_str!("migrations/0005_questions.sql"),
    include_str!("migrations/0006_owners.sql"),
    include_str!("migrations/0007_schedules.sql"),
    include_str!("migrations/0008_api.sql"),
    include_str!("migrations/0009_boards.sql"),
    include_str!("migrations/0010_planning.sql"),
    include_str!("migrations/0011_interrupted.sql"),
    include_str!("migrations/0012_chosen.sql"),
];

/// The newest format.
pub(crate) fn newest() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

/// Brings the file to the newest format. Two processes may try at once: the second finds it done.
pub(crate) fn apply(connection: &mut Connection) -> Result<(), StoreError> {
    loop {
        let found = version(connection)?;
        if found > newest() {
            return Err(StoreError::TooNew { found, known: newest() });
        }
        let Some(step) = STEPS.get(found as usize) else { return Ok(()) };
        if found == 0 && is_foreign(connection)? {
            let why = "the file has tables of another program: move it away, then start again";
            return Err(StoreError::Failed(why.to_owned()));
        }
        let behaviour = rusqlite::TransactionBehavior::Immediate;
        let change = connection.transaction_with_behavior(behaviour).map_err(failed)?;
        if version(&change)? == found {
            change.execute_batch(step).map_err(failed)?;
            change.pragma_update(None, "user_version", found + 1).map_err(failed)?;
            change.commit().map_err(failed)?;
        }
    }
}

/// Whether somebody else made this file.
fn is_foreign(connection: &Connection) -> Result<bool, StoreError> {
    // Another process may have made it ours since the version was read.
    let sql = "SELECT (SELECT user_version FROM pragma_user_version) = 0 \
               AND EXISTS (SELECT 1 FROM sqlite_schema)";
    connection.query_row(sql, [], |row| row.get(0)).map_err(failed)
}

/// The format that the file says it has.
pub(crate) fn version(connection: &Connection) -> Result<u32, StoreError> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)
}
