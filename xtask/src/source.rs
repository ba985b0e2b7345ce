//! A Rust file with its code told apart from its comments, strings and tests.
//!
//! This is a lexer for five things (line comment, block comment, string, raw string, character)
//! and no parser: the checks look for names, and names in text or comments must not count.
//! Masked text keeps every byte position and line end of the original.

use std::ops::Range;

/// One Rust file.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the checkout.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text with comments blank and the inside of strings filled with `~`.
    pub(crate) code: String,
    /// Where the comments are.
    pub(crate) comments: Vec<Range<usize>>,
}

/// Code without white space, and the line of each byte.
#[derive(Debug)]
pub(crate) struct Squeezed {
    pub(crate) text: String,
    pub(crate) lines: Vec<usize>,
}

impl Source {
    /// Tells the parts of `text` apart.
    pub(crate) fn read(path: String, text: String) -> Self {
        let mut comments = Vec::new();
        let mut code = text.clone().into_bytes();
        let mut at = 0;
        while at < text.len() {
            let (end, kind) = piece(text.as_bytes(), at);
            let fill = match kind {
                Kind::Code => None,
                Kind::Comment => {
                    comments.push(at..end);
                    Some(b' ')
                }
                Kind::Literal => Some(b'~'),
            };
            if let Some(fill) = fill {
                let inside = code.iter_mut().take(end).skip(at);
                inside.filter(|byte| **byte != b'\n').for_each(|byte| *byte = fill);
            }
            at = end;
        }
        let code = String::from_utf8_lossy(&code).into_owned();
        Self { path, text, code, comments }
    }

    /// Whether the whole file is test code.
    pub(crate) fn is_test(&self) -> bool {
        let inner = ["/tests/", "/benches/", "/examples/", "petasos-testkit/"];
        self.path.ends_with("/tests.rs") || inner.iter().any(|part| self.path.contains(part))
    }

    /// The code with everything under `#[cfg(test)]` blank.
    pub(crate) fn production(&self) -> String {
        let mut code = self.code.clone().into_bytes();
        for range in self.test_ranges() {
            let inside = code.iter_mut().take(range.end).skip(range.start);
            inside.filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        String::from_utf8_lossy(&code).into_owned()
    }

    /// How many lines are not under `#[cfg(test)]`; blank lines and comments count.
    pub(crate) fn production_lines(&self) -> usize {
        let lines = |range: Range<usize>| {
            let (from, to) = (line_of(&self.text, range.start), line_of(&self.text, range.end));
            to - from + 1
        };
        let tests: usize = self.test_ranges().into_iter().map(lines).sum();
        self.text.lines().count().saturating_sub(tests)
    }

    fn test_ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (start, mark) in self.code.match_indices("#[cfg(test)]") {
            if ranges.last().is_none_or(|last| last.end <= start) {
                let bytes = self.code.as_bytes();
                let open = item_head_end(bytes, start + mark.len());
                let end = if bytes.get(open) == Some(&b'{') { closing(bytes, open) } else { open };
                ranges.push(start..(end + 1).min(bytes.len()));
            }
        }
        ranges
    }
}

impl Squeezed {
    /// Drops white space except where two words would run together.
    pub(crate) fn of(code: &str) -> Self {
        let mut text = String::new();
        let mut lines = Vec::new();
        let mut line = 1;
        let mut gap = false;
        for letter in code.chars() {
            if letter.is_whitespace() {
                gap = true;
                line += usize::from(letter == '\n');
                continue;
            }
            if gap && is_word(letter) && text.ends_with(is_word) {
                text.push(' ');
                lines.push(line);
            }
            gap = false;
            text.push(letter);
            lines.extend(std::iter::repeat_n(line, letter.len_utf8()));
        }
        Self { text, lines }
    }

    /// Lines on which `pattern` stands as whole words.
    pub(crate) fn lines_with(&self, pattern: &str) -> Vec<usize> {
        let whole = |at: &usize| {
            let before = self.text.get(..*at).unwrap_or("");
            let after = self.text.get(at + pattern.len()..).unwrap_or("");
            let runs_on =
                |left: &str, right: &str| left.ends_with(is_word) && right.starts_with(is_word);
            !runs_on(before, pattern) && !runs_on(pattern, after)
        };
        let places = self.text.match_indices(pattern).map(|(at, _)| at).filter(whole);
        places.filter_map(|at| self.lines.get(at).copied()).collect()
    }
}

pub(crate) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The line of a byte position, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// Where the head of an item ends: its `{` or `;` outside brackets, or the end of the text.
pub(crate) fn item_head_end(code: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' | b';' if depth == 0 => return at,
            _ => {}
        }
    }
    code.len()
}

/// The `}` that closes the `{` at `open`, or the end of the text.
pub(crate) fn closing(code: &[u8], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

enum Kind {
    Code,
    Comment,
    Literal,
}

/// The piece that begins at `at`: where it ends and what it is.
fn piece(text: &[u8], at: usize) -> (usize, Kind) {
    let rest = text.get(at..).unwrap_or_default();
    match rest {
        [b'/', b'/', ..] => (at + until(rest, b'\n'), Kind::Comment),
        [b'/', b'*', ..] => (at + block_comment(rest), Kind::Comment),
        [b'"', ..] => (at + quoted(rest, b'"'), Kind::Literal),
        [b'\'', ..] => {
            character(rest).map_or((at + 1, Kind::Code), |end| (at + end, Kind::Literal))
        }
        [b'r', ..] if begins_word(text, at) => {
            raw_string(rest).map_or((at + 1, Kind::Code), |end| (at + end, Kind::Literal))
        }
        _ => (at + 1, Kind::Code),
    }
}

/// Whether a raw string's `r` may stand here: not inside a word, a `b` or `c` prefix aside.
fn begins_word(text: &[u8], at: usize) -> bool {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut before = text.get(..at).unwrap_or_default().iter().rev().take_while(|byte| word(byte));
    match (before.next(), before.next()) {
        (None, _) | (Some(b'b' | b'c'), None) => true,
        (Some(_), _) => false,
    }
}

fn until(rest: &[u8], stop: u8) -> usize {
    rest.iter().position(|byte| *byte == stop).unwrap_or(rest.len())
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match rest.get(at..).unwrap_or_default() {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The end of a character literal, or nothing when the quote begins a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b'\''));
    }
    let letter = String::from_utf8_lossy(rest.get(1..rest.len().min(5))?).chars().next()?;
    let end = 1 + letter.len_utf8();
    (rest.get(end) == Some(&b'\'')).then_some(end + 1)
}

/// The end of a raw string, or nothing when the `r` begins a word.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let marks = rest.iter().skip(1).take_while(|byte| **byte == b'#').count();
    if rest.get(1 + marks) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &vec![b'#'; marks]].concat();
    let body = rest.get(2 + marks..).unwrap_or_default();
    let end = body.windows(close.len()).position(|window| window == close);
    Some(end.map_or(rest.len(), |end| 2 + marks + end + close.len()))
}

#[cfg(test)]
mod tests;
