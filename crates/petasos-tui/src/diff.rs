//! A unified diff as people read it: numbered lines, colours, the changed words marked, and only
//! its beginning where it is long.

use crate::line::{Colour, Line, Style};

/// More lines than this are folded; the whole is a key away.
const FOLDED_LINES: usize = 24;

/// How much of a diff is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fold {
    /// At most so many changed or neighbouring lines.
    most: usize,
    /// What shows the rest.
    more: &'static str,
}

impl Fold {
    /// The beginning, and what shows the rest.
    pub(crate) const fn usual(more: &'static str) -> Self {
        Self { most: FOLDED_LINES, more }
    }

    /// All of it.
    pub(crate) const fn none() -> Self {
        Self { most: usize::MAX, more: "" }
    }
}

const ADDED: Style = Style::of(Colour::Green);
const REMOVED: Style = Style::of(Colour::Red);

/// One line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change<'a> {
    Removed(usize, &'a str),
    Added(usize, &'a str),
    Same(usize, &'a str),
    /// Lines in between are the same.
    Gap,
    /// The diff itself was cut here.
    Cut(&'a str),
}

/// The lines of a diff, the first of them a summary.
pub(crate) fn lines(path: &str, diff: &str, fold: &Fold, columns: usize) -> Vec<Line> {
    let changes = parse(diff);
    let added = changes.iter().filter(|it| matches!(it, Change::Added(..))).count();
    let removed = changes.iter().filter(|it| matches!(it, Change::Removed(..))).count();
    if added + removed == 0 {
        return Vec::new();
    }
    let mut head = Line::of(Style::FAINT, "  ");
    head.push(Style::PLAIN, path);
    head.push(ADDED, &format!(" +{added}"));
    head.push(REMOVED, &format!(" -{removed}"));
    let mut out = vec![head.cut(columns)];
    let number_width =
        changes.iter().filter_map(Change::number).max().unwrap_or(1).to_string().len();
    for (at, change) in changes.iter().take(fold.most).enumerate() {
        let other = partner(&changes, at);
        out.push(change.line(other, number_width).cut(columns));
    }
    let left = changes.len().saturating_sub(fold.most);
    if left > 0 {
        out.push(Line::of(Style::FAINT, &format!("    … {left} more lines{}", fold.more)));
    }
    out
}

impl Change<'_> {
    fn number(&self) -> Option<usize> {
        match self {
            Self::Removed(number, _) | Self::Added(number, _) | Self::Same(number, _) => {
                Some(*number)
            }
            Self::Gap | Self::Cut(_) => None,
        }
    }

    fn line(self, other: Option<&str>, number_width: usize) -> Line {
        let (number, sign, style, text) = match self {
            Self::Removed(number, text) => (number, '-', REMOVED, text),
            Self::Added(number, text) => (number, '+', ADDED, text),
            Self::Same(number, text) => (number, ' ', Style::FAINT, text),
            Self::Gap => return Line::of(Style::FAINT, &format!("    {:>number_width$}", "⋮")),
            Self::Cut(text) => return Line::of(Style::FAINT, &format!("    {text}")),
        };
        let mut line = Line::of(Style::FAINT, &format!("    {number:>number_width$} "));
        line.push(style, &format!("{sign} "));
        match other.map(|other| different(text, other)) {
            Some((before, middle, after)) if !(before.is_empty() && after.is_empty()) => {
                line.push(style, before);
                line.push(style.bold().underlined(), middle);
                line.push(style, after);
            }
            _ => line.push(style, text),
        }
        line
    }
}

fn parse(diff: &str) -> Vec<Change<'_>> {
    let mut changes = Vec::new();
    let (mut old, mut new) = (1, 1);
    let mut in_hunk = false;
    for line in diff.lines() {
        if let Some(ranges) = line.strip_prefix("@@ ") {
            if in_hunk {
                changes.push(Change::Gap);
            }
            in_hunk = true;
            (old, new) = starts(ranges);
            continue;
        }
        if !in_hunk {
            continue;
        }
        if let Some(text) = line.strip_prefix('-') {
            changes.push(Change::Removed(old, text));
            old += 1;
        } else if let Some(text) = line.strip_prefix('+') {
            changes.push(Change::Added(new, text));
            new += 1;
        } else if line.starts_with('…') {
            changes.push(Change::Cut(line));
        } else if !line.starts_with('\\') {
            changes.push(Change::Same(new, line.strip_prefix(' ').unwrap_or(line)));
            old += 1;
            new += 1;
        }
    }
    changes
}

/// Where the two sides of a hunk begin: `-3,7 +3,9 @@`.
fn starts(ranges: &str) -> (usize, usize) {
    let side = |sign: char| {
        let range = ranges.split(' ').find_map(|range| range.strip_prefix(sign))?;
        range.split(',').next()?.parse().ok()
    };
    (side('-').unwrap_or(1), side('+').unwrap_or(1))
}

/// The line on the other side that this one became, where a block replaces one of its own length.
fn partner<'a>(changes: &[Change<'a>], at: usize) -> Option<&'a str> {
    let is_removed = |change: &Change<'_>| matches!(change, Change::Removed(..));
    let is_added = |change: &Change<'_>| matches!(change, Change::Added(..));
    let change = changes.get(at)?;
    if !is_removed(change) && !is_added(change) {
        return None;
    }
    let mut begin = at;
    while begin > 0 && (is_removed(&changes[begin - 1]) || is_added(&changes[begin - 1])) {
        begin -= 1;
    }
    let block = changes.get(begin..)?;
    let removed = block.iter().take_while(|it| is_removed(it)).count();
    let added = block.iter().skip(removed).take_while(|it| is_added(it)).count();
    let offset = at - begin;
    let other = if offset < removed { offset + removed } else { offset.checked_sub(removed)? };
    if removed != added {
        return None;
    }
    match block.get(other)? {
        Change::Removed(_, text) | Change::Added(_, text) => Some(text),
        _ => None,
    }
}

/// The text in three: what both begin with, what differs, what both end with, between words.
fn different<'a>(text: &'a str, other: &str) -> (&'a str, &'a str, &'a str) {
    let words: Vec<&str> = split_words(text);
    let others: Vec<&str> = split_words(other);
    let before = words.iter().zip(&others).take_while(|(one, two)| one == two).count();
    let most = words.len().min(others.len()) - before;
    let ends = words.iter().rev().zip(others.iter().rev());
    let after = ends.take(most).take_while(|(one, two)| one == two).count();
    let first: usize = words.iter().take(before).map(|word| word.len()).sum();
    let last: usize = words.iter().rev().take(after).map(|word| word.len()).sum();
    let (head, rest) = text.split_at(first);
    let (middle, tail) = rest.split_at(rest.len() - last);
    (head, middle, tail)
}

/// Words, and each sign between them.
fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = |sign: char| sign.is_alphanumeric() || sign == '_';
        let end = if in_word(first) {
            rest.find(|sign| !in_word(sign)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skin::Skin;

    const DIFF: &str = "--- a/app.py\n+++ b/app.py\n@@ -3,4 +3,5 @@\n def main():\n-    \
         print(\"hello\")\n+    print(\"good morning\")\n     return 0\n+# end\n@@ -20,2 +21,1 @@\n \
         tail\n-gone\n";

    fn shown(most: usize) -> Vec<String> {
        let fold = Fold { most, more: " (Ctrl-O shows all)" };
        lines("app.py", DIFF, &fold, 60).iter().map(Line::text).collect()
    }

    #[test]
    fn a_diff_is_numbered_and_counted() {
        assert_eq!(
            shown(99),
            [
                "  app.py +2 -2",
                "     3   def main():",
                "     4 -     print(\"hello\")",
                "     4 +     print(\"good morning\")",
                "     5       return 0",
                "     6 + # end",
                "     ⋮",
                "    21   tail",
                "    21 - gone",
            ]
        );
    }

    #[test]
    fn a_long_diff_is_folded_and_says_so() {
        let shown = shown(2);
        assert_eq!(shown.len(), 4);
        assert_eq!(shown.last().map(String::as_str), Some("    … 6 more lines (Ctrl-O shows all)"));
    }

    #[test]
    fn the_words_that_changed_are_marked() {
        assert_eq!(different("let x = 1;", "let x = 22;"), ("let x = ", "1", ";"));
        assert_eq!(different("a b", "a b c"), ("a b", "", ""));
        assert_eq!(different("日本 語", "日本 人"), ("日本 ", "語", ""));
        let marked = lines("app.py", DIFF, &Fold::none(), 80)
            .into_iter()
            .map(|line| line.ansi(Skin::Terminal));
        let marked: String = marked.collect();
        assert!(marked.contains("\u{1b}[1;4;31mhello"), "{marked:?}");
        assert!(marked.contains("\u{1b}[1;4;32mgood morning"), "{marked:?}");
    }

    #[test]
    fn nothing_changed_shows_nothing() {
        assert!(lines("x", "", &Fold::none(), 80).is_empty());
    }
}
