//! Heads of conversations: begin, find, list, change, fork, delete.

use petasos_contract::SessionId;
use petasos_contract::reply::{Cost, Usage};
use petasos_store::{
    Amend, Filter, Lineage, NewSession, Seq, SessionExtent, SessionHead, SessionScope, Spent,
    StoreError, Swap,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::messages::{self, word};
use crate::sqlite::failed;
use crate::stamp::{new_session_id, now_ms};
use crate::{owners, questions, repair};

/// The longest title.
const TITLE_CHARS_MAX: usize = 100;
/// How many a list shows when nobody says otherwise.
const LIST_USUAL: usize = 50;
/// Conversations that a person did not have, left out of lists and searches.
pub(crate) const HIDDEN_SOURCES: &str = "('subagent', 'tool', 'cron')";
/// The columns that [`read_head`] reads, in its order.
pub(crate) const COLUMNS: &str = "s.id, s.title, s.source, s.model, s.provider, s.cwd, s.parent, \
    s.lineage, s.root, s.started_ms, s.updated_ms, s.end_reason, s.archived, s.messages, \
    s.preview, s.input, s.output, s.cache_read, s.cache_write, s.reasoning, s.requests, s.cost_usd, \
    s.platform, s.chat, s.thread, s.user, s.planning, s.chosen";

/// One head; its columns begin at `from`.
pub(crate) fn read_head(row: &Row<'_>, from: usize) -> rusqlite::Result<SessionHead> {
    let lineage: Option<String> = row.get(from + 7)?;
    Ok(SessionHead {
        id: row.get(from)?,
        title: row.get(from + 1)?,
        source: row.get(from + 2)?,
        model: row.get(from + 3)?,
        provider: row.get(from + 4)?,
        cwd: row.get(from + 5)?,
        parent: row.get(from + 6)?,
        lineage: lineage.and_then(|text| {
            serde_json::from_value::<Lineage>(serde_json::Value::String(text)).ok()
        }),
        root: row.get(from + 8)?,
        started_ms: row.get(from + 9)?,
        updated_ms: row.get(from + 10)?,
        end_reason: row.get(from + 11)?,
        archived: row.get(from + 12)?,
        messages: row.get(from + 13)?,
        preview: row.get(from + 14)?,
        usage: Usage {
            input: row.get(from + 15)?,
            output: row.get(from + 16)?,
            cache_read: row.get(from + 17)?,
            cache_write: row.get(from + 18)?,
            reasoning: row.get(from + 19)?,
            requests: row.get(from + 20)?,
        },
        cost_usd: row.get(from + 21)?,
        owner: owners::read(row, from + 22)?,
        planning: row.get(from + 26)?,
        chosen: serde_json::from_str(&row.get::<_, String>(from + 27)?).unwrap_or_default(),
    })
}

/// Begins a conversation.
pub(crate) fn create(connection: &Connection, new: &NewSession) -> Result<SessionHead, StoreError> {
    create_at(connection, new, now_ms(), None)
}

/// Begins a conversation at a given time, perhaps one from elsewhere.
pub(crate) fn create_at(
    connection: &Connection,
    new: &NewSession,
    at_ms: i64,
    imported_from: Option<&str>,
) -> Result<SessionHead, StoreError> {
    let id = new.id.clone().unwrap_or_else(new_session_id);
    let title = new.title.as_deref().map(tidy_title);
    if let Some(title) = &title
        && title_taken(connection, title)?
    {
        return Err(StoreError::TitleTaken { title: title.clone() });
    }
    let parent = new.parent.as_ref();
    let root = match parent {
        Some((parent, _)) => find_id(connection, parent.as_str())?
            .map_or_else(|| parent.to_string(), |head| head.root),
        None => id.to_string(),
    };
    let sql = "INSERT INTO sessions(id, source, title, model, provider, system_prompt, cwd, parent, \
               lineage, root, started_ms, updated_ms, imported_from, platform, chat, thread, user) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14, ?15, ?16)";
    let [platform, chat, thread, user] =
        owners::columns(owners::inherited(connection, new)?.as_ref());
    connection
        .execute(
            sql,
            params![
                id.as_str(),
                new.source,
                title,
                new.model,
                new.provider,
                new.system_prompt,
                new.cwd,
                parent.map(|(parent, _)| parent.to_string()),
                parent.map(|(_, lineage)| word(lineage)),
                root,
                at_ms,
                imported_from,
                platform,
                chat,
                thread,
                user,
            ],
        )
        .map_err(failed)?;
    head(connection, &id)
}

/// What is known about a conversation that must be there.
pub(crate) fn head(connection: &Connection, id: &SessionId) -> Result<SessionHead, StoreError> {
    find_id(connection, id.as_str())?.ok_or_else(|| StoreError::NotFound { handle: id.to_string() })
}

/// Its system prompt.
pub(crate) fn system_prompt(
    connection: &Connection,
    id: &SessionId,
) -> Result<Option<String>, StoreError> {
    let sql = "SELECT system_prompt FROM sessions WHERE id = ?1";
    connection.query_row(sql, [id.as_str()], |row| row.get(0)).map_err(failed)
}

/// Its last row.
pub(crate) fn last_seq(connection: &Connection, id: &SessionId) -> Result<Option<Seq>, StoreError> {
    let sql = "SELECT last_seq FROM sessions WHERE id = ?1";
    let found = connection.query_row(sql, [id.as_str()], |row| row.get(0)).optional();
    found.map_err(failed)?.ok_or_else(|| StoreError::NotFound { handle: id.to_string() })
}

/// The last row, and how many messages are replayed.
pub(crate) fn extent(
    connection: &Connection,
    id: &SessionId,
) -> Result<(Option<Seq>, u64), StoreError> {
    let sql = "SELECT last_seq, messages FROM sessions WHERE id = ?1";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found = connection.query_row(sql, [id.as_str()], read).optional();
    found.map_err(failed)?.ok_or_else(|| StoreError::NotFound { handle: id.to_string() })
}

/// Those that were changed at this moment or later.
pub(crate) fn updated_since(
    connection: &Connection,
    ms: i64,
) -> Result<Vec<SessionExtent>, StoreError> {
    let sql = "SELECT id, last_seq, messages FROM sessions WHERE updated_ms >= ?1";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let read = |row: &Row<'_>| {
        let session = SessionId::new(row.get::<_, String>(0)?);
        Ok(SessionExtent { session, last: row.get(1)?, messages: row.get(2)? })
    };
    let found = statement.query_map([ms], read).map_err(failed)?;
    found.collect::<Result<_, _>>().map_err(failed)
}

fn find_id(connection: &Connection, id: &str) -> Result<Option<SessionHead>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM sessions s WHERE s.id = ?1");
    connection
        .prepare_cached(&sql)
        .and_then(|mut sql| sql.query_row([id], |row| read_head(row, 0)).optional())
        .map_err(failed)
}

/// Finds by identity, beginning of it, title, beginning of a numbered title, or `latest`.
pub(crate) fn find(
    connection: &Connection,
    handle: &str,
    scope: &SessionScope,
) -> Result<SessionHead, StoreError> {
    let handle = handle.trim();
    let missing = || StoreError::NotFound { handle: handle.to_owned() };
    if handle.is_empty() {
        return Err(missing());
    }
    if handle == "latest" {
        let filter = Filter { limit: 1, scope: scope.clone(), ..Filter::default() };
        return list(connection, &filter)?.into_iter().next().ok_or_else(missing);
    }
    let is_seen = |head: &SessionHead| scope.sees(head.owner.as_ref());
    if let Some(head) = find_id(connection, handle)?.filter(is_seen) {
        return Ok(head);
    }
    let exact = format!("SELECT {COLUMNS} FROM sessions s WHERE s.title = ?1");
    let titled = connection
        .query_row(&exact, [handle], |row| read_head(row, 0))
        .optional()
        .map_err(failed)?;
    if let Some(head) = titled.filter(is_seen) {
        return Ok(head);
    }
    let (seen, mut values) = owners::seen(scope, 2);
    // The beginning of an identity as a range, so that `_` and `%` are themselves.
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions s WHERE ((s.id >= ?1 AND s.id < ?1 || char(1114111)) \
         OR lower(s.title) = lower(?1)) {seen} ORDER BY s.updated_ms DESC LIMIT 4"
    );
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    values.insert(0, Value::Text(handle.to_owned()));
    let found =
        statement.query_map(params_from_iter(values), |row| read_head(row, 0)).map_err(failed)?;
    let mut found = found.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if found.is_empty() {
        found = titled_like(connection, handle, scope)?;
    }
    match found.len() {
        0 => Err(missing()),
        1 => Ok(found.remove(0)),
        _ => {
            let names: Vec<&str> = found.iter().map(|head| head.id.as_str()).collect();
            let (handle, found) = (handle.to_owned(), names.join(", "));
            Err(StoreError::Ambiguous { handle, found })
        }
    }
}

/// Those whose titles begin so.
fn titled_like(
    connection: &Connection,
    beginning: &str,
    scope: &SessionScope,
) -> Result<Vec<SessionHead>, StoreError> {
    let (seen, mut values) = owners::seen(scope, 2);
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions s WHERE lower(substr(s.title, 1, length(?1))) = lower(?1) \
         {seen} ORDER BY s.updated_ms DESC LIMIT 4"
    );
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    values.insert(0, Value::Text(beginning.to_owned()));
    let found =
        statement.query_map(params_from_iter(values), |row| read_head(row, 0)).map_err(failed)?;
    found.collect::<Result<Vec<_>, _>>().map_err(failed)
}

/// The newest first.
pub(crate) fn list(
    connection: &Connection,
    filter: &Filter,
) -> Result<Vec<SessionHead>, StoreError> {
    let hidden = if filter.all_sources || filter.source.is_some() {
        String::new()
    } else {
        format!("AND s.source NOT IN {HIDDEN_SOURCES}")
    };
    let (seen, mut owned) = owners::seen(&filter.scope, 5);
    // An editor opens a conversation long before anything is said in it, often for nothing.
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions s WHERE (?1 IS NULL OR s.source = ?1) {hidden} \
         AND (?2 OR s.archived = 0) AND NOT (s.source = 'acp' AND s.last_seq IS NULL) {seen} \
         ORDER BY s.updated_ms DESC, s.id DESC LIMIT ?3 OFFSET ?4"
    );
    let limit = if filter.limit == 0 { LIST_USUAL } else { filter.limit };
    let number = |count: usize| Value::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    let source = filter.source.clone().map_or(Value::Null, Value::Text);
    let mut values =
        vec![source, Value::Integer(filter.archived.into()), number(limit), number(filter.offset)];
    values.append(&mut owned);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let found =
        statement.query_map(params_from_iter(values), |row| read_head(row, 0)).map_err(failed)?;
    found.collect::<Result<Vec<_>, _>>().map_err(failed)
}

/// Changes what is known. Gives the places of rows that were added.
pub(crate) fn amend(
    connection: &Connection,
    id: &SessionId,
    change: Amend,
) -> Result<Vec<Seq>, StoreError> {
    let set = |sql: &str, value: &dyn rusqlite::ToSql| {
        let sql = format!("UPDATE sessions SET {sql} WHERE id = ?1");
        let done = connection.execute(&sql, params![id.as_str(), value]).map_err(failed)?;
        if done == 0 {
            return Err(StoreError::NotFound { handle: id.to_string() });
        }
        Ok(Vec::new())
    };
    match change {
        Amend::Title(None) => set("title = ?2", &None::<String>),
        Amend::Title(Some(title)) => {
            let title = tidy_title(&title);
            let own = head(connection, id)?.title;
            if own.as_deref() != Some(title.as_str()) && title_taken(connection, &title)? {
                return Err(StoreError::TitleTaken { title });
            }
            set("title = ?2", &title)
        }
        Amend::SuggestTitle(title) => {
            let title = free_title(connection, &tidy_title(&title))?;
            set("title = coalesce(title, ?2)", &title)
        }
        Amend::SystemPrompt(prompt) => set("system_prompt = ?2", &prompt),
        Amend::Model { model, provider } => {
            set("model = ?2", &model)?;
            set("provider = ?2", &provider)
        }
        Amend::End(reason) => {
            set("end_reason = ?2", &reason)?;
            set("ended_ms = ?2", &now_ms())
        }
        Amend::Reopen => set("ended_ms = NULL, end_reason = ?2", &None::<String>),
        Amend::Archive(away) => set("archived = ?2", &away),
        Amend::Planning(on) => set("planning = ?2", &on),
        Amend::Chosen(chosen) => set("chosen = ?2", &serde_json::json!(chosen).to_string()),
        Amend::Spent(spent) => spend(connection, id, &spent).map(|()| Vec::new()),
        Amend::Swap(swaps) => {
            set("updated_ms = ?2", &now_ms())?;
            swap(connection, id, &swaps)
        }
        Amend::Rewind(from) => {
            set("updated_ms = ?2", &now_ms())?;
            rewind(connection, id, from)
        }
        _ => Err(StoreError::Failed("this change is not known to the store".to_owned())),
    }
}

/// Adds what a request used.
pub(crate) fn spend(
    connection: &Connection,
    id: &SessionId,
    spent: &Spent,
) -> Result<(), StoreError> {
    let (usd, status) = match spent.cost {
        Cost::Actual { usd } => (usd, "actual"),
        Cost::Estimated { usd } => (usd, "estimated"),
        Cost::Included => (0.0, "included"),
        Cost::Unknown => (0.0, "unknown"),
    };
    let (usage, served) = (&spent.usage, &spent.served);
    let sum = "input = input + ?2, output = output + ?3, cache_read = cache_read + ?4, \
               cache_write = cache_write + ?5, reasoning = reasoning + ?6, \
               requests = requests + ?7, cost_usd = cost_usd + ?8";
    let sql = format!("UPDATE sessions SET {sum} WHERE id = ?1");
    let numbers = params![
        id.as_str(),
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        usage.requests,
        usd
    ];
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    statement.execute(numbers).map_err(failed)?;
    let sql = format!(
        "INSERT INTO usage(session, input, output, cache_read, cache_write, reasoning, requests, \
         cost_usd, cost_status, model, provider, base_url, mode, task) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
         ON CONFLICT DO UPDATE SET {sum}, \
         cost_status = CASE WHEN cost_status = 'unknown' THEN cost_status ELSE ?9 END"
    );
    let values = params![
        id.as_str(),
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        usage.requests,
        usd,
        status,
        served.model,
        served.provider,
        served.base_url,
        served.api_mode,
        word(spent.role)
    ];
    connection.prepare_cached(&sql).and_then(|mut sql| sql.execute(values)).map_err(failed)?;
    Ok(())
}

/// Hides rows and shows others in their place; the log keeps both.
fn swap(connection: &Connection, id: &SessionId, swaps: &[Swap]) -> Result<Vec<Seq>, StoreError> {
    let mut seqs = Vec::new();
    for swap in swaps {
        let mut place = None;
        for seq in &swap.hidden {
            let sql = "UPDATE messages SET active = 0 WHERE id = ?1 AND session = ?2 \
                       RETURNING place";
            let found: Option<i64> = connection
                .prepare_cached(sql)
                .and_then(|mut sql| {
                    sql.query_row(params![seq, id.as_str()], |row| row.get(0)).optional()
                })
                .map_err(failed)?;
            place = place.max(found);
        }
        if let Some(shown) = &swap.shown {
            seqs.push(messages::insert(connection, id, shown, place)?);
        }
    }
    recount(connection, id)?;
    Ok(seqs)
}

fn rewind(connection: &Connection, id: &SessionId, from: Seq) -> Result<Vec<Seq>, StoreError> {
    let sql = "UPDATE messages SET active = 0 WHERE session = ?1 AND place >= \
               (SELECT place FROM messages WHERE id = ?2)";
    connection.execute(sql, params![id.as_str(), from]).map_err(failed)?;
    recount(connection, id)?;
    Ok(Vec::new())
}

/// Counts what is replayed.
pub(crate) fn recount(connection: &Connection, id: &SessionId) -> Result<(), StoreError> {
    let sql = "UPDATE sessions SET messages = \
               (SELECT count(*) FROM messages WHERE session = ?1 AND active = 1) WHERE id = ?1";
    connection.execute(sql, [id.as_str()]).map(drop).map_err(failed)
}

/// A new conversation that begins like another one.
pub(crate) fn fork(
    connection: &Connection,
    from: &SessionId,
    until: Option<Seq>,
    mut new: NewSession,
) -> Result<SessionHead, StoreError> {
    let origin = head(connection, from)?;
    new.system_prompt = new.system_prompt.or(system_prompt(connection, from)?);
    new.model = new.model.or(origin.model);
    new.provider = new.provider.or(origin.provider);
    new.cwd = new.cwd.or(origin.cwd);
    if new.source.is_empty() {
        new.source = origin.source;
    }
    new.parent = new.parent.or(Some((from.clone(), Lineage::Fork)));
    let fork = create(connection, &new)?;
    let id = fork.session();
    amend(connection, &id, Amend::Planning(origin.planning))?;
    amend(connection, &id, Amend::Chosen(origin.chosen))?;
    let mut rows = messages::rows(connection, from, false)?;
    if let Some(until) = until {
        let Some(last) = rows.iter().position(|row| row.seq == until) else {
            return Err(StoreError::NotFound { handle: format!("{from} message {until}") });
        };
        rows.truncate(last + 1);
    }
    for row in &rows {
        messages::insert_at(connection, &id, &row.stored, None, row.at_ms)?;
    }
    // A turn of the original may be running: what it has not brought yet is closed in the copy.
    let journal = repair::journal(connection, from)?;
    let copied = messages::rows(connection, &id, false)?;
    let faults = repair::faults(&copied);
    repair::mend(connection, &id, &faults, &repair::Cause::Forked(journal))?;
    recount(connection, &id)?;
    head(connection, &id)
}

/// Removes a conversation; those that came from it stay.
pub(crate) fn delete(connection: &Connection, id: &SessionId) -> Result<(), StoreError> {
    // Rows go first and by themselves: a cascade would not fire the triggers of the indexes.
    let sql = "DELETE FROM messages WHERE session = ?1";
    connection.execute(sql, [id.as_str()]).map_err(failed)?;
    questions::forget(connection, id)?;
    let done =
        connection.execute("DELETE FROM sessions WHERE id = ?1", [id.as_str()]).map_err(failed)?;
    if done == 0 {
        return Err(StoreError::NotFound { handle: id.to_string() });
    }
    Ok(())
}

fn tidy_title(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    words.join(" ").chars().take(TITLE_CHARS_MAX).collect()
}

pub(crate) fn title_taken(connection: &Connection, title: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS(SELECT 1 FROM sessions WHERE title = ?1)";
    connection.query_row(sql, [title], |row| row.get(0)).map_err(failed)
}

/// The title, or the first of ` #2`, ` #3`, … that nobody has.
pub(crate) fn free_title(connection: &Connection, title: &str) -> Result<String, StoreError> {
    let mut candidate = title.to_owned();
    let mut number = 1;
    while title_taken(connection, &candidate)? {
        number += 1;
        let end = format!(" #{number}");
        let room = TITLE_CHARS_MAX - end.len();
        candidate = title.chars().take(room).collect::<String>() + &end;
    }
    Ok(candidate)
}
