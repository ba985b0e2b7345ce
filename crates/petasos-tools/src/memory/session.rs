//! One session's record.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

/// Enough for a long conversation, little enough to keep for many.
const PAGES_MAX: usize = 1000;
const FILES_MAX: usize = 1000;

/// What a file was at some moment. Two are compared by content where both know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// How many bytes.
    pub(crate) size: u64,
    /// When it last changed, by the clock of its place.
    pub(crate) modified_ns: i128,
    /// Its content; `None` when it is too long to read for this.
    pub(crate) content: Option<u64>,
}

impl Fingerprint {
    /// Of a content that is known whole.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        // A reader that sees it in pieces gets the same number.
        let content = XxHash3_64::oneshot(bytes);
        Self { size: bytes.len() as u64, modified_ns: 0, content: Some(content) }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self.content, other.content) {
            (Some(left), Some(right)) => left == right,
            _ => (self.size, self.modified_ns) == (other.size, other.modified_ns),
        }
    }
}

/// Whether a model has a page already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It has not, or not with this content.
    New,
    /// It has, and was told so this many times, this one included.
    Unchanged(u32),
}

/// Who changed a file since the model saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    /// Another session of this program.
    OtherAgent,
    /// Anybody else.
    Somebody,
}

#[derive(Debug, Default)]
pub(super) struct Record {
    pages: HashMap<(PathBuf, u64, u64), (u64, u32)>,
    files: HashMap<PathBuf, Fingerprint>,
    pub(super) failures: HashMap<PathBuf, u32>,
    pub(super) run: Option<(u64, u32)>,
}

impl Record {
    pub(super) fn page(&mut self, (path, first, lines): (&Path, u64, u64), shown: u64) -> Seen {
        let key = (path.to_owned(), first, lines);
        if let Some((known, times)) = self.pages.get_mut(&key)
            && *known == shown
        {
            *times += 1;
            return Seen::Unchanged(*times);
        }
        if self.pages.len() >= PAGES_MAX {
            self.pages.clear();
        }
        self.pages.insert(key, (shown, 0));
        Seen::New
    }

    pub(super) fn repeated(&mut self, call: u64) -> u32 {
        let times = match self.run {
            Some((last, times)) if last == call => times + 1,
            Some(_) | None => 1,
        };
        self.run = Some((call, times));
        times
    }

    pub(super) fn saw(&mut self, path: &Path, print: Fingerprint) {
        if self.files.len() >= FILES_MAX && !self.files.contains_key(path) {
            self.files.clear();
        }
        self.files.insert(path.to_owned(), print);
    }

    pub(super) fn seen(&self, path: &Path) -> Option<Fingerprint> {
        self.files.get(path).copied()
    }
}
