//! Takes over a board of Hermes (`kanban.db`), which is opened read-only.
//!
//! Columns came and went over its versions, so each is used when it is there. A task that somebody
//! worked on over there is ready here: its claim means nothing to us. A task whose name is taken
//! here is left alone, so that doing it again takes only what is new.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use petasos_contract::taint::Taint;
use petasos_store::{Actor, BoardError, NewFile, On, StoreError};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::files::{Folder, Stored};
use super::rows;
use crate::import::{columns, open_with, select};
use crate::sqlite::failed;
use crate::store::Store;

/// What was taken of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportedBoard {
    /// How many tasks.
    pub tasks: u64,
    /// How many were here already.
    pub known: u64,
    /// How many comments.
    pub comments: u64,
    /// How many files.
    pub files: u64,
    /// What could not be taken, and why.
    pub left: Vec<String>,
}

struct ForeignTask {
    id: String,
    texts: [Option<String>; 12],
    priority: i64,
    max_runtime_s: Option<i64>,
    failures: i64,
    created_s: i64,
    ended_s: Option<i64>,
}

/// Which of the texts is which.
const TEXTS: [&str; 12] = [
    "title",
    "body",
    "assignee",
    "status",
    "tenant",
    "workspace_kind",
    "workspace_path",
    "created_by",
    "result",
    "idempotency_key",
    "skills",
    "block_kind",
];

/// Task, profile, begin, end, outcome and note of a run.
type ForeignRun = (String, String, i64, Option<i64>, Option<String>, Option<String>);

struct ForeignFile {
    task: String,
    stored: Stored,
    at_s: i64,
}

/// Everything of a board over there, read before anything is written here.
struct Foreign {
    tasks: Vec<ForeignTask>,
    links: Vec<(String, String)>,
    comments: Vec<(String, String, String, i64)>,
    events: Vec<(String, String, String, i64)>,
    runs: Vec<ForeignRun>,
    files: Vec<ForeignFile>,
    left: Vec<String>,
}

impl Store {
    /// Takes over a board; nothing is written when `go` is not set.
    pub async fn import_board(
        &self,
        from: &Path,
        board: &str,
        go: bool,
    ) -> Result<ImportedBoard, BoardError> {
        let (from, folder, board) = (from.to_owned(), self.board_files(), board.to_owned());
        let read = tokio::task::spawn_blocking(move || read(&from, go.then_some(&folder))).await;
        let foreign = read.map_err(|error| StoreError::Failed(error.to_string()))??;
        if go {
            let write = move |connection: &Connection| write(connection, &board, &foreign);
            return self.on_board("a board of somebody else", write).await;
        }
        let look = move |connection: &Connection| Ok(counted(connection, &foreign));
        self.on_board("a look at a board", look).await
    }
}

fn rows_of<T>(
    source: &Connection,
    table: &str,
    wanted: &[&str],
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let known = columns(source, table)?;
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT {} FROM {table} ORDER BY rowid", select(&known, wanted));
    let mut statement = source.prepare(&sql).map_err(failed)?;
    let rows = statement.query_map([], |row| read(row)).map_err(failed)?;
    rows.collect::<Result<_, _>>().map_err(failed)
}

fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
    Ok(row.get::<_, Option<String>>(at)?.unwrap_or_default())
}

fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<i64> {
    Ok(row.get::<_, Option<i64>>(at)?.unwrap_or_default())
}

fn read(from: &Path, folder: Option<&Folder>) -> Result<Foreign, StoreError> {
    let source = open_with(from, &["tasks"], "kanban.db")?;
    let mut wanted = vec!["id"];
    wanted.extend(TEXTS);
    wanted.extend([
        "priority",
        "max_runtime_seconds",
        "consecutive_failures",
        "created_at",
        "completed_at",
    ]);
    let tasks = rows_of(&source, "tasks", &wanted, |row| {
        let mut texts: [Option<String>; 12] = Default::default();
        for (at, text) in texts.iter_mut().enumerate() {
            *text = row.get(at + 1)?;
        }
        Ok(ForeignTask {
            id: row.get(0)?,
            texts,
            priority: number(row, 13)?,
            max_runtime_s: row.get(14)?,
            failures: number(row, 15)?,
            created_s: number(row, 16)?,
            ended_s: row.get(17)?,
        })
    })?;
    let links = rows_of(&source, "task_links", &["parent_id", "child_id"], |row| {
        Ok((text(row, 0)?, text(row, 1)?))
    })?;
    let comments =
        rows_of(&source, "task_comments", &["task_id", "author", "body", "created_at"], |row| {
            Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?, number(row, 3)?))
        })?;
    let events =
        rows_of(&source, "task_events", &["task_id", "kind", "payload", "created_at"], |row| {
            Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?, number(row, 3)?))
        })?;
    let wanted =
        ["task_id", "profile", "started_at", "ended_at", "outcome", "status", "summary", "error"];
    let runs = rows_of(&source, "task_runs", &wanted, |row| {
        let outcome = row.get::<_, Option<String>>(4)?.or(row.get(5)?);
        let note = row.get::<_, Option<String>>(6)?.or(row.get(7)?);
        Ok((text(row, 0)?, text(row, 1)?, number(row, 2)?, row.get(3)?, outcome, note))
    })?;
    let (files, left) = files(&source, folder)?;
    Ok(Foreign { tasks, links, comments, events, runs, files, left })
}

/// The files of its tasks; those that are gone are named.
fn files(
    source: &Connection,
    folder: Option<&Folder>,
) -> Result<(Vec<ForeignFile>, Vec<String>), StoreError> {
    let wanted = ["task_id", "filename", "stored_path", "content_type", "created_at"];
    let rows = rows_of(source, "task_attachments", &wanted, |row| {
        let kind: Option<String> = row.get(3)?;
        Ok((text(row, 0)?, text(row, 1)?, PathBuf::from(text(row, 2)?), kind, number(row, 4)?))
    })?;
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for (task, filename, path, content_type, at_s) in rows {
        let gone = |why: &dyn std::fmt::Display| format!("file `{filename}` of {task}: {why}");
        let content = match std::fs::read(&path) {
            Ok(content) => content,
            Err(error) => {
                left.push(gone(&error));
                continue;
            }
        };
        // A look keeps nothing.
        let Some(folder) = folder else { continue };
        let file = NewFile { filename: filename.clone(), content_type, source: None, content };
        match folder.keep(file) {
            Ok(stored) => taken.push(ForeignFile { task, stored, at_s }),
            Err(error) => left.push(gone(&error)),
        }
    }
    Ok((taken, left))
}

fn is_known(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS(SELECT 1 FROM board_tasks WHERE id = ?1)";
    connection.query_row(sql, [id], |row| row.get(0)).map_err(failed)
}

fn counted(connection: &Connection, foreign: &Foreign) -> ImportedBoard {
    let is_known = |task: &&ForeignTask| is_known(connection, &task.id).unwrap_or_default();
    let known = foreign.tasks.iter().filter(is_known).count();
    ImportedBoard {
        tasks: count(foreign.tasks.len() - known),
        known: count(known),
        comments: count(foreign.comments.len()),
        files: count(foreign.files.len()),
        left: foreign.left.clone(),
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn write(
    connection: &Connection,
    board: &str,
    foreign: &Foreign,
) -> Result<ImportedBoard, BoardError> {
    let mut done = ImportedBoard { left: foreign.left.clone(), ..ImportedBoard::default() };
    let mut new = BTreeSet::new();
    for task in &foreign.tasks {
        if is_known(connection, &task.id)? {
            done.known += 1;
            continue;
        }
        put(connection, board, task)?;
        new.insert(task.id.as_str());
        done.tasks += 1;
    }
    let label = rows::json(&Taint::NONE)?;
    for (parent, child) in &foreign.links {
        if new.contains(child.as_str()) && is_known(connection, parent)? {
            let sql = "INSERT OR IGNORE INTO board_links(parent, child) VALUES (?1, ?2)";
            connection.execute(sql, [parent, child]).map_err(failed)?;
        }
    }
    for (task, author, body, at_s) in &foreign.comments {
        if new.contains(task.as_str()) {
            let sql = "INSERT INTO board_comments(task, author, body, label, at_ms) \
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            let row = params![task, author, body, label, at_s.saturating_mul(1000)];
            connection.execute(sql, row).map_err(failed)?;
            done.comments += 1;
        }
    }
    for (task, kind, note, at_s) in &foreign.events {
        if new.contains(task.as_str()) {
            let sql = "INSERT INTO board_events(task, kind, actor, note, at_ms) \
                       VALUES (?1, ?2, 'import', ?3, ?4)";
            let row = params![task, kind, note, at_s.saturating_mul(1000)];
            connection.execute(sql, row).map_err(failed)?;
        }
    }
    for (task, profile, started_s, ended_s, outcome, note) in &foreign.runs {
        if new.contains(task.as_str()) {
            let sql = "INSERT INTO board_runs(task, profile, started_ms, ended_ms, outcome, note) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let started = started_s.saturating_mul(1000);
            let ended = ended_s.map_or(started, |at| at.saturating_mul(1000));
            let row = params![task, profile, started, ended, outcome, note];
            connection.execute(sql, row).map_err(failed)?;
        }
    }
    for file in foreign.files.iter().filter(|file| new.contains(file.task.as_str())) {
        let at_ms = file.at_s.saturating_mul(1000);
        let by = Actor { profile: "import".to_owned(), lock: None, at_ms };
        let on = On { board: board.to_owned(), task: file.task.clone(), by };
        rows::attach(connection, &on, &file.stored, Taint::NONE)?;
        done.files += 1;
    }
    Ok(done)
}

fn put(connection: &Connection, board: &str, task: &ForeignTask) -> Result<(), StoreError> {
    let [title, body, assignee, status, tenant, kind, path, by, result, key, skills, block] =
        &task.texts;
    let text = |text: &Option<String>, usual: &str| {
        text.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| usual.to_owned())
    };
    let status = match status.as_deref() {
        // Who worked on it over there does so no more.
        Some("running") | None => "ready",
        Some(other) => {
            petasos_store::Status::named(other).unwrap_or(petasos_store::Status::Triage).as_str()
        }
    };
    let skills: Vec<String> =
        skills.as_deref().and_then(|skills| serde_json::from_str(skills).ok()).unwrap_or_default();
    let created = task.created_s.saturating_mul(1000);
    let sql = "INSERT INTO board_tasks(id, board, title, body, assignee, status, tenant, priority, \
               workspace_kind, workspace_path, idempotency_key, max_runtime_s, skills, created_by, \
               label, failures, block_kind, result, created_ms, updated_ms) VALUES (?1, ?2, ?3, ?4, \
               ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";
    let row = params![
        task.id,
        board,
        text(title, "untitled"),
        text(body, ""),
        text(assignee, "default"),
        status,
        tenant,
        task.priority,
        text(kind, "scratch"),
        path,
        key,
        task.max_runtime_s,
        rows::json(&skills)?,
        text(by, "import"),
        rows::json(&Taint::NONE)?,
        task.failures,
        block,
        result,
        created,
        task.ended_s.map_or(created, |at| at.saturating_mul(1000)),
    ];
    connection.execute(sql, row).map(drop).map_err(failed)
}
