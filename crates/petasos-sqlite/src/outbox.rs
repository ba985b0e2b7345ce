//! Messages that go out, as an `OutboxStore`.

use std::sync::Arc;

use petasos_store::{
    Attempt, DeliveryClass, DeliveryState, InboxState, Lane, Later, NewDelivery, OutboxRow,
    OutboxStore, StoreError,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::inbox::{json, set_state, some};
use crate::leases::Party;
use crate::sqlite::failed;
use crate::stamp::now_ms;
use crate::store::Store;

const COLUMNS: &str = "id, token, platform, account, chat, thread, class, body, media, buttons, \
                       reply_to, inbox, parts, sent, state, uncertain, attempts, next_ms, \
                       created_ms, error";

impl OutboxStore for Store {
    fn plan(&self, deliveries: Vec<NewDelivery>) -> Later<'_, usize> {
        let job = move |connection: &Connection| plan(connection, &deliveries);
        Box::pin(self.writer.write("messages to send", job))
    }

    fn take_due<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        now_ms: i64,
        limit: u32,
    ) -> Later<'a, Vec<OutboxRow>> {
        let (platform, account) = (platform.to_owned(), account.to_owned());
        let me = Arc::clone(&self.party);
        Box::pin(async move {
            // Most looks find nothing and must not cost a write.
            let (seen_platform, seen_account) = (platform.clone(), account.clone());
            let look = move |connection: &Connection| {
                due(connection, &seen_platform, &seen_account, now_ms, 1)
            };
            if self.readers.read("messages to send", look).await?.is_empty() {
                return Ok(Vec::new());
            }
            let job = move |connection: &Connection| {
                let ids = due(connection, &platform, &account, now_ms, limit)?;
                take(connection, &ids, &me)
            };
            self.writer.write("messages to send", job).await
        })
    }

    fn next_due<'a>(&'a self, platform: &'a str, account: &'a str) -> Later<'a, Option<i64>> {
        let (platform, account) = (platform.to_owned(), account.to_owned());
        let look = move |connection: &Connection| {
            let sql = "SELECT min(next_ms) FROM outbox WHERE platform = ?1 AND account = ?2 \
                       AND state != 'sending' AND state IN ('planned', 'sending', 'ambiguous')";
            let row = params![platform, account];
            connection.query_row(sql, row, |row| row.get(0)).map_err(failed)
        };
        Box::pin(self.readers.read("messages to send", look))
    }

    fn set_parts(&self, id: i64, parts: Vec<String>) -> Later<'_, ()> {
        let job = move |connection: &Connection| {
            let sql = "UPDATE outbox SET parts = ?2 WHERE id = ?1";
            connection.execute(sql, params![id, json(&parts)?]).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("the parts of a message", job))
    }

    fn part_sent<'a>(&'a self, id: i64, name: &'a str) -> Later<'a, ()> {
        let name = name.to_owned();
        let job = move |connection: &Connection| {
            let sql = "UPDATE outbox SET sent = json_insert(sent, '$[#]', ?2), uncertain = 0 \
                       WHERE id = ?1";
            connection.execute(sql, params![id, name]).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("a part that arrived", job))
    }

    fn end_attempt(&self, id: i64, attempt: Attempt) -> Later<'_, ()> {
        let job = move |connection: &Connection| end_attempt(connection, id, &attempt);
        Box::pin(self.writer.write("what became of a message", job))
    }

    fn recover_sending(&self) -> Later<'_, u32> {
        let me = Arc::clone(&self.party);
        let job = move |connection: &Connection| {
            let sql = "SELECT id, owner FROM outbox WHERE state = 'sending' \
                       AND state IN ('planned', 'sending', 'ambiguous')";
            let mut sql = connection.prepare(sql).map_err(failed)?;
            let rows = sql.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
            let rows: Result<Vec<(i64, String)>, _> = rows.map_err(failed)?.collect();
            let mut count = 0;
            for (id, owner) in rows.map_err(failed)? {
                if me.is_gone(&owner) {
                    let sql = "UPDATE outbox SET state = 'ambiguous', uncertain = 1, next_ms = ?2, \
                               error = 'the process ended while it was sent' WHERE id = ?1";
                    connection.execute(sql, params![id, now_ms()]).map_err(failed)?;
                    count += 1;
                }
            }
            Ok(count)
        };
        Box::pin(self.writer.write("messages that were on their way", job))
    }

    fn deliveries<'a>(
        &'a self,
        states: &'a [DeliveryState],
        limit: u32,
    ) -> Later<'a, Vec<OutboxRow>> {
        let words: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
        let words = json(&words);
        let look = move |connection: &Connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM outbox WHERE state IN (SELECT value FROM json_each(?1)) \
                 ORDER BY id DESC LIMIT ?2"
            );
            let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
            let rows = sql.query_map(params![words?, limit], stored).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("messages that go out", look))
    }

    fn delivery(&self, id: i64) -> Later<'_, Option<OutboxRow>> {
        let look = move |connection: &Connection| {
            let sql = format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1");
            connection.query_row(&sql, [id], stored).optional().map_err(failed)
        };
        Box::pin(self.readers.read("a message that goes out", look))
    }

    fn delivery_of<'a>(&'a self, token: &'a str) -> Later<'a, Option<OutboxRow>> {
        let token = token.to_owned();
        let look = move |connection: &Connection| {
            let sql = format!("SELECT {COLUMNS} FROM outbox WHERE token = ?1");
            connection.query_row(&sql, [token], stored).optional().map_err(failed)
        };
        Box::pin(self.readers.read("a message that goes out", look))
    }

    fn take_one(&self, id: i64) -> Later<'_, Option<OutboxRow>> {
        let me = Arc::clone(&self.party);
        let job = move |connection: &Connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM outbox WHERE id = ?1 AND state = 'planned')";
            let waits: bool = connection.query_row(sql, [id], |row| row.get(0)).map_err(failed)?;
            let ids: &[i64] = if waits { &[id] } else { &[] };
            Ok(take(connection, ids, &me)?.pop())
        };
        Box::pin(self.writer.write("a message to send", job))
    }

    fn retry(&self, id: i64) -> Later<'_, bool> {
        let job = move |connection: &Connection| {
            let sql = "UPDATE outbox SET state = 'planned', attempts = 0, next_ms = ?2, \
                       created_ms = ?2, changed_ms = ?2 WHERE id = ?1 AND state = 'dead'";
            let changed = connection.execute(sql, params![id, now_ms()]).map_err(failed)?;
            Ok(changed == 1)
        };
        Box::pin(self.writer.write("a message to send again", job))
    }

    fn drop_delivery(&self, id: i64) -> Later<'_, bool> {
        let job = move |connection: &Connection| {
            let sql = "UPDATE outbox SET state = 'superseded', changed_ms = ?2 WHERE id = ?1 \
                       AND state IN ('planned', 'ambiguous', 'dead')";
            let changed = connection.execute(sql, params![id, now_ms()]).map_err(failed)?;
            Ok(changed == 1)
        };
        Box::pin(self.writer.write("a message that is given up", job))
    }

    fn supersede<'a>(&'a self, lane: Option<&'a Lane>, class: DeliveryClass) -> Later<'a, u32> {
        let lane = lane.cloned();
        let job = move |connection: &Connection| {
            let sql = "UPDATE outbox SET state = 'superseded', changed_ms = ?1 \
                       WHERE state = 'planned' AND state IN ('planned', 'sending', 'ambiguous') \
                       AND class = ?2 AND (?3 = '' OR (platform = ?3 \
                       AND account = ?4 AND chat = ?5 AND thread = ?6))";
            let empty = String::new();
            let (platform, account, chat, thread) =
                lane.as_ref().map_or((&empty, &empty, &empty, ""), |lane| {
                    let thread = lane.thread.as_deref().unwrap_or_default();
                    (&lane.platform, &lane.account, &lane.chat, thread)
                });
            let row = params![now_ms(), class.as_str(), platform, account, chat, thread];
            let changed = connection.execute(sql, row).map_err(failed)?;
            Ok(u32::try_from(changed).unwrap_or(u32::MAX))
        };
        Box::pin(self.writer.write("messages that are no longer wanted", job))
    }

    fn delivery_depths(&self) -> Later<'_, Vec<(DeliveryState, u64)>> {
        let look = |connection: &Connection| {
            let sql = "SELECT state, count(*) FROM outbox GROUP BY state ORDER BY state";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let rows = sql.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
            let rows: Result<Vec<(String, u64)>, _> = rows.map_err(failed)?.collect();
            let rows = rows.map_err(failed)?.into_iter();
            Ok(rows
                .filter_map(|(word, count)| Some((DeliveryState::named(&word)?, count)))
                .collect())
        };
        Box::pin(self.readers.read("how much goes out", look))
    }
}

/// Plans deliveries inside the transaction of whoever asks.
pub(crate) fn plan(
    connection: &Connection,
    deliveries: &[NewDelivery],
) -> Result<usize, StoreError> {
    let sql = "INSERT INTO outbox(token, platform, account, chat, thread, overtakes, class, body, \
               media, buttons, reply_to, inbox, state, next_ms, created_ms, changed_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'planned', ?13, ?13, ?13) \
               ON CONFLICT(token) DO NOTHING";
    let mut new = 0;
    for delivery in deliveries {
        let row = params![
            delivery.token,
            delivery.lane.platform,
            delivery.lane.account,
            delivery.lane.chat,
            delivery.lane.thread.as_deref().unwrap_or_default(),
            delivery.class.overtakes(),
            delivery.class.as_str(),
            delivery.body,
            json(&delivery.media)?,
            json(&delivery.buttons)?,
            delivery.reply_to.as_deref().unwrap_or_default(),
            delivery.inbox.as_deref().unwrap_or_default(),
            now_ms(),
        ];
        new +=
            connection.prepare_cached(sql).and_then(|mut sql| sql.execute(row)).map_err(failed)?;
    }
    Ok(new)
}

/// Deliveries whose token begins so, in the order in which they were planned.
pub(crate) fn with_prefix(
    connection: &Connection,
    prefix: &str,
) -> Result<Vec<OutboxRow>, StoreError> {
    // The range of an index: what begins so lies between the prefix and its successor.
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox WHERE token >= ?1 AND token < ?1 || char(1114111) ORDER BY id"
    );
    let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
    let rows = sql.query_map([prefix], stored).map_err(failed)?;
    rows.collect::<Result<_, _>>().map_err(failed)
}

/// The first of each lane that is due, where nothing of the lane is on its way.
fn due(
    connection: &Connection,
    platform: &str,
    account: &str,
    now_ms: i64,
    limit: u32,
) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT head.id FROM (SELECT min(id) AS id FROM outbox WHERE platform = ?1 \
               AND account = ?2 AND state IN ('planned', 'sending', 'ambiguous') \
               GROUP BY chat, thread, overtakes) AS first JOIN outbox AS head ON head.id = first.id \
               WHERE head.state IN ('planned', 'ambiguous') AND head.next_ms <= ?3 \
               ORDER BY head.overtakes DESC, head.id LIMIT ?4";
    let mut sql = connection.prepare_cached(sql).map_err(failed)?;
    let rows = sql.query_map(params![platform, account, now_ms, limit], |row| row.get(0));
    rows.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
}

fn take(connection: &Connection, ids: &[i64], me: &Party) -> Result<Vec<OutboxRow>, StoreError> {
    let read = format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1");
    let mut rows = Vec::new();
    for id in ids {
        let sql = "UPDATE outbox SET state = 'sending', owner = ?2, changed_ms = ?3 WHERE id = ?1";
        connection
            .prepare_cached(sql)
            .and_then(|mut sql| sql.execute(params![id, me.mark(), now_ms()]))
            .map_err(failed)?;
        rows.push(
            connection
                .prepare_cached(&read)
                .and_then(|mut sql| sql.query_row([id], stored))
                .map_err(failed)?,
        );
    }
    Ok(rows)
}

fn end_attempt(connection: &Connection, id: i64, attempt: &Attempt) -> Result<(), StoreError> {
    let (state, uncertain, counted, next, error) = match attempt {
        Attempt::Sent => (DeliveryState::Sent, false, true, 0, ""),
        Attempt::Again { at_ms, error, counted } => {
            (DeliveryState::Planned, false, *counted, *at_ms, error.as_str())
        }
        Attempt::Uncertain { at_ms, error } => {
            (DeliveryState::Ambiguous, true, true, *at_ms, error.as_str())
        }
        Attempt::Dead { error } => (DeliveryState::Dead, false, true, 0, error.as_str()),
    };
    let sql = "UPDATE outbox SET state = ?2, uncertain = ?3, attempts = attempts + ?4, \
               next_ms = ?5, error = ?6, changed_ms = ?7 WHERE id = ?1 RETURNING inbox";
    let row = params![id, state.as_str(), uncertain, counted, next, error, now_ms()];
    let inbox: Option<String> = connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.query_row(row, |row| row.get(0)).optional())
        .map_err(failed)?;
    match (inbox.and_then(some), state) {
        (Some(inbox), DeliveryState::Sent | DeliveryState::Dead) => {
            tell_inbox(connection, &inbox, state)
        }
        _ => Ok(()),
    }
}

/// A message is delivered with the last delivery of its answer.
fn tell_inbox(
    connection: &Connection,
    inbox: &str,
    state: DeliveryState,
) -> Result<(), StoreError> {
    let answered: Option<bool> = connection
        .prepare_cached("SELECT state = 'answered' FROM inbox WHERE id = ?1")
        .and_then(|mut sql| sql.query_row([inbox], |row| row.get(0)).optional())
        .map_err(failed)?;
    if answered != Some(true) {
        return Ok(());
    }
    if state == DeliveryState::Dead {
        return set_state(connection, inbox, InboxState::Undeliverable, "its answer was given up");
    }
    let left = "SELECT EXISTS (SELECT 1 FROM outbox WHERE inbox = ?1 \
                AND state IN ('planned', 'sending', 'ambiguous'))";
    let left: bool = connection
        .prepare_cached(left)
        .and_then(|mut sql| sql.query_row([inbox], |row| row.get(0)))
        .map_err(failed)?;
    if left { Ok(()) } else { set_state(connection, inbox, InboxState::Delivered, "") }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<OutboxRow> {
    let class: String = row.get(6)?;
    let state: String = row.get(14)?;
    let list = |at: usize| row.get::<_, String>(at);
    Ok(OutboxRow {
        id: row.get(0)?,
        delivery: NewDelivery {
            token: row.get(1)?,
            lane: Lane {
                platform: row.get(2)?,
                account: row.get(3)?,
                chat: row.get(4)?,
                thread: some(row.get(5)?),
            },
            class: DeliveryClass::named(&class).unwrap_or(DeliveryClass::Notice),
            body: row.get(7)?,
            media: serde_json::from_str(&list(8)?).unwrap_or_default(),
            buttons: serde_json::from_str(&list(9)?).unwrap_or_default(),
            reply_to: some(row.get(10)?),
            inbox: some(row.get(11)?),
        },
        parts: serde_json::from_str(&list(12)?).unwrap_or_default(),
        sent: serde_json::from_str(&list(13)?).unwrap_or_default(),
        state: DeliveryState::named(&state).unwrap_or(DeliveryState::Dead),
        uncertain: row.get(15)?,
        attempts: row.get(16)?,
        next_ms: row.get(17)?,
        created_ms: row.get(18)?,
        error: row.get(19)?,
    })
}

/// Forgets what arrived before this, and what was given up long before.
pub(crate) fn forget(connection: &Connection, before_ms: i64) -> Result<(), StoreError> {
    const GIVEN_UP_MS: i64 = 23 * 86_400_000;
    let sql = "DELETE FROM outbox WHERE (state IN ('sent', 'superseded') AND changed_ms < ?1) \
               OR (state = 'dead' AND changed_ms < ?2)";
    let row = params![before_ms, before_ms.saturating_sub(GIVEN_UP_MS)];
    connection.execute(sql, row).map(drop).map_err(failed)
}
