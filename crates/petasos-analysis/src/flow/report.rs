//! Collects what the walk finds and asks the rules about it. Lists that are only
//! for showing are capped; findings are not lost to a cap.

use super::value::Arg;
use crate::facts::Facts;
use crate::path::{self, Target};
use crate::rule::{self, Rule, Signal};
use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;
use crate::verdict::{Analysis, Effect, EffectKind, Finding, Leaf, Severity};

const SHOWN_MAX: usize = 256;

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Delete {
        recursive: bool,
        /// Many files chosen by a search, not named one by one.
        bulk: bool,
        /// The search is narrowed by name, age or the like.
        narrowed: bool,
    },
    Write,
    Read,
}

impl Deed {
    /// Everything below a path goes.
    pub(crate) const TREE: Self = Self::Delete { recursive: true, bulk: false, narrowed: false };
    /// All that a search finds goes, with everything below it.
    pub(crate) const SWEEP: Self = Self::Delete { recursive: true, bulk: true, narrowed: false };
}

/// A path and what happens to it.
#[derive(Debug)]
pub(crate) struct Touch<'a> {
    pub(crate) deed: Deed,
    /// Resolved as far as possible.
    pub(crate) path: &'a str,
    pub(crate) elevated: bool,
    pub(crate) facts: &'a Facts,
    /// What writing or deleting it means; nothing is asked of paths that are read.
    pub(crate) target: Target,
}

impl<'a> Touch<'a> {
    pub(crate) fn new(deed: Deed, path: &'a str, elevated: bool, facts: &'a Facts) -> Self {
        let target = if deed == Deed::Read { Target::Ordinary } else { path::target(path, facts) };
        Self { deed, path, elevated, facts, target }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) analysis: Analysis,
    /// Inside a throw-away container: what would be blocked is asked instead.
    pub(crate) softened: u32,
    /// Where the command runs that is looked at.
    pub(crate) cwd: Option<String>,
}

/// So many findings of one rule help a person; one is enough to decide.
pub const FINDINGS_MAX: usize = 8;

impl Report {
    pub(crate) fn leaf(&mut self, argv: &[Arg], via: &[&'static str], span: Span) {
        if self.analysis.leaves.len() < SHOWN_MAX {
            self.analysis.leaves.push(Leaf {
                argv: argv.iter().take(64).map(|arg| shown(&arg.text)).collect(),
                via: via.iter().map(|name| (*name).to_owned()).collect(),
                span,
                cwd: self.cwd.clone(),
            });
        }
    }

    pub(crate) fn effect(&mut self, kind: EffectKind, target: &str, span: Span) {
        self.add_effect(Effect { kind, target: shown(target), recursive: false, span });
    }

    fn add_effect(&mut self, effect: Effect) {
        if self.analysis.effects.len() < SHOWN_MAX {
            self.analysis.effects.push(effect);
        }
    }

    pub(crate) fn touch(&mut self, touch: &Touch<'_>, span: Span, leaf: &dyn Fn() -> String) {
        let kind = match touch.deed {
            Deed::Delete { .. } => EffectKind::Delete,
            Deed::Write => EffectKind::Write,
            Deed::Read => EffectKind::Read,
        };
        let recursive = matches!(touch.deed, Deed::Delete { recursive: true, .. });
        self.add_effect(Effect { kind, target: shown(touch.path), recursive, span });
        for rule in rule::on_touch(touch) {
            self.raise_at(rule, span, leaf(), Some(shown(touch.path)));
        }
    }

    pub(crate) fn signal(&mut self, signal: Signal, span: Span, leaf: impl Into<String>) {
        if let Some(rule) = rule::on_signal(signal) {
            self.raise_at(rule, span, leaf.into(), None);
        }
    }

    pub(crate) fn raise(&mut self, rule: &'static Rule, span: Span, leaf: String) {
        self.raise_at(rule, span, leaf, None);
    }

    fn raise_at(&mut self, rule: &'static Rule, span: Span, leaf: String, target: Option<String>) {
        let severity = if self.softened > 0 { Severity::Ask } else { rule.severity };
        let finding = Finding {
            rule: rule.key,
            description: rule.description,
            nature: rule.nature(),
            severity,
            span,
            leaf,
            target,
            cwd: self.cwd.clone(),
        };
        let known =
            |other: &&Finding| std::ptr::eq(other.rule, rule.key) && other.severity == severity;
        let findings = &mut self.analysis.findings;
        if findings.iter().filter(known).count() < FINDINGS_MAX && !findings.contains(&finding) {
            findings.push(finding);
        }
    }
}

/// Text for a person: unknown stretches shown as an ellipsis, length capped.
pub(crate) fn shown(text: &str) -> String {
    // Nearly all text is short and plain; what is unknown is marked by a sign beyond ASCII.
    if text.len() <= 200 && text.is_ascii() {
        return text.to_owned();
    }
    let mut shown: String =
        text.chars().take(200).map(|letter| if letter == UNKNOWN { '…' } else { letter }).collect();
    if text.len() > 800 {
        shown.push('…');
    }
    shown
}

pub(crate) fn render(argv: &[Arg]) -> String {
    const WORDS_MAX: usize = 16;
    let word = |arg: &Arg| {
        let text = shown(&arg.text);
        let apart = text.is_empty() || text.contains(|it: char| it.is_whitespace() || it == '"');
        if apart { format!("{text:?}") } else { text }
    };
    let cut = (argv.len() > WORDS_MAX).then(|| "…".to_owned());
    argv.iter().take(WORDS_MAX).map(word).chain(cut).collect::<Vec<_>>().join(" ")
}
