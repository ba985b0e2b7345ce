//! Where chats lead, as a `RouteStore`, and how far platforms were read, as a `CursorStore`.

use petasos_contract::SessionId;
use petasos_store::{ChatKey, ChatKind, ChatRoute, CursorStore, Later, RouteStore, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value};

use crate::inbox::some;
use crate::sqlite::failed;
use crate::stamp::now_ms;
use crate::store::Store;

const COLUMNS: &str =
    "profile, platform, account, kind, chat, thread, user, session, choices, used_ms";
const IS_KEY: &str = "profile = ?1 AND platform = ?2 AND account = ?3 AND kind = ?4 AND chat = ?5 \
                      AND thread = ?6 AND user = ?7";

/// The columns of a key, in order.
fn columns(key: &ChatKey) -> [&str; 7] {
    let (thread, user) = (key.thread.as_deref(), key.user.as_deref());
    [
        &key.profile,
        &key.platform,
        &key.account,
        key.kind.as_str(),
        &key.chat,
        thread.unwrap_or_default(),
        user.unwrap_or_default(),
    ]
}

impl RouteStore for Store {
    fn route<'a>(&'a self, key: &'a ChatKey) -> Later<'a, Option<ChatRoute>> {
        let key = key.clone();
        let look = move |connection: &Connection| {
            let sql = format!("SELECT {COLUMNS} FROM routes WHERE {IS_KEY}");
            connection
                .prepare_cached(&sql)
                .and_then(|mut sql| sql.query_row(columns(&key), stored).optional())
                .map_err(failed)
        };
        Box::pin(self.readers.read("a route", look))
    }

    fn bind<'a>(&'a self, key: &'a ChatKey, session: &'a SessionId) -> Later<'a, ()> {
        let (key, session) = (key.clone(), session.clone());
        let job = move |connection: &Connection| {
            put(connection, &key, &session, "DO UPDATE SET session = ?8, used_ms = ?9")
        };
        Box::pin(self.writer.write("a route", job))
    }

    fn bind_first<'a>(&'a self, key: &'a ChatKey, session: &'a SessionId) -> Later<'a, SessionId> {
        let (key, session) = (key.clone(), session.clone());
        let job = move |connection: &Connection| {
            put(connection, &key, &session, "DO UPDATE SET used_ms = ?9")?;
            let sql = format!("SELECT session FROM routes WHERE {IS_KEY}");
            let found: String = connection
                .prepare_cached(&sql)
                .and_then(|mut sql| sql.query_row(columns(&key), |row| row.get(0)))
                .map_err(failed)?;
            Ok(SessionId::from(found))
        };
        Box::pin(self.writer.write("a route", job))
    }

    fn touch<'a>(&'a self, key: &'a ChatKey) -> Later<'a, ()> {
        let key = key.clone();
        let job = move |connection: &Connection| {
            let sql = format!("UPDATE routes SET used_ms = {} WHERE {IS_KEY}", now_ms());
            connection.execute(&sql, columns(&key)).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("a route", job))
    }

    fn choose<'a>(
        &'a self,
        key: &'a ChatKey,
        name: &'a str,
        value: Option<Value>,
    ) -> Later<'a, ()> {
        let (key, name) = (key.clone(), name.to_owned());
        let job = move |connection: &Connection| {
            let sql = format!("SELECT choices FROM routes WHERE {IS_KEY}");
            let found: Option<String> = connection
                .query_row(&sql, columns(&key), |row| row.get(0))
                .optional()
                .map_err(failed)?;
            let mut choices = found.as_deref().map_or_else(Map::new, parsed);
            match value {
                Some(value) => drop(choices.insert(name, value)),
                None => drop(choices.remove(&name)),
            }
            let text = Value::Object(choices).to_string();
            let sql = format!("UPDATE routes SET choices = ?8 WHERE {IS_KEY}");
            let row = columns(&key).into_iter().chain([text.as_str()]);
            let row = rusqlite::params_from_iter(row);
            connection.execute(&sql, row).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("a choice of a chat", job))
    }

    fn rekey<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        from: &'a str,
        to: &'a str,
    ) -> Later<'a, u32> {
        let words = [platform, account, from, to].map(str::to_owned);
        let job = move |connection: &Connection| {
            let [platform, account, from, to] = words;
            let mut moved = 0;
            for table in ["routes", "inbox", "outbox", "targets"] {
                // A place that both names have keeps what it has under the new one.
                let sql = format!(
                    "UPDATE OR IGNORE {table} SET chat = ?4 WHERE platform = ?1 AND account = ?2 \
                     AND chat = ?3"
                );
                let changed = connection.execute(&sql, params![platform, account, from, to]);
                moved += changed.map_err(failed)?;
            }
            // Questions that are open there are answered under the new name.
            let sql = "UPDATE questions SET chat = ?3 WHERE platform = ?1 AND chat = ?2";
            let changed = connection.execute(sql, params![platform, from, to]);
            moved += changed.map_err(failed)?;
            Ok(u32::try_from(moved).unwrap_or(u32::MAX))
        };
        Box::pin(self.writer.write("a chat with another identity", job))
    }

    fn routes_to<'a>(&'a self, session: &'a SessionId) -> Later<'a, Vec<ChatRoute>> {
        let session = session.clone();
        let look = move |connection: &Connection| {
            let sql = format!("SELECT {COLUMNS} FROM routes WHERE session = ?1");
            let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
            let rows = sql.query_map([session.as_str()], stored).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("routes", look))
    }

    fn routes_of<'a>(&'a self, platform: &'a str, limit: u32) -> Later<'a, Vec<ChatRoute>> {
        let platform = platform.to_owned();
        let look = move |connection: &Connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM routes WHERE platform = ?1 ORDER BY used_ms DESC LIMIT ?2"
            );
            let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
            let rows = sql.query_map(params![platform, limit], stored).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("routes", look))
    }

    fn forget_routes(&self, before_ms: i64) -> Later<'_, u32> {
        let job = move |connection: &Connection| {
            let removed = connection.execute("DELETE FROM routes WHERE used_ms < ?1", [before_ms]);
            Ok(u32::try_from(removed.map_err(failed)?).unwrap_or(u32::MAX))
        };
        Box::pin(self.writer.write("old routes", job))
    }
}

fn put(
    connection: &Connection,
    key: &ChatKey,
    session: &SessionId,
    otherwise: &str,
) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO routes(profile, platform, account, kind, chat, thread, user, session, used_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT {otherwise}"
    );
    let now = now_ms().to_string();
    let row = columns(key).into_iter().chain([session.as_str(), now.as_str()]);
    let row = rusqlite::params_from_iter(row);
    connection.prepare_cached(&sql).and_then(|mut sql| sql.execute(row)).map(drop).map_err(failed)
}

fn parsed(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn stored(row: &Row<'_>) -> rusqlite::Result<ChatRoute> {
    let kind: String = row.get(3)?;
    let choices: String = row.get(8)?;
    Ok(ChatRoute {
        key: ChatKey {
            profile: row.get(0)?,
            platform: row.get(1)?,
            account: row.get(2)?,
            kind: ChatKind::named(&kind).unwrap_or(ChatKind::Dm),
            chat: row.get(4)?,
            thread: some(row.get(5)?),
            user: some(row.get(6)?),
        },
        session: SessionId::from(row.get::<_, String>(7)?),
        choices: parsed(&choices),
        used_ms: row.get(9)?,
    })
}

impl CursorStore for Store {
    fn cursor<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        name: &'a str,
    ) -> Later<'a, Option<String>> {
        let words = [platform, account, name].map(str::to_owned);
        let look = move |connection: &Connection| {
            let sql =
                "SELECT value FROM cursors WHERE platform = ?1 AND account = ?2 AND name = ?3";
            connection.query_row(sql, words, |row| row.get(0)).optional().map_err(failed)
        };
        Box::pin(self.readers.read("a cursor", look))
    }

    fn set_cursor<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        name: &'a str,
        value: &'a str,
    ) -> Later<'a, ()> {
        let words = [platform, account, name, value].map(str::to_owned);
        let job = move |connection: &Connection| {
            let sql = "INSERT INTO cursors VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT DO UPDATE SET value = ?4";
            connection
                .prepare_cached(sql)
                .and_then(|mut sql| sql.execute(words))
                .map(drop)
                .map_err(failed)
        };
        Box::pin(self.writer.write("a cursor", job))
    }
}
