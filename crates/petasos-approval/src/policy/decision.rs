//! A decision with its reasons: what was observed, and why each observation counted or not.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use petasos_contract::approval::{Finding, FindingKind, Reading, Verdict};
use serde::Serialize;

use crate::grants::Spot;
use petasos_analysis::Nature;

/// What kind of reason it is; this decides what can set it aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The settings themselves cannot be used.
    Broken,
    /// Would stop the gateway that runs it.
    Gateway,
    /// Never runnable.
    Hardline,
    /// Would guess a password for sudo.
    Sudo,
    /// The user's own refusal.
    UserDeny,
    /// Outside the directories that may be written to.
    SafeRoot,
    /// The agent's own settings, rules, hooks or credentials.
    OwnFiles,
    /// Leaves the sandbox.
    Unconfined,
    /// Moves something that people are kept safe by.
    Guarded,
    /// The user's own wish to be asked.
    UserAsk,
    /// A built-in rule.
    Rule,
    /// Words of strangers may be speaking.
    Tainted,
    /// A whole program put up for approval.
    Code,
    /// A hook or a scanner wants a person to agree.
    Escalated,
}

impl Class {
    /// Whether nobody can agree to it.
    pub(crate) fn blocks(self) -> bool {
        matches!(
            self,
            Self::Broken | Self::Gateway | Self::Hardline | Self::UserDeny | Self::SafeRoot
        )
    }

    /// Whose word it is, for the result of the call.
    pub(crate) fn finding_kind(self) -> FindingKind {
        match self {
            Self::Gateway | Self::Hardline => FindingKind::Hardline,
            Self::UserDeny => FindingKind::UserDeny,
            Self::Tainted => FindingKind::Tainted,
            _ => FindingKind::Rule,
        }
    }

    /// Whether only a person who is there can agree, each time.
    pub(crate) fn needs_presence(self) -> bool {
        matches!(
            self,
            Self::Sudo | Self::OwnFiles | Self::Unconfined | Self::Guarded | Self::Tainted
        )
    }
}

/// Why an observation does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiver {
    /// Nothing of the host can be reached.
    Isolated,
    /// The sandbox of the command refuses it, and then somebody is asked.
    Confined,
    /// Approvals are off, for everything or for this session.
    Off,
    /// The command text stands in `command_allowlist`.
    Allowlist(String),
    /// The user's own rules allow all of it.
    AllowRule(String),
    /// Approved for this session.
    Session,
    /// Approved for good, by this key.
    Always(Cow<'static, str>),
    /// A narrow grant.
    Grant(String),
    /// A setting answers for people who are not there.
    Setting(&'static str),
}

impl fmt::Display for Waiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Isolated => f.write_str("nothing of this machine can be reached"),
            Self::Confined => f.write_str("the sandbox refuses it first"),
            Self::Off => f.write_str("approvals are off"),
            Self::Allowlist(text) => write!(f, "`{text}` stands in command_allowlist"),
            Self::AllowRule(rule) => write!(f, "your rule `{rule}` allows it"),
            Self::Session => f.write_str("allowed for this session"),
            Self::Always(key) => write!(f, "always allowed: {key}"),
            Self::Grant(grant) => write!(f, "granted: {grant}"),
            Self::Setting(key) => write!(f, "`{key}` answers for people who are not there"),
        }
    }
}

/// Something that speaks against a call.
#[derive(Debug, Clone, Serialize)]
pub struct Observed {
    /// What, why and where.
    #[serde(flatten)]
    pub finding: Finding,
    /// What kind of reason it is.
    pub class: Class,
    /// Why it does not count, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waived: Option<Waiver>,
    /// What made it speak, as far as a grant can name it.
    #[serde(skip)]
    pub(crate) spots: Vec<Spot>,
    /// What the rule is about, where a rule speaks.
    #[serde(skip)]
    pub(crate) nature: Nature,
}

impl Observed {
    /// Something that counts, for now.
    pub(crate) fn new(finding: Finding, class: Class) -> Self {
        Self { finding, class, waived: None, spots: Vec::new(), nature: Nature::Plain }
    }
}

/// What came out, with everything that was seen.
#[derive(Debug, Clone)]
pub struct Decision {
    /// What came out.
    pub verdict: Verdict,
    /// Everything that spoke against it.
    pub observed: Vec<Observed>,
    /// The commands that would run, the first few.
    pub commands: Vec<Vec<String>>,
    /// The files that it would write.
    pub(crate) written: Vec<PathBuf>,
    /// The files that were read to judge it.
    pub(crate) reading: Reading,
}

/// `allow`, `ask` or `block`.
pub fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Block(_) => "block",
    }
}
