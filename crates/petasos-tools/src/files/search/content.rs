//! Lines that match a regular expression, in the order of path and line.
//!
//! Files are read through a buffer and never mapped: others may shorten them meanwhile. A file is
//! searched up to its first NUL byte. No more text is kept than one page can show.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use parking_lot::Mutex;

use super::ledger::Ledger;
use super::walk::{Scope, Visit, Walked, walk};
use crate::files::open::{self, Unreadable};
use crate::files::watch::Watch;

mod gather;

use gather::Gather;
pub(crate) use gather::{LINE_CHARS_MAX, excerpt};

/// A line longer than this is no text that anyone searches.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What is kept of every file with a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Its matching lines, with so many lines around them.
    Lines {
        /// Lines before and after.
        context: usize,
    },
    /// Its name.
    Name,
    /// How many lines match.
    Count,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Its number, counted from one.
    pub(crate) line: u64,
    /// Its text, or the part around the match.
    pub(crate) text: String,
    /// The lines before it that no earlier hit has.
    pub(crate) before: Vec<String>,
    /// The lines after it.
    pub(crate) after: Vec<String>,
}

/// One file with a match.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its path below the root.
    pub(crate) inside: PathBuf,
    /// Its first hits.
    pub(crate) hits: Vec<Hit>,
    /// How many lines match.
    pub(crate) count: u64,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Matches {
    /// The first files, in order.
    pub(crate) files: Vec<Found>,
    /// Files with a match, altogether.
    pub(crate) total_files: u64,
    /// Lines that match, altogether; one for each file when only names are kept.
    pub(crate) total_lines: u64,
    /// Where the file that was named itself stops being text.
    pub(crate) binary_at: Option<u64>,
    /// How the walk went.
    pub(crate) walked: Walked,
}

/// A regular expression, ready to search with.
#[derive(Debug)]
pub(crate) struct Pattern {
    matcher: RegexMatcher,
    /// Whether it speaks of line ends, which a search by lines never sees.
    pub(crate) spans_lines: bool,
}

impl Pattern {
    /// Compiles the expression.
    pub(crate) fn new(pattern: &str) -> Result<Self, grep_regex::Error> {
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true);
        match builder.line_terminator(Some(b'\n')).build(pattern) {
            Ok(matcher) => Ok(Self { matcher, spans_lines: false }),
            Err(error) if matches!(error.kind(), grep_regex::ErrorKind::NotAllowed(_)) => {
                let matcher = builder.line_terminator(None).build(pattern)?;
                Ok(Self { matcher, spans_lines: true })
            }
            Err(error) => Err(error),
        }
    }
}

/// Searches the scope; keeps the first `needed` lines or files.
pub(crate) fn search(scope: Scope<'_>, pattern: &Pattern, keep: Keep, needed: usize) -> Matches {
    let tally = Tally {
        first: Mutex::new(Ledger::new(needed)),
        files: AtomicU64::new(0),
        lines: AtomicU64::new(0),
        binary_at: Mutex::new(None),
    };
    let walked = walk(scope, || {
        let mut searcher = searcher(keep);
        let tally = &tally;
        move |visit: Visit<'_>| {
            let kept = if tally.is_beyond(&visit) && keep != Keep::Name { 0 } else { needed };
            let mut gather = Gather::new(&pattern.matcher, keep, kept);
            let (file, _) = open::open(visit.entry.path()).map_err(system)?;
            let bytes = Watched { file, watch: scope.watch };
            let ended = searcher.search_reader(&pattern.matcher, bytes, &mut gather);
            // What was found before the time was over, or before a bad block, still counts.
            tally.add(&visit, gather);
            ended
        }
    });
    let files = tally.first.into_inner().into_entries().map(|(_, found)| found).collect();
    Matches {
        files,
        total_files: tally.files.into_inner(),
        total_lines: tally.lines.into_inner(),
        binary_at: tally.binary_at.into_inner(),
        walked,
    }
}

fn searcher(keep: Keep) -> Searcher {
    let context = match keep {
        Keep::Lines { context } => context,
        Keep::Name | Keep::Count => 0,
    };
    SearcherBuilder::new()
        .line_number(matches!(keep, Keep::Lines { .. }))
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .memory_map(MmapChoice::never())
        .heap_limit(Some(LINE_BYTES_MAX))
        .build()
}

fn system(unreadable: Unreadable) -> io::Error {
    match unreadable {
        Unreadable::System(error) => error,
        // It was a regular file when the walk saw it.
        Unreadable::Missing
        | Unreadable::Folder
        | Unreadable::Special
        | Unreadable::Protected(_) => io::ErrorKind::NotFound.into(),
    }
}

struct Tally {
    first: Mutex<Ledger<PathBuf, Found>>,
    files: AtomicU64,
    lines: AtomicU64,
    binary_at: Mutex<Option<u64>>,
}

impl Tally {
    fn is_beyond(&self, visit: &Visit<'_>) -> bool {
        self.first.lock().is_beyond(visit.inside)
    }

    fn add(&self, visit: &Visit<'_>, gather: Gather<'_>) {
        if visit.entry.depth() == 0 {
            *self.binary_at.lock() = gather.binary_at;
        }
        if gather.count == 0 {
            return;
        }
        self.files.fetch_add(1, Ordering::Relaxed);
        self.lines.fetch_add(gather.count, Ordering::Relaxed);
        let weight = if gather.keeps_lines() { gather.hits.len() } else { 1 };
        if weight == 0 {
            return;
        }
        let inside = visit.inside.to_owned();
        let found = Found { inside: inside.clone(), hits: gather.hits, count: gather.count };
        self.first.lock().add(inside, weight, found);
    }
}

/// Lets a search of one huge file end in time.
struct Watched<'a> {
    file: File,
    watch: &'a Watch<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.watch.ended() {
            None => self.file.read(into),
            Some(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}
