//! Who was let in and which places are known, as an `AccessStore`.

use petasos_store::{
    AccessStore, KnownTarget, Lane, Later, Paired, PairingLimits, PairingReceipt, PairingRequest,
    StoreError,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::inbox::some;
use crate::sqlite::failed;
use crate::stamp::now_ms;
use crate::store::Store;

impl AccessStore for Store {
    fn ask_pairing<'a>(
        &'a self,
        request: &'a PairingRequest,
        limits: PairingLimits,
    ) -> Later<'a, PairingReceipt> {
        let request = request.clone();
        let job = move |connection: &Connection| ask(connection, &request, limits);
        Box::pin(self.writer.write("a request to be let in", job))
    }

    fn open_pairings<'a>(
        &'a self,
        platform: &'a str,
        now_ms: i64,
        limits: PairingLimits,
    ) -> Later<'a, Vec<PairingRequest>> {
        let platform = platform.to_owned();
        let look = move |connection: &Connection| {
            if locked_until(connection, &platform)? > now_ms {
                return Ok(Vec::new());
            }
            let sql = "SELECT platform, user, name, salt, digest, asked_ms FROM pairings \
                       WHERE platform = ?1 AND asked_ms > ?2";
            let mut sql = connection.prepare(sql).map_err(failed)?;
            let row = params![platform, now_ms - limits.life_ms];
            let rows = sql.query_map(row, request).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("requests to be let in", look))
    }

    fn admit<'a>(
        &'a self,
        platform: &'a str,
        user: &'a str,
        now_ms: i64,
    ) -> Later<'a, Option<Paired>> {
        let (platform, user) = (platform.to_owned(), user.to_owned());
        let job = move |connection: &Connection| {
            let sql = "DELETE FROM pairings WHERE platform = ?1 AND user = ?2 RETURNING name";
            let name: Option<String> = connection
                .query_row(sql, params![platform, user], |row| row.get(0))
                .optional()
                .map_err(failed)?;
            let Some(name) = name else { return Ok(None) };
            let sql = "INSERT INTO people(platform, user, name, owner, since_ms) \
                       VALUES (?1, ?2, ?3, NOT EXISTS (SELECT 1 FROM people WHERE owner), ?4) \
                       ON CONFLICT DO UPDATE SET name = ?3";
            let row = params![platform, user, name, now_ms];
            connection.execute(sql, row).map_err(failed)?;
            let sql = "DELETE FROM pairing_locks WHERE platform = ?1";
            connection.execute(sql, [&platform]).map_err(failed)?;
            let sql = "SELECT platform, user, name, owner, since_ms FROM people \
                       WHERE platform = ?1 AND user = ?2";
            connection.query_row(sql, [platform, user], person).optional().map_err(failed)
        };
        Box::pin(self.writer.write("somebody who is let in", job))
    }

    fn wrong_code<'a>(
        &'a self,
        platform: &'a str,
        now_ms: i64,
        limits: PairingLimits,
    ) -> Later<'a, Option<i64>> {
        let platform = platform.to_owned();
        let job = move |connection: &Connection| {
            let sql = "INSERT INTO pairing_locks(platform, wrong, until_ms) VALUES (?1, 1, 0) \
                       ON CONFLICT DO UPDATE SET wrong = wrong + 1 RETURNING wrong";
            let wrong: u32 =
                connection.query_row(sql, [&platform], |row| row.get(0)).map_err(failed)?;
            if wrong < limits.wrong_max {
                return Ok(None);
            }
            let until = now_ms + limits.lock_ms;
            let sql = "UPDATE pairing_locks SET wrong = 0, until_ms = ?2 WHERE platform = ?1";
            connection.execute(sql, params![platform, until]).map_err(failed)?;
            Ok(Some(until))
        };
        Box::pin(self.writer.write("a wrong code", job))
    }

    fn paired<'a>(&'a self, platform: Option<&'a str>) -> Later<'a, Vec<Paired>> {
        let platform = platform.map(str::to_owned);
        let look = move |connection: &Connection| {
            let sql = "SELECT platform, user, name, owner, since_ms FROM people \
                       WHERE ?1 IS NULL OR platform = ?1 ORDER BY since_ms";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let rows = sql.query_map([platform], person).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("who was let in", look))
    }

    fn unpair<'a>(&'a self, platform: &'a str, user: &'a str) -> Later<'a, bool> {
        let (platform, user) = (platform.to_owned(), user.to_owned());
        let job = move |connection: &Connection| {
            let mut removed = 0;
            for table in ["people", "pairings"] {
                let sql = format!("DELETE FROM {table} WHERE platform = ?1 AND user = ?2");
                removed += connection.execute(&sql, params![platform, user]).map_err(failed)?;
            }
            Ok(removed > 0)
        };
        Box::pin(self.writer.write("somebody who is no longer let in", job))
    }

    fn know_target<'a>(&'a self, lane: &'a Lane, name: &'a str) -> Later<'a, ()> {
        let (lane, name) = (lane.clone(), name.to_owned());
        let job = move |connection: &Connection| {
            let rest = "DO UPDATE SET unreachable = '', seen_ms = ?6, \
                        name = CASE WHEN ?5 = '' THEN name ELSE ?5 END";
            put(connection, &lane, &name, rest)
        };
        Box::pin(self.writer.write("a known place", job))
    }

    fn set_unreachable<'a>(&'a self, lane: &'a Lane, why: Option<&'a str>) -> Later<'a, ()> {
        let (lane, why) = (lane.clone(), why.unwrap_or_default().to_owned());
        let job = move |connection: &Connection| {
            put(connection, &lane, "", "DO NOTHING")?;
            let sql = "UPDATE targets SET unreachable = ?5 WHERE platform = ?1 AND account = ?2 \
                       AND chat = ?3 AND thread = ?4";
            let thread = lane.thread.as_deref().unwrap_or_default();
            let row = params![lane.platform, lane.account, lane.chat, thread, why];
            connection.execute(sql, row).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("a place that cannot be reached", job))
    }

    fn set_home<'a>(&'a self, lane: &'a Lane, name: &'a str) -> Later<'a, ()> {
        let (lane, name) = (lane.clone(), name.to_owned());
        let job = move |connection: &Connection| {
            let sql = "UPDATE targets SET home = 0 WHERE platform = ?1";
            connection.execute(sql, [&lane.platform]).map_err(failed)?;
            put(connection, &lane, &name, "DO NOTHING")?;
            let sql = "UPDATE targets SET home = 1 WHERE platform = ?1 AND account = ?2 \
                       AND chat = ?3 AND thread = ?4";
            let thread = lane.thread.as_deref().unwrap_or_default();
            let row = params![lane.platform, lane.account, lane.chat, thread];
            connection.execute(sql, row).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("a home channel", job))
    }

    fn targets<'a>(&'a self, platform: Option<&'a str>) -> Later<'a, Vec<KnownTarget>> {
        let platform = platform.map(str::to_owned);
        let look = move |connection: &Connection| {
            let sql = "SELECT platform, account, chat, thread, name, home, unreachable \
                       FROM targets WHERE ?1 IS NULL OR platform = ?1 \
                       ORDER BY platform, home DESC, seen_ms DESC";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let rows = sql.query_map([platform], target).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("known places", look))
    }
}

fn ask(
    connection: &Connection,
    request: &PairingRequest,
    limits: PairingLimits,
) -> Result<PairingReceipt, StoreError> {
    let now = request.asked_ms;
    if locked_until(connection, &request.platform)? > now {
        return Ok(PairingReceipt::Locked);
    }
    let sql = "DELETE FROM pairings WHERE asked_ms <= ?1";
    connection.execute(sql, [now - limits.life_ms]).map_err(failed)?;
    let sql = "SELECT asked_ms FROM pairings WHERE platform = ?1 AND user = ?2";
    let before: Option<i64> = connection
        .query_row(sql, params![request.platform, request.user], |row| row.get(0))
        .optional()
        .map_err(failed)?;
    if before.is_some_and(|before| now - before < limits.pause_ms) {
        return Ok(PairingReceipt::TooSoon);
    }
    let sql = "SELECT count(*) FROM pairings WHERE platform = ?1 AND user != ?2";
    let open: u32 = connection
        .query_row(sql, params![request.platform, request.user], |row| row.get(0))
        .map_err(failed)?;
    if open >= limits.open_max {
        return Ok(PairingReceipt::TooMany);
    }
    let sql = "INSERT OR REPLACE INTO pairings(platform, user, name, salt, digest, asked_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (salt, digest) = (&request.salt[..], &request.digest[..]);
    let row = params![request.platform, request.user, request.name, salt, digest, now];
    connection.execute(sql, row).map_err(failed)?;
    Ok(PairingReceipt::Asked)
}

fn locked_until(connection: &Connection, platform: &str) -> Result<i64, StoreError> {
    let sql = "SELECT until_ms FROM pairing_locks WHERE platform = ?1";
    let found = connection.query_row(sql, [platform], |row| row.get(0)).optional();
    Ok(found.map_err(failed)?.unwrap_or(0))
}

fn put(
    connection: &Connection,
    lane: &Lane,
    name: &str,
    otherwise: &str,
) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO targets(platform, account, chat, thread, name, seen_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT {otherwise}"
    );
    let thread = lane.thread.as_deref().unwrap_or_default();
    let row = params![lane.platform, lane.account, lane.chat, thread, name, now_ms()];
    connection.prepare_cached(&sql).and_then(|mut sql| sql.execute(row)).map(drop).map_err(failed)
}

fn request(row: &Row<'_>) -> rusqlite::Result<PairingRequest> {
    Ok(PairingRequest {
        platform: row.get(0)?,
        user: row.get(1)?,
        name: row.get(2)?,
        salt: row.get(3)?,
        digest: row.get(4)?,
        asked_ms: row.get(5)?,
    })
}

fn person(row: &Row<'_>) -> rusqlite::Result<Paired> {
    Ok(Paired {
        platform: row.get(0)?,
        user: row.get(1)?,
        name: row.get(2)?,
        owner: row.get(3)?,
        since_ms: row.get(4)?,
    })
}

fn target(row: &Row<'_>) -> rusqlite::Result<KnownTarget> {
    Ok(KnownTarget {
        lane: Lane {
            platform: row.get(0)?,
            account: row.get(1)?,
            chat: row.get(2)?,
            thread: some(row.get(3)?),
        },
        name: row.get(4)?,
        home: row.get(5)?,
        unreachable: some(row.get(6)?),
    })
}
