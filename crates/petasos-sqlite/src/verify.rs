//! Is the file sound, and are its conversations whole. Changes nothing.

use petasos_contract::SessionId;
use petasos_store::StoreError;
use rusqlite::Connection;
use serde::Serialize;

use crate::leases::{self, Party};
use crate::sqlite::failed;
use crate::{messages, repair};

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

impl Verified {
    /// Adds what was found elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.messages += other.messages;
        self.findings.extend(other.findings);
    }
}

/// The identities of all conversations.
pub(crate) fn sessions(connection: &Connection) -> Result<Vec<SessionId>, StoreError> {
    let mut statement =
        connection.prepare("SELECT id FROM sessions ORDER BY id").map_err(failed)?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
    ids.map(|id| id.map(SessionId::new).map_err(failed)).collect()
}

/// Looks at the structure of the file.
pub(crate) fn check_file(connection: &Connection) -> Result<Vec<Finding>, StoreError> {
    let mut statement = connection.prepare("PRAGMA integrity_check(20)").map_err(failed)?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
    let mut findings = Vec::new();
    for line in lines {
        let line = line.map_err(failed)?;
        if line != "ok" {
            findings.push(Finding { session: None, what: format!("database: {line}") });
        }
    }
    Ok(findings)
}

/// Looks at one conversation. Calls without a result are nothing odd while a turn runs.
pub(crate) fn check_session(
    connection: &Connection,
    id: &SessionId,
    me: &Party,
) -> Result<Verified, StoreError> {
    let mut found = Verified { sessions: 1, ..Verified::default() };
    let runs = leases::holder(connection, id, me)?.is_some();
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
        if runs && matches!(fault, repair::Fault::Unanswered { .. }) {
            continue;
        }
        tell(match fault {
            repair::Fault::Unanswered { call, tool, .. } => {
                format!("`{tool}` ({call}) has no result: the next resume repairs it")
            }
            repair::Fault::Stray { seq } => format!("result {seq} answers no call"),
        });
    }
    found.messages = count;
    Ok(found)
}

/// The first message of a conversation that cannot be read or is not what was written.
pub(crate) fn unsound(connection: &Connection, id: &SessionId) -> Result<Option<i64>, StoreError> {
    let columns = messages::columns();
    let sql = format!("SELECT {columns} FROM messages WHERE session = ?1 ORDER BY place, id");
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut rows = statement.query([id.as_str()]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        if !matches!(messages::read_row(row), Ok((_, true))) {
            return Ok(Some(row.get(0).map_err(failed)?));
        }
    }
    Ok(None)
}
