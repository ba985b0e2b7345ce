//! The format of the file, as numbered steps; each is one transaction.

use petasos_contract::store::StoreError;
use rusqlite::Connection;

use crate::sqlite::failed;

/// Every step, in order; its number is its place, counted from one.
static STEPS: &[&str] =
    &[include_str!("migrations/0001_sessions.sql"), include_str!("migrations/0002_leases.sql")];

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
        let behaviour = rusqlite::TransactionBehavior::Immediate;
        let change = connection.transaction_with_behavior(behaviour).map_err(failed)?;
        if version(&change)? == found {
            change.execute_batch(step).map_err(failed)?;
            change.pragma_update(None, "user_version", found + 1).map_err(failed)?;
            change.commit().map_err(failed)?;
        }
    }
}

/// The format that the file says it has.
pub(crate) fn version(connection: &Connection) -> Result<u32, StoreError> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)
}
