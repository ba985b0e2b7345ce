//! Finds the place that a model means, although its quotation is not exact.
//!
//! Nine strategies, from the strictest to the loosest; the first that finds anything decides, so
//! a loose one never competes with a strict one. Whether several places are acceptable is the
//! caller's decision: all of them are told.

pub(crate) mod closest;
pub(super) mod fit;
pub(super) mod fold;
mod lines;
mod literal;

use std::ops::Range;

/// How a place was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strategy {
    /// The very text.
    Exact,
    /// Lines without outer blanks.
    LineTrimmed,
    /// Runs of blanks count as one.
    Whitespace,
    /// Leading blanks do not count.
    Indentation,
    /// `\n` and the like stand for their characters.
    Escapes,
    /// Blanks at both ends do not count.
    Boundary,
    /// Typographic characters count as their plain ones.
    Unicode,
    /// First and last line are the same and the rest is alike.
    BlockAnchor,
    /// Most lines are alike.
    Context,
}

impl Strategy {
    /// The name that a result tells.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LineTrimmed => "line-trimmed",
            Self::Whitespace => "whitespace-normalised",
            Self::Indentation => "indentation-flexible",
            Self::Escapes => "escape-normalised",
            Self::Boundary => "trimmed-boundary",
            Self::Unicode => "unicode-normalised",
            Self::BlockAnchor => "block-anchor",
            Self::Context => "context-aware",
        }
    }

    /// Whether it finds what is only alike: such a place must be the only one.
    pub(crate) fn is_guess(self) -> bool {
        self >= Self::BlockAnchor
    }
}

/// All places where a text was found, in order; they may overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// How.
    pub(crate) strategy: Strategy,
    /// Where, never empty.
    pub(crate) spans: Vec<Range<usize>>,
}

type Search = fn(&str, &str) -> Vec<Range<usize>>;

const LADDER: &[(Strategy, Search)] = &[
    (Strategy::Exact, literal::exact),
    (Strategy::LineTrimmed, lines::trimmed),
    (Strategy::Whitespace, fold::whitespace),
    (Strategy::Indentation, fold::indentation),
    (Strategy::Escapes, literal::escapes),
    (Strategy::Boundary, literal::boundary),
    (Strategy::Unicode, fold::unicode),
    (Strategy::BlockAnchor, lines::block_anchor),
    (Strategy::Context, lines::context),
];

/// Looks for `old`; both texts have plain line ends.
pub(crate) fn find(content: &str, old: &str) -> Option<Found> {
    // Blanks alone are everywhere as soon as they need not be exact.
    let rungs = if old.trim().is_empty() { 1 } else { LADDER.len() };
    LADDER.iter().take(rungs).find_map(|(strategy, search)| {
        let spans = search(content, old);
        (!spans.is_empty()).then_some(Found { strategy: *strategy, spans })
    })
}

#[cfg(test)]
mod tests;
