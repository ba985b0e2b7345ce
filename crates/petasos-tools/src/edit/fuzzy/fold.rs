//! Places that are the same once both texts are folded: blanks, indentation, typography.
//!
//! A folded text remembers where each of its characters came from, so that a place in it is a
//! place in the original.

use std::ops::Range;

use super::literal;

/// A text with some differences taken out.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) text: String,
    /// For each character: where it starts here, and which part of the original it stands for.
    origin: Vec<(usize, Range<usize>)>,
}

impl Folded {
    fn push(&mut self, letter: char, origin: Range<usize>) {
        self.origin.push((self.text.len(), origin));
        self.text.push(letter);
    }

    /// The part of the original behind a part of this text.
    fn original(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let first = self.index(span.start)?;
        let last = self.index(span.end).unwrap_or(self.origin.len()).checked_sub(1)?;
        Some(self.origin.get(first)?.1.start..self.origin.get(last)?.1.end)
    }

    fn index(&self, at: usize) -> Option<usize> {
        self.origin.binary_search_by_key(&at, |(start, _)| *start).ok()
    }

    /// Where the original is after so many bytes of this text, unless that is inside a character.
    pub(crate) fn original_at(&self, at: usize) -> Option<usize> {
        match self.index(at) {
            Some(0) => Some(0),
            Some(index) => {
                let (_, before) = self.origin.get(index - 1)?;
                let (_, after) = self.origin.get(index)?;
                // One character that became several cannot be taken apart again.
                (before != after).then_some(after.start)
            }
            None if at == self.text.len() => self.origin.last().map(|(_, part)| part.end),
            None => None,
        }
    }

    fn places(&self, needle: &Self) -> Vec<Range<usize>> {
        if needle.text.trim().is_empty() {
            return Vec::new();
        }
        literal::exact(&self.text, &needle.text)
    }
}

/// Runs of blanks count as one.
pub(super) fn whitespace(content: &str, old: &str) -> Vec<Range<usize>> {
    let folded = blanks(content);
    let found = folded.places(&blanks(old));
    found.iter().filter_map(|span| folded.original(span)).collect()
}

fn blanks(text: &str) -> Folded {
    let mut folded = Folded::default();
    let mut run: Option<Range<usize>> = None;
    for (at, letter) in text.char_indices() {
        if matches!(letter, ' ' | '\t') {
            run = Some(run.map_or(at..at + 1, |run| run.start..at + 1));
            continue;
        }
        if let Some(run) = run.take() {
            folded.push(' ', run);
        }
        folded.push(letter, at..at + letter.len_utf8());
    }
    if let Some(run) = run {
        folded.push(' ', run);
    }
    folded
}

/// Leading blanks do not count; a place starts with its line.
pub(super) fn indentation(content: &str, old: &str) -> Vec<Range<usize>> {
    let folded = unindented(content);
    let found = folded.places(&unindented(old));
    let starts_line = |span: &&Range<usize>| {
        folded.text.get(..span.start).is_some_and(|text| text.is_empty() || text.ends_with('\n'))
    };
    let places = found.iter().filter(starts_line).filter_map(|span| folded.original(span));
    places.map(|span| line_start(content, span.start)..span.end).collect()
}

fn unindented(text: &str) -> Folded {
    let mut folded = Folded::default();
    let mut is_start = true;
    for (at, letter) in text.char_indices() {
        if is_start && matches!(letter, ' ' | '\t') {
            continue;
        }
        is_start = letter == '\n';
        folded.push(letter, at..at + letter.len_utf8());
    }
    folded
}

/// Where the line begins that holds a place.
pub(crate) fn line_start(content: &str, at: usize) -> usize {
    content.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// Typographic characters count as their plain ones.
pub(super) fn unicode(content: &str, old: &str) -> Vec<Range<usize>> {
    let folded = plain(content);
    let found = folded.places(&plain(old));
    let whole = |span: &&Range<usize>| {
        folded.original_at(span.start).is_some() && folded.original_at(span.end).is_some()
    };
    found.iter().filter(whole).filter_map(|span| folded.original(span)).collect()
}

/// The text with plain quotes, dashes, dots and spaces.
pub(crate) fn plain(text: &str) -> Folded {
    let mut folded = Folded::default();
    for (at, letter) in text.char_indices() {
        let origin = at..at + letter.len_utf8();
        let replacement = match letter {
            '\u{2018}'..='\u{201b}' | '\u{2032}' => "'",
            '\u{201c}'..='\u{201f}' | '\u{2033}' => "\"",
            '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
            '\u{2026}' => "...",
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
            _ => {
                folded.push(letter, origin);
                continue;
            }
        };
        for letter in replacement.chars() {
            folded.push(letter, origin.clone());
        }
    }
    folded
}
