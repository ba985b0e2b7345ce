//! Collects what the walk finds and asks the rules about it. Lists that are only
//! for showing are capped; findings are not lost to a cap.

use super::value::Arg;
use crate::facts::Facts;
use crate::path::{self, Target};
use crate::rules::{self, Rule, Signal};
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
}

impl Report {
    pub(crate) fn leaf(&mut self, argv: &[Arg], via: &[&'static str], span: Span) {
        if self.analysis.leaves.len() < SHOWN_MAX {
            self.analysis.leaves.push(Leaf {
                argv: argv.iter().take(64).map(|arg| shown(&arg.text)).collect(),
                via: via.iter().map(|name| (*name).to_owned()).collect(),
                span,
            });
        }
    }

    pub(crate) fn effect(&mut self, kind: EffectKind, target: &str, span: Span) {
        if self.analysis.effects.len() < SHOWN_MAX {
            self.analysis.effects.push(Effect { kind, target: shown(target), span });
        }
    }

    pub(crate) fn touch(&mut self, touch: &Touch<'_>, span: Span, leaf: &dyn Fn() -> String) {
        let kind = match touch.deed {
            Deed::Delete { .. } => EffectKind::Delete,
            Deed::Write => EffectKind::Write,
            Deed::Read => EffectKind::Read,
        };
        self.effect(kind, touch.path, span);
        for (rule, check) in rules::on_touch() {
            if check(touch) {
                self.raise(rule, span, leaf);
            }
        }
    }

    pub(crate) fn signal(&mut self, signal: Signal, span: Span, leaf: impl Into<String>) {
        if let Some(rule) = rules::on_signal(signal) {
            let leaf = leaf.into();
            self.raise(rule, span, &|| leaf.clone());
        }
    }

    pub(crate) fn raise(&mut self, rule: &'static Rule, span: Span, leaf: &dyn Fn() -> String) {
        let severity = if self.softened > 0 { Severity::Ask } else { rule.severity };
        let known = |finding: &Finding| {
            std::ptr::eq(finding.rule, rule.key) && finding.severity == severity
        };
        // One finding a rule is enough to decide; a few more help a person.
        if self.analysis.findings.iter().filter(|finding| known(finding)).count() >= 8
            || self.analysis.findings.iter().any(|finding| known(finding) && finding.span == span)
        {
            return;
        }
        self.analysis.findings.push(Finding {
            rule: rule.key,
            description: rule.description,
            severity,
            span,
            leaf: leaf(),
        });
    }
}

/// Text for a person: unknown stretches shown as an ellipsis, length capped.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().take(200).map(|letter| if letter == UNKNOWN { '…' } else { letter }).collect();
    if text.len() > 800 {
        shown.push('…');
    }
    shown
}

pub(crate) fn render(argv: &[Arg]) -> String {
    let words: Vec<String> = argv.iter().take(16).map(|arg| shown(&arg.text)).collect();
    words.join(" ")
}
