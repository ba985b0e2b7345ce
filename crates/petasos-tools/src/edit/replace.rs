//! Replacing one text by another, at one place or at all of them.

use super::fuzzy::closest;
use super::fuzzy::fit::{self, Drift};
use super::fuzzy::{self, Strategy};
use super::text::Text;

/// What was replaced.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// The file's new text.
    pub(crate) text: Text,
    /// How the place was found.
    pub(crate) strategy: Strategy,
    /// How many places.
    pub(crate) count: usize,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotReplaced {
    /// There is nothing to look for.
    #[error("`old_string` is empty: quote the text to replace; write_file makes new files")]
    Empty,
    /// There is nothing to change.
    #[error("`old_string` and `new_string` are the same: nothing to change")]
    Same,
    /// No strategy found it.
    #[error("`old_string` was not found")]
    Missing {
        /// What is most like it.
        closest: Vec<String>,
    },
    /// There are several places.
    #[error(
        "`old_string` was found {count} times ({}): quote more lines around the one you mean{}",
        .strategy.as_str(),
        if .strategy.is_guess() { "" } else { ", or set replace_all" }
    )]
    NotUnique {
        /// How many.
        count: usize,
        /// How they were found.
        strategy: Strategy,
    },
    /// Quotes are escaped that are not escaped in the file.
    #[error(
        "`old_string` and `new_string` have \\\" or \\' where the file has plain quotes: send \
         both without the backslashes"
    )]
    Drift,
    /// The replacement fits so that nothing changes.
    #[error("the place that was found already has the text of `new_string`")]
    NoChange,
}

/// Replaces `old` by `new`.
pub(crate) fn replace(
    text: &Text,
    old: &str,
    new: &str,
    all: All,
) -> Result<Replaced, NotReplaced> {
    if old.is_empty() {
        return Err(NotReplaced::Empty);
    }
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    if old == new {
        return Err(NotReplaced::Same);
    }
    let content = text.plain();
    let found = fuzzy::find(content, &old).ok_or_else(|| missing(content, &old))?;
    let strategy = found.strategy;
    let is_wanted = found.spans.len() == 1 || (all == All::Places && !strategy.is_guess());
    if !is_wanted {
        return Err(NotReplaced::NotUnique { count: found.spans.len(), strategy });
    }
    let mut edits = Vec::new();
    let mut free = 0;
    for span in found.spans {
        if span.start < free {
            continue;
        }
        free = span.end;
        let fitted = fit::fitted(content, &span, (&old, &new), strategy);
        edits.push((span, fitted.map_err(|Drift| NotReplaced::Drift)?));
    }
    let changed = text.with(&edits);
    if changed == *text {
        return Err(NotReplaced::NoChange);
    }
    Ok(Replaced { text: changed, strategy, count: edits.len() })
}

fn missing(content: &str, old: &str) -> NotReplaced {
    let unescaped = old.replace("\\\"", "\"").replace("\\'", "'");
    if unescaped != old && content.contains(&unescaped) {
        return NotReplaced::Drift;
    }
    NotReplaced::Missing { closest: closest::excerpts(content, old) }
}

/// Which places are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum All {
    /// The only one.
    Unique,
    /// All of them.
    Places,
}
