//! Places that are made of whole lines: the same but for blanks, or only alike.

use std::ops::Range;

/// Below this, half of the lines is one line, and anything has a line in common.
const CONTEXT_LINES_MIN: usize = 3;

/// Comparing more pairs of lines than this takes longer than a better quotation.
const COMPARISONS_MAX: usize = 400_000;

/// Alike enough for the only candidate, and for one of several.
const MIDDLE_ALONE: f64 = 0.5;
const MIDDLE_AMONG: f64 = 0.7;

const LINE_ALIKE: f64 = 0.8;

/// How much of a line is compared.
const LINE_CHARS_MAX: usize = 300;

struct Lines<'a> {
    texts: Vec<&'a str>,
    starts: Vec<usize>,
    length: usize,
}

impl<'a> Lines<'a> {
    fn of(content: &'a str) -> Self {
        let texts: Vec<&str> = content.split('\n').collect();
        let mut at = 0;
        let starts = texts
            .iter()
            .map(|line| {
                let start = at;
                at += line.len() + 1;
                start
            })
            .collect();
        Self { texts, starts, length: content.len() }
    }

    /// The place of so many lines; with the line end after them when it was quoted.
    fn span(&self, first: usize, quoted: &Quoted<'_>) -> Range<usize> {
        let last = first + quoted.lines.len() - 1;
        let start = self.starts.get(first).copied().unwrap_or_default();
        let length = self.texts.get(last).map_or(0, |line| line.len());
        let end = self.starts.get(last).copied().unwrap_or_default() + length;
        start..(end + usize::from(quoted.has_end)).min(self.length)
    }

    fn windows(&self, size: usize) -> impl Iterator<Item = (usize, &[&'a str])> {
        self.texts.windows(size.max(1)).enumerate()
    }
}

struct Quoted<'a> {
    lines: Vec<&'a str>,
    has_end: bool,
}

impl<'a> Quoted<'a> {
    fn of(old: &'a str) -> Self {
        let core = old.strip_suffix('\n');
        Self { lines: core.unwrap_or(old).split('\n').collect(), has_end: core.is_some() }
    }
}

/// Lines without outer blanks.
pub(super) fn trimmed(content: &str, old: &str) -> Vec<Range<usize>> {
    let (lines, quoted) = (Lines::of(content), Quoted::of(old));
    let same = |window: &[&str]| {
        window.iter().zip(&quoted.lines).all(|(left, right)| left.trim() == right.trim())
    };
    let found = lines.windows(quoted.lines.len()).filter(|(_, window)| same(window));
    found.map(|(first, _)| lines.span(first, &quoted)).collect()
}

/// First and last line are the same and what is between them is alike.
pub(super) fn block_anchor(content: &str, old: &str) -> Vec<Range<usize>> {
    let (lines, quoted) = (Lines::of(content), Quoted::of(old));
    let [first, middle @ .., last] = quoted.lines.as_slice() else { return Vec::new() };
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() || last.is_empty() {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for (at, window) in lines.windows(quoted.lines.len()) {
        let [top, inner @ .., bottom] = window else { continue };
        if top.trim() == first && bottom.trim() == last {
            candidates.push((at, alike(inner, middle)));
        }
    }
    let enough = if candidates.len() == 1 { MIDDLE_ALONE } else { MIDDLE_AMONG };
    candidates.retain(|(_, score)| *score >= enough);
    candidates.into_iter().map(|(at, _)| lines.span(at, &quoted)).collect()
}

/// At least half of the lines are alike.
pub(super) fn context(content: &str, old: &str) -> Vec<Range<usize>> {
    let (lines, quoted) = (Lines::of(content), Quoted::of(old));
    let size = quoted.lines.len();
    if size < CONTEXT_LINES_MIN || lines.texts.len().saturating_mul(size) > COMPARISONS_MAX {
        return Vec::new();
    }
    let is_near = |window: &[&str]| {
        let near = window.iter().zip(&quoted.lines);
        // Blank lines are alike everywhere and tell nothing.
        let telling = near.filter(|(_, right)| !right.trim().is_empty());
        let (mut count, mut all) = (0, 0);
        for (left, right) in telling {
            all += 1;
            count += usize::from(similarity(left, right) >= LINE_ALIKE);
        }
        all >= CONTEXT_LINES_MIN && count * 2 >= all
    };
    let found = lines.windows(size).filter(|(_, window)| is_near(window));
    found.map(|(at, _)| lines.span(at, &quoted)).collect()
}

/// The mean likeness of lines, pair by pair.
fn alike(left: &[&str], right: &[&str]) -> f64 {
    if left.is_empty() {
        return 1.0;
    }
    let sum: f64 = left.iter().zip(right).map(|(left, right)| similarity(left, right)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a number of lines is small")]
    let count = left.len() as f64;
    sum / count
}

/// From 0 to 1, without outer blanks.
pub(super) fn similarity(left: &str, right: &str) -> f64 {
    let (left, right) = (head(left.trim()), head(right.trim()));
    if left == right {
        return 1.0;
    }
    strsim::normalized_levenshtein(left, right)
}

fn head(text: &str) -> &str {
    let end = text.char_indices().nth(LINE_CHARS_MAX).map(|(end, _)| end);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}
