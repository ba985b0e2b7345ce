//! How tasks move: every step looks first and changes afterwards, in one transaction.

use std::time::Duration;

use petasos_store::{
    Actor, BLOCKS_MAX, BoardError, CLAIM, CRASH_GRACE, ClaimAsk, Claimed, Completion, Created,
    NewTask, On, Patience, Reclaimed, RunEnd, Status, StoreError, Task,
};
use rusqlite::{Connection, params};

use super::files::Stored;
use super::rows;
use crate::leases::Party;
use crate::sqlite::failed;

/// Who moves tasks when nobody in particular does.
const BOARD: &str = "board";
/// A task that waits for none that is not over.
const WAITS_FOR_NOTHING: &str = "NOT EXISTS (SELECT 1 FROM board_links l JOIN board_tasks p \
    ON p.id = l.parent WHERE l.child = board_tasks.id AND p.status NOT IN ('done', 'archived'))";

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn on(task: &Task, at_ms: i64) -> On {
    let by = Actor { profile: BOARD.to_owned(), lock: None, at_ms };
    On { board: task.board.clone(), task: task.id.clone(), by }
}

/// The task, when whoever acts may: a worker as long as its claim holds.
pub(super) fn held(connection: &Connection, on: &On) -> Result<Task, BoardError> {
    let task = rows::task(connection, &on.board, &on.task)?;
    if on.by.lock.is_some() && rows::lock(connection, &task.id)? != on.by.lock {
        return Err(BoardError::ClaimLost { task: task.id });
    }
    Ok(task)
}

pub(super) fn random(bytes: usize) -> Result<String, StoreError> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|error| StoreError::Failed(error.to_string()))?;
    let digits = random.iter().take(bytes);
    Ok(digits.fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}

pub(super) fn create(connection: &Connection, new: &NewTask) -> Result<Created, BoardError> {
    if let Some(key) = &new.idempotency_key {
        let same = "board = ?1 AND idempotency_key = ?2";
        let found = rows::tasks(connection, same, [&new.board, key])?;
        if let Some(task) = found.into_iter().next() {
            return Ok(Created { task, is_new: false });
        }
    }
    let mut parents = Vec::new();
    for parent in &new.parents {
        parents.push(rows::task(connection, &new.board, parent)?);
    }
    let first = parents.first();
    let workspace = new.workspace.clone().or_else(|| Some(first?.workspace.clone()));
    let workspace = workspace.unwrap_or_default();
    let kind = if workspace.kind.is_empty() { "scratch" } else { workspace.kind.as_str() };
    let project = new.project.clone().or_else(|| first?.project.clone());
    let waits = parents.iter().any(|parent| !parent.status.is_over());
    let usual = if waits { Status::Todo } else { Status::Ready };
    let status = new.begins.unwrap_or(usual);
    let label = parents.iter().fold(new.label, |label, parent| label.with(parent.label));
    let id = format!("t_{}", random(4)?);
    let sql = "INSERT INTO board_tasks(id, board, title, body, assignee, status, tenant, priority, \
        workspace_kind, workspace_path, project, idempotency_key, max_runtime_s, skills, goal, \
        created_by, session, label, created_ms, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, \
        ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?19)";
    let goal = new.goal.map(|goal| rows::json(&goal)).transpose()?;
    let row = params![
        id,
        new.board,
        new.title,
        new.body,
        new.assignee,
        status.as_str(),
        new.tenant,
        new.priority,
        kind,
        workspace.path,
        project,
        new.idempotency_key,
        new.max_runtime_s,
        rows::json(&new.skills)?,
        goal,
        new.by,
        new.session.as_ref().map(petasos_contract::SessionId::as_str),
        rows::json(&label)?,
        new.at_ms,
    ];
    connection.execute(sql, row).map_err(failed)?;
    for parent in &parents {
        add_link(connection, &parent.id, &id)?;
    }
    let by = Actor { profile: new.by.clone(), lock: None, at_ms: new.at_ms };
    let created = On { board: new.board.clone(), task: id.clone(), by };
    rows::event(connection, &created, "created", status.as_str())?;
    Ok(Created { task: rows::task(connection, &new.board, &id)?, is_new: true })
}

fn add_link(connection: &Connection, parent: &str, child: &str) -> Result<(), StoreError> {
    let sql = "INSERT OR IGNORE INTO board_links(parent, child) VALUES (?1, ?2)";
    connection.execute(sql, [parent, child]).map(drop).map_err(failed)
}

/// Makes ready what waits for nothing any more.
pub(super) fn promote(
    connection: &Connection,
    board: &str,
    at_ms: i64,
) -> Result<Vec<String>, StoreError> {
    let condition = format!(
        "board = ?1 AND (status = 'todo' OR (status = 'scheduled' AND not_before_ms <= ?2)) \
         AND {WAITS_FOR_NOTHING}"
    );
    let free = rows::tasks(connection, &condition, params![board, at_ms])?;
    for task in &free {
        set(connection, &task.id, Status::Ready, at_ms)?;
        rows::event(connection, &on(task, at_ms), "ready", "")?;
    }
    Ok(free.into_iter().map(|task| task.id).collect())
}

fn set(connection: &Connection, id: &str, status: Status, at_ms: i64) -> Result<(), StoreError> {
    let sql = "UPDATE board_tasks SET status = ?2, updated_ms = ?3 WHERE id = ?1";
    connection.execute(sql, params![id, status.as_str(), at_ms]).map(drop).map_err(failed)
}

/// Whether the process that holds a task is certainly gone.
fn is_orphan(connection: &Connection, task: &Task, me: &Party) -> Result<bool, StoreError> {
    let sql = "SELECT claim_mark FROM board_tasks WHERE id = ?1";
    let mark: Option<String> =
        connection.query_row(sql, [&task.id], |row| row.get(0)).map_err(failed)?;
    Ok(mark.is_none_or(|mark| me.is_gone(&mark)))
}

pub(super) fn claim(
    connection: &Connection,
    ask: &ClaimAsk,
    me: &Party,
) -> Result<Option<Claimed>, BoardError> {
    if let Some(id) = &ask.task {
        let task = rows::task(connection, &ask.board, id)?;
        let is_free = match task.status {
            Status::Scheduled => true,
            Status::Running => is_orphan(connection, &task, me)?,
            _ => false,
        };
        if ask.is_own && is_free {
            settle(connection, &task, "crashed", "its process is gone", ask.at_ms)?;
            set(connection, &task.id, Status::Ready, ask.at_ms)?;
        }
    }
    let condition = "board = ?1 AND status = 'ready' AND (?2 IS NULL OR id = ?2) \
        AND (?3 IS NULL OR assignee = ?3) AND coalesce(not_before_ms, 0) <= ?4 \
        AND (?5 IS NULL OR (SELECT count(*) FROM board_tasks r WHERE r.board = ?1 \
        AND r.status = 'running' AND r.assignee = board_tasks.assignee) < ?5) \
        ORDER BY priority DESC, created_ms, id LIMIT 1";
    let values = params![ask.board, ask.task, ask.assignee, ask.at_ms, ask.running_max];
    let Some(task) = rows::tasks(connection, condition, values)?.into_iter().next() else {
        return Ok(None);
    };
    let lock = random(16)?;
    let sql = "INSERT INTO board_runs(task, profile, started_ms) VALUES (?1, ?2, ?3)";
    connection.execute(sql, params![task.id, task.assignee, ask.at_ms]).map_err(failed)?;
    let run_id = connection.last_insert_rowid();
    let sql = "UPDATE board_tasks SET status = 'running', run_id = ?2, claim_lock = ?3, \
        claim_mark = ?4, claim_until_ms = ?5, beat_ms = ?6, updated_ms = ?6, \
        block_kind = NULL, not_before_ms = NULL WHERE id = ?1 AND status = 'ready'";
    let until = ask.at_ms.saturating_add(millis(CLAIM));
    let row = params![task.id, run_id, lock, me.mark(), until, ask.at_ms];
    connection.execute(sql, row).map_err(failed)?;
    rows::event(connection, &on(&task, ask.at_ms), "claimed", &format!("run {run_id}"))?;
    Ok(Some(Claimed { task: rows::task(connection, &task.board, &task.id)?, run_id, lock }))
}

pub(super) fn beat(connection: &Connection, on: &On, note: Option<&str>) -> Result<(), BoardError> {
    let task = held(connection, on)?;
    if task.status != Status::Running {
        let wanted = "only a task that runs gives signs of life";
        return Err(BoardError::WrongState { task: task.id, status: task.status, wanted });
    }
    let sql = "UPDATE board_tasks SET claim_until_ms = ?2, beat_ms = ?3 WHERE id = ?1";
    let until = on.by.at_ms.saturating_add(millis(CLAIM));
    connection.execute(sql, params![task.id, until, on.by.at_ms]).map_err(failed)?;
    if let Some(note) = note {
        rows::event(connection, on, "heartbeat", note)?;
    }
    Ok(())
}

/// Ends the running attempt, if there is one, and lets go of the claim.
fn settle(
    connection: &Connection,
    task: &Task,
    outcome: &str,
    note: &str,
    at_ms: i64,
) -> Result<(), StoreError> {
    let sql = "UPDATE board_runs SET ended_ms = ?2, outcome = ?3, note = ?4 \
               WHERE id = ?1 AND ended_ms IS NULL";
    connection.execute(sql, params![task.run_id, at_ms, outcome, note]).map_err(failed)?;
    let sql = "UPDATE board_tasks SET run_id = NULL, claim_lock = NULL, claim_mark = NULL, \
               claim_until_ms = NULL, beat_ms = NULL WHERE id = ?1";
    connection.execute(sql, [&task.id]).map(drop).map_err(failed)
}

pub(super) fn complete(
    connection: &Connection,
    on: &On,
    done: &Completion,
    artifacts: &[Stored],
) -> Result<Option<i64>, BoardError> {
    let task = held(connection, on)?;
    if task.status.is_over() {
        let wanted = "it is finished already";
        return Err(BoardError::WrongState { task: task.id, status: task.status, wanted });
    }
    for card in &done.created_cards {
        let made = rows::task(connection, &on.board, card)?;
        if made.created_by != on.by.profile {
            return Err(BoardError::Bad(format!(
                "`{card}` was made by `{}`, not by `{}`: name only tasks of your own",
                made.created_by, on.by.profile
            )));
        }
    }
    for file in artifacts {
        rows::attach(connection, on, file, task.label)?;
    }
    let note = done.summary.as_deref().or(done.result.as_deref()).unwrap_or_default();
    settle(connection, &task, "completed", note, on.by.at_ms)?;
    let sql = "UPDATE board_tasks SET status = 'done', summary = ?2, result = ?3, metadata = ?4, \
               updated_ms = ?5, block_kind = NULL, block_reason = NULL, failures = 0 WHERE id = ?1";
    let facts = rows::json(&done.metadata)?;
    let row = params![task.id, done.summary, done.result, facts, on.by.at_ms];
    connection.execute(sql, row).map_err(failed)?;
    rows::event(connection, on, "completed", note)?;
    promote(connection, &on.board, on.by.at_ms)?;
    Ok(task.run_id)
}

pub(super) fn block(
    connection: &Connection,
    on: &On,
    kind: &str,
    reason: &str,
) -> Result<(Task, Option<i64>), BoardError> {
    let task = held(connection, on)?;
    if task.status.is_over() {
        let wanted = "it is finished already";
        return Err(BoardError::WrongState { task: task.id, status: task.status, wanted });
    }
    let sql =
        "SELECT count(*) FROM board_events WHERE task = ?1 AND kind = 'blocked' AND note = ?2";
    let note = format!("{kind}: {reason}");
    let before: u32 =
        connection.query_row(sql, [&task.id, &note], |row| row.get(0)).map_err(failed)?;
    let status = match kind {
        _ if before + 1 >= BLOCKS_MAX => Status::Triage,
        "dependency" => Status::Todo,
        _ => Status::Blocked,
    };
    settle(connection, &task, "blocked", &note, on.by.at_ms)?;
    let sql = "UPDATE board_tasks SET status = ?2, block_kind = ?3, block_reason = ?4, \
               updated_ms = ?5 WHERE id = ?1";
    let row = params![task.id, status.as_str(), kind, reason, on.by.at_ms];
    connection.execute(sql, row).map_err(failed)?;
    rows::event(connection, on, "blocked", &note)?;
    Ok((rows::task(connection, &on.board, &task.id)?, task.run_id))
}

pub(super) fn unblock(connection: &Connection, on: &On) -> Result<Task, BoardError> {
    let task = held(connection, on)?;
    let stands = [Status::Blocked, Status::Triage, Status::Review, Status::Scheduled];
    if !stands.contains(&task.status) {
        let wanted = "only a task that is blocked, scheduled, in review or in triage can be let go";
        return Err(BoardError::WrongState { task: task.id, status: task.status, wanted });
    }
    let sql = "UPDATE board_tasks SET status = 'todo', block_kind = NULL, block_reason = NULL, \
               failures = 0, not_before_ms = NULL, updated_ms = ?2 WHERE id = ?1";
    connection.execute(sql, params![task.id, on.by.at_ms]).map_err(failed)?;
    rows::event(connection, on, "unblocked", "")?;
    promote(connection, &on.board, on.by.at_ms)?;
    rows::task(connection, &on.board, &task.id)
}

pub(super) fn archive(connection: &Connection, on: &On) -> Result<Task, BoardError> {
    let task = held(connection, on)?;
    settle(connection, &task, "archived", "", on.by.at_ms)?;
    set(connection, &task.id, Status::Archived, on.by.at_ms)?;
    rows::event(connection, on, "archived", "")?;
    promote(connection, &on.board, on.by.at_ms)?;
    rows::task(connection, &on.board, &task.id)
}

pub(super) fn link(connection: &Connection, on: &On, parent: &str) -> Result<(), BoardError> {
    let child = held(connection, on)?;
    let parent = rows::task(connection, &on.board, parent)?;
    // The parent must not be below the child.
    let sql = "WITH RECURSIVE below(id) AS (SELECT ?1 UNION SELECT child FROM board_links \
               JOIN below ON parent = below.id) SELECT EXISTS (SELECT 1 FROM below WHERE id = ?2)";
    let is_below: bool =
        connection.query_row(sql, [&child.id, &parent.id], |row| row.get(0)).map_err(failed)?;
    if is_below {
        return Err(BoardError::Cycle { parent: parent.id, child: child.id });
    }
    add_link(connection, &parent.id, &child.id)?;
    if child.status == Status::Ready && !parent.status.is_over() {
        set(connection, &child.id, Status::Todo, on.by.at_ms)?;
    }
    rows::event(connection, on, "linked", &format!("waits for {}", parent.id))?;
    Ok(())
}

pub(super) fn end_run(
    connection: &Connection,
    on: &On,
    end: &RunEnd,
) -> Result<Option<Task>, BoardError> {
    let task = rows::task(connection, &on.board, &on.task)?;
    let is_ours = on.by.lock.is_some() && rows::lock(connection, &task.id)? == on.by.lock;
    if !is_ours || task.status != Status::Running {
        return Ok(None);
    }
    match end {
        RunEnd::Failed { why, limit } => {
            let end = Failure { outcome: "failed", why };
            fail(connection, &task, &end, *limit, on.by.at_ms)?;
        }
        RunEnd::RateLimited { until_ms } => {
            settle(connection, &task, "rate_limited", "", on.by.at_ms)?;
            set(connection, &task.id, Status::Ready, on.by.at_ms)?;
            let sql = "UPDATE board_tasks SET not_before_ms = ?2 WHERE id = ?1";
            connection.execute(sql, params![task.id, until_ms]).map_err(failed)?;
            rows::event(connection, on, "rate_limited", "")?;
        }
    }
    Ok(Some(rows::task(connection, &on.board, &task.id)?))
}

/// How an attempt failed.
struct Failure<'a> {
    outcome: &'a str,
    why: &'a str,
}

/// An attempt failed: another one follows, or somebody has to look.
fn fail(
    connection: &Connection,
    task: &Task,
    end: &Failure<'_>,
    limit: u32,
    at_ms: i64,
) -> Result<(), StoreError> {
    let Failure { outcome, why } = end;
    settle(connection, task, outcome, why, at_ms)?;
    let failures = task.failures.saturating_add(1);
    let is_over = failures >= limit.max(1);
    let status = if is_over { Status::Blocked } else { Status::Ready };
    let kind = is_over.then_some("capability");
    let reason = is_over.then(|| format!("{failures} attempts failed; the last: {why}"));
    let sql = "UPDATE board_tasks SET status = ?2, failures = ?3, block_kind = ?4, \
               block_reason = ?5, updated_ms = ?6 WHERE id = ?1";
    let row = params![task.id, status.as_str(), failures, kind, reason, at_ms];
    connection.execute(sql, row).map_err(failed)?;
    rows::event(connection, &on(task, at_ms), outcome, why)
}

/// Whose a claim is, its last sign of life, and when its attempt began.
type ClaimRow = (Option<String>, Option<i64>, Option<i64>);

pub(super) fn reclaim(
    connection: &Connection,
    board: &str,
    patience: Patience,
    at_ms: i64,
    me: &Party,
) -> Result<Vec<Reclaimed>, BoardError> {
    let running = rows::tasks(connection, "board = ?1 AND status = 'running'", [board])?;
    let mut taken = Vec::new();
    for task in running {
        let sql = "SELECT t.claim_mark, t.beat_ms, r.started_ms FROM board_tasks t \
                   LEFT JOIN board_runs r ON r.id = t.run_id WHERE t.id = ?1";
        let (mark, beat, started): ClaimRow = connection
            .query_row(sql, [&task.id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(failed)?;
        let past = |since: Option<i64>, time: Duration| {
            since.is_none_or(|since| since.saturating_add(millis(time)) < at_ms)
        };
        let runtime = task.max_runtime_s.map(|most| Duration::from_secs(u64::from(most)));
        let gone = mark.as_deref().is_none_or(|mark| me.is_gone(mark));
        let (outcome, why) = if gone && past(beat, CRASH_GRACE) {
            ("crashed", "its process is gone")
        } else if task.claim_until_ms.is_none_or(|until| until < at_ms) {
            ("stale", "it gave no sign of life")
        } else if runtime.is_some_and(|most| past(started, most)) {
            ("stale", "it ran longer than its `max_runtime_seconds`")
        } else if past(started, patience.stale) {
            ("stale", "it ran longer than `kanban.dispatch_stale_timeout_seconds`")
        } else {
            continue;
        };
        let end = Failure { outcome, why };
        fail(connection, &task, &end, patience.failure_limit, at_ms)?;
        let status = rows::task(connection, board, &task.id)?.status;
        taken.push(Reclaimed { task: task.id, why: why.to_owned(), status });
    }
    Ok(taken)
}
