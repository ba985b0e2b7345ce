//! Torn turns: a process that died between a call and its result leaves a transcript that no
//! provider accepts. Here it becomes whole again: every call has exactly one result.
//!
//! [`faults`] decides and is pure; [`mend`] writes what it decided and says it in words.

use std::collections::{BTreeMap, BTreeSet};

use petasos_contract::call::Disposition;
use petasos_contract::message::{Content, Message, ToolMessage};
use petasos_contract::{CallId, SessionId, ToolName};
use petasos_store::{LoadedRow, Seq, StoreError, Stored, WaitingCalls};
use rusqlite::{Connection, params};

use crate::sqlite::failed;
use crate::{messages, questions, sessions};

/// What the journal knows of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Known {
    /// It had not begun.
    Waiting,
    /// It began; nobody knows how it ended.
    Started,
    /// It ended like this.
    Ended(String, Disposition),
    /// What came of it is not part of this copy.
    LeftOut,
}

/// Why calls have no result.
#[derive(Debug)]
pub(crate) enum Cause {
    /// The program ended in the middle of a turn; the journal says who had begun.
    Died(BTreeMap<String, Known>),
    /// The copy was made before they had one; the journal is the original's.
    Forked(BTreeMap<String, Known>),
    /// The conversation comes from elsewhere, or rows of it are lost; the journal may know more.
    Lost(BTreeMap<String, Known>),
}

impl Cause {
    fn known(&self, call: &CallId) -> &Known {
        match self {
            Self::Died(journal) => journal.get(call.as_str()).unwrap_or(&Known::Waiting),
            Self::Forked(journal) => match journal.get(call.as_str()) {
                Some(ended @ Known::Ended(..)) => ended,
                _ => &Known::LeftOut,
            },
            Self::Lost(journal) => match journal.get(call.as_str()) {
                Some(ended @ Known::Ended(..)) => ended,
                _ => &Known::Started,
            },
        }
    }
}

/// What is wrong with a transcript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// A call without a result; it belongs behind this row.
    Unanswered { behind: Seq, call: CallId, tool: ToolName },
    /// A result without a call, or a second one.
    Stray { seq: Seq },
}

/// What is wrong with the rows that would be replayed.
pub(crate) fn faults(rows: &[LoadedRow]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut open: Vec<(CallId, ToolName)> = Vec::new();
    let mut behind = 0;
    let close = |open: &mut Vec<(CallId, ToolName)>, behind: Seq, faults: &mut Vec<Fault>| {
        let lost = open.drain(..);
        faults.extend(lost.map(|(call, tool)| Fault::Unanswered { behind, call, tool }));
    };
    for row in rows {
        match &row.stored.message {
            Message::Tool(result) => {
                let answers = open.iter().position(|(call, _)| *call == result.tool_call_id);
                if let Some(at) = answers {
                    open.remove(at);
                    behind = row.seq;
                } else {
                    faults.push(Fault::Stray { seq: row.seq });
                }
            }
            Message::Assistant(said) => {
                close(&mut open, behind, &mut faults);
                let mut seen = BTreeSet::new();
                let calls = said.tool_calls.iter().filter(|call| seen.insert(call.id.clone()));
                open = calls.map(|call| (call.id.clone(), call.name.clone())).collect();
                behind = row.seq;
            }
            Message::User { .. } => close(&mut open, behind, &mut faults),
        }
    }
    close(&mut open, behind, &mut faults);
    faults
}

/// What the journal knows about a conversation.
pub(crate) fn journal(
    connection: &Connection,
    session: &SessionId,
) -> Result<BTreeMap<String, Known>, StoreError> {
    let sql = "SELECT call, ended, text, disposition FROM calls WHERE session = ?1";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement.query([session.as_str()]).map_err(failed)?;
    let mut known = BTreeMap::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let call: String = row.get(0).map_err(failed)?;
        let ended: bool = row.get(1).map_err(failed)?;
        let text: Option<String> = row.get(2).map_err(failed)?;
        let disposition: Option<String> = row.get(3).map_err(failed)?;
        let disposition = disposition.as_deref().and_then(messages::disposition);
        let what = match (ended, text) {
            (true, Some(text)) => Known::Ended(text, disposition.unwrap_or(Disposition::Unknown)),
            _ => Known::Started,
        };
        known.insert(call, what);
    }
    Ok(known)
}

/// Makes a conversation whole whose turn was cut off, but for calls that go on waiting for a person;
/// gives what was done, in words.
pub(crate) fn close(
    connection: &Connection,
    session: &SessionId,
    waiting: WaitingCalls,
) -> Result<Vec<String>, StoreError> {
    let rows = messages::rows(connection, session, false)?;
    let mut kept = match waiting {
        WaitingCalls::Close => Vec::new(),
        WaitingCalls::Keep => questions::waiting(connection, session)?,
    };
    let last = last_calls(&rows);
    kept.retain(|call| last.contains(call.as_str()));
    let mut faults = faults(&rows);
    faults.retain(|fault| match fault {
        Fault::Unanswered { call, .. } => !kept.iter().any(|kept| kept == call.as_str()),
        Fault::Stray { .. } => true,
    });
    questions::cancel(connection, session, &kept)?;
    let cause = Cause::Died(journal(connection, session)?);
    let done = mend(connection, session, &faults, &cause)?;
    sessions::recount(connection, session)?;
    Ok(done)
}

/// The calls of the last reply, when nobody has spoken since.
fn last_calls(rows: &[LoadedRow]) -> BTreeSet<&str> {
    let mut rows = rows.iter().rev();
    let last = rows.find(|row| !matches!(row.stored.message, Message::Tool(_)));
    match last.map(|row| &row.stored.message) {
        Some(Message::Assistant(said)) => {
            said.tool_calls.iter().map(|call| call.id.as_str()).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Writes what makes the transcript whole; gives what was done, in words.
pub(crate) fn mend(
    connection: &Connection,
    session: &SessionId,
    faults: &[Fault],
    cause: &Cause,
) -> Result<Vec<String>, StoreError> {
    let mut words = Vec::new();
    for fault in faults {
        match fault {
            Fault::Stray { seq } => {
                hide(connection, session, *seq)?;
                words.push(format!("result {seq} answers no call and is no longer replayed"));
            }
            Fault::Unanswered { behind, call, tool } => {
                let (text, disposition, how) = answer(tool, cause.known(call));
                let result = ToolMessage {
                    tool_call_id: call.clone(),
                    name: Some(tool.clone()),
                    content: Content::Text(text),
                };
                let stored = Stored {
                    disposition: Some(disposition),
                    note: Some("repair".to_owned()),
                    ..Stored::new(Message::Tool(result))
                };
                let place = place(connection, *behind)?;
                messages::insert(connection, session, &stored, Some(place))?;
                words.push(format!("`{tool}` was cut off: {how}"));
            }
        }
    }
    Ok(words)
}

/// What the model reads in place of a lost result.
fn answer(tool: &ToolName, known: &Known) -> (String, Disposition, &'static str) {
    match known {
        Known::Ended(text, disposition) => {
            (text.clone(), *disposition, "it had ended, its result was recovered")
        }
        Known::Waiting => (
            format!("[Not run: the program ended before `{tool}` was started]"),
            Disposition::None,
            "it had not been started",
        ),
        Known::LeftOut => (
            format!(
                "[Not in this copy: the conversation was forked before `{tool}` had a result. It \
                 may or may not have taken effect; check before repeating it.]"
            ),
            Disposition::Unknown,
            "it had no result yet",
        ),
        Known::Started => (
            format!(
                "[Result unavailable: the program ended while `{tool}` was running. It may or may \
                 not have taken effect; check before repeating it.]"
            ),
            Disposition::Unknown,
            "whether it took effect is unknown",
        ),
    }
}

fn hide(connection: &Connection, session: &SessionId, seq: Seq) -> Result<(), StoreError> {
    let sql = "UPDATE messages SET active = 0 WHERE id = ?1 AND session = ?2";
    connection.execute(sql, params![seq, session.as_str()]).map_err(failed)?;
    Ok(())
}

fn place(connection: &Connection, seq: Seq) -> Result<i64, StoreError> {
    let sql = "SELECT place FROM messages WHERE id = ?1";
    connection.query_row(sql, [seq], |row| row.get(0)).map_err(failed)
}
