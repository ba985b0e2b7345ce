//! A dotenv text cut into pieces that add up to the text again, so that one can be replaced.

/// One piece: a line, or several when a quoted value runs over them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// `NAME=value`. A literal value stood in single quotes.
    Pair { name: String, value: String, literal: bool, raw: &'a str },
    /// Blank or a comment.
    Other(&'a str),
    /// Neither.
    Broken { number: usize, raw: &'a str },
}

impl<'a> Line<'a> {
    fn raw(&self) -> &'a str {
        match self {
            Self::Pair { raw, .. } | Self::Other(raw) | Self::Broken { raw, .. } => raw,
        }
    }
}

pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// Cuts a text.
pub(super) fn split(text: &str) -> Vec<Line<'_>> {
    let mut rest = text;
    let mut number = 1;
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let (first, _) = cut_line(rest);
        let line = piece(rest, first, number);
        let taken = line.raw();
        number += taken.matches('\n').count();
        rest = rest.strip_prefix(taken).unwrap_or_default();
        lines.push(line);
    }
    lines
}

fn cut_line(text: &str) -> (&str, &str) {
    match text.find('\n') {
        Some(end) => text.split_at_checked(end + 1).unwrap_or((text, "")),
        None => (text, ""),
    }
}

fn piece<'a>(rest: &'a str, first: &'a str, number: usize) -> Line<'a> {
    let content = first.trim_start_matches('\u{feff}').trim();
    if content.is_empty() || content.starts_with('#') {
        return Line::Other(first);
    }
    let broken = Line::Broken { number, raw: first };
    let Some((left, right)) = first.split_once('=') else { return broken };
    let left = left.trim_start_matches('\u{feff}').trim();
    let name = left.strip_prefix("export ").map_or(left, str::trim);
    if !is_name(name) {
        return broken;
    }
    let value = right.trim_start_matches([' ', '\t']);
    let before = first.len() - value.len();
    let Some(quote @ ('"' | '\'')) = value.chars().next() else {
        let value = uncommented(value).trim().to_owned();
        return Line::Pair { name: name.to_owned(), value, literal: false, raw: first };
    };
    let after = rest.get(before + 1..).unwrap_or_default();
    let Some((value, used)) = quoted(after, quote) else { return broken };
    let (_, tail) = after.split_at_checked(used).unwrap_or((after, ""));
    let (line_end, _) = cut_line(tail);
    let trailing = line_end.trim();
    if !trailing.is_empty() && !trailing.starts_with('#') {
        return broken;
    }
    let raw = rest.get(..before + 1 + used + line_end.len()).unwrap_or(first);
    Line::Pair { name: name.to_owned(), value, literal: quote == '\'', raw }
}

/// The value up to the closing quote, and the bytes used with the quote.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            _ if character == quote => return Some((value, index + 1)),
            '\\' => match characters.next()?.1 {
                'n' if quote == '"' => value.push('\n'),
                't' if quote == '"' => value.push('\t'),
                'r' if quote == '"' => value.push('\r'),
                other if other == quote || other == '\\' => value.push(other),
                '$' if quote == '"' => value.push('$'),
                other => {
                    value.push('\\');
                    value.push(other);
                }
            },
            _ => value.push(character),
        }
    }
    None
}

/// A comment starts at a `#` after white space.
fn uncommented(value: &str) -> &str {
    let mut before = ' ';
    for (index, character) in value.char_indices() {
        if character == '#' && before.is_whitespace() {
            return value.get(..index).unwrap_or(value);
        }
        before = character;
    }
    value
}

/// The text with one name set: its last line is replaced, or a line is added.
pub(super) fn with(text: &str, name: &str, value: &str) -> String {
    let lines = split(text);
    let own = |line: &Line<'_>| matches!(line, Line::Pair { name: other, .. } if other == name);
    let last = lines.iter().rposition(own);
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let written = format!("{name}={}{ending}", write_value(value));
    let mut changed = String::with_capacity(text.len() + written.len());
    for (index, line) in lines.iter().enumerate() {
        if Some(index) != last {
            changed.push_str(line.raw());
            continue;
        }
        if line.raw().starts_with('\u{feff}') {
            changed.push('\u{feff}');
        }
        if line.raw().trim_start_matches('\u{feff}').trim_start().starts_with("export ") {
            changed.push_str("export ");
        }
        changed.push_str(&written);
    }
    if last.is_none() {
        if !changed.is_empty() && !changed.ends_with('\n') {
            changed.push_str(ending);
        }
        changed.push_str(&written);
    }
    changed
}

/// The text without a name, and whether it was there.
pub(super) fn without(text: &str, name: &str) -> (String, bool) {
    let own = |line: &&Line<'_>| matches!(line, Line::Pair { name: other, .. } if other == name);
    let lines = split(text);
    let found = lines.iter().any(|line| own(&line));
    (lines.iter().filter(|line| !own(line)).map(Line::raw).collect(), found)
}

fn write_value(value: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if value.chars().all(bare) {
        value.to_owned()
    } else if value.contains(['\'', '\\', '\n']) {
        let escaped = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('$', "\\$")
            .replace('\n', "\\n");
        format!("\"{escaped}\"")
    } else {
        format!("'{value}'")
    }
}
