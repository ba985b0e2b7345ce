//! Tasks and what belongs to them, as rows and as wishes.

use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::SessionId;
use petasos_contract::taint::Taint;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Status;

/// Where the work on a task happens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// `scratch`, `dir` or `worktree`.
    pub kind: String,
    /// The folder, for the latter two.
    pub path: Option<String>,
}

/// What somebody wants done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewTask {
    /// The board.
    pub board: String,
    /// In a few words.
    pub title: String,
    /// In many.
    pub body: String,
    /// The profile that is to do it.
    pub assignee: String,
    /// Tasks that have to be done before.
    pub parents: Vec<String>,
    /// A name that groups tasks.
    pub tenant: Option<String>,
    /// Larger goes first.
    pub priority: i64,
    /// Where; the first parent's when absent.
    pub workspace: Option<Workspace>,
    /// The project; the first parent's when absent.
    pub project: Option<String>,
    /// Where it begins, when not ready or waiting.
    pub begins: Option<Status>,
    /// The same key gives the same task.
    pub idempotency_key: Option<String>,
    /// How long one attempt may take.
    pub max_runtime_s: Option<u32>,
    /// Skills that the worker is told to load.
    pub skills: Vec<String>,
    /// Whether a judge decides that it is done, and within how many turns.
    pub goal: Option<Goal>,
    /// Who wants it.
    pub by: String,
    /// In which conversation.
    pub session: Option<SessionId>,
    /// Whose words it may carry.
    pub label: Taint,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// A task that is done when a judge says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// In at most so many turns.
    pub max_turns: Option<u32>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Task {
    /// Its name: `t_` and eight digits.
    pub id: String,
    /// Its board.
    pub board: String,
    /// In a few words.
    pub title: String,
    /// In many.
    pub body: String,
    /// Who is to do it.
    pub assignee: String,
    /// Where it stands.
    pub status: Status,
    /// What groups it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Larger goes first.
    pub priority: i64,
    /// Where the work happens.
    pub workspace: Workspace,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How long one attempt may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runtime_s: Option<u32>,
    /// Skills for the worker.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Whether a judge decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// Who wanted it.
    pub created_by: String,
    /// In which conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Whose words it may carry.
    #[serde(skip)]
    pub label: Taint,
    /// Attempts that failed since somebody last helped.
    pub failures: u32,
    /// Why it is blocked: the kind and the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_kind: Option<String>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<String>,
    /// What was handed over at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Facts about the result.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
    /// The running attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<i64>,
    /// Until when its claim holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_until_ms: Option<i64>,
    /// Not before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before_ms: Option<i64>,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// Milliseconds since 1970.
    pub updated_ms: i64,
}

/// What became of a wish.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// The task.
    pub task: Task,
    /// Whether it is new, and not the one that the key already stood for.
    pub is_new: bool,
}

/// An attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// Its number.
    pub id: i64,
    /// Of which task.
    pub task: String,
    /// Who.
    pub profile: String,
    /// Milliseconds since 1970.
    pub started_ms: i64,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// `completed`, `blocked`, `failed`, `crashed`, `stale`, `rate_limited`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What was said at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comment {
    /// Its number.
    pub id: i64,
    /// Who.
    pub author: String,
    /// What.
    pub body: String,
    /// Whose words it may carry.
    #[serde(skip)]
    pub label: Taint,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// Something that happened to a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskEvent {
    /// What.
    pub kind: String,
    /// By whom.
    pub by: String,
    /// In words.
    pub note: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// A file of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attachment {
    /// Its number.
    pub attachment_id: i64,
    /// Its name.
    pub filename: String,
    /// What it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Bytes.
    pub size: u64,
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Where it came from, when it was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Where it is kept.
    pub path: PathBuf,
    /// Whose words it may hold.
    #[serde(skip)]
    pub label: Taint,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// A file that is to be attached.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewFile {
    /// Its name; folders are dropped.
    pub filename: String,
    /// What it says it is.
    pub content_type: Option<String>,
    /// Where it came from, when it was fetched.
    pub source: Option<String>,
    /// The bytes.
    pub content: Vec<u8>,
}

/// A task with everything around it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskView {
    /// The task.
    pub task: Task,
    /// What it waits for.
    pub parents: Vec<Task>,
    /// What waits for it.
    pub children: Vec<Task>,
    /// The oldest first.
    pub comments: Vec<Comment>,
    /// The newest fifty, the oldest of them first.
    pub events: Vec<TaskEvent>,
    /// The newest ten attempts, the oldest of them first.
    pub runs: Vec<Run>,
    /// The newest five finished attempts of the same profile at other tasks.
    pub role_runs: Vec<Run>,
    /// Its files.
    pub attachments: Vec<Attachment>,
}

/// Which tasks are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Of this board.
    pub board: String,
    /// Of this profile.
    pub assignee: Option<String>,
    /// In this state.
    pub status: Option<Status>,
    /// Of this group.
    pub tenant: Option<String>,
    /// Also those that are put away.
    pub archived: bool,
    /// At most so many.
    pub limit: usize,
}

/// Who acts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actor {
    /// The profile.
    pub profile: String,
    /// The claim of a worker; whoever orchestrates has none.
    pub lock: Option<String>,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// A task, and who acts on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct On {
    /// The board.
    pub board: String,
    /// The task.
    pub task: String,
    /// Who acts.
    pub by: Actor,
}

/// What somebody wants to work on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimAsk {
    /// The board.
    pub board: String,
    /// This task; otherwise the first that is ready.
    pub task: Option<String>,
    /// Only tasks of this profile.
    pub assignee: Option<String>,
    /// No further task of a profile that has so many running.
    pub running_max: Option<u32>,
    /// The asker made the task for itself, or goes on with it: it is also taken out of
    /// `scheduled`, and from a process that is gone without waiting for its last words.
    pub is_own: bool,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The task.
    pub task: Task,
    /// The attempt.
    pub run_id: i64,
    /// Proves that the claim is ours.
    pub lock: String,
}

/// What is handed over at the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    /// In a few words.
    pub summary: Option<String>,
    /// The result.
    pub result: Option<String>,
    /// Facts about it.
    pub metadata: Value,
    /// Tasks that were made on the way; each must be there and made by the same profile.
    pub created_cards: Vec<String>,
    /// Files that are attached with it, or nothing changes.
    pub artifacts: Vec<NewFile>,
}

/// How an attempt ended that settled nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// It failed; after so many failures the task is blocked.
    Failed {
        /// Why.
        why: String,
        /// So many are one too many.
        limit: u32,
    },
    /// The provider asked for a pause.
    RateLimited {
        /// Not before this time.
        until_ms: i64,
    },
}

/// How long dead and stale claims are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// An attempt that runs for so long is given up.
    pub stale: Duration,
    /// So many failures are one too many.
    pub failure_limit: u32,
}

/// A claim that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reclaimed {
    /// The task.
    pub task: String,
    /// Why.
    pub why: String,
    /// Where it stands now.
    pub status: Status,
}

/// A board and how many tasks it has in each state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardCount {
    /// The board.
    pub board: String,
    /// The state.
    pub status: Status,
    /// How many.
    pub tasks: u64,
}

/// Whose turn it is in triage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriageAsk {
    /// The board.
    pub board: String,
    /// A task that was looked at so often in vain is left to people.
    pub failures_max: u32,
    /// Nobody else looks at it before this time.
    pub until_ms: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// A part of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// What is to be done.
    pub new: NewTask,
    /// Parts that come before it, by their place; each stands earlier in the list.
    pub after: Vec<usize>,
}

/// What became of a task in triage.
#[derive(Debug, Clone, PartialEq)]
pub enum Sorted {
    /// It waits for its parts, and is then whoever's who brings them together.
    Parts {
        /// The parts.
        parts: Vec<Part>,
        /// Who brings them together, when somebody else does.
        assignee: Option<String>,
    },
    /// It is one piece of work.
    Whole,
    /// Nobody could tell.
    Failed {
        /// Why.
        why: String,
    },
}
