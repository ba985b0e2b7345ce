//! Boards: tasks are decided by conditional updates on the one connection that writes.

mod files;
mod flow;
mod import;
mod rows;
mod triage;

use std::sync::Arc;

use petasos_contract::taint::Taint;
use petasos_store::{
    Attachment, BoardCount, BoardError, BoardLater, BoardStore, ClaimAsk, Claimed, Completion,
    Created, NewFile, NewTask, On, Patience, Reclaimed, RunEnd, Sorted, Task, TaskFilter, TaskView,
    TriageAsk,
};
use rusqlite::{Connection, params};

pub use self::import::ImportedBoard;
use crate::sqlite::failed;
use crate::store::Store;

impl Store {
    /// A change of a board. One that is refused has changed nothing.
    async fn on_board<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Result<T, BoardError> + Send + 'static,
    ) -> Result<T, BoardError> {
        let job = move |connection: &Connection| match job(connection) {
            Err(BoardError::Store(error)) => Err(error),
            decided => Ok(decided),
        };
        self.writer.write(what, job).await?
    }

    fn board_files(&self) -> files::Folder {
        files::Folder::beside(self.path())
    }
}

impl BoardStore for Store {
    fn create_task(&self, new: NewTask) -> BoardLater<'_, Created> {
        Box::pin(self.on_board("a task", move |connection| flow::create(connection, &new)))
    }

    fn view_task<'a>(&'a self, board: &'a str, task: &'a str) -> BoardLater<'a, TaskView> {
        let (board, task) = (board.to_owned(), task.to_owned());
        let folder = self.board_files();
        Box::pin(async move {
            let look = move |connection: &Connection| match view(connection, &board, &task, &folder)
            {
                Err(BoardError::Store(error)) => Err(error),
                seen => Ok(seen),
            };
            self.readers.read("a task", look).await?
        })
    }

    fn list_tasks(&self, filter: TaskFilter) -> BoardLater<'_, Vec<Task>> {
        Box::pin(async move {
            let look = move |connection: &Connection| rows::list(connection, &filter);
            Ok(self.readers.read("tasks", look).await?)
        })
    }

    fn promote<'a>(&'a self, board: &'a str, at_ms: i64) -> BoardLater<'a, Vec<String>> {
        let board = board.to_owned();
        Box::pin(self.on_board("a look at what waits", move |connection| {
            Ok(flow::promote(connection, &board, at_ms)?)
        }))
    }

    fn claim_task(&self, ask: ClaimAsk) -> BoardLater<'_, Option<Claimed>> {
        let me = Arc::clone(&self.party);
        Box::pin(self.on_board("a claim", move |connection| flow::claim(connection, &ask, &me)))
    }

    fn beat(&self, on: On, note: Option<String>) -> BoardLater<'_, ()> {
        Box::pin(self.on_board("a sign of life", move |connection| {
            flow::beat(connection, &on, note.as_deref())
        }))
    }

    fn complete(&self, on: On, done: Completion) -> BoardLater<'_, Option<i64>> {
        let folder = self.board_files();
        Box::pin(async move {
            // The bytes first: a task is not done whose files are not there.
            let (done, stored) = files::keep_all(folder, done).await?;
            let job =
                move |connection: &Connection| flow::complete(connection, &on, &done, &stored);
            self.on_board("the end of a task", job).await
        })
    }

    fn block(&self, on: On, kind: String, reason: String) -> BoardLater<'_, (Task, Option<i64>)> {
        Box::pin(self.on_board("a task that is blocked", move |connection| {
            flow::block(connection, &on, &kind, &reason)
        }))
    }

    fn unblock(&self, on: On) -> BoardLater<'_, Task> {
        Box::pin(
            self.on_board("a task that goes on", move |connection| flow::unblock(connection, &on)),
        )
    }

    fn archive(&self, on: On) -> BoardLater<'_, Task> {
        Box::pin(
            self.on_board("a task that is put away", move |connection| {
                flow::archive(connection, &on)
            }),
        )
    }

    fn link<'a>(&'a self, on: On, parent: &'a str) -> BoardLater<'a, ()> {
        let parent = parent.to_owned();
        Box::pin(
            self.on_board("a link of tasks", move |connection| {
                flow::link(connection, &on, &parent)
            }),
        )
    }

    fn comment(&self, on: On, body: String, label: Taint) -> BoardLater<'_, i64> {
        Box::pin(self.on_board("a comment", move |connection| {
            let task = flow::held(connection, &on)?;
            let sql = "INSERT INTO board_comments(task, author, body, label, at_ms) \
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            let label = rows::json(&label)?;
            let row = params![task.id, on.by.profile, body, label, on.by.at_ms];
            connection.execute(sql, row).map_err(failed)?;
            let id = connection.last_insert_rowid();
            rows::event(connection, &on, "commented", "")?;
            Ok(id)
        }))
    }

    fn attach(&self, on: On, file: NewFile, label: Taint) -> BoardLater<'_, Attachment> {
        let folder = self.board_files();
        Box::pin(async move {
            let stored = files::keep(folder, file).await?;
            self.on_board("a file of a task", move |connection| {
                flow::held(connection, &on)?;
                let kept = rows::attach(connection, &on, &stored, label)?;
                rows::event(connection, &on, "attached", &kept.filename)?;
                Ok(kept)
            })
            .await
        })
    }

    fn end_run(&self, on: On, end: RunEnd) -> BoardLater<'_, Option<Task>> {
        Box::pin(self.on_board("the end of an attempt", move |connection| {
            flow::end_run(connection, &on, &end)
        }))
    }

    fn reclaim<'a>(
        &'a self,
        board: &'a str,
        patience: Patience,
        at_ms: i64,
    ) -> BoardLater<'a, Vec<Reclaimed>> {
        let (board, me) = (board.to_owned(), Arc::clone(&self.party));
        Box::pin(self.on_board("a look at claims", move |connection| {
            flow::reclaim(connection, &board, patience, at_ms, &me)
        }))
    }

    fn take_triage(&self, ask: TriageAsk) -> BoardLater<'_, Option<(Task, String)>> {
        Box::pin(
            self.on_board("a look at triage", move |connection| triage::take(connection, &ask)),
        )
    }

    fn sort(&self, on: On, how: Sorted) -> BoardLater<'_, Task> {
        Box::pin(self.on_board("a task that leaves triage", move |connection| {
            triage::sort(connection, &on, &how)
        }))
    }

    fn boards(&self) -> BoardLater<'_, Vec<BoardCount>> {
        Box::pin(async move { Ok(self.readers.read("boards", rows::boards).await?) })
    }
}

fn view(
    connection: &Connection,
    board: &str,
    id: &str,
    folder: &files::Folder,
) -> Result<TaskView, BoardError> {
    let task = rows::task(connection, board, id)?;
    let role = rows::runs(
        connection,
        "profile = ?1 AND task != ?2 AND ended_ms IS NOT NULL ORDER BY id DESC LIMIT 5",
        params![task.assignee, task.id],
    )?;
    let runs = rows::runs(connection, "task = ?1 ORDER BY id DESC LIMIT 10", [&task.id])?;
    Ok(TaskView {
        parents: rows::linked(connection, &task.id, rows::Side::Parents)?,
        children: rows::linked(connection, &task.id, rows::Side::Children)?,
        comments: rows::comments(connection, &task.id)?,
        events: rows::events(connection, &task.id)?,
        runs,
        role_runs: role,
        attachments: rows::attachments(connection, &task.id, folder)?,
        task,
    })
}
