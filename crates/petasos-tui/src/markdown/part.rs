//! A long block in parts: what stands at its beginning and cannot change any more is finished before
//! its end has come, so that little of a reply has to be drawn again.
//!
//! A block is split only where both parts, shown by themselves, give the lines of the whole.

use pulldown_cmark::{Event, Parser, Tag};

use super::{Canvas, block, options};
use crate::line::Line;

/// Lines at the end of a block that stay soft.
const SOFT_LINES: usize = 2;
/// Shorter blocks are left whole.
const LONG_LINES: usize = 5;
/// So many places are tried, fewer in long texts.
const TRIES: usize = 80;
const TRIES_IN_LONG: usize = 8;
const LONG_BYTES: usize = 4096;

/// Where a block is split, and what is finished with that.
pub(super) struct Split {
    /// Where the rest begins.
    pub(super) at: usize,
    /// The lines before it, with the blank one between two items.
    pub(super) shown: Vec<Line>,
}

/// The last place where a long block can be split.
pub(super) fn split(text: &str, canvas: Canvas) -> Option<Split> {
    let whole = block::render(text, canvas);
    if whole.len() < LONG_LINES {
        return None;
    }
    let tries = if text.len() > LONG_BYTES { TRIES_IN_LONG } else { TRIES };
    places(text).into_iter().rev().take(tries).find_map(|at| {
        let (before, rest) = text.split_at_checked(at)?;
        let rest = block::render(rest, canvas);
        if rest.len() < SOFT_LINES || before.trim().is_empty() {
            return None;
        }
        let mut shown = block::render(before, canvas);
        let (head, tail) = whole.split_at_checked(whole.len() - rest.len())?;
        if tail != rest {
            return None;
        }
        if shown.len() + 1 == head.len() && head.last().is_some_and(Line::is_empty) {
            shown.push(Line::new());
        }
        (shown == head).then_some(Split { at, shown })
    })
}

/// The places where nothing that follows can change what stands before: between the items of a
/// list, and between words of a paragraph that left nothing open.
fn places(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match &event {
            Event::Start(Tag::Paragraph) if depth == 0 => {
                let first = text.lines().next().unwrap_or_default();
                // It may become the head of a table.
                if first.contains('|') {
                    return found;
                }
            }
            Event::Start(Tag::List(_)) if depth == 0 => {}
            Event::Start(_) if depth == 0 => return found,
            Event::Start(Tag::Item) if depth == 1 && range.start > 0 => {
                let line = text.get(..range.start).and_then(|it| it.rfind('\n')).map(|at| at + 1);
                found.extend(line);
            }
            Event::Text(_) if depth == 1 => {
                let part = text.get(range.clone()).unwrap_or_default();
                if opens(part) {
                    return found;
                }
                found.extend(words(part).map(|at| range.start + at).filter(|at| *at > 0));
            }
            _ => {}
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}

/// Whether a sign in plain text could still find its partner.
fn opens(text: &str) -> bool {
    let mut before = ' ';
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        let next = signs.peek().copied().unwrap_or('x');
        let opens = matches!(sign, '*' | '_') && !before.is_alphanumeric() && !next.is_whitespace();
        if opens || matches!(sign, '`' | '[' | '<' | '~') {
            return true;
        }
        before = sign;
    }
    false
}

/// The beginnings of words that no line of Markdown could begin with in another sense.
fn words(text: &str) -> impl Iterator<Item = usize> {
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, sign)| {
        let begins = before == ' ' && sign.is_alphabetic();
        before = sign;
        begins.then_some(at)
    })
}
