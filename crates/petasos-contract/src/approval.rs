//! Judging and asking, apart: [`Policy::judge`] never waits, [`Approver::ask`] never decides.
//!
//! Nobody attached is an approver too: [`Nobody`] answers at once that it could not deliver.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::context::CallContext;
use crate::id::ToolName;
use crate::plan::{FileEdit, Pin, Plan};

/// What is about to happen, for whoever judges it.
#[derive(Debug, Clone, Copy)]
pub struct Intent<'a> {
    /// The tool.
    pub tool: &'a ToolName,
    /// What it would do, with its final arguments.
    pub plan: &'a Plan,
    /// What hooks and scanners want a person to agree to.
    pub escalated: &'a [Finding],
}

/// Whose word a finding is, for whoever acts on it: never told by the words of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A rule that somebody can agree to.
    #[default]
    Rule,
    /// A rule that nobody can overrule.
    Hardline,
    /// The user's own refusal.
    UserDeny,
    /// Words of strangers may be speaking.
    Tainted,
    /// Somebody wants a person's own word, such as an editor or a hook: no model answers for them.
    Person,
}

/// A rule that applies, with the place that made it apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What an approval is remembered under, such as `recursive delete`.
    pub key: Cow<'static, str>,
    /// Why, in words for a person.
    pub why: String,
    /// Whose word it is.
    #[serde(default)]
    pub kind: FindingKind,
    /// The bytes of the judged text that made it apply.
    pub span: Option<Range<usize>>,
    /// The widest scope that may be granted.
    pub widest: Scope,
    /// What an answer for longer than once stores, in words; everything under the key without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stores: Option<String>,
}

/// The decision, before anyone is asked. Ordered: the strictest wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Runs.
    Allow,
    /// A person must agree.
    Ask(Vec<Finding>),
    /// Never runs.
    Block(Vec<Finding>),
}

/// How far an approval reaches. Ordered from narrow to wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call.
    Once,
    /// What the findings say they store, in this session.
    Session,
    /// The same, from now on.
    Always,
}

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// A person, with a name when the surface knows it.
    Person(Option<String>),
    /// The reviewing model.
    Reviewer,
    /// A rule that answers for people who are not there.
    Rule(String),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(None) => f.write_str("the user"),
            Self::Person(Some(name)) => f.write_str(name),
            Self::Reviewer => f.write_str("the reviewing model"),
            Self::Rule(rule) => write!(f, "the rule `{rule}`"),
        }
    }
}

/// The answer to a question; each of these is a different thing to the model and to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
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
    /// Nobody answered in time.
    Expired {
        /// How long the question was open.
        after: Duration,
    },
    /// The question reached nobody.
    Undeliverable {
        /// Why.
        reason: String,
    },
    /// The reviewing model could not be reached, and nobody else is there.
    ReviewerUnavailable {
        /// Why.
        reason: String,
    },
}

/// A question to a person or a reviewer.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// The tool.
    pub tool: ToolName,
    /// What would run or be written, for people; secrets masked.
    pub subject: String,
    /// Where a command would run.
    pub cwd: Option<PathBuf>,
    /// Why somebody must agree. One question carries all findings, so that agreeing to one cannot
    /// hide another.
    pub findings: Vec<Finding>,
    /// The files that it would change, before and after, where the tool can tell.
    pub edits: Vec<FileEdit>,
    /// Identifies exactly what was judged.
    pub digest: Digest,
    /// The widest scope that every finding permits.
    pub widest: Scope,
}

/// Identifies a tool with its final arguments, its effects and its pins.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// What came of a judged call, for memory and log.
#[derive(Debug)]
pub struct Settlement<'a> {
    /// What was judged.
    pub intent: &'a Intent<'a>,
    /// What the rules said.
    pub verdict: &'a Verdict,
    /// What whoever was asked said.
    pub answer: Option<&'a Answer>,
}

/// A settlement that could not be recorded; the call does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(pub String);

/// What judging a call found out besides the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// What was read, and must not change before the call runs.
    pub pins: Vec<Pin>,
    /// It brings in words from the network, whatever its tool is.
    pub reaches: bool,
}

/// Whether a decision was remembered and recorded, later.
pub type Settling<'a> = BoxFuture<'a, Result<(), PolicyError>>;

/// Decides about effects.
pub trait Policy: Send + Sync {
    /// Judges, in microseconds, without waiting for anyone.
    fn judge(&self, intent: &Intent<'_>, cx: &CallContext) -> Verdict;

    /// What somebody else's scanner wants a person to agree to. This waits, so that it is asked
    /// apart and only where there is a scanner; its findings come back as escalated ones.
    fn scan<'a>(
        &'a self,
        _intent: &Intent<'a>,
        _cx: &'a CallContext,
    ) -> Option<BoxFuture<'a, Vec<Finding>>> {
        None
    }

    /// What was found out while the call of this context was judged last.
    fn reading(&self, _: &CallContext) -> Reading {
        Reading::default()
    }

    /// Remembers an answer and records the decision, before the call runs.
    fn settle<'a>(&'a self, _: &'a Settlement<'a>, _: &'a CallContext) -> Settling<'a> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Asks somebody.
pub trait Approver: Send + Sync {
    /// Puts the question and waits for the answer, within a deadline of its own.
    fn ask<'a>(&'a self, it: &'a ApprovalRequest, cx: &'a CallContext) -> BoxFuture<'a, Answer>;
}

/// Nobody is there: every question is undeliverable, at once.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest, _: &'a CallContext) -> BoxFuture<'a, Answer> {
        let reason = "no person is attached to this session".to_owned();
        Box::pin(std::future::ready(Answer::Undeliverable { reason }))
    }
}
