//! What the HTTP interface keeps, as an `ApiStore`.

use petasos_contract::SessionId;
use petasos_store::{
    ApiDigest, ApiStore, ApiToken, Later, Once, OnceRequest, ResponseRow, RunEvents, RunRow,
    StoreError,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use crate::sqlite::failed;
use crate::store::Store;

/// A use is noted at most so often.
const USE_NOTED_MS: i64 = 60_000;
const TOKEN: &str = "name, scopes, toolsets, created_ms, expires_ms, used_ms";
const RUN: &str = "id, owner, session, status, about, created_ms, ended_ms";

impl ApiStore for Store {
    fn add_token(&self, token: ApiToken, digest: ApiDigest) -> Later<'_, bool> {
        let job = move |connection: &Connection| {
            let sql = "INSERT INTO api_tokens(name, digest, scopes, toolsets, created_ms, expires_ms) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
            let toolsets = token.toolsets.as_ref().map(|names| list(names));
            let row = params![
                token.name,
                &digest[..],
                list(&token.scopes),
                toolsets,
                token.created_ms,
                token.expires_ms
            ];
            Ok(connection.execute(sql, row).map_err(failed)? > 0)
        };
        Box::pin(self.writer.write("a token", job))
    }

    fn token(&self, digest: ApiDigest, now_ms: i64) -> Later<'_, Option<ApiToken>> {
        Box::pin(async move {
            let look = move |connection: &Connection| {
                let sql = format!(
                    "SELECT {TOKEN} FROM api_tokens WHERE digest = ?1 \
                     AND (expires_ms IS NULL OR expires_ms > ?2)"
                );
                let row = params![&digest[..], now_ms];
                connection
                    .prepare_cached(&sql)
                    .and_then(|mut sql| sql.query_row(row, token).optional())
                    .map_err(failed)
            };
            let found = self.readers.read("a token", look).await?;
            let noted = found.as_ref().and_then(|token| token.used_ms);
            if found.is_some() && noted.is_none_or(|at| now_ms - at > USE_NOTED_MS) {
                let job = move |connection: &Connection| {
                    let sql = "UPDATE api_tokens SET used_ms = ?2 WHERE digest = ?1";
                    connection.execute(sql, params![&digest[..], now_ms]).map(drop).map_err(failed)
                };
                self.writer.write("the use of a token", job).await?;
            }
            Ok(found)
        })
    }

    fn tokens(&self) -> Later<'_, Vec<ApiToken>> {
        let look = |connection: &Connection| {
            let sql = format!("SELECT {TOKEN} FROM api_tokens ORDER BY created_ms, name");
            let mut sql = connection.prepare(&sql).map_err(failed)?;
            let rows = sql.query_map([], token).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("tokens", look))
    }

    fn revoke_token<'a>(&'a self, name: &'a str) -> Later<'a, bool> {
        let name = name.to_owned();
        let job = move |connection: &Connection| {
            let removed = connection.execute("DELETE FROM api_tokens WHERE name = ?1", [name]);
            Ok(removed.map_err(failed)? > 0)
        };
        Box::pin(self.writer.write("a token that is taken back", job))
    }

    fn once(&self, request: OnceRequest, forget_before_ms: i64) -> Later<'_, Once> {
        let job = move |connection: &Connection| once(connection, &request, forget_before_ms);
        Box::pin(self.writer.begin("a request that is done once", job))
    }

    fn forget_once(&self, place: ApiDigest) -> Later<'_, ()> {
        let job = move |connection: &Connection| {
            let sql = "DELETE FROM api_once WHERE place = ?1";
            connection.execute(sql, [&place[..]]).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("a request that did not begin", job))
    }

    fn put_run(&self, run: RunRow) -> Later<'_, ()> {
        let job = move |connection: &Connection| {
            let sql = format!("INSERT INTO api_runs({RUN}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
            let row = params![
                run.id,
                run.owner,
                run.session.as_str(),
                run.status,
                run.about.to_string(),
                run.created_ms,
                run.ended_ms
            ];
            connection.execute(&sql, row).map(drop).map_err(failed)
        };
        Box::pin(self.writer.begin("a run", job))
    }

    fn run<'a>(&'a self, id: &'a str) -> Later<'a, Option<RunRow>> {
        let id = id.to_owned();
        let look = move |connection: &Connection| {
            let sql = format!("SELECT {RUN} FROM api_runs WHERE id = ?1");
            connection
                .prepare_cached(&sql)
                .and_then(|mut sql| sql.query_row([id], run).optional())
                .map_err(failed)
        };
        Box::pin(self.readers.read("a run", look))
    }

    fn add_run_events<'a>(
        &'a self,
        id: &'a str,
        events: RunEvents,
        status: &'a str,
        ended_ms: Option<i64>,
    ) -> Later<'a, ()> {
        let (id, status) = (id.to_owned(), status.to_owned());
        let job = move |connection: &Connection| {
            let sql = "UPDATE api_runs SET status = ?2, ended_ms = ?3 WHERE id = ?1";
            let known = connection
                .prepare_cached(sql)
                .and_then(|mut sql| sql.execute(params![id, status, ended_ms]))
                .map_err(failed)?;
            if known == 0 {
                return Ok(());
            }
            let sql = "INSERT INTO api_run_events(run, number, event) VALUES (?1, ?2, ?3) \
                       ON CONFLICT DO NOTHING";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            for (number, event) in &events {
                sql.execute(params![id, number, event.to_string()]).map_err(failed)?;
            }
            Ok(())
        };
        Box::pin(self.writer.write("events of a run", job))
    }

    fn run_events<'a>(&'a self, id: &'a str, after: i64) -> Later<'a, RunEvents> {
        let id = id.to_owned();
        let look = move |connection: &Connection| {
            let sql = "SELECT number, event FROM api_run_events WHERE run = ?1 AND number > ?2 \
                       ORDER BY number";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let row = |row: &Row<'_>| Ok((row.get(0)?, json(row, 1)?));
            let rows = sql.query_map(params![id, after], row).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("events of a run", look))
    }

    fn open_runs(&self, unbegun_before_ms: i64) -> Later<'_, Vec<RunRow>> {
        let job = move |connection: &Connection| {
            let sql =
                "DELETE FROM api_once WHERE at_ms < ?1 AND run NOT IN (SELECT id FROM api_runs)";
            connection.execute(sql, [unbegun_before_ms]).map_err(failed)?;
            let sql = format!("SELECT {RUN} FROM api_runs WHERE ended_ms IS NULL");
            let mut sql = connection.prepare(&sql).map_err(failed)?;
            let rows = sql.query_map([], run).map_err(failed)?;
            rows.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.writer.write("open runs", job))
    }

    fn forget_runs(&self, ended_before_ms: i64, once_before_ms: i64) -> Later<'_, u32> {
        let job = move |connection: &Connection| {
            let sql = "DELETE FROM api_once WHERE at_ms < ?1";
            connection.execute(sql, [once_before_ms]).map_err(failed)?;
            let sql = "SELECT id FROM api_runs WHERE ended_ms < ?1 \
                       AND id NOT IN (SELECT run FROM api_once)";
            let mut old = connection.prepare(sql).map_err(failed)?;
            let old = old.query_map([ended_before_ms], |row| row.get(0)).map_err(failed)?;
            let old: Vec<String> = old.collect::<Result<_, _>>().map_err(failed)?;
            for id in &old {
                connection
                    .execute("DELETE FROM api_run_events WHERE run = ?1", [id])
                    .map_err(failed)?;
                connection.execute("DELETE FROM api_runs WHERE id = ?1", [id]).map_err(failed)?;
            }
            Ok(u32::try_from(old.len()).unwrap_or(u32::MAX))
        };
        Box::pin(self.writer.write("old runs", job))
    }

    fn put_response(&self, response: ResponseRow, most: u32, now_ms: i64) -> Later<'_, ()> {
        let job = move |connection: &Connection| {
            let sql = "INSERT INTO api_responses(id, owner, session, seq, body, used_ms) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let row = params![
                response.id,
                response.owner,
                response.session.as_str(),
                response.seq,
                response.body.to_string(),
                now_ms
            ];
            connection.execute(sql, row).map_err(failed)?;
            let sql = "DELETE FROM api_responses WHERE id IN (SELECT id FROM api_responses \
                       ORDER BY used_ms DESC, id DESC LIMIT -1 OFFSET ?1)";
            connection.execute(sql, [most]).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("a response", job))
    }

    fn response<'a>(
        &'a self,
        id: &'a str,
        owner: &'a str,
        now_ms: i64,
    ) -> Later<'a, Option<ResponseRow>> {
        let (id, owner) = (id.to_owned(), owner.to_owned());
        let job = move |connection: &Connection| {
            let sql = "UPDATE api_responses SET used_ms = ?3 WHERE id = ?1 AND owner = ?2 \
                       RETURNING id, owner, session, seq, body";
            let row = |row: &Row<'_>| {
                Ok(ResponseRow {
                    id: row.get(0)?,
                    owner: row.get(1)?,
                    session: SessionId::new(row.get::<_, String>(2)?),
                    seq: row.get(3)?,
                    body: json(row, 4)?,
                })
            };
            connection.query_row(sql, params![id, owner, now_ms], row).optional().map_err(failed)
        };
        Box::pin(self.writer.write("the use of a response", job))
    }

    fn delete_response<'a>(&'a self, id: &'a str, owner: &'a str) -> Later<'a, bool> {
        let (id, owner) = (id.to_owned(), owner.to_owned());
        let job = move |connection: &Connection| {
            let sql = "DELETE FROM api_responses WHERE id = ?1 AND owner = ?2";
            Ok(connection.execute(sql, [id, owner]).map_err(failed)? > 0)
        };
        Box::pin(self.writer.write("a response that is removed", job))
    }

    fn first_delivery<'a>(
        &'a self,
        route: &'a str,
        delivery: &'a str,
        now_ms: i64,
        forget_before_ms: i64,
    ) -> Later<'a, bool> {
        let (route, delivery) = (route.to_owned(), delivery.to_owned());
        let job = move |connection: &Connection| {
            let sql = "DELETE FROM webhook_seen WHERE at_ms < ?1";
            connection.execute(sql, [forget_before_ms]).map_err(failed)?;
            let sql = "INSERT INTO webhook_seen(route, delivery, at_ms) VALUES (?1, ?2, ?3) \
                       ON CONFLICT DO NOTHING";
            Ok(connection.execute(sql, params![route, delivery, now_ms]).map_err(failed)? > 0)
        };
        Box::pin(self.writer.begin("a delivery", job))
    }

    fn forget_delivery<'a>(&'a self, route: &'a str, delivery: &'a str) -> Later<'a, ()> {
        let (route, delivery) = (route.to_owned(), delivery.to_owned());
        let job = move |connection: &Connection| {
            let sql = "DELETE FROM webhook_seen WHERE route = ?1 AND delivery = ?2";
            connection.execute(sql, [route, delivery]).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("a delivery that was not worked on", job))
    }
}

fn once(
    connection: &Connection,
    request: &OnceRequest,
    forget_before_ms: i64,
) -> Result<Once, StoreError> {
    let sql = "DELETE FROM api_once WHERE at_ms < ?1";
    connection.execute(sql, [forget_before_ms]).map_err(failed)?;
    let sql = "SELECT body, run FROM api_once WHERE place = ?1";
    let found: Option<(Vec<u8>, String)> = connection
        .query_row(sql, [&request.place[..]], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(failed)?;
    if let Some((body, run)) = found {
        return Ok(if body == request.body { Once::Same(run) } else { Once::Other });
    }
    let sql = "INSERT INTO api_once(place, body, run, at_ms) VALUES (?1, ?2, ?3, ?4)";
    let row = params![&request.place[..], &request.body[..], request.run, request.at_ms];
    connection.execute(sql, row).map_err(failed)?;
    Ok(Once::New)
}

/// Names as one text: none of them has a comma.
fn list(names: &[String]) -> String {
    names.join(",")
}

fn names(text: &str) -> Vec<String> {
    text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn token(row: &Row<'_>) -> rusqlite::Result<ApiToken> {
    Ok(ApiToken {
        name: row.get(0)?,
        scopes: names(&row.get::<_, String>(1)?),
        toolsets: row.get::<_, Option<String>>(2)?.map(|text| names(&text)),
        created_ms: row.get(3)?,
        expires_ms: row.get(4)?,
        used_ms: row.get(5)?,
    })
}

fn run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: row.get(0)?,
        owner: row.get(1)?,
        session: SessionId::new(row.get::<_, String>(2)?),
        status: row.get(3)?,
        about: json(row, 4)?,
        created_ms: row.get(5)?,
        ended_ms: row.get(6)?,
    })
}

/// A column of JSON; what cannot be read is nothing.
fn json(row: &Row<'_>, at: usize) -> rusqlite::Result<Value> {
    Ok(serde_json::from_str(&row.get::<_, String>(at)?).unwrap_or_default())
}
