//! What became of due times: rows that are claimed, run and ended.

use petasos_contract::SessionId;
use petasos_store::{
    Advance, Advanced, DeliveryWish, Finish, JobChange, JobState, NewOccurrence, OccurrenceRow,
    OccurrenceState, StoreError, Trigger,
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use crate::inbox::{json, some};
use crate::leases::Party;
use crate::outbox;
use crate::schedules::change_row;
use crate::sqlite::failed;
use crate::stamp::new_row_id;

const COLUMNS: &str = "id, job, trigger, scheduled_ms, attempt, state, reason, first_ms, folded, \
                       late_ms, session, called, beat_ms, started_ms, ended_ms, wish, detail";
/// So many settled occurrences of a job are kept.
const KEPT: u32 = 500;

/// Moves a job on, when it is as the caller saw it.
pub(crate) fn advance(
    connection: &Connection,
    advance: &Advance,
    now_ms: i64,
    me: &Party,
) -> Result<Option<Advanced>, StoreError> {
    let sql = "SELECT state = 'scheduled' AND revision = ?2 AND (SELECT count(*) \
               FROM occurrences WHERE job = ?1 AND state IN ('due', 'claimed', 'running')) = ?3 \
               FROM jobs WHERE id = ?1";
    let as_seen: Option<bool> = connection
        .prepare_cached(sql)
        .and_then(|mut sql| {
            let row = params![advance.job, advance.revision, advance.active];
            sql.query_row(row, |row| row.get(0)).optional()
        })
        .map_err(failed)?;
    if as_seen != Some(true) {
        return Ok(None);
    }
    let mut done = Advanced { claimed: None, known: 0 };
    for note in &advance.notes {
        match insert(connection, note, now_ms, me)? {
            Some(id) if note.state == OccurrenceState::Claimed => {
                done.claimed = one(connection, &id)?;
            }
            Some(_) => {}
            None => done.known += 1,
        }
    }
    let change = JobChange {
        times: Some((advance.cursor_ms, advance.next_ms)),
        body: advance.body.clone(),
        state: advance.completes.then(|| (JobState::Completed, String::new())),
        ..JobChange::default()
    };
    change_row(connection, &advance.job, None, &change, now_ms)?;
    Ok(Some(done))
}

/// Notes an occurrence; nothing when its due time was noted before.
pub(crate) fn insert(
    connection: &Connection,
    new: &NewOccurrence,
    now_ms: i64,
    me: &Party,
) -> Result<Option<String>, StoreError> {
    let last: Option<String> = connection
        .prepare_cached("SELECT max(id) FROM occurrences")
        .and_then(|mut sql| sql.query_row([], |row| row.get(0)))
        .map_err(failed)?;
    let id = new_row_id(last.as_deref());
    let claimed = new.state == OccurrenceState::Claimed;
    let owner = if claimed { me.mark() } else { String::new() };
    let ended = (new.state == OccurrenceState::Skipped).then_some(now_ms);
    let sql = "INSERT INTO occurrences(id, job, trigger, scheduled_ms, attempt, state, reason, \
               first_ms, folded, late_ms, owner, beat_ms, ended_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
               ON CONFLICT(job, trigger, scheduled_ms, attempt) DO NOTHING";
    let row = params![
        id,
        new.job,
        new.trigger.as_str(),
        new.scheduled_ms,
        new.attempt,
        new.state.as_str(),
        new.reason,
        new.first_ms,
        new.folded,
        new.late_ms,
        owner,
        now_ms,
        ended
    ];
    let new =
        connection.prepare_cached(sql).and_then(|mut sql| sql.execute(row)).map_err(failed)?;
    Ok((new == 1).then_some(id))
}

/// The first one that waits for a job of which nothing runs.
pub(crate) fn free_to_run(connection: &Connection) -> Result<Option<String>, StoreError> {
    // Each begins with the words of the index over what is about, so that it is used.
    let sql = "SELECT min(id) FROM occurrences AS one \
               WHERE state IN ('due', 'claimed', 'running') AND state = 'due' AND NOT EXISTS \
               (SELECT 1 FROM occurrences AS other WHERE other.job = one.job \
               AND other.state IN ('due', 'claimed', 'running') AND other.state <> 'due')";
    let mut sql = connection.prepare_cached(sql).map_err(failed)?;
    sql.query_row([], |row| row.get(0)).map_err(failed)
}

/// Takes one that waited.
pub(crate) fn claim(
    connection: &Connection,
    id: &str,
    now_ms: i64,
    me: &Party,
) -> Result<(), StoreError> {
    let sql = "UPDATE occurrences SET state = 'claimed', owner = ?2, beat_ms = ?3 WHERE id = ?1";
    connection.execute(sql, params![id, me.mark(), now_ms]).map(drop).map_err(failed)
}

/// Ends one of ours, with its deliveries.
pub(crate) fn finish(
    connection: &Connection,
    id: &str,
    finish: &Finish,
    me: &Party,
) -> Result<bool, StoreError> {
    let sql = "UPDATE occurrences SET state = ?3, wish = ?4, detail = ?5, ended_ms = ?6 \
               WHERE id = ?1 AND owner = ?2 AND state IN ('claimed', 'running') RETURNING job";
    let row = params![
        id,
        me.mark(),
        finish.state.as_str(),
        finish.wish.as_str(),
        json(&finish.detail)?,
        finish.at_ms
    ];
    let job: Option<String> = connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.query_row(row, |row| row.get(0)).optional())
        .map_err(failed)?;
    let Some(job) = job else { return Ok(false) };
    outbox::plan(connection, &finish.deliveries)?;
    let sql = "DELETE FROM occurrences WHERE job = ?1 \
               AND state NOT IN ('due', 'claimed', 'running') AND id <= (SELECT id \
               FROM occurrences WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
    connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.execute(params![job, KEPT]))
        .map_err(failed)?;
    Ok(true)
}

/// Occurrences whose owner is certainly gone.
pub(crate) fn left_behind(connection: &Connection, me: &Party) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT id, owner FROM occurrences \
               WHERE state IN ('due', 'claimed', 'running') AND state <> 'due'";
    let mut sql = connection.prepare_cached(sql).map_err(failed)?;
    let found = sql.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    let found: Vec<(String, String)> =
        found.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    let gone = found.into_iter().filter(|(_, owner)| me.is_gone(owner));
    Ok(gone.map(|(id, _)| id).collect())
}

/// Ends what was left, and what is as silent as it was.
pub(crate) fn abandon(
    connection: &Connection,
    left: &[String],
    silent: &[(String, i64)],
    now_ms: i64,
) -> Result<Vec<OccurrenceRow>, StoreError> {
    let sql = "UPDATE occurrences SET ended_ms = ?3, owner = '', reason = 'its process ended', \
               state = CASE WHEN called THEN 'unknown' ELSE 'interrupted' END \
               WHERE id = ?1 AND state IN ('claimed', 'running') \
               AND (?2 IS NULL OR beat_ms = ?2)";
    let all = left.iter().map(|id| (id, None));
    let all = all.chain(silent.iter().map(|(id, beat)| (id, Some(*beat))));
    let mut ended = Vec::new();
    for (id, beat) in all {
        let changed = connection.execute(sql, params![id, beat, now_ms]).map_err(failed)?;
        if changed == 1 {
            ended.extend(one(connection, id)?);
        }
    }
    Ok(ended)
}

/// The newest ones.
pub(crate) fn newest(
    connection: &Connection,
    job: Option<&str>,
    limit: u32,
) -> Result<Vec<OccurrenceRow>, StoreError> {
    match job {
        Some(job) => select(connection, "job = ?1 ORDER BY id DESC LIMIT ?2", params![job, limit]),
        None => select(connection, "true ORDER BY id DESC LIMIT ?1", params![limit]),
    }
}

/// Due times that ended before anything was called and were not tried again.
pub(crate) fn interrupted(
    connection: &Connection,
    limit: u32,
) -> Result<Vec<OccurrenceRow>, StoreError> {
    let which = "state = 'interrupted' AND trigger = 'schedule' AND NOT EXISTS \
                 (SELECT 1 FROM occurrences AS again WHERE again.job = occurrences.job \
                 AND again.trigger = 'schedule' AND again.attempt > occurrences.attempt \
                 AND again.scheduled_ms = occurrences.scheduled_ms) \
                 AND EXISTS (SELECT 1 FROM jobs WHERE jobs.id = occurrences.job) \
                 ORDER BY scheduled_ms LIMIT ?1";
    select(connection, which, params![limit])
}

/// Those of a job that are not settled.
pub(crate) fn active(connection: &Connection, job: &str) -> Result<Vec<OccurrenceRow>, StoreError> {
    let which = "job = ?1 AND state IN ('due', 'claimed', 'running') ORDER BY id";
    select(connection, which, params![job])
}

/// The newest one of a job that was run.
pub(crate) fn last_run(
    connection: &Connection,
    job: &str,
) -> Result<Option<OccurrenceRow>, StoreError> {
    let which = "job = ?1 AND state NOT IN ('due', 'skipped') ORDER BY id DESC LIMIT 1";
    Ok(select(connection, which, params![job])?.pop())
}

/// One of them.
pub(crate) fn one(connection: &Connection, id: &str) -> Result<Option<OccurrenceRow>, StoreError> {
    Ok(select(connection, "id = ?1", params![id])?.pop())
}

fn select(
    connection: &Connection,
    which: &str,
    values: &[&dyn ToSql],
) -> Result<Vec<OccurrenceRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM occurrences WHERE {which}");
    let mut sql = connection.prepare_cached(&sql).map_err(failed)?;
    let found = sql.query_map(values, stored).map_err(failed)?;
    found.collect::<Result<_, _>>().map_err(failed)
}

fn stored(row: &Row<'_>) -> rusqlite::Result<OccurrenceRow> {
    let word = |at: usize| row.get::<_, String>(at);
    Ok(OccurrenceRow {
        id: row.get(0)?,
        new: NewOccurrence {
            job: row.get(1)?,
            trigger: Trigger::named(&word(2)?).unwrap_or(Trigger::Schedule),
            scheduled_ms: row.get(3)?,
            attempt: row.get(4)?,
            state: OccurrenceState::named(&word(5)?).unwrap_or(OccurrenceState::Unknown),
            reason: row.get(6)?,
            first_ms: row.get(7)?,
            folded: row.get(8)?,
            late_ms: row.get(9)?,
        },
        session: some(row.get(10)?).map(SessionId::from),
        called: row.get(11)?,
        beat_ms: row.get(12)?,
        started_ms: row.get(13)?,
        ended_ms: row.get(14)?,
        wish: DeliveryWish::named(&word(15)?).unwrap_or(DeliveryWish::None),
        detail: serde_json::from_str(&word(16)?).unwrap_or_default(),
    })
}
