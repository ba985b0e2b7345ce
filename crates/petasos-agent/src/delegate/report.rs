//! What comes back of a child: its summary, what it used, and what it did.

use petasos_contract::reply::Usage;
use serde::Serialize;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Its place among the tasks.
    pub task_index: usize,
    /// `completed`, `failed`, `interrupted` or `timeout`.
    pub status: &'static str,
    /// What the child says.
    pub summary: String,
    /// How many requests it made.
    pub api_calls: u32,
    /// How long it took.
    pub duration_seconds: f64,
    /// Its model, when another one was chosen.
    pub model: Option<String>,
    /// How its turn ended.
    pub exit_reason: String,
    /// What it read and wrote.
    pub tokens: Tokens,
    /// The tools it used.
    pub tool_trace: Vec<Trace>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its conversation, which `session_search` can open.
    pub session_id: Option<String>,
    /// Its card on the board, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    #[serde(skip)]
    pub(super) usage: Usage,
}

/// Tokens of a child.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// A tool that a child used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// Which.
    pub tool: String,
    /// How it ended.
    pub status: String,
}

impl Report {
    pub(super) fn failed(task_index: usize, why: &str) -> Self {
        Self {
            task_index,
            status: "failed",
            summary: String::new(),
            api_calls: 0,
            duration_seconds: 0.0,
            model: None,
            exit_reason: "failed".to_owned(),
            tokens: Tokens::default(),
            tool_trace: Vec::new(),
            error: Some(why.to_owned()),
            session_id: None,
            card: None,
            usage: Usage::default(),
        }
    }
}

/// The beginning and the end of a long text; the whole is in the child's conversation.
pub(super) fn cut(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most * 3 / 4).collect();
    let tail: String = text.chars().skip(count - most / 4).collect();
    let left_out = count - most;
    format!("{head}\n[… {left_out} characters left out; open the session for all …]\n{tail}")
}
