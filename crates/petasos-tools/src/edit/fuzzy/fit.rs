//! Makes a replacement fit a place that was not found by its very text.
//!
//! The quotation was off, so the replacement is off in the same way: its indentation, its escapes
//! and its quotes are those of the quotation and not of the file.

use std::ops::Range;

use super::Strategy;
use super::fold::{self, line_start};
use super::literal::unescaped;

/// Both texts escape quotes that the file does not escape: they were serialised once too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Drift;

/// The replacement for one place.
pub(crate) fn fitted(
    content: &str,
    span: &Range<usize>,
    (old, new): (&str, &str),
    strategy: Strategy,
) -> Result<String, Drift> {
    if strategy == Strategy::Exact {
        return Ok(new.to_owned());
    }
    let region = content.get(span.clone()).unwrap_or_default();
    if has_drifted(region, old, new) {
        return Err(Drift);
    }
    let new = characters(region, old, new, strategy);
    let (old, new) = match strategy {
        Strategy::Escapes => (unescaped(old), new),
        Strategy::Boundary => (old.trim().to_owned(), without_ends(old, &new)),
        _ => (old.to_owned(), new),
    };
    let new = match strategy {
        // These were found with their blanks; there is nothing to move.
        Strategy::Escapes => new,
        Strategy::Unicode => own_typography(region, &old, &new),
        _ => indented(content, span, &old, &new),
    };
    let ends_short = old.ends_with('\n') && !region.ends_with('\n');
    Ok(if ends_short { new.strip_suffix('\n').unwrap_or(&new).to_owned() } else { new })
}

fn has_drifted(region: &str, old: &str, new: &str) -> bool {
    ["\\\"", "\\'"]
        .iter()
        .any(|pair| old.contains(pair) && new.contains(pair) && !region.contains(pair))
}

/// Reads escapes as characters where the quotation used them so.
fn characters(region: &str, old: &str, new: &str, strategy: Strategy) -> String {
    if strategy == Strategy::Escapes {
        return unescaped(new);
    }
    let mut new = new.to_owned();
    for (escape, letter) in [("\\t", "\t"), ("\\r", "\r")] {
        let meant = old.contains(escape) && !region.contains(escape) && region.contains(letter);
        if meant {
            new = new.replace(escape, letter);
        }
    }
    new
}

/// Without the blanks at both ends that the quotation had and the place has not.
fn without_ends(old: &str, new: &str) -> String {
    let core = old.trim();
    let (before, after) = old.split_once(core).unwrap_or_default();
    let new = new.strip_prefix(before).unwrap_or_else(|| new.trim_start());
    new.strip_suffix(after).unwrap_or_else(|| new.trim_end()).to_owned()
}

/// With the indentation of the file in place of that of the quotation.
fn indented(content: &str, span: &Range<usize>, old: &str, new: &str) -> String {
    let region = content.get(span.clone()).unwrap_or_default();
    let blank_before = region.len() - region.trim_start().len();
    let first = line_start(content, span.start + blank_before);
    let ours = indent(content.get(first..).unwrap_or_default());
    let theirs = old.lines().find(|line| !line.trim().is_empty()).map_or("", indent);
    if ours == theirs {
        return new.to_owned();
    }
    let is_whole = line_start(content, span.start) == span.start;
    let mut fitted = String::with_capacity(new.len());
    for (index, line) in new.split_inclusive('\n').enumerate() {
        let is_ours = index == 0 && !is_whole;
        match line.strip_prefix(theirs) {
            Some(rest) if !is_ours && !line.trim().is_empty() => {
                fitted.push_str(ours);
                fitted.push_str(rest);
            }
            Some(_) | None => fitted.push_str(line),
        }
    }
    fitted
}

fn indent(line: &str) -> &str {
    let end = line.find(|letter| !matches!(letter, ' ' | '\t')).unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}

/// With the file's own characters where the replacement does not differ from the quotation.
fn own_typography(region: &str, old: &str, new: &str) -> String {
    let shared = |mut left: Box<dyn Iterator<Item = char> + '_>,
                  right: Box<dyn Iterator<Item = char> + '_>| {
        right.take_while(|letter| left.next() == Some(*letter)).map(char::len_utf8).sum::<usize>()
    };
    let before = shared(Box::new(old.chars()), Box::new(new.chars()));
    let left = (old.len() - before).min(new.len() - before);
    let after = shared(Box::new(old.chars().rev()), Box::new(new.chars().rev())).min(left);
    let folded = fold::plain(region);
    let length = |text: Option<&str>| text.map_or(0, |text| fold::plain(text).text.len());
    let head = folded.original_at(length(old.get(..before)));
    let tail_length = length(old.get(old.len() - after..));
    let tail = folded.original_at(folded.text.len().saturating_sub(tail_length));
    let (Some(head), Some(tail)) = (head, tail) else { return new.to_owned() };
    let parts = (region.get(..head), new.get(before..new.len() - after), region.get(tail..));
    match parts {
        (Some(head), Some(middle), Some(tail)) => [head, middle, tail].concat(),
        _ => new.to_owned(),
    }
}
