//! What the judge says: the verdict, the findings behind it, and the effects seen.

use crate::rule::Nature;
use crate::shell::Span;

/// What is to happen with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Ordinary work.
    Allow,
    /// A person must approve.
    Ask,
    /// Never, whoever approves.
    Block,
}

/// How much a rule weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A person must approve.
    Ask,
    /// Never to be run.
    Block,
}

/// One reason for a verdict.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// Key of the rule, as remembered in `command_allowlist`.
    pub rule: &'static str,
    /// What the rule is about, for a person.
    pub description: &'static str,
    /// What the rule is about, for whoever decides.
    #[serde(skip)]
    pub nature: Nature,
    /// What the rule asks for, after softening.
    pub severity: Severity,
    /// Where in the original text.
    pub span: Span,
    /// The command that did it, after quoting and wrappers were removed.
    pub leaf: String,
    /// The path that it is about, resolved as far as possible, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The directory that the command runs in, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// What an effect does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectKind {
    /// A path is deleted.
    Delete,
    /// A path is written, replaced or truncated.
    Write,
    /// The content of a path is read.
    Read,
    /// A host is reached.
    Reach,
    /// A program is run.
    Run,
}

/// Something a command would do to the world.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Effect {
    /// What is done.
    pub kind: EffectKind,
    /// The path, host or program.
    pub target: String,
    /// With everything in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recursive: bool,
    /// Where in the original text.
    pub span: Span,
}

/// One command that would run, with everything around it removed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Leaf {
    /// The program and its arguments as far as they are known; `…` stands for the rest.
    pub argv: Vec<String>,
    /// The wrappers it was found in, outermost first.
    pub via: Vec<String>,
    /// Where in the original text.
    pub span: Span,
    /// The directory it runs in, when that is known.
    #[serde(skip)]
    pub cwd: Option<String>,
}

/// Everything the analysis saw.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Analysis {
    /// The commands found, the first few hundred of them.
    pub leaves: Vec<Leaf>,
    /// The effects found, the first few hundred of them.
    pub effects: Vec<Effect>,
    /// The rules that spoke.
    pub findings: Vec<Finding>,
}

/// The verdict with its reasons.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Judgement {
    /// What is to happen.
    pub verdict: Verdict,
    /// All findings, the gravest first.
    pub findings: Vec<Finding>,
    /// The effects found.
    pub effects: Vec<Effect>,
}

/// Weighs an analysis: the gravest finding decides.
pub fn judge(analysis: Analysis) -> Judgement {
    let Analysis { effects, mut findings, .. } = analysis;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let verdict = match findings.first().map(|finding| finding.severity) {
        None => Verdict::Allow,
        Some(Severity::Ask) => Verdict::Ask,
        Some(Severity::Block) => Verdict::Block,
    };
    Judgement { verdict, findings, effects }
}
