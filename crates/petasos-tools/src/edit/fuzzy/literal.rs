//! Places that have the very text, once the quotation is tidied.

use std::ops::Range;

/// Every occurrence, overlapping ones too: two ways to place a text are two places.
pub(super) fn exact(content: &str, old: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    while let Some(at) = content.get(from..).and_then(|rest| rest.find(old)) {
        let start = from + at;
        found.push(start..start + old.len());
        from = start + step;
    }
    found
}

/// With `\n`, `\t` and the like read as characters.
pub(super) fn escapes(content: &str, old: &str) -> Vec<Range<usize>> {
    let plain = unescaped(old);
    if plain == old || plain.trim().is_empty() { Vec::new() } else { exact(content, &plain) }
}

/// A text whose escapes are read as characters.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}

/// Without the blanks at both ends; where some were left out, the file must have blanks too.
pub(super) fn boundary(content: &str, old: &str) -> Vec<Range<usize>> {
    let core = old.trim();
    if core.len() == old.len() {
        return Vec::new();
    }
    let (is_cut_before, is_cut_after) = (!old.starts_with(core), !old.ends_with(core));
    let is_blank = |letter: Option<char>| letter.is_none_or(char::is_whitespace);
    let mut found = exact(content, core);
    found.retain(|span| {
        let before = content.get(..span.start).and_then(|text| text.chars().next_back());
        let after = content.get(span.end..).and_then(|text| text.chars().next());
        (!is_cut_before || is_blank(before)) && (!is_cut_after || is_blank(after))
    });
    found
}
