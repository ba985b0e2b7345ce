//! Functions that a statement calls and that may do more than read.
//!
//! A read-only transaction keeps tables as they are. It does not keep a function from writing a file
//! of the server, ending another session or asking another server. The server's own catalogue says
//! which functions have effects (`VOLATILE`); those that are known to have none are let through.

use std::collections::BTreeSet;

use serde_json::Value;

use super::PostgresError;
use super::wire::Conversation;

/// Called volatile because their answer changes, not because the world does.
const HARMLESS: [&str; 22] = [
    "clock_timestamp",
    "currval",
    "gen_random_uuid",
    "lastval",
    "pg_column_size",
    "pg_database_size",
    "pg_index_column_has_property",
    "pg_indexes_size",
    "pg_is_in_recovery",
    "pg_last_wal_receive_lsn",
    "pg_relation_size",
    "pg_sleep",
    "pg_table_size",
    "pg_tablespace_size",
    "pg_total_relation_size",
    "random",
    "random_normal",
    "system",
    "bernoulli",
    "timeofday",
    "uuidv4",
    "uuidv7",
];
const QUESTION: &str = "SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p WHERE p.provolatile = 'v' \
    AND p.proname = ANY (pg_catalog.string_to_array($1, ','))";
const NAMES_MAX: usize = 2000;

/// Refuses a statement that calls such a function.
pub(super) async fn refuse(server: &mut Conversation, sql: &str) -> Result<(), PostgresError> {
    // A name may be spelled with escapes that only the server resolves.
    if sql.to_ascii_lowercase().contains("u&\"") {
        return Err(PostgresError::Calls("U&\"…\"".to_owned()));
    }
    let called = called(sql);
    if called.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = called.iter().map(String::as_str).collect();
    let columns = server.prepare(QUESTION).await?;
    let found = server.execute(&columns, &[Value::from(names.join(","))], NAMES_MAX).await?;
    let mut volatile = found.rows.iter().filter_map(|row| row.first()?.as_str());
    match volatile.find(|name| !HARMLESS.contains(name)) {
        Some(name) => Err(PostgresError::Calls(name.to_owned())),
        None => Ok(()),
    }
}

/// Names that may be called: words before a bracket. Where comments could stand between the two,
/// every word counts; what stands in texts counts, too, because it harms nobody to ask about it.
fn called(sql: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let has_comments = sql.contains("/*") || sql.contains("--");
    let mut names = BTreeSet::new();
    let mut rest = sql;
    while let Some(start) = rest.find(is_part) {
        let word = rest.split_at(start).1;
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        let (name, after) = word.split_at(end);
        let opens = after.trim_start_matches(|c: char| c.is_whitespace() || c == '"');
        if has_comments || opens.starts_with('(') {
            names.insert(name.to_owned());
            names.insert(name.to_lowercase());
        }
        rest = after;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_before_brackets_are_found_however_they_are_written() {
        for sql in [
            "SELECT lo_export(1, 'x')",
            "select Lo_Export  (1)",
            "SELECT \"lo_export\" (1)",
            "SELECT pg_catalog.lo_export\n(1)",
            "SELECT lo_export/* /* */ */(1)",
            "SELECT lo_export -- x\n (1)",
            "SELECT 1 WHERE EXISTS (SELECT * FROM lo_export(1))",
        ] {
            assert!(called(sql).contains("lo_export"), "{sql}");
        }
        assert!(!called("SELECT system, random FROM books").contains("system"));
    }
}
