//! Rows of boards, read and written.

use petasos_contract::taint::Taint;
use petasos_store::{
    Attachment, BoardCount, BoardError, Comment, On, Run, Status, StoreError, Task, TaskEvent,
    TaskFilter, Workspace,
};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::files::{Folder, Stored};
use crate::sqlite::failed;

const COLUMNS: &str = "id, board, title, body, assignee, status, tenant, priority, workspace_kind, \
    workspace_path, project, max_runtime_s, skills, goal, created_by, session, label, failures, \
    block_kind, block_reason, summary, result, metadata, run_id, claim_until_ms, not_before_ms, \
    created_ms, updated_ms";
const EVENTS_SHOWN: u32 = 50;

/// Which neighbours of a task are meant.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Parents,
    Children,
}

/// A value as the text of its column.
pub(super) fn json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}

fn typed<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Task> {
    let status: String = row.get(5)?;
    let goal: Option<String> = row.get(13)?;
    Ok(Task {
        id: row.get(0)?,
        board: row.get(1)?,
        title: row.get(2)?,
        body: row.get(3)?,
        assignee: row.get(4)?,
        // A state of a later version needs somebody who knows it.
        status: Status::named(&status).unwrap_or(Status::Triage),
        tenant: row.get(6)?,
        priority: row.get(7)?,
        workspace: Workspace { kind: row.get(8)?, path: row.get(9)? },
        project: row.get(10)?,
        max_runtime_s: row.get(11)?,
        skills: typed(row, 12)?,
        goal: goal.and_then(|goal| serde_json::from_str(&goal).ok()),
        created_by: row.get(14)?,
        session: row.get(15)?,
        label: typed(row, 16)?,
        failures: row.get(17)?,
        block_kind: row.get(18)?,
        block_reason: row.get(19)?,
        summary: row.get(20)?,
        result: row.get(21)?,
        metadata: typed(row, 22)?,
        run_id: row.get(23)?,
        claim_until_ms: row.get(24)?,
        not_before_ms: row.get(25)?,
        created_ms: row.get(26)?,
        updated_ms: row.get(27)?,
    })
}

/// Tasks that fulfil a condition.
pub(super) fn tasks(
    connection: &Connection,
    condition: &str,
    values: impl Params,
) -> Result<Vec<Task>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM board_tasks WHERE {condition}");
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let found = statement.query_map(values, read).map_err(failed)?;
    found.collect::<Result<_, _>>().map_err(failed)
}

/// The task with this name.
pub(super) fn task(connection: &Connection, board: &str, id: &str) -> Result<Task, BoardError> {
    let found = tasks(connection, "board = ?1 AND id = ?2", [board, id])?;
    let none = || BoardError::NoTask { board: board.to_owned(), task: id.to_owned() };
    found.into_iter().next().ok_or_else(none)
}

/// The lock of a task's claim.
pub(super) fn lock(connection: &Connection, id: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT claim_lock FROM board_tasks WHERE id = ?1";
    let found = connection.query_row(sql, [id], |row| row.get(0)).optional();
    Ok(found.map_err(failed)?.flatten())
}

pub(super) fn list(connection: &Connection, filter: &TaskFilter) -> Result<Vec<Task>, StoreError> {
    let status = filter.status.map(Status::as_str);
    let archived = filter.archived || filter.status == Some(Status::Archived);
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    tasks(
        connection,
        "board = ?1 AND (?2 IS NULL OR assignee = ?2) AND (?3 IS NULL OR status = ?3) \
         AND (?4 IS NULL OR tenant = ?4) AND (?5 OR status != 'archived') \
         ORDER BY priority DESC, created_ms, id LIMIT ?6",
        params![filter.board, filter.assignee, status, filter.tenant, archived, limit],
    )
}

pub(super) fn linked(
    connection: &Connection,
    id: &str,
    side: Side,
) -> Result<Vec<Task>, StoreError> {
    let condition = match side {
        Side::Parents => {
            "id IN (SELECT parent FROM board_links WHERE child = ?1) ORDER BY created_ms, id"
        }
        Side::Children => {
            "id IN (SELECT child FROM board_links WHERE parent = ?1) ORDER BY created_ms, id"
        }
    };
    tasks(connection, condition, [id])
}

/// Attempts that fulfil a condition, which asks for the newest first; gives the oldest first.
pub(super) fn runs(
    connection: &Connection,
    condition: &str,
    values: impl Params,
) -> Result<Vec<Run>, StoreError> {
    let sql = format!(
        "SELECT id, task, profile, started_ms, ended_ms, outcome, note FROM board_runs \
         WHERE {condition}"
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let read = |row: &Row<'_>| {
        Ok(Run {
            id: row.get(0)?,
            task: row.get(1)?,
            profile: row.get(2)?,
            started_ms: row.get(3)?,
            ended_ms: row.get(4)?,
            outcome: row.get(5)?,
            note: row.get(6)?,
        })
    };
    let found = statement.query_map(values, read).map_err(failed)?;
    let mut found: Vec<Run> = found.collect::<Result<_, _>>().map_err(failed)?;
    found.reverse();
    Ok(found)
}

pub(super) fn comments(connection: &Connection, id: &str) -> Result<Vec<Comment>, StoreError> {
    let sql = "SELECT id, author, body, label, at_ms FROM board_comments WHERE task = ?1 \
               ORDER BY id";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let read = |row: &Row<'_>| {
        Ok(Comment {
            id: row.get(0)?,
            author: row.get(1)?,
            body: row.get(2)?,
            label: typed(row, 3)?,
            at_ms: row.get(4)?,
        })
    };
    let found = statement.query_map([id], read).map_err(failed)?;
    found.collect::<Result<_, _>>().map_err(failed)
}

pub(super) fn events(connection: &Connection, id: &str) -> Result<Vec<TaskEvent>, StoreError> {
    let sql = "SELECT kind, actor, note, at_ms FROM board_events WHERE task = ?1 \
               ORDER BY id DESC LIMIT ?2";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let read = |row: &Row<'_>| {
        Ok(TaskEvent { kind: row.get(0)?, by: row.get(1)?, note: row.get(2)?, at_ms: row.get(3)? })
    };
    let found = statement.query_map(params![id, EVENTS_SHOWN], read).map_err(failed)?;
    let mut found: Vec<TaskEvent> = found.collect::<Result<_, _>>().map_err(failed)?;
    found.reverse();
    Ok(found)
}

/// Notes that something happened.
pub(super) fn event(
    connection: &Connection,
    on: &On,
    kind: &str,
    note: &str,
) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO board_events(task, kind, actor, note, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
    let row = params![on.task, kind, on.by.profile, note, on.by.at_ms];
    connection.execute(sql, row).map(drop).map_err(failed)
}

pub(super) fn attach(
    connection: &Connection,
    on: &On,
    file: &Stored,
    label: Taint,
) -> Result<Attachment, StoreError> {
    let sql = "INSERT INTO board_files(task, name, content_type, size, sha256, source, label, \
               at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let size = i64::try_from(file.size).unwrap_or(i64::MAX);
    let row = params![
        on.task,
        file.filename,
        file.content_type,
        size,
        file.sha256,
        file.source,
        json(&label)?,
        on.by.at_ms
    ];
    connection.execute(sql, row).map_err(failed)?;
    Ok(Attachment {
        attachment_id: connection.last_insert_rowid(),
        filename: file.filename.clone(),
        content_type: file.content_type.clone(),
        size: file.size,
        sha256: file.sha256.clone(),
        source: file.source.clone(),
        path: file.path.clone(),
        label,
        at_ms: on.by.at_ms,
    })
}

pub(super) fn attachments(
    connection: &Connection,
    id: &str,
    folder: &Folder,
) -> Result<Vec<Attachment>, StoreError> {
    let sql = "SELECT id, name, content_type, size, sha256, source, at_ms, label FROM board_files \
               WHERE task = ?1 ORDER BY id";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let read = |row: &Row<'_>| {
        let (filename, sha256): (String, String) = (row.get(1)?, row.get(4)?);
        Ok(Attachment {
            attachment_id: row.get(0)?,
            content_type: row.get(2)?,
            size: u64::try_from(row.get::<_, i64>(3)?).unwrap_or_default(),
            source: row.get(5)?,
            path: folder.path(&sha256, &filename),
            at_ms: row.get(6)?,
            label: typed(row, 7)?,
            filename,
            sha256,
        })
    };
    let found = statement.query_map([id], read).map_err(failed)?;
    found.collect::<Result<_, _>>().map_err(failed)
}

pub(super) fn boards(connection: &Connection) -> Result<Vec<BoardCount>, StoreError> {
    let sql = "SELECT board, status, count(*) FROM board_tasks GROUP BY board, status \
               ORDER BY board, status";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let read = |row: &Row<'_>| {
        let status: String = row.get(1)?;
        Ok(BoardCount {
            board: row.get(0)?,
            status: Status::named(&status).unwrap_or(Status::Triage),
            tasks: u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default(),
        })
    };
    let found = statement.query_map([], read).map_err(failed)?;
    found.collect::<Result<_, _>>().map_err(failed)
}
