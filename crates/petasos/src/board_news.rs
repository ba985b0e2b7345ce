//! Work that a conversation gave to the board: when one of its tasks has ended, or cannot go on, the
//! conversation hears of it with its next message. Once, whichever process it goes on in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_contract::{BoxFuture, SessionId, Settings};
use petasos_fs::Record;
use petasos_store::{BoardError, Boards, Status, Task, TaskFilter};

/// Tasks of one board that are looked at.
const TASKS_MAX: usize = 1000;

/// The hook.
pub(crate) struct BoardNews {
    settings: Arc<Settings>,
    boards: Arc<Boards>,
    told: Record,
}

impl std::fmt::Debug for BoardNews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BoardNews")
    }
}

impl BoardNews {
    pub(crate) fn new(settings: &Arc<Settings>, boards: &Arc<Boards>) -> Self {
        let told: PathBuf = crate::board::root(settings).join("kanban").join("told.json");
        Self { settings: Arc::clone(settings), boards: Arc::clone(boards), told: Record::at(told) }
    }

    /// Whether conversations want to hear of their tasks.
    fn is_wanted(&self) -> bool {
        petasos_tools::lists_boards(&self.settings)
            && self.settings.get("kanban.auto_subscribe_on_create") != Some(&false.into())
    }

    /// Tasks of a conversation that came to an end or to a stop.
    async fn settled(&self, session: &SessionId) -> Result<Vec<Task>, BoardError> {
        let store = self.boards.store()?;
        let mut names: Vec<String> =
            store.boards().await?.into_iter().map(|count| count.board).collect();
        names.dedup();
        let mut found = Vec::new();
        for board in names {
            let filter = TaskFilter { board, limit: TASKS_MAX, ..TaskFilter::default() };
            let tasks = store.list_tasks(filter).await?;
            found.extend(tasks.into_iter().filter(|task| {
                task.session.as_deref() == Some(session.as_str())
                    && matches!(task.status, Status::Done | Status::Blocked | Status::Triage)
                    && task.updated_ms > task.created_ms
            }));
        }
        Ok(found)
    }

    /// Those that were not told before; they are from now on.
    fn unheard(&self, tasks: Vec<Task>) -> std::io::Result<Vec<Task>> {
        if tasks.is_empty() {
            return Ok(tasks);
        }
        self.told.edit(|told: &mut BTreeMap<String, i64>| {
            let is_new = |task: &Task| told.get(&task.id) != Some(&task.updated_ms);
            let new: Vec<Task> = tasks.into_iter().filter(is_new).collect();
            told.extend(new.iter().map(|task| (task.id.clone(), task.updated_ms)));
            new
        })
    }
}

impl Hook for BoardNews {
    fn name(&self) -> &'static str {
        "board-news"
    }

    fn wants(&self) -> HookSet {
        if self.is_wanted() { HookSet::EMPTY.with(HookKind::PreLlmCall) } else { HookSet::EMPTY }
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Pass
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(async move {
            let Moment::PreLlmCall(about) = moment else { return Ok(Directive::Pass) };
            let failed = |error: &dyn std::fmt::Display| HookError(error.to_string());
            let settled = self.settled(&about.cx.session).await.map_err(|error| failed(&error))?;
            let news = self.unheard(settled).map_err(|error| failed(&error))?;
            if news.is_empty() {
                return Ok(Directive::Pass);
            }
            // What a worker wrote may be somebody else's words: it is read with the tool.
            let lines = news.iter().map(|task| {
                format!(
                    "- {} \"{}\" is {}; kanban_show tells more",
                    task.id, task.title, task.status
                )
            });
            let lines: Vec<String> = lines.collect();
            Ok(Directive::Append(format!("Tasks that you put on the board:\n{}", lines.join("\n"))))
        })
    }
}
