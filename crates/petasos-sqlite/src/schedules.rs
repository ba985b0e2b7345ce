//! Scheduled jobs, as a `ScheduleStore`. What becomes of due times is in `occurrences`.

use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_store::{
    Advance, Advanced, Finish, JobChange, JobLimits, JobReceipt, JobRow, JobState, Later, NewJob,
    NewOccurrence, OccurrenceRow, OutboxRow, ScheduleStore, SchedulerRow, StoreError,
    delivery_prefix,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::inbox::json;
use crate::occurrences as rows;
use crate::outbox;
use crate::sqlite::failed;
use crate::store::Store;

const COLUMNS: &str = "id, name, state, why, body, cursor_ms, next_ms, revision, maker, \
                       created_ms, changed_ms";
const DAY_MS: i64 = 86_400_000;

impl ScheduleStore for Store {
    fn add_job(&self, job: NewJob, limits: JobLimits) -> Later<'_, JobReceipt> {
        let write = move |connection: &Connection| add(connection, &job, limits);
        Box::pin(self.writer.write("a job", write))
    }

    fn change_job<'a>(
        &'a self,
        id: &'a str,
        revision: i64,
        change: JobChange,
        now_ms: i64,
    ) -> Later<'a, bool> {
        let id = id.to_owned();
        let write = move |connection: &Connection| {
            change_row(connection, &id, Some(revision), &change, now_ms)
        };
        Box::pin(self.writer.write("a changed job", write))
    }

    fn remove_job<'a>(&'a self, id: &'a str) -> Later<'a, bool> {
        let id = id.to_owned();
        let write = move |connection: &Connection| {
            // What waits is not run for a job that is gone.
            let sql = "UPDATE occurrences SET state = 'skipped', reason = 'removed' \
                       WHERE job = ?1 AND state = 'due'";
            connection.execute(sql, [&id]).map_err(failed)?;
            let gone = connection.execute("DELETE FROM jobs WHERE id = ?1", [&id]);
            Ok(gone.map_err(failed)? == 1)
        };
        Box::pin(self.writer.write("a removed job", write))
    }

    fn jobs(&self) -> Later<'_, Vec<JobRow>> {
        let look = |connection: &Connection| {
            let sql = format!("SELECT {COLUMNS} FROM jobs ORDER BY created_ms, id");
            let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
            let found = sql.query_map([], stored).map_err(failed)?;
            let found: Vec<JobRow> = found.collect::<Result<_, _>>().map_err(failed)?;
            found.into_iter().map(|row| with_last(connection, row)).collect()
        };
        Box::pin(self.readers.read("the jobs", look))
    }

    fn job<'a>(&'a self, id: &'a str) -> Later<'a, Option<JobRow>> {
        let id = id.to_owned();
        let look = move |connection: &Connection| one(connection, &id);
        Box::pin(self.readers.read("a job", look))
    }

    fn due_jobs(&self, now_ms: i64, limit: u32) -> Later<'_, Vec<JobRow>> {
        let look = move |connection: &Connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM jobs WHERE state = 'scheduled' AND next_ms IS NOT NULL \
                 AND next_ms <= ?1 ORDER BY next_ms, id LIMIT ?2"
            );
            let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
            let found = sql.query_map(params![now_ms, limit], stored).map_err(failed)?;
            found.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("due jobs", look))
    }

    fn next_job(&self) -> Later<'_, Option<i64>> {
        let look = |connection: &Connection| {
            let sql = "SELECT min(next_ms) FROM jobs WHERE state = 'scheduled' \
                       AND next_ms IS NOT NULL";
            connection.query_row(sql, [], |row| row.get(0)).map_err(failed)
        };
        Box::pin(self.readers.read("the next job", look))
    }

    fn advance(&self, advance: Advance, now_ms: i64) -> Later<'_, Option<Advanced>> {
        let me = Arc::clone(&self.party);
        let write = move |connection: &Connection| rows::advance(connection, &advance, now_ms, &me);
        Box::pin(self.writer.write("a due job", write))
    }

    fn demand(&self, occurrence: NewOccurrence, now_ms: i64) -> Later<'_, Option<OccurrenceRow>> {
        let me = Arc::clone(&self.party);
        let write = move |connection: &Connection| {
            rows::insert(connection, &occurrence, now_ms, &me)?
                .map_or(Ok(None), |id| rows::one(connection, &id))
        };
        Box::pin(self.writer.write("a run that was asked for", write))
    }

    fn claim_waiting(&self, now_ms: i64) -> Later<'_, Option<OccurrenceRow>> {
        let me = Arc::clone(&self.party);
        Box::pin(async move {
            // Most looks find nothing and must not cost a write.
            if self.readers.read("runs that wait", rows::free_to_run).await?.is_none() {
                return Ok(None);
            }
            let write = move |connection: &Connection| {
                let Some(id) = rows::free_to_run(connection)? else { return Ok(None) };
                rows::claim(connection, &id, now_ms, &me)?;
                rows::one(connection, &id)
            };
            self.writer.write("a run that waited", write).await
        })
    }

    fn begin<'a>(
        &'a self,
        id: &'a str,
        session: Option<&'a SessionId>,
        now_ms: i64,
    ) -> Later<'a, bool> {
        let (id, session) = (id.to_owned(), session.map(ToString::to_string).unwrap_or_default());
        let me = Arc::clone(&self.party);
        let write = move |connection: &Connection| {
            let sql = "UPDATE occurrences SET state = 'running', session = ?3, \
                       started_ms = coalesce(started_ms, ?4), beat_ms = ?4 \
                       WHERE id = ?1 AND owner = ?2 AND state IN ('claimed', 'running')";
            let row = params![id, me.mark(), session, now_ms];
            Ok(connection.execute(sql, row).map_err(failed)? == 1)
        };
        Box::pin(self.writer.write("a run that begins", write))
    }

    fn called<'a>(&'a self, id: &'a str) -> Later<'a, bool> {
        let (id, me) = (id.to_owned(), Arc::clone(&self.party));
        let write = move |connection: &Connection| {
            let sql = "UPDATE occurrences SET called = 1 WHERE id = ?1 AND owner = ?2 \
                       AND state IN ('claimed', 'running')";
            Ok(connection.execute(sql, params![id, me.mark()]).map_err(failed)? == 1)
        };
        Box::pin(self.writer.write("the first call of a run", write))
    }

    fn beat(&self, ids: Vec<String>, now_ms: i64) -> Later<'_, Vec<String>> {
        let me = Arc::clone(&self.party);
        let write = move |connection: &Connection| {
            let sql = "UPDATE occurrences SET beat_ms = ?3 WHERE id = ?1 AND owner = ?2 \
                       AND state IN ('claimed', 'running')";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let mut ours = Vec::new();
            for id in ids {
                let row = params![id, me.mark(), now_ms];
                if sql.execute(row).map_err(failed)? == 1 {
                    ours.push(id);
                }
            }
            Ok(ours)
        };
        Box::pin(self.writer.write("runs that live", write))
    }

    fn finish<'a>(&'a self, id: &'a str, finish: Finish) -> Later<'a, bool> {
        let (id, me) = (id.to_owned(), Arc::clone(&self.party));
        let write = move |connection: &Connection| rows::finish(connection, &id, &finish, &me);
        Box::pin(self.writer.write("a run that ended", write))
    }

    fn abandon(&self, silent: Vec<(String, i64)>, now_ms: i64) -> Later<'_, Vec<OccurrenceRow>> {
        let me = Arc::clone(&self.party);
        Box::pin(async move {
            let looker = Arc::clone(&me);
            let look = move |connection: &Connection| rows::left_behind(connection, &looker);
            let left = self.readers.read("runs that were left", look).await?;
            if left.is_empty() && silent.is_empty() {
                return Ok(Vec::new());
            }
            let write = move |connection: &Connection| {
                let left = rows::left_behind(connection, &me)?;
                rows::abandon(connection, &left, &silent, now_ms)
            };
            self.writer.write("runs that were left", write).await
        })
    }

    fn silent(&self, before_ms: i64) -> Later<'_, Vec<(String, i64)>> {
        let me = self.party.mark();
        let look = move |connection: &Connection| {
            let sql = "SELECT id, beat_ms FROM occurrences \
                       WHERE state IN ('due', 'claimed', 'running') AND state <> 'due' \
                       AND beat_ms < ?1 AND owner != ?2";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let found = sql.query_map(params![before_ms, me], |row| Ok((row.get(0)?, row.get(1)?)));
            found.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("runs that are silent", look))
    }

    fn occurrences<'a>(
        &'a self,
        job: Option<&'a str>,
        limit: u32,
    ) -> Later<'a, Vec<OccurrenceRow>> {
        let job = job.map(str::to_owned);
        let look = move |connection: &Connection| rows::newest(connection, job.as_deref(), limit);
        Box::pin(self.readers.read("runs", look))
    }

    fn interrupted(&self, limit: u32) -> Later<'_, Vec<OccurrenceRow>> {
        let look = move |connection: &Connection| rows::interrupted(connection, limit);
        Box::pin(self.readers.read("runs that were interrupted", look))
    }

    fn active<'a>(&'a self, job: &'a str) -> Later<'a, Vec<OccurrenceRow>> {
        let job = job.to_owned();
        let look = move |connection: &Connection| rows::active(connection, &job);
        Box::pin(self.readers.read("runs of a job", look))
    }

    fn occurrence<'a>(&'a self, id: &'a str) -> Later<'a, Option<OccurrenceRow>> {
        let id = id.to_owned();
        Box::pin(self.readers.read("a run", move |connection| rows::one(connection, &id)))
    }

    fn deliveries_of<'a>(&'a self, id: &'a str) -> Later<'a, Vec<OutboxRow>> {
        let prefix = delivery_prefix(id);
        let look = move |connection: &Connection| outbox::with_prefix(connection, &prefix);
        Box::pin(self.readers.read("deliveries of a run", look))
    }

    fn note_scheduler<'a>(&'a self, kind: &'a str, now_ms: i64) -> Later<'a, ()> {
        let (kind, mark) = (kind.to_owned(), self.party.mark());
        let write = move |connection: &Connection| {
            let sql = "DELETE FROM schedulers WHERE woke_ms < ?1";
            connection.execute(sql, [now_ms - DAY_MS]).map_err(failed)?;
            let sql = "INSERT INTO schedulers(owner, kind, pid, woke_ms) VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT(owner) DO UPDATE SET kind = ?2, woke_ms = ?4";
            let row = params![mark, kind, std::process::id(), now_ms];
            connection.execute(sql, row).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("who looks for due jobs", write))
    }

    fn schedulers(&self) -> Later<'_, Vec<SchedulerRow>> {
        let me = Arc::clone(&self.party);
        let look = move |connection: &Connection| {
            let sql = "SELECT owner, kind, pid, woke_ms FROM schedulers ORDER BY woke_ms DESC";
            let mut sql = connection.prepare_cached(sql).map_err(failed)?;
            let read = |row: &Row<'_>| {
                let owner: String = row.get(0)?;
                let alive = !me.is_gone(&owner);
                Ok(SchedulerRow {
                    kind: row.get(1)?,
                    pid: row.get(2)?,
                    woke_ms: row.get(3)?,
                    alive,
                })
            };
            let found = sql.query_map([], read).map_err(failed)?;
            found.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("who looks for due jobs", look))
    }
}

fn add(connection: &Connection, job: &NewJob, limits: JobLimits) -> Result<JobReceipt, StoreError> {
    let count = |sql: &str, row: &[&dyn rusqlite::ToSql]| -> Result<u32, StoreError> {
        connection.query_row(sql, row, |row| row.get(0)).map_err(failed)
    };
    if count("SELECT count(*) FROM jobs", &[])? >= limits.jobs {
        return Ok(JobReceipt::TooMany);
    }
    let since = job.created_ms - DAY_MS;
    let made = "SELECT count(*) FROM jobs WHERE maker = ?1 AND created_ms > ?2";
    if !job.maker.is_empty() && count(made, &[&job.maker, &since])? >= limits.by_maker {
        return Ok(JobReceipt::TooManyToday);
    }
    let sql = "INSERT INTO jobs(id, name, state, body, cursor_ms, next_ms, maker, created_ms, \
               changed_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)";
    let row = params![
        job.id,
        job.name,
        job.state.as_str(),
        json(&job.body)?,
        job.cursor_ms,
        job.next_ms,
        job.maker,
        job.created_ms
    ];
    connection.execute(sql, row).map_err(failed)?;
    Ok(JobReceipt::Kept)
}

/// Changes a row, as seen or as it is; whether it was as seen.
pub(crate) fn change_row(
    connection: &Connection,
    id: &str,
    revision: Option<i64>,
    change: &JobChange,
    now_ms: i64,
) -> Result<bool, StoreError> {
    let body = change.body.as_ref().map(json).transpose()?;
    let (state, why) = match &change.state {
        Some((state, why)) => (Some(state.as_str()), Some(why)),
        None => (None, None),
    };
    let cursor = change.times.map(|(cursor, _)| cursor);
    let next = change.times.and_then(|(_, next)| next);
    let sql = "UPDATE jobs SET name = coalesce(?3, name), state = coalesce(?4, state), \
               why = coalesce(?5, why), body = coalesce(?6, body), \
               next_ms = CASE WHEN ?7 IS NULL THEN next_ms ELSE ?8 END, \
               cursor_ms = coalesce(?7, cursor_ms), revision = revision + 1, changed_ms = ?9 \
               WHERE id = ?1 AND (?2 IS NULL OR revision = ?2)";
    let row = params![id, revision, change.name, state, why, body, cursor, next, now_ms];
    Ok(connection.execute(sql, row).map_err(failed)? == 1)
}

fn one(connection: &Connection, id: &str) -> Result<Option<JobRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM jobs WHERE id = ?1");
    let found = connection
        .prepare_cached(&sql)
        .and_then(|mut sql| sql.query_row([id], stored).optional())
        .map_err(failed)?;
    found.map(|row| with_last(connection, row)).transpose()
}

fn with_last(connection: &Connection, row: JobRow) -> Result<JobRow, StoreError> {
    let last = rows::last_run(connection, &row.job.id)?.map(Box::new);
    Ok(JobRow { last, ..row })
}

fn stored(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let (state, body): (String, String) = (row.get(2)?, row.get(4)?);
    Ok(JobRow {
        job: NewJob {
            id: row.get(0)?,
            name: row.get(1)?,
            state: JobState::named(&state).unwrap_or(JobState::Failed),
            // A body that cannot be read is told by whoever reads it as a job.
            body: serde_json::from_str(&body).unwrap_or_default(),
            cursor_ms: row.get(5)?,
            next_ms: row.get(6)?,
            maker: row.get(8)?,
            created_ms: row.get(9)?,
        },
        why: row.get(3)?,
        revision: row.get(7)?,
        changed_ms: row.get(10)?,
        last: None,
    })
}
