//! Patterns of `sed` and `grep` for a matcher whose work grows with the text alone. Where
//! the dialects differ, there is no matcher: a wrong guess would be worse than none.

use regex::{Regex, RegexBuilder};

/// How a pattern is spelt.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of the tools")]
pub(super) struct Spelling {
    /// Groups and repeats without backslashes.
    pub(super) extended: bool,
    /// Plain text.
    pub(super) fixed: bool,
    /// Capital letters do not matter.
    pub(super) folded: bool,
}

/// The matcher for a pattern; `None` where it might mean something else to the tool.
pub(super) fn matcher(pattern: &str, spelling: Spelling) -> Option<Regex> {
    let pattern = if spelling.fixed {
        regex::escape(pattern)
    } else if pattern.starts_with('*') || !same_classes(pattern) {
        return None;
    } else if spelling.extended {
        pattern.to_owned()
    } else {
        modern(pattern)
    };
    // The first alternative wins here, the longest there.
    if !spelling.fixed && pattern.contains('|') {
        return None;
    }
    RegexBuilder::new(&pattern).case_insensitive(spelling.folded).size_limit(1 << 16).build().ok()
}

/// Whether the brackets of a pattern mean the same in both dialects.
fn same_classes(pattern: &str) -> bool {
    let mut inside = false;
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match (inside, letter) {
            (false, '\\') => {
                letters.next();
            }
            (false, '[') => inside = true,
            (true, ']') => inside = false,
            (true, '\\') => return false,
            (true, '[') if letters.peek() == Some(&':') => {
                while letters.next_if(|next| *next != ']').is_some() {}
                letters.next();
            }
            (true, '[') => return false,
            (true, '&' | '-' | '~') if letters.peek() == Some(&letter) => return false,
            _ => {}
        }
    }
    true
}

/// A basic pattern in the spelling of an extended one.
fn modern(pattern: &str) -> String {
    let mut output = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(next @ ('(' | ')' | '{' | '}' | '+' | '?' | '|')) => output.push(next),
                Some(next) => output.extend(['\\', next]),
                None => {}
            },
            '(' | ')' | '{' | '}' | '+' | '?' | '|' => output.extend(['\\', letter]),
            other => output.push(other),
        }
    }
    output
}

/// What is filled in for a match, as the matcher wants it spelt.
pub(super) fn replacement(text: &str) -> Option<String> {
    let mut output = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '$' => output.push_str("$$"),
            '&' => output.push_str("${0}"),
            '\\' => match letters.next() {
                Some(digit) if digit.is_ascii_digit() => output.extend(['$', '{', digit, '}']),
                Some('n') => output.push('\n'),
                Some(other @ ('&' | '\\' | '/')) => output.push(other),
                _ => return None,
            },
            other => output.push(other),
        }
    }
    Some(output)
}
