//! Messages that came in, as an `InboxStore`.

mod rows;

use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_store::{
    Answer, InboundKind, InboundMessage, InboxRow, InboxState, InboxStore, Later, NewDelivery,
    Placing, Receipt, StoreError,
};
use rusqlite::{Connection, OptionalExtension, params};

use self::rows::{COLUMNS, one, stored, word};
pub(crate) use self::rows::{json, some};
use crate::leases::Party;
use crate::outbox;
use crate::sqlite::failed;
use crate::stamp::{new_row_id, now_ms};
use crate::store::Store;

/// Messages that are not settled, in the very words of their index: SQLite takes it for nothing
/// less, and everything else is a look at every message that ever came.
macro_rules! undone {
    () => {
        " AND state IN ('accepted', 'queued', 'running')"
    };
}

impl InboxStore for Store {
    fn accept<'a>(&'a self, message: &'a InboundMessage) -> Later<'a, Receipt> {
        let (message, me) = (message.clone(), Arc::clone(&self.party));
        let job = move |connection: &Connection| accept(connection, &message, &me);
        Box::pin(self.writer.write("a message that came in", job))
    }

    fn queue<'a>(&'a self, id: &'a str, session: &'a SessionId, limit: u32) -> Later<'a, Placing> {
        let (id, session) = (id.to_owned(), session.clone());
        let job = move |connection: &Connection| queue(connection, &id, &session, limit);
        Box::pin(self.writer.write("a message that waits", job))
    }

    fn claim<'a>(&'a self, session: &'a SessionId) -> Later<'a, Option<InboxRow>> {
        let (session, me) = (session.clone(), Arc::clone(&self.party));
        let job = move |connection: &Connection| claim(connection, &session, &me);
        Box::pin(self.writer.write("the next message", job))
    }

    fn collect<'a>(
        &'a self,
        id: &'a str,
        messages_max: usize,
        chars_max: usize,
    ) -> Later<'a, Option<InboxRow>> {
        let id = id.to_owned();
        let job = move |connection: &Connection| {
            collect(connection, &id, messages_max, chars_max)?;
            one(connection, &id)
        };
        Box::pin(self.writer.write("words that wait together", job))
    }

    fn join<'a>(&'a self, id: &'a str, others: &'a [String]) -> Later<'a, Option<InboxRow>> {
        let (id, others) = (id.to_owned(), others.to_vec());
        let job = move |connection: &Connection| {
            join(connection, &id, &others)?;
            one(connection, &id)
        };
        Box::pin(self.writer.write("messages that belong together", job))
    }

    fn recast<'a>(&'a self, id: &'a str, text: &'a str) -> Later<'a, bool> {
        let (id, text) = (id.to_owned(), text.to_owned());
        let job = move |connection: &Connection| {
            let sql = "UPDATE inbox SET event = 'text', body = ?2, reason = '' \
                       WHERE id = ?1 AND state = 'accepted'";
            let changed = connection.execute(sql, params![id, text]).map_err(failed)?;
            Ok(changed > 0)
        };
        Box::pin(self.writer.write("a command that is a message", job))
    }

    fn settle<'a>(
        &'a self,
        id: &'a str,
        from: &'a [InboxState],
        to: InboxState,
        reason: &'a str,
    ) -> Later<'a, bool> {
        let (id, from, reason) = (id.to_owned(), from.to_vec(), reason.to_owned());
        let job = move |connection: &Connection| {
            let Some(found) = state_of(connection, &id)? else { return Ok(false) };
            if !from.contains(&found) {
                return Ok(false);
            }
            set_state(connection, &id, to, &reason).map(|()| true)
        };
        Box::pin(self.writer.write("what became of a message", job))
    }

    fn finish<'a>(
        &'a self,
        id: &'a str,
        to: InboxState,
        reason: &'a str,
        deliveries: Vec<NewDelivery>,
    ) -> Later<'a, bool> {
        let me = Arc::clone(&self.party);
        let answer = Answer { inbox: id.to_owned(), to, reason: reason.to_owned(), deliveries };
        let job = move |connection: &Connection| finish(connection, &answer, &me);
        Box::pin(self.writer.write("the answer to a message", job))
    }

    fn requeue<'a>(&'a self, id: &'a str) -> Later<'a, bool> {
        let (id, me) = (id.to_owned(), Arc::clone(&self.party));
        let job = move |connection: &Connection| {
            if !is_ours(connection, &id, &me)? {
                return Ok(false);
            }
            set_state(connection, &id, InboxState::Queued, "again").map(|()| true)
        };
        Box::pin(self.writer.write("a message that waits again", job))
    }

    fn reword<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        message: &'a str,
        text: &'a str,
    ) -> Later<'a, bool> {
        let words = [platform, account, message, text].map(str::to_owned);
        let job = move |connection: &Connection| {
            let [platform, account, message, text] = words;
            let sql = concat!(
                "UPDATE inbox SET body = ?4 WHERE platform = ?1 AND account = ?2 ",
                "AND message = ?3 AND state != 'running'",
                undone!()
            );
            let changed = connection.execute(sql, params![platform, account, message, text]);
            changed.map(|changed| changed > 0).map_err(failed)
        };
        Box::pin(self.writer.write("an edited message", job))
    }

    fn withdraw<'a>(&'a self, session: &'a SessionId, reason: &'a str) -> Later<'a, u32> {
        let (session, reason) = (session.clone(), reason.to_owned());
        let job = move |connection: &Connection| {
            let sql = concat!(
                "UPDATE inbox SET state = 'withdrawn', reason = ?2, changed_ms = ?3 ",
                "WHERE session = ?1 AND state = 'queued'",
                undone!()
            );
            let changed = connection.execute(sql, params![session.as_str(), reason, now_ms()]);
            changed.map(|changed| u32::try_from(changed).unwrap_or(u32::MAX)).map_err(failed)
        };
        Box::pin(self.writer.write("messages taken back", job))
    }

    fn orphans(&self) -> Later<'_, Vec<InboxRow>> {
        let me = Arc::clone(&self.party);
        let job = move |connection: &Connection| orphans(connection, &me);
        Box::pin(self.writer.write("messages that nobody works on", job))
    }

    fn message<'a>(&'a self, id: &'a str) -> Later<'a, Option<InboxRow>> {
        let id = id.to_owned();
        let look = move |connection: &Connection| one(connection, &id);
        Box::pin(self.readers.read("a message", look))
    }

    fn depths(&self) -> Later<'_, Vec<(InboxState, u64)>> {
        let look = |connection: &Connection| {
            let sql = "SELECT state, count(*) FROM inbox GROUP BY state ORDER BY state";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let rows = sql.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
            let rows: Result<Vec<(String, u64)>, _> = rows.map_err(failed)?.collect();
            let rows = rows.map_err(failed)?.into_iter();
            Ok(rows.filter_map(|(word, count)| Some((InboxState::named(&word)?, count))).collect())
        };
        Box::pin(self.readers.read("how much waits", look))
    }

    fn undone(&self) -> Later<'_, u64> {
        let look = |connection: &Connection| {
            let sql = concat!("SELECT count(*) FROM inbox WHERE true", undone!());
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            sql.query_row([], |row| row.get(0)).map_err(failed)
        };
        Box::pin(self.readers.read("how much is undone", look))
    }

    fn waiting_sessions(&self) -> Later<'_, Vec<SessionId>> {
        let look = |connection: &Connection| {
            let sql = concat!(
                "SELECT session, min(id) FROM inbox WHERE state = 'queued'",
                undone!(),
                " GROUP BY session ORDER BY 2"
            );
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let rows = sql.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
            let rows: Result<Vec<String>, _> = rows.collect();
            Ok(rows.map_err(failed)?.into_iter().map(SessionId::from).collect())
        };
        Box::pin(self.readers.read("who waits", look))
    }

    fn waiting<'a>(&'a self, session: &'a SessionId) -> Later<'a, u32> {
        let session = session.clone();
        let look = move |connection: &Connection| undone(connection, &session);
        Box::pin(self.readers.read("how many wait", look))
    }

    fn forget_settled(&self, before_ms: i64, keep: u32) -> Later<'_, u64> {
        let job = move |connection: &Connection| {
            let sql = "DELETE FROM inbox WHERE id IN (SELECT id FROM (SELECT id, changed_ms, \
                       row_number() OVER (PARTITION BY platform, account ORDER BY changed_ms DESC) \
                       AS place FROM inbox WHERE state NOT IN ('accepted', 'queued', 'running')) \
                       WHERE place > ?2 AND changed_ms < ?1)";
            let removed = connection.execute(sql, params![before_ms, keep]).map_err(failed)?;
            outbox::forget(connection, before_ms)?;
            Ok(u64::try_from(removed).unwrap_or(u64::MAX))
        };
        Box::pin(self.writer.write("old messages", job))
    }
}

fn accept(
    connection: &Connection,
    message: &InboundMessage,
    me: &Party,
) -> Result<Receipt, StoreError> {
    let known = "SELECT id, state FROM inbox WHERE platform = ?1 AND account = ?2 AND dedup = ?3";
    let key = &message.key;
    let known = connection
        .prepare_cached(known)
        .and_then(|mut sql| {
            let row = params![key.platform, key.account, message.dedup];
            sql.query_row(row, |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
                .optional()
        })
        .map_err(failed)?;
    if let Some((id, state)) = known {
        let state = InboxState::named(&state).unwrap_or(InboxState::Ignored);
        return Ok(Receipt::Known(id, state));
    }
    let last: Option<String> = connection
        .prepare_cached("SELECT max(id) FROM inbox")
        .and_then(|mut sql| sql.query_row([], |row| row.get(0)))
        .map_err(failed)?;
    let id = new_row_id(last.as_deref());
    let media = json(&message.media)?;
    let event = word(&message.kind)?;
    let now = now_ms();
    let sql = "INSERT INTO inbox(id, profile, platform, account, kind, chat, thread, user, sender, \
               sender_name, dedup, message, sent_ms, event, body, media, received_ms, state, owner, \
               changed_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
               ?15, ?16, ?17, 'accepted', ?18, ?17)";
    connection
        .prepare_cached(sql)
        .and_then(|mut sql| {
            sql.execute(params![
                id,
                key.profile,
                key.platform,
                key.account,
                key.kind.as_str(),
                key.chat,
                key.thread.as_deref().unwrap_or_default(),
                key.user.as_deref().unwrap_or_default(),
                message.sender,
                message.sender_name,
                message.dedup,
                message.message,
                message.sent_ms,
                event,
                message.text,
                media,
                now,
                me.mark(),
            ])
        })
        .map_err(failed)?;
    Ok(Receipt::New(id))
}

/// Ends a message that is ours, together with what goes out for it; whether it was.
pub(crate) fn finish(
    connection: &Connection,
    answer: &Answer,
    me: &Party,
) -> Result<bool, StoreError> {
    if !is_ours(connection, &answer.inbox, me)? {
        return Ok(false);
    }
    outbox::plan(connection, &answer.deliveries)?;
    let silent = answer.to == InboxState::Answered && answer.deliveries.is_empty();
    let to = if silent { InboxState::Delivered } else { answer.to };
    set_state(connection, &answer.inbox, to, &answer.reason)?;
    Ok(true)
}

/// How many messages wait for a session or run in it.
fn undone(connection: &Connection, session: &SessionId) -> Result<u32, StoreError> {
    let sql =
        concat!("SELECT count(*) FROM inbox WHERE session = ?1 AND state != 'accepted'", undone!());
    connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.query_row([session.as_str()], |row| row.get(0)))
        .map_err(failed)
}

fn queue(
    connection: &Connection,
    id: &str,
    session: &SessionId,
    limit: u32,
) -> Result<Placing, StoreError> {
    if state_of(connection, id)? != Some(InboxState::Accepted) {
        return Ok(Placing::Settled);
    }
    let waits =
        concat!("SELECT count(*) FROM inbox WHERE session = ?1 AND state = 'queued'", undone!());
    let waiting: u32 = connection
        .prepare_cached(waits)
        .and_then(|mut sql| sql.query_row([session.as_str()], |row| row.get(0)))
        .map_err(failed)?;
    if waiting >= limit {
        set_state(connection, id, InboxState::RefusedFull, "the queue is full")?;
        return Ok(Placing::Full { waiting });
    }
    let ahead = undone(connection, session)?;
    let sql = "UPDATE inbox SET state = 'queued', session = ?2, changed_ms = ?3 WHERE id = ?1";
    let row = params![id, session.as_str(), now_ms()];
    connection.prepare_cached(sql).and_then(|mut sql| sql.execute(row)).map_err(failed)?;
    Ok(Placing::Queued { ahead })
}

fn claim(
    connection: &Connection,
    session: &SessionId,
    me: &Party,
) -> Result<Option<InboxRow>, StoreError> {
    let sql = concat!(
        "UPDATE inbox SET state = 'running', attempts = attempts + 1, owner = ?2, ",
        "changed_ms = ?3 WHERE id = (SELECT id FROM inbox WHERE session = ?1 ",
        "AND state = 'queued'",
        undone!(),
        " ORDER BY event = 'internal', id LIMIT 1) AND NOT EXISTS (SELECT 1 FROM inbox ",
        "WHERE session = ?1 AND state = 'running'",
        undone!(),
        ") RETURNING id"
    );
    let row = params![session.as_str(), me.mark(), now_ms()];
    let id: Option<String> = connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.query_row(row, |row| row.get(0)).optional())
        .map_err(failed)?;
    id.map_or(Ok(None), |id| one(connection, &id))
}

/// Moves the words of waiting messages into a claimed one, all or nothing.
fn collect(
    connection: &Connection,
    id: &str,
    messages_max: usize,
    chars_max: usize,
) -> Result<(), StoreError> {
    let Some(first) = one(connection, id)? else { return Ok(()) };
    let Some(session) = &first.session else { return Ok(()) };
    let sql = format!(
        "SELECT {COLUMNS} FROM inbox WHERE session = ?1 AND state = 'queued' {} ORDER BY id LIMIT ?2",
        undone!()
    );
    let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
    let most = i64::try_from(messages_max.saturating_sub(1)).unwrap_or(i64::MAX);
    let rows = sql.query_map(params![session.as_str(), most], stored).map_err(failed)?;
    let rows: Vec<InboxRow> = rows.collect::<Result<_, _>>().map_err(failed)?;
    let mut words = first.message.text.clone();
    for row in rows {
        let (own, next) = (&first.message, &row.message);
        let joins = next.sender == own.sender
            && next.key == own.key
            && next.kind == InboundKind::Text
            && own.kind == InboundKind::Text
            && words.chars().count() + next.text.chars().count() < chars_max;
        if !joins {
            break;
        }
        words.push('\n');
        words.push_str(&next.text);
        set_state(connection, &row.id, InboxState::Merged, &format!("into {id}"))?;
    }
    let sql = "UPDATE inbox SET body = ?2 WHERE id = ?1";
    connection.execute(sql, params![id, words]).map(drop).map_err(failed)
}

/// Moves words and files of accepted messages into another, all or nothing.
fn join(connection: &Connection, id: &str, others: &[String]) -> Result<(), StoreError> {
    let Some(first) = one(connection, id)?.filter(|row| row.state == InboxState::Accepted) else {
        return Ok(());
    };
    let (mut words, mut media) = (first.message.text, first.message.media);
    for other in others {
        let row = one(connection, other)?.filter(|row| row.state == InboxState::Accepted);
        let Some(row) = row else { continue };
        let next = row.message.text.trim();
        // Captions of an album are often the same; the rest of a long text is never a repeat.
        let repeats = !row.message.media.is_empty() && words.contains(next);
        if !next.is_empty() && !repeats {
            if !words.is_empty() {
                words.push('\n');
            }
            words.push_str(next);
        }
        media.extend(row.message.media);
        set_state(connection, other, InboxState::Merged, &format!("into {id}"))?;
    }
    let event = if media.is_empty() { InboundKind::Text } else { InboundKind::Media };
    let sql = "UPDATE inbox SET body = ?2, media = ?3, event = ?4 WHERE id = ?1";
    let row = params![id, words, json(&media)?, word(&event)?];
    connection.execute(sql, row).map(drop).map_err(failed)
}

fn orphans(connection: &Connection, me: &Party) -> Result<Vec<InboxRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, owner FROM inbox WHERE state != 'queued' {} ORDER BY id",
        undone!()
    );
    let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
    let rows = sql.query_map([], |row| Ok((stored(row)?, row.get::<_, String>(21)?)));
    let rows: Result<Vec<_>, _> = rows.map_err(failed)?.collect();
    let mut found = Vec::new();
    for (row, owner) in rows.map_err(failed)? {
        if me.is_gone(&owner) {
            let sql = "UPDATE inbox SET owner = ?2 WHERE id = ?1";
            connection.execute(sql, params![row.id, me.mark()]).map_err(failed)?;
            found.push(row);
        }
    }
    Ok(found)
}

/// Whether a message runs and is ours.
fn is_ours(connection: &Connection, id: &str, me: &Party) -> Result<bool, StoreError> {
    let sql = "SELECT owner FROM inbox WHERE id = ?1 AND state IN ('running', 'accepted')";
    let owner: Option<String> = connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.query_row([id], |row| row.get(0)).optional())
        .map_err(failed)?;
    Ok(owner.is_some_and(|owner| owner == me.mark()))
}

fn state_of(connection: &Connection, id: &str) -> Result<Option<InboxState>, StoreError> {
    let word: Option<String> = connection
        .prepare_cached("SELECT state FROM inbox WHERE id = ?1")
        .and_then(|mut sql| sql.query_row([id], |row| row.get(0)).optional())
        .map_err(failed)?;
    Ok(word.and_then(|word| InboxState::named(&word)))
}

/// Sets the state of a message.
pub(crate) fn set_state(
    connection: &Connection,
    id: &str,
    to: InboxState,
    reason: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE inbox SET state = ?2, reason = ?3, changed_ms = ?4 WHERE id = ?1";
    let row = params![id, to.as_str(), reason, now_ms()];
    connection.prepare_cached(sql).and_then(|mut sql| sql.execute(row)).map(drop).map_err(failed)
}
