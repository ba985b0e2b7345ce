//! Tasks that somebody has to look at first: who looks, and what becomes of them.

use petasos_store::{BoardError, NewTask, On, Part, Sorted, Status, Task, TriageAsk};
use rusqlite::{Connection, params};

use super::{flow, rows};
use crate::sqlite::failed;

/// Tasks that came here because they were blocked too often wait for people.
const LOOKED_AT: &str = "board = ?1 AND status = 'triage' AND block_kind IS NULL \
    AND failures < ?2 AND coalesce(not_before_ms, 0) <= ?3 \
    ORDER BY priority DESC, created_ms, id LIMIT 1";

pub(super) fn take(
    connection: &Connection,
    ask: &TriageAsk,
) -> Result<Option<(Task, String)>, BoardError> {
    let values = params![ask.board, ask.failures_max, ask.at_ms];
    let Some(task) = rows::tasks(connection, LOOKED_AT, values)?.into_iter().next() else {
        return Ok(None);
    };
    let lock = flow::random(16)?;
    let sql = "UPDATE board_tasks SET claim_lock = ?2, not_before_ms = ?3 WHERE id = ?1";
    connection.execute(sql, params![task.id, lock, ask.until_ms]).map_err(failed)?;
    Ok(Some((task, lock)))
}

pub(super) fn sort(connection: &Connection, on: &On, how: &Sorted) -> Result<Task, BoardError> {
    let task = flow::held(connection, on)?;
    if task.status != Status::Triage {
        let wanted = "only a task in triage is sorted";
        return Err(BoardError::WrongState { task: task.id, status: task.status, wanted });
    }
    match how {
        Sorted::Parts { parts, assignee } => {
            split(connection, on, &task, parts)?;
            let sql = "UPDATE board_tasks SET assignee = coalesce(?2, assignee) WHERE id = ?1";
            connection.execute(sql, params![task.id, assignee]).map_err(failed)?;
        }
        Sorted::Whole => rows::event(connection, on, "sorted", "it is one piece of work")?,
        Sorted::Failed { why } => {
            // The time until which nobody else looks stays: it is tried again, later.
            let sql = "UPDATE board_tasks SET failures = failures + 1, claim_lock = NULL, \
                       updated_ms = ?2 WHERE id = ?1";
            connection.execute(sql, params![task.id, on.by.at_ms]).map_err(failed)?;
            rows::event(connection, on, "not_sorted", why)?;
            return rows::task(connection, &on.board, &task.id);
        }
    }
    let sql = "UPDATE board_tasks SET status = 'todo', failures = 0, claim_lock = NULL, \
               not_before_ms = NULL, updated_ms = ?2 WHERE id = ?1";
    connection.execute(sql, params![task.id, on.by.at_ms]).map_err(failed)?;
    flow::promote(connection, &on.board, on.by.at_ms)?;
    rows::task(connection, &on.board, &task.id)
}

/// The parts work where the task does, carry its label, and come before it.
fn split(connection: &Connection, on: &On, task: &Task, parts: &[Part]) -> Result<(), BoardError> {
    let misplaced = |(at, part): (usize, &Part)| part.after.iter().any(|before| *before >= at);
    if parts.is_empty() || parts.iter().enumerate().any(misplaced) {
        let why = "parts are named before those that wait for them, and there is at least one";
        return Err(BoardError::Bad(why.to_owned()));
    }
    let mut made: Vec<String> = Vec::new();
    for part in parts {
        let new = NewTask {
            board: task.board.clone(),
            parents: part.after.iter().filter_map(|at| made.get(*at)).cloned().collect(),
            workspace: Some(task.workspace.clone()),
            project: part.new.project.clone().or_else(|| task.project.clone()),
            label: part.new.label.with(task.label),
            ..part.new.clone()
        };
        made.push(flow::create(connection, &new)?.task.id);
    }
    for part in &made {
        flow::link(connection, on, part)?;
    }
    rows::event(connection, on, "split", &format!("into {}", made.join(", ")))?;
    Ok(())
}
