//! A question as it is kept on disk, and what may become of it.

use std::path::PathBuf;

use petasos_config::ConfigError;
use petasos_contract::approval::{Answer, Finding, Scope, Who};
use serde::{Deserialize, Serialize};

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nobody has answered yet.
    Open,
    /// Yes, so far.
    Allowed {
        /// How far.
        scope: Scope,
        /// Who said so.
        by: Who,
    },
    /// No.
    Denied {
        /// Who said so.
        by: Who,
        /// What they added.
        comment: Option<String>,
    },
    /// Its time ran out.
    Expired,
    /// It reached nobody.
    Undeliverable {
        /// Why.
        reason: String,
    },
    /// Whoever asked is no longer waiting.
    Abandoned,
}

/// A question, durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Its name.
    pub id: String,
    /// The conversation it belongs to.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// What would happen; secrets masked.
    pub subject: String,
    /// Where a command would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Why somebody must agree.
    pub findings: Vec<Finding>,
    /// Identifies exactly what would run.
    pub digest: String,
    /// The widest scope that may be chosen.
    pub widest: Scope,
    /// When it was asked, in milliseconds since 1970.
    pub asked: u64,
    /// Which question of its desk it is: two may be asked in one millisecond.
    pub turn: u64,
    /// When it ends, in milliseconds since 1970.
    pub expires: u64,
    /// Whether a surface has acknowledged it.
    pub delivered: bool,
    /// Which approver waits for it.
    pub owner: String,
    /// What became of it.
    #[serde(flatten)]
    pub state: State,
}

impl Card {
    /// Whether it can still be answered.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Yes so far, or no.
    pub decided: Decided,
    /// Who answers.
    pub by: Who,
    /// What was agreed to, where the surface knows it; another action's answer is refused.
    pub digest: Option<String>,
}

/// Yes or no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// Yes, so far.
    Allow(Scope),
    /// No, with a word for the model.
    Deny(Option<String>),
}

impl Reply {
    /// The state it puts a question in.
    pub(super) fn state(&self) -> State {
        match &self.decided {
            Decided::Allow(scope) => State::Allowed { scope: *scope, by: self.by.clone() },
            Decided::Deny(comment) => {
                State::Denied { by: self.by.clone(), comment: comment.clone() }
            }
        }
    }
}

/// Why an answer did not count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// There is no such question.
    #[error("there is no approval request `{0}`")]
    Unknown(String),
    /// Somebody was faster, or its time ran out.
    #[error("the approval request `{id}` is already decided: {}", told(state))]
    AlreadyDecided {
        /// The question.
        id: String,
        /// What became of it.
        state: Box<State>,
    },
    /// The program that asked has ended; nothing would run.
    #[error("whoever asked `{0}` is no longer waiting; ask the agent to try again")]
    WaiterGone(String),
    /// The answer is to something else.
    #[error("the answer is to another action than `{0}`; look at the request again")]
    OtherAction(String),
    /// More than was offered.
    #[error("`{id}` may be allowed for no longer than: {}", format!("{widest:?}").to_lowercase())]
    TooWide {
        /// The question.
        id: String,
        /// What was offered.
        widest: Scope,
    },
    /// The record could not be read or written.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// The record is not one.
    #[error("`{}` cannot be read: {problem}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

fn told(state: &State) -> String {
    match state {
        State::Open => "open".to_owned(),
        State::Allowed { by, .. } => format!("allowed by {by}"),
        State::Denied { by, .. } => format!("denied by {by}"),
        State::Expired => "expired".to_owned(),
        State::Undeliverable { .. } => "undeliverable".to_owned(),
        State::Abandoned => "abandoned".to_owned(),
    }
}

/// The answer that a decided question gives to whoever waits.
pub(super) fn answer_of(state: State, open_for: std::time::Duration) -> Option<Answer> {
    match state {
        State::Open => None,
        State::Allowed { scope, by } => Some(Answer::Allowed { scope, by }),
        State::Denied { by, comment } => Some(Answer::Denied { by, comment }),
        State::Expired => Some(Answer::Expired { after: open_for }),
        State::Undeliverable { reason } => Some(Answer::Undeliverable { reason }),
        State::Abandoned => {
            Some(Answer::Undeliverable { reason: "the request was withdrawn".to_owned() })
        }
    }
}
