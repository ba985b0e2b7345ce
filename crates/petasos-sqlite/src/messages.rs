//! Messages as columns and back, exactly: what was stored is what is replayed.

use petasos_contract::SessionId;
use petasos_contract::call::Disposition;
use petasos_contract::message::{
    Assistant, Content, Message, Part, Replay, RequestedCall, ToolMessage,
};
use petasos_store::{LoadedRow, Row, Seq, Slice, StoreError, Stored};
use rusqlite::{Connection, Row as SqlRow, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::inbox;
use crate::leases::Party;
use crate::sessions::{self, spend};
use crate::sqlite::failed;
use crate::stamp::now_ms;

/// How much of a first message a list shows.
const PREVIEW_CHARS: usize = 120;
/// The columns that [`read_row`] reads, in its order.
const COLUMNS: &str = "id, at_ms, active, role, content, parts, reasoning, calls, replay, call, \
                       tool, sent, turn, finish, disposition, tokens, note, sum";

/// The columns of one message.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    role: &'static str,
    content: Option<String>,
    parts: Option<String>,
    reasoning: Option<String>,
    calls: Option<String>,
    replay: Option<String>,
    call: Option<String>,
    tool: Option<String>,
}

impl Columns {
    fn of(message: &Message) -> Result<Self, StoreError> {
        Ok(match message {
            Message::User { content } => {
                let (content, parts) = split(content)?;
                Self { role: "user", content, parts, ..Self::default() }
            }
            Message::Assistant(said) => Self {
                role: "assistant",
                content: said.content.clone(),
                reasoning: said.reasoning.clone(),
                calls: (!said.tool_calls.is_empty()).then(|| json(&said.tool_calls)).transpose()?,
                replay: said.replay.as_ref().map(json).transpose()?,
                ..Self::default()
            },
            Message::Tool(result) => {
                let (content, parts) = split(&result.content)?;
                let call = Some(result.tool_call_id.to_string());
                let tool = result.name.as_ref().map(ToString::to_string);
                Self { role: "tool", content, parts, call, tool, ..Self::default() }
            }
        })
    }

    /// Tells whether the row is still what was written.
    fn sum(&self) -> i64 {
        let columns = [
            Some(self.role),
            self.content.as_deref(),
            self.parts.as_deref(),
            self.calls.as_deref(),
            self.replay.as_deref(),
            self.call.as_deref(),
        ];
        let mut hasher = Sha256::new();
        for column in columns {
            hasher.update([u8::from(column.is_some())]);
            hasher.update(column.unwrap_or_default());
            hasher.update([0]);
        }
        let digest = hasher.finalize();
        digest.iter().take(8).fold(0_i64, |sum, byte| sum << 8 | i64::from(*byte))
    }
}

/// Text for search, and the parts when there is more than text.
fn split(content: &Content) -> Result<(Option<String>, Option<String>), StoreError> {
    Ok(match content {
        Content::Text(text) => (Some(text.clone()), None),
        Content::Parts(parts) => (Some(content.text()), Some(json(parts)?)),
    })
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}

/// Adds rows. Gives the places of the messages among them.
pub(crate) fn append(
    connection: &Connection,
    session: &SessionId,
    rows: &[Row],
    me: &Party,
) -> Result<Vec<Seq>, StoreError> {
    let mut seqs = Vec::new();
    for row in rows {
        match row {
            Row::Expect(last) => expect(connection, session, *last)?,
            Row::Message(stored) => seqs.push(insert(connection, session, stored, None)?),
            Row::Spent(spent) => spend(connection, session, spent)?,
            Row::Started(calls) => {
                for call in calls {
                    journal(connection, session, call.as_str(), None)?;
                }
            }
            Row::Ended { call, text, disposition } => {
                journal(connection, session, call.as_str(), Some((text, *disposition)))?;
            }
            Row::Answers(answer) => drop(inbox::finish(connection, answer, me)?),
        }
    }
    touch(connection, session)?;
    Ok(seqs)
}

fn expect(
    connection: &Connection,
    session: &SessionId,
    last: Option<Seq>,
) -> Result<(), StoreError> {
    if sessions::last_seq(connection, session)? == last {
        return Ok(());
    }
    Err(StoreError::Conflict { session: session.clone() })
}

/// Marks the conversation as just used.
fn touch(connection: &Connection, session: &SessionId) -> Result<(), StoreError> {
    let sql = "UPDATE sessions SET updated_ms = ?2, ended_ms = NULL, end_reason = NULL \
               WHERE id = ?1";
    let changed = connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.execute(params![session.as_str(), now_ms()]))
        .map_err(failed)?;
    if changed == 0 {
        return Err(StoreError::NotFound { handle: session.to_string() });
    }
    Ok(())
}

fn journal(
    connection: &Connection,
    session: &SessionId,
    call: &str,
    ended: Option<(&String, Disposition)>,
) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO calls(session, call, ended, text, disposition, at_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (text, disposition) = ended.unzip();
    connection
        .prepare_cached(sql)
        .and_then(|mut sql| {
            let disposition = disposition.map(word);
            let ended = text.is_some();
            sql.execute(params![session.as_str(), call, ended, text, disposition, now_ms()])
        })
        .map_err(failed)?;
    Ok(())
}

/// Adds one message: behind the others, or in the place of hidden ones.
pub(crate) fn insert(
    connection: &Connection,
    session: &SessionId,
    stored: &Stored,
    place: Option<i64>,
) -> Result<Seq, StoreError> {
    insert_at(connection, session, stored, place, now_ms())
}

/// As [`insert`], with the time it happened.
pub(crate) fn insert_at(
    connection: &Connection,
    session: &SessionId,
    stored: &Stored,
    place: Option<i64>,
    at_ms: i64,
) -> Result<Seq, StoreError> {
    let columns = Columns::of(&stored.message)?;
    let sql = "INSERT INTO messages(session, place, at_ms, role, content, parts, reasoning, calls, \
               replay, call, tool, sent, turn, finish, disposition, tokens, note, sum) \
               VALUES (?1, coalesce(?2, (SELECT seq + 1 FROM sqlite_sequence \
               WHERE name = 'messages'), 1), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
               ?15, ?16, ?17, ?18)";
    let finish = stored.finish.map(word);
    let disposition = stored.disposition.map(word);
    let turn = stored.turn.as_ref().map(ToString::to_string);
    connection
        .prepare_cached(sql)
        .and_then(|mut sql| {
            sql.execute(params![
                session.as_str(),
                place,
                at_ms,
                columns.role,
                columns.content,
                columns.parts,
                columns.reasoning,
                columns.calls,
                columns.replay,
                columns.call,
                columns.tool,
                stored.sent,
                turn,
                finish,
                disposition,
                stored.tokens,
                stored.note,
                columns.sum(),
            ])
        })
        .map_err(failed)?;
    let seq = connection.last_insert_rowid();
    if let Some(call) = &columns.call {
        connection
            .prepare_cached("DELETE FROM calls WHERE session = ?1 AND call = ?2")
            .and_then(|mut sql| sql.execute(params![session.as_str(), call]))
            .map_err(failed)?;
    }
    count(connection, session, seq, &columns)?;
    Ok(seq)
}

fn count(
    connection: &Connection,
    session: &SessionId,
    seq: Seq,
    columns: &Columns,
) -> Result<(), StoreError> {
    let first = columns.content.as_deref().filter(|_| columns.role == "user");
    let preview: String =
        first.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let preview: String = preview.chars().take(PREVIEW_CHARS).collect();
    let sql = "UPDATE sessions SET messages = messages + 1, last_seq = max(?2, coalesce(last_seq, \
               0)), preview = CASE preview WHEN '' THEN ?3 ELSE preview END WHERE id = ?1";
    connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.execute(params![session.as_str(), seq, preview]))
        .map_err(failed)?;
    Ok(())
}

/// Rows of a conversation in order; `hidden` ones too or not.
pub(crate) fn rows(
    connection: &Connection,
    session: &SessionId,
    hidden: bool,
) -> Result<Vec<LoadedRow>, StoreError> {
    rows_after(connection, session, hidden, Seq::MIN)
}

/// The same, of those behind a row.
fn rows_after(
    connection: &Connection,
    session: &SessionId,
    hidden: bool,
    after: Seq,
) -> Result<Vec<LoadedRow>, StoreError> {
    let only = if hidden { "" } else { "AND active = 1" };
    let sql = format!(
        "SELECT {COLUMNS} FROM messages WHERE session = ?1 AND id > ?2 {only} ORDER BY place, id"
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut found = statement.query(params![session.as_str(), after]).map_err(failed)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        rows.push(read_row(row)?.0);
    }
    Ok(rows)
}

/// A part of a conversation, hidden rows included.
pub(crate) fn slice(
    connection: &Connection,
    session: &SessionId,
    slice: Slice,
) -> Result<Vec<LoadedRow>, StoreError> {
    if let Slice::After(seq) = slice {
        return rows_after(connection, session, true, seq);
    }
    let mut all = rows(connection, session, true)?;
    Ok(match slice {
        Slice::Ends { first, last } if all.len() > first + last => {
            let tail = all.split_off(all.len() - last);
            all.truncate(first);
            all.extend(tail);
            all
        }
        Slice::Whole | Slice::After(_) | Slice::Ends { .. } => all,
        Slice::Around { seq, radius } => {
            let Some(at) = all.iter().position(|row| row.seq == seq) else {
                return Err(StoreError::NotFound { handle: format!("{session} message {seq}") });
            };
            let from = at.saturating_sub(radius);
            all.into_iter().skip(from).take(at - from + radius + 1).collect()
        }
    })
}

/// One row, and whether it is still what was written.
pub(crate) fn read_row(row: &SqlRow<'_>) -> Result<(LoadedRow, bool), StoreError> {
    let text = |at: usize| row.get::<_, Option<String>>(at).map_err(failed);
    let role: String = row.get(3).map_err(failed)?;
    let columns = Columns {
        role: match role.as_str() {
            "user" => "user",
            "assistant" => "assistant",
            _ => "tool",
        },
        content: text(4)?,
        parts: text(5)?,
        reasoning: text(6)?,
        calls: text(7)?,
        replay: text(8)?,
        call: text(9)?,
        tool: text(10)?,
    };
    let sound = columns.sum() == row.get::<_, i64>(17).map_err(failed)?;
    let stored = Stored {
        message: message(columns)?,
        sent: text(11)?,
        turn: text(12)?.map(Into::into),
        finish: text(13)?.and_then(|text| unword(&text)),
        disposition: text(14)?.and_then(|text| disposition(&text)),
        tokens: row.get(15).map_err(failed)?,
        note: text(16)?,
    };
    let seq = row.get(0).map_err(failed)?;
    let at_ms = row.get(1).map_err(failed)?;
    let active = row.get(2).map_err(failed)?;
    Ok((LoadedRow { seq, at_ms, active, stored }, sound))
}

/// The columns that [`read_row`] reads.
pub(crate) fn columns() -> &'static str {
    COLUMNS
}

fn message(columns: Columns) -> Result<Message, StoreError> {
    let content = |text: Option<String>, parts: Option<String>| match parts {
        Some(parts) => Ok(Content::Parts(parse::<Vec<Part>>(&parts)?)),
        None => Ok::<_, StoreError>(Content::Text(text.unwrap_or_default())),
    };
    Ok(match columns.role {
        "user" => Message::User { content: content(columns.content, columns.parts)? },
        "assistant" => {
            let calls = columns.calls.as_deref().map(parse::<Vec<RequestedCall>>).transpose()?;
            Message::Assistant(Assistant {
                content: columns.content,
                reasoning: columns.reasoning,
                tool_calls: calls.unwrap_or_default(),
                replay: columns.replay.as_deref().map(parse::<Replay>).transpose()?,
            })
        }
        _ => Message::Tool(ToolMessage {
            tool_call_id: columns.call.unwrap_or_default().into(),
            name: columns.tool.map(Into::into),
            content: content(columns.content, columns.parts)?,
        }),
    })
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Damaged { detail: format!("a stored message: {error}") })
}

/// The word that serde writes for a unit variant.
pub(crate) fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

pub(crate) fn unword<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).ok()
}

/// The disposition of a word.
pub(crate) fn disposition(text: &str) -> Option<Disposition> {
    match text {
        "done" => Some(Disposition::Done),
        "none" => Some(Disposition::None),
        "unknown" => Some(Disposition::Unknown),
        _ => None,
    }
}
