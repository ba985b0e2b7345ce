//! Takes over the conversations of a Hermes `state.db`, which is opened read-only.
//!
//! Columns came and went over its versions, so each is used when it is there. What it cannot take
//! it names, with the reason; what was taken before is not taken twice.

use std::collections::BTreeSet;
use std::path::Path;

use petasos_contract::SessionId;
use petasos_contract::message::{Assistant, Content, Message, Part, RequestedCall, ToolMessage};
use petasos_store::{Lineage, NewSession, StoreError, Stored};
use rusqlite::{Connection, OpenFlags, Row, params};
use serde::Serialize;

use crate::sqlite::failed;
use crate::{messages, repair, sessions};

/// What an import took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// How many conversations.
    pub sessions: u64,
    /// How many messages.
    pub messages: u64,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// What had to be repaired.
    pub repairs: Vec<String>,
    /// Why it ended before everything was taken. Doing it again takes the rest.
    pub stopped: Option<String>,
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The conversation.
    pub session: String,
    /// Why.
    pub why: String,
}

impl Imported {
    /// Adds what was taken elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.messages += other.messages;
        self.skipped.extend(other.skipped);
        self.repairs.extend(other.repairs);
    }
}

/// A conversation over there.
pub(crate) struct Foreign {
    id: String,
    source: String,
    title: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    system_prompt: Option<String>,
    parent: Option<String>,
    cwd: Option<String>,
    started_ms: i64,
    end_reason: Option<String>,
    usage: [i64; 5],
}

/// Another agent's database, opened to be read.
pub(crate) struct Source {
    connection: Connection,
    origin: String,
}

impl Source {
    /// Opens it.
    pub(crate) fn open(from: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: open(from)?, origin: from.display().to_string() })
    }

    /// Its conversations.
    pub(crate) fn sessions(&self) -> Result<Vec<Foreign>, StoreError> {
        foreign_sessions(&self.connection)
    }

    /// Takes one conversation, unless it is here already.
    pub(crate) fn take(
        &self,
        connection: &Connection,
        session: Foreign,
    ) -> Result<Imported, StoreError> {
        let mut done = Imported::default();
        if let Some(why) = unwanted(connection, &session)? {
            done.skipped.push(Skipped { session: session.id, why });
            return Ok(done);
        }
        done.messages = take(connection, self, &session, &mut done.repairs)?;
        done.sessions = 1;
        Ok(done)
    }
}

/// What an import would take.
pub(crate) fn preview(connection: &Connection, from: &Path) -> Result<Imported, StoreError> {
    let source = open(from)?;
    let mut would = Imported::default();
    for session in foreign_sessions(&source)? {
        if let Some(why) = unwanted(connection, &session)? {
            would.skipped.push(Skipped { session: session.id, why });
            continue;
        }
        would.sessions += 1;
        let sql = "SELECT count(*) FROM messages WHERE session_id = ?1";
        would.messages +=
            source.query_row(sql, [&session.id], |row| row.get::<_, u64>(0)).map_err(failed)?;
    }
    Ok(would)
}

fn open(from: &Path) -> Result<Connection, StoreError> {
    open_with(from, &["sessions", "messages"], "state.db")
}

/// Opens a database of another agent that must have these tables.
pub(crate) fn open_with(
    from: &Path,
    tables: &[&str],
    file: &str,
) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let source = Connection::open_with_flags(address(from), flags)
        .map_err(|error| StoreError::Failed(format!("`{}`: {error}", from.display())))?;
    for table in tables {
        if columns(&source, table)?.is_empty() {
            let wanted = tables.join("` and `");
            let what = format!("`{}` has no `{wanted}`: is it a {file}?", from.display());
            return Err(StoreError::Failed(what));
        }
    }
    Ok(source)
}

/// Even a reader makes files beside a database with a write-ahead log. One whose log is empty is
/// opened as a file that does not change, so that the other home stays untouched.
fn address(from: &Path) -> String {
    let mut log = from.as_os_str().to_owned();
    log.push("-wal");
    let is_busy = std::fs::metadata(&log).is_ok_and(|found| found.len() > 0);
    let path = from.display().to_string();
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let how = if is_busy { "mode=ro" } else { "mode=ro&immutable=1" };
    format!("file:{path}?{how}")
}

/// The columns of a table; none when it is not there.
pub(crate) fn columns(source: &Connection, table: &str) -> Result<BTreeSet<String>, StoreError> {
    let mut statement = source.prepare(&format!("PRAGMA table_info({table})")).map_err(failed)?;
    let names = statement.query_map([], |row| row.get::<_, String>(1)).map_err(failed)?;
    names.collect::<Result<_, _>>().map_err(failed)
}

/// The wanted columns as they can be selected: missing ones as nothing.
pub(crate) fn select(known: &BTreeSet<String>, wanted: &[&str]) -> String {
    let one = |name: &&str| {
        if known.contains(*name) { (*name).to_owned() } else { format!("NULL AS {name}") }
    };
    wanted.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn foreign_sessions(source: &Connection) -> Result<Vec<Foreign>, StoreError> {
    let wanted = [
        "id",
        "source",
        "title",
        "model",
        "billing_provider",
        "system_prompt",
        "parent_session_id",
        "cwd",
        "started_at",
        "end_reason",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
    ];
    let known = columns(source, "sessions")?;
    let sql = format!("SELECT {} FROM sessions ORDER BY started_at, id", select(&known, &wanted));
    let mut statement = source.prepare(&sql).map_err(failed)?;
    let number =
        |row: &Row<'_>, at: usize| row.get::<_, Option<i64>>(at).map(Option::unwrap_or_default);
    let rows = statement
        .query_map([], |row| {
            Ok(Foreign {
                id: row.get(0)?,
                source: row.get::<_, Option<String>>(1)?.unwrap_or_else(|| "cli".to_owned()),
                title: row.get(2)?,
                model: row.get(3)?,
                provider: row.get(4)?,
                system_prompt: row.get(5)?,
                parent: row.get(6)?,
                cwd: row.get(7)?,
                started_ms: moment(row, 8)?,
                end_reason: row.get(9)?,
                usage: [
                    number(row, 10)?,
                    number(row, 11)?,
                    number(row, 12)?,
                    number(row, 13)?,
                    number(row, 14)?,
                ],
            })
        })
        .map_err(failed)?;
    rows.collect::<Result<_, _>>().map_err(failed)
}

/// A moment as seconds with a fraction, as it is kept over there.
fn moment(row: &Row<'_>, at: usize) -> rusqlite::Result<i64> {
    let seconds = row.get::<_, Option<f64>>(at)?.unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 fit well")]
    Ok((seconds * 1000.0) as i64)
}

fn unwanted(connection: &Connection, session: &Foreign) -> Result<Option<String>, StoreError> {
    let sql = "SELECT EXISTS(SELECT 1 FROM sessions WHERE id = ?1)";
    let here: bool = connection.query_row(sql, [&session.id], |row| row.get(0)).map_err(failed)?;
    Ok(here.then(|| "a session with this identity is already here".to_owned()))
}

fn take(
    connection: &Connection,
    source: &Source,
    session: &Foreign,
    repairs: &mut Vec<String>,
) -> Result<u64, StoreError> {
    let id = SessionId::new(session.id.as_str());
    let title = session.title.as_deref().filter(|title| !title.trim().is_empty());
    let title = title.map(|title| sessions::free_title(connection, title)).transpose()?;
    let lineage =
        if session.source == "subagent" { Lineage::Subagent } else { Lineage::Continuation };
    let new = NewSession {
        id: Some(id.clone()),
        source: session.source.clone(),
        title,
        model: session.model.clone(),
        provider: session.provider.clone(),
        system_prompt: session.system_prompt.clone(),
        cwd: session.cwd.clone(),
        parent: session.parent.clone().map(|parent| (parent.into(), lineage)),
        // Who imports a history has it from then on.
        owner: None,
    };
    sessions::create_at(connection, &new, session.started_ms, Some(&source.origin))?;
    let taken = take_messages(connection, &source.connection, &id, repairs)?;
    let rows = messages::rows(connection, &id, false)?;
    let cause = repair::Cause::Lost(std::collections::BTreeMap::new());
    let words = repair::mend(connection, &id, &repair::faults(&rows), &cause)?;
    repairs.extend(words.into_iter().map(|what| format!("{id}: {what}")));
    sessions::recount(connection, &id)?;
    let [input, output, cache_read, cache_write, reasoning] = session.usage;
    let sql = "UPDATE sessions SET input = ?2, output = ?3, cache_read = ?4, cache_write = ?5, \
               reasoning = ?6, end_reason = ?7, updated_ms = coalesce((SELECT max(at_ms) \
               FROM messages WHERE session = ?1), started_ms) WHERE id = ?1";
    let values =
        params![id.as_str(), input, output, cache_read, cache_write, reasoning, session.end_reason];
    connection.execute(sql, values).map_err(failed)?;
    Ok(taken)
}

fn take_messages(
    connection: &Connection,
    source: &Connection,
    id: &SessionId,
    repairs: &mut Vec<String>,
) -> Result<u64, StoreError> {
    let wanted = [
        "id",
        "role",
        "content",
        "tool_call_id",
        "tool_calls",
        "tool_name",
        "timestamp",
        "token_count",
        "reasoning",
        "reasoning_content",
        "active",
        "api_content",
    ];
    let known = columns(source, "messages")?;
    let sql = format!(
        "SELECT {} FROM messages WHERE session_id = ?1 ORDER BY id",
        select(&known, &wanted)
    );
    let mut statement = source.prepare(&sql).map_err(failed)?;
    let mut rows = statement.query([id.as_str()]).map_err(failed)?;
    let mut taken = 0;
    while let Some(row) = rows.next().map_err(failed)? {
        let seq: i64 = row.get(0).map_err(failed)?;
        let active = row.get::<_, Option<bool>>(10).map_err(failed)?.unwrap_or(true);
        match foreign_message(row)? {
            Ok(stored) => {
                let at_ms = moment(row, 6).map_err(failed)?;
                let here = messages::insert_at(connection, id, &stored, None, at_ms)?;
                if !active {
                    let sql = "UPDATE messages SET active = 0 WHERE id = ?1";
                    connection.execute(sql, [here]).map_err(failed)?;
                }
                taken += 1;
            }
            Err(why) => repairs.push(format!("{id}: message {seq} was left out: {why}")),
        }
    }
    Ok(taken)
}

/// A message over there, or why it cannot be taken.
fn foreign_message(row: &Row<'_>) -> Result<Result<Stored, String>, StoreError> {
    let text = |at: usize| row.get::<_, Option<String>>(at).map_err(failed);
    let role: String = row.get(1).map_err(failed)?;
    let content = text(2)?;
    let message = match role.as_str() {
        "user" => Message::User { content: parts(content.unwrap_or_default()) },
        "assistant" => {
            let calls = text(4)?.filter(|calls| !calls.trim().is_empty());
            let calls = match calls.map(|calls| serde_json::from_str::<Vec<RequestedCall>>(&calls))
            {
                Some(Err(error)) => return Ok(Err(format!("its tool calls: {error}"))),
                Some(Ok(calls)) => calls,
                None => Vec::new(),
            };
            let reasoning = text(8)?.or(text(9)?);
            Message::Assistant(Assistant { content, reasoning, tool_calls: calls, replay: None })
        }
        "tool" => Message::Tool(ToolMessage {
            tool_call_id: text(3)?.unwrap_or_default().into(),
            name: text(5)?.map(Into::into),
            content: parts(content.unwrap_or_default()),
        }),
        other => return Ok(Err(format!("it has the role `{other}`"))),
    };
    let tokens = row.get::<_, Option<u32>>(7).map_err(failed)?.unwrap_or_default();
    Ok(Ok(Stored { sent: text(11)?, tokens, ..Stored::new(message) }))
}

/// Text and images are kept as a JSON list over there; everything else is text.
fn parts(text: String) -> Content {
    if text.trim_start().starts_with("[{")
        && let Ok(parts) = serde_json::from_str::<Vec<Part>>(&text)
    {
        return Content::Parts(parts);
    }
    Content::Text(text)
}
