//! Takes the matches of one file as the searcher reports them.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};

use super::{Hit, Keep};
use crate::files::line;

/// How much of one line is shown.
pub(crate) const LINE_CHARS_MAX: usize = 500;

/// How much is shown before a match that lies far inside a line.
const LEAD_BYTES: usize = 100;

/// The matches of one file.
#[derive(Debug)]
pub(super) struct Gather<'a> {
    matcher: &'a RegexMatcher,
    keep: Keep,
    hits_max: usize,
    before: Vec<String>,
    pub(super) hits: Vec<Hit>,
    pub(super) count: u64,
    pub(super) binary_at: Option<u64>,
}

impl<'a> Gather<'a> {
    /// Counts all matches and keeps the first `hits_max`.
    pub(super) fn new(matcher: &'a RegexMatcher, keep: Keep, hits_max: usize) -> Self {
        let (before, hits) = (Vec::new(), Vec::new());
        Self { matcher, keep, hits_max, before, hits, count: 0, binary_at: None }
    }

    /// Whether lines are kept and not only counted.
    pub(super) fn keeps_lines(&self) -> bool {
        matches!(self.keep, Keep::Lines { .. })
    }

    fn wants_more(&self) -> bool {
        self.keeps_lines() && self.hits.len() < self.hits_max
    }

    fn excerpt(&self, bytes: &[u8]) -> String {
        let is_long = bytes.len() > LINE_CHARS_MAX;
        let found = is_long.then(|| self.matcher.find(bytes).ok().flatten()).flatten();
        excerpt(bytes, found.map(|found| found.start()))
    }
}

/// The text of a line; of a long one the part around its first match.
pub(crate) fn excerpt(bytes: &[u8], found: Option<usize>) -> String {
    let start = found.map_or(0, |found| found.saturating_sub(LEAD_BYTES));
    if bytes.len() <= LINE_CHARS_MAX || start < LEAD_BYTES {
        return line::decoded(bytes, LINE_CHARS_MAX).0;
    }
    let rest = bytes.get(start..).unwrap_or_default();
    let broken = rest.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    let rest = rest.get(broken..).unwrap_or_default();
    format!("…{}", line::decoded(rest, LINE_CHARS_MAX).0)
}

impl Sink for Gather<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        if self.wants_more() {
            let (line, text) = (found.line_number().unwrap_or(0), self.excerpt(found.bytes()));
            let before = std::mem::take(&mut self.before);
            self.hits.push(Hit { line, text, before, after: Vec::new() });
        }
        Ok(self.keep != Keep::Name)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        let is_counted_only = self.hits.len() as u64 != self.count;
        match around.kind() {
            SinkContextKind::Before if self.wants_more() => {
                self.before.push(line::decoded(around.bytes(), LINE_CHARS_MAX).0);
            }
            SinkContextKind::After if !is_counted_only => {
                if let Some(hit) = self.hits.last_mut() {
                    hit.after.push(line::decoded(around.bytes(), LINE_CHARS_MAX).0);
                }
            }
            SinkContextKind::Before | SinkContextKind::After | SinkContextKind::Other => {}
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.binary_at = end.binary_byte_offset();
        Ok(())
    }
}
