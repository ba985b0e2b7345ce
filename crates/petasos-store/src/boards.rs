//! Boards: tasks that many agents work on, each claimed by one at a time.
//!
//! A claim is a compare-and-swap with a deadline that signs of life move. Whoever lost its claim
//! can no longer settle the task. Times are the caller's, so that a test moves them.

mod place;
mod tasks;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use petasos_contract::ports::Memory;
use petasos_contract::taint::Taint;
use petasos_contract::{BoxFuture, SessionId};
use serde::{Deserialize, Serialize};

pub use self::place::{BoardPlace, board_time};
pub use self::tasks::*;
use crate::sessions::StoreError;

/// How long a claim holds without a sign of life.
pub const CLAIM: Duration = Duration::from_mins(15);
/// A worker whose process is gone keeps its claim for so long, should its last words be on the way.
pub const CRASH_GRACE: Duration = Duration::from_secs(30);
/// A task that is blocked so often for one reason needs somebody to look at it.
pub const BLOCKS_MAX: u32 = 3;
/// The largest file that can be attached.
pub const ATTACHMENT_BYTES_MAX: usize = 25 << 20;
/// The board that is meant when none is named.
pub const BOARD_USUAL: &str = "default";

/// An answer of a board, later.
pub type BoardLater<'a, T> = BoxFuture<'a, Result<T, BoardError>>;

/// Why a board did not do it. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No such task.
    #[error(
        "board `{board}` has no task `{task}`: `kanban_list` or `petasos kanban list` shows them"
    )]
    NoTask {
        /// The board.
        board: String,
        /// What was looked for.
        task: String,
    },
    /// A task would wait for itself.
    #[error("`{child}` cannot wait for `{parent}`: `{parent}` already waits for `{child}`")]
    Cycle {
        /// Who would be waited for.
        parent: String,
        /// Who would wait.
        child: String,
    },
    /// The claim is somebody else's by now.
    #[error(
        "the claim on `{task}` is no longer held: it was given to somebody else; stop working on it"
    )]
    ClaimLost {
        /// The task.
        task: String,
    },
    /// The task is in no state for this.
    #[error("`{task}` is {status}: {wanted}")]
    WrongState {
        /// The task.
        task: String,
        /// Its state.
        status: Status,
        /// What would be needed.
        wanted: &'static str,
    },
    /// Something that was said does not fit.
    #[error("{0}")]
    Bad(String),
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Somebody has to look at it first.
    Triage,
    /// It waits for other tasks.
    Todo,
    /// It waits for its time.
    Scheduled,
    /// It can be claimed.
    Ready,
    /// Somebody works on it.
    Running,
    /// It cannot go on without help.
    Blocked,
    /// It waits for a review.
    Review,
    /// It is finished.
    Done,
    /// It is put away.
    Archived,
}

impl Status {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Triage,
        Self::Todo,
        Self::Scheduled,
        Self::Ready,
        Self::Running,
        Self::Blocked,
        Self::Review,
        Self::Done,
        Self::Archived,
    ];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Triage => "triage",
            Self::Todo => "todo",
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Review => "review",
            Self::Done => "done",
            Self::Archived => "archived",
        }
    }

    /// The state with this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether nothing is left to do.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Archived)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Keeps boards.
pub trait BoardStore: Send + Sync {
    /// Adds a task. Its parents must be there.
    fn create_task(&self, new: NewTask) -> BoardLater<'_, Created>;

    /// One task with everything around it.
    fn view_task<'a>(&'a self, board: &'a str, task: &'a str) -> BoardLater<'a, TaskView>;

    /// Tasks, the most urgent first.
    fn list_tasks(&self, filter: TaskFilter) -> BoardLater<'_, Vec<Task>>;

    /// Makes ready what no longer waits for anything; gives their names.
    fn promote<'a>(&'a self, board: &'a str, at_ms: i64) -> BoardLater<'a, Vec<String>>;

    /// Claims a task that is ready. Nothing is there for all but one of those who race for it.
    fn claim_task(&self, ask: ClaimAsk) -> BoardLater<'_, Option<Claimed>>;

    /// A sign of life: makes a claim last.
    fn beat(&self, on: On, note: Option<String>) -> BoardLater<'_, ()>;

    /// Finishes a task and makes ready what waited for it; gives the attempt.
    fn complete(&self, on: On, done: Completion) -> BoardLater<'_, Option<i64>>;

    /// Stops work on a task: `dependency` puts it back to wait, other kinds block it; a third time
    /// for one reason hands it to triage. Gives the task afterwards and the attempt.
    fn block(&self, on: On, kind: String, reason: String) -> BoardLater<'_, (Task, Option<i64>)>;

    /// Lets a blocked task go on.
    fn unblock(&self, on: On) -> BoardLater<'_, Task>;

    /// Puts a task away.
    fn archive(&self, on: On) -> BoardLater<'_, Task>;

    /// One task waits for another.
    fn link<'a>(&'a self, on: On, parent: &'a str) -> BoardLater<'a, ()>;

    /// Adds a comment; gives its number.
    fn comment(&self, on: On, body: String, label: Taint) -> BoardLater<'_, i64>;

    /// Adds a file.
    fn attach(&self, on: On, file: NewFile, label: Taint) -> BoardLater<'_, Attachment>;

    /// An attempt ended without settling its task. Nothing happens when the claim is gone.
    fn end_run(&self, on: On, end: RunEnd) -> BoardLater<'_, Option<Task>>;

    /// Takes back the claims of the dead and of those who run for too long.
    fn reclaim<'a>(
        &'a self,
        board: &'a str,
        patience: Patience,
        at_ms: i64,
    ) -> BoardLater<'a, Vec<Reclaimed>>;

    /// Takes a task to look at that was put into triage when it was made, for one of those who
    /// race for it; gives its lock, with which alone it can be sorted.
    fn take_triage(&self, ask: TriageAsk) -> BoardLater<'_, Option<(Task, String)>>;

    /// Lets a task leave triage, in parts or whole, or notes that nobody could tell.
    fn sort(&self, on: On, how: Sorted) -> BoardLater<'_, Task>;

    /// Every board.
    fn boards(&self) -> BoardLater<'_, Vec<BoardCount>>;
}

type Open = Box<dyn Fn() -> Result<Arc<dyn BoardStore>, StoreError> + Send + Sync>;

/// The boards of a program, opened when they are first needed.
pub struct Boards {
    open: Open,
    opened: OnceLock<Arc<dyn BoardStore>>,
}

impl Boards {
    /// Boards that are opened so.
    pub fn new(
        open: impl Fn() -> Result<Arc<dyn BoardStore>, StoreError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { open: Box::new(open), opened: OnceLock::new() })
    }

    /// Those that a port holds.
    pub fn of(port: Option<&Arc<dyn Memory>>) -> Option<Arc<Self>> {
        let port: Arc<dyn Any + Send + Sync> = Arc::clone(port?) as _;
        port.downcast().ok()
    }

    /// The store behind them.
    pub fn store(&self) -> Result<Arc<dyn BoardStore>, StoreError> {
        if let Some(store) = self.opened.get() {
            return Ok(Arc::clone(store));
        }
        let store = (self.open)()?;
        Ok(Arc::clone(self.opened.get_or_init(|| store)))
    }
}

impl fmt::Debug for Boards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Boards")
    }
}

impl Memory for Boards {
    fn forget(&self, _: &SessionId) {}
}

/// Whether this can name a board.
pub fn is_board_name(name: &str) -> bool {
    let inner = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    let first = name.bytes().next().is_some_and(|byte| byte != b'_' && byte != b'-');
    first && name.len() <= 64 && name.bytes().all(inner)
}
