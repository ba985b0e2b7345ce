//! One hunk on one text: finds its place, or says why there is none.

use std::ops::Range;

use super::{Hunk, Line};
use crate::edit::fuzzy::{self, closest, fit};
use crate::edit::text::Text;

/// How far around its anchor a hunk is looked for.
const BEFORE_ANCHOR: usize = 500;
const AFTER_ANCHOR: usize = 2000;

/// The text with the hunk applied, and where the change ends in it; `None` for a hunk of context.
pub(super) fn apply(
    text: &Text,
    hunk: &Hunk,
    from: usize,
) -> Result<Option<(Text, usize)>, String> {
    let hunk = &trimmed(hunk);
    let changes = hunk.lines.iter().any(|line| !matches!(line, Line::Context(_)));
    if !changes {
        return Ok(None);
    }
    let old = side(hunk, |line| !matches!(line, Line::Added(_)));
    let new = side(hunk, |line| !matches!(line, Line::Removed(_)));
    let content = text.plain();
    let Some(old) = old else {
        return insert(text, hunk, new.as_deref().unwrap_or_default()).map(Some);
    };
    let found = place(content, hunk, &old, from)?;
    let (span, new) = match new {
        Some(new) => (found.span, new),
        // Whole lines go with their line end.
        None => (with_line_end(content, found.span), String::new()),
    };
    let fitted = fit::fitted(content, &span, (&old, &new), found.strategy)
        .map_err(|fit::Drift| "the hunk escapes quotes that the file does not".to_owned())?;
    let end = span.start + fitted.len();
    Ok(Some((text.with(&[(span, fitted)]), end)))
}

/// Blank context at the end is usually the gap before the next header.
fn trimmed(hunk: &Hunk) -> Hunk {
    let mut hunk = hunk.clone();
    while matches!(hunk.lines.last(), Some(Line::Context(text)) if text.is_empty()) {
        hunk.lines.pop();
    }
    hunk
}

fn side(hunk: &Hunk, wanted: impl Fn(&Line) -> bool) -> Option<String> {
    let lines: Vec<&str> = hunk
        .lines
        .iter()
        .filter(|line| wanted(line))
        .map(|line| match line {
            Line::Context(text) | Line::Removed(text) | Line::Added(text) => text.as_str(),
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

struct Placed {
    span: Range<usize>,
    strategy: fuzzy::Strategy,
}

fn place(content: &str, hunk: &Hunk, old: &str, from: usize) -> Result<Placed, String> {
    let whole = fuzzy::find(content, old).map(|found| whole_lines(content, old, found));
    let (count, strategy) = match &whole {
        Some(found) if found.spans.len() == 1 => return Ok(only(found)),
        Some(found) => (found.spans.len(), found.strategy.as_str()),
        None => (0, ""),
    };
    if let Some(near) = near_anchor(content, hunk, old)? {
        return Ok(near);
    }
    // Hunks come in the order of the file: what is before the last one is not meant.
    if let Some(mut found) = whole {
        found.spans.retain(|span| span.start >= from);
        if from > 0 && found.spans.len() == 1 {
            return Ok(only(&found));
        }
        return Err(format!(
            "a hunk fits at {count} places ({strategy}): give it more context lines or an `@@` \
             line; it begins with `{}`",
            first_line(old)
        ));
    }
    let mut told = format!("a hunk does not fit: it begins with `{}`", first_line(old));
    for excerpt in closest::excerpts(content, old) {
        told.push_str("; the file has\n");
        told.push_str(&excerpt);
    }
    Err(told)
}

/// A hunk is made of whole lines: a place inside a line is none.
fn whole_lines(content: &str, old: &str, mut found: fuzzy::Found) -> fuzzy::Found {
    let is_whole = |span: &Range<usize>| {
        let before =
            content.get(..span.start).is_some_and(|text| text.is_empty() || text.ends_with('\n'));
        let after =
            content.get(span.end..).is_some_and(|text| text.is_empty() || text.starts_with('\n'));
        before && (after || old.ends_with('\n'))
    };
    if found.spans.iter().any(is_whole) {
        found.spans.retain(is_whole);
    }
    found
}

fn only(found: &fuzzy::Found) -> Placed {
    let span = found.spans.first().cloned().unwrap_or_default();
    Placed { span, strategy: found.strategy }
}

fn near_anchor(content: &str, hunk: &Hunk, old: &str) -> Result<Option<Placed>, String> {
    let Some(anchor) = &hunk.anchor else { return Ok(None) };
    let line = match anchors(content, anchor).as_slice() {
        [only] => only.clone(),
        _ => return Ok(None),
    };
    let start = boundary(content, line.start.saturating_sub(BEFORE_ANCHOR));
    let end = boundary(content, (line.end + AFTER_ANCHOR).min(content.len()));
    let window = content.get(start..end).unwrap_or_default();
    let Some(found) = fuzzy::find(window, old) else { return Ok(None) };
    let mut found = whole_lines(window, old, found);
    let after = line.end - start;
    if found.spans.len() > 1 && found.spans.iter().any(|span| span.start >= after) {
        found.spans.retain(|span| span.start >= after);
    }
    match found.spans.as_slice() {
        [span] => {
            let span = span.start + start..span.end + start;
            Ok(Some(Placed { span, strategy: found.strategy }))
        }
        several => Err(format!(
            "a hunk fits at {} places near `{anchor}`: give it more context lines",
            several.len()
        )),
    }
}

/// The lines that an anchor means: the very line, else those that contain it.
fn anchors(content: &str, anchor: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let lines: Vec<(Range<usize>, &str)> = content
        .split('\n')
        .map(|line| {
            let span = at..at + line.len();
            at = span.end + 1;
            (span, line)
        })
        .collect();
    let those = |wanted: &dyn Fn(&str) -> bool| -> Vec<Range<usize>> {
        lines.iter().filter(|(_, line)| wanted(line)).map(|(span, _)| span.clone()).collect()
    };
    let same = those(&|line| line.trim() == anchor);
    if same.is_empty() { those(&|line| line.contains(anchor)) } else { same }
}

fn insert(text: &Text, hunk: &Hunk, new: &str) -> Result<(Text, usize), String> {
    let content = text.plain();
    let Some(anchor) = &hunk.anchor else {
        let glue = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
        let added = format!("{glue}{new}\n");
        let end = content.len() + added.len();
        return Ok((text.with(&[(content.len()..content.len(), added)]), end));
    };
    match anchors(content, anchor).as_slice() {
        [line] => {
            let added = format!("\n{new}");
            let end = line.end + added.len();
            Ok((text.with(&[(line.end..line.end, added)]), end))
        }
        [] => Err(format!("no line has the anchor `{anchor}`")),
        several => Err(format!("{} lines have the anchor `{anchor}`", several.len())),
    }
}

fn with_line_end(content: &str, span: Range<usize>) -> Range<usize> {
    let rest = content.get(span.end..).unwrap_or_default();
    if rest.starts_with('\n') {
        return span.start..span.end + 1;
    }
    let before = content.get(..span.start).unwrap_or_default();
    let start = if rest.is_empty() && before.ends_with('\n') { span.start - 1 } else { span.start };
    start..span.end
}

fn boundary(content: &str, mut at: usize) -> usize {
    while !content.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn first_line(text: &str) -> String {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .chars()
        .take(100)
        .collect()
}
