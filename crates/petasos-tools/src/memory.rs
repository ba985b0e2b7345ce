//! What the file tools remember of each session: what its model has seen, and how it repeats.
//!
//! The program keeps one and hands it to the tools as a port, so that `write_file` knows what
//! `read_file` showed. Everything is bounded; a forgotten session only reads a file once more.
//! Scripts leave no trace here: what they read never came before a model.

mod locks;
mod session;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use petasos_contract::context::Principal;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment};
use petasos_contract::ports::{Memory, Ports};
use petasos_contract::{BoxFuture, CallContext, SessionId, TaskId};

pub(crate) use locks::Held;
use locks::Locks;
use session::Record;
pub(crate) use session::{Fingerprint, Seen, Stale};

/// Sessions that are remembered; the one that was longest silent goes first.
const SESSIONS_MAX: usize = 256;

/// Who wrote which file last, over all sessions.
const WRITERS_MAX: usize = 4096;

/// Tools whose calls do not end a run of identical ones by their mere name.
const FAMILY: &[&str] = &["read_file", "search_files"];

type Key = (SessionId, TaskId);

/// The memory of the file tools.
#[derive(Debug, Default)]
pub struct FileMemory {
    records: Mutex<HashMap<Key, (u64, Record)>>,
    writers: Mutex<HashMap<PathBuf, Key>>,
    locks: Locks,
}

impl FileMemory {
    /// A memory of nothing. A program makes one, puts it into its ports and onto its hook bus.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The program's memory; a private one when it keeps none.
    pub(crate) fn of(ports: &Ports) -> Arc<Self> {
        let kept =
            ports.file_memory.clone().map(|memory| memory as Arc<dyn std::any::Any + Send + Sync>);
        kept.and_then(|memory| memory.downcast().ok()).unwrap_or_default()
    }

    fn with<T>(&self, cx: &CallContext, act: impl FnOnce(&mut Record) -> T) -> T {
        let mut records = self.records.lock();
        let now = records.values().map(|(used, _)| *used).max().unwrap_or(0) + 1;
        if records.len() >= SESSIONS_MAX && !records.contains_key(&key(cx)) {
            let oldest = records.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                records.remove(&oldest);
            }
        }
        let (used, record) = records.entry(key(cx)).or_default();
        *used = now;
        act(record)
    }

    /// Notes that a page is about to be shown; tells whether the model has it already.
    pub(crate) fn page(&self, cx: &CallContext, of: (&Path, u64, u64), shown: &str) -> Seen {
        if is_script(cx) {
            return Seen::New;
        }
        self.with(cx, |record| record.page(of, digest(shown)))
    }

    /// Notes a call by its identity; tells how many times in a row it was made.
    pub(crate) fn repeated(&self, cx: &CallContext, call: impl Hash) -> u32 {
        if is_script(cx) {
            return 1;
        }
        self.with(cx, |record| record.repeated(digest(call)))
    }

    /// The run of identical calls is over: something has changed.
    pub(crate) fn progressed(&self, cx: &CallContext) {
        if !is_script(cx) {
            self.with(cx, |record| record.run = None);
        }
    }

    /// Notes what a file was when the model saw it.
    pub(crate) fn saw(&self, cx: &CallContext, path: &Path, print: Fingerprint) {
        if !is_script(cx) {
            self.with(cx, |record| record.saw(path, print));
        }
    }

    /// Notes what this session made of a file.
    pub(crate) fn wrote(&self, cx: &CallContext, path: &Path, print: Fingerprint) {
        self.with(cx, |record| {
            record.saw(path, print);
            record.failures.remove(path);
            record.run = None;
        });
        let mut writers = self.writers.lock();
        if writers.len() >= WRITERS_MAX {
            writers.clear();
        }
        writers.insert(path.to_owned(), key(cx));
    }

    /// Whether a file is no longer what this session last saw, and who changed it. What it is now
    /// is asked only where that matters.
    pub(crate) fn stale(
        &self,
        cx: &CallContext,
        path: &Path,
        now: impl FnOnce() -> Fingerprint,
    ) -> Option<Stale> {
        let seen = self.with(cx, |record| record.seen(path))?;
        let by_other = || self.writers.lock().get(path).is_some_and(|writer| *writer != key(cx));
        let is_changed = !seen.is_same(&now());
        is_changed.then(|| if by_other() { Stale::OtherAgent } else { Stale::Somebody })
    }

    /// Counts failed patches of a file; a write clears the count.
    pub(crate) fn failed(&self, cx: &CallContext, path: &Path) -> u32 {
        self.with(cx, |record| {
            let count = record.failures.entry(path.to_owned()).or_default();
            *count += 1;
            *count
        })
    }

    /// Keeps others from changing these files until the guard is dropped; `None` when it took
    /// too long.
    pub(crate) fn lock(&self, paths: &[PathBuf], until: Instant) -> Option<Held<'_>> {
        self.locks.hold(paths, until)
    }
}

impl Memory for FileMemory {
    fn forget(&self, session: &SessionId) {
        self.records.lock().retain(|(owner, _), _| owner != session);
    }
}

/// Any other tool ends a run of identical reads.
impl Hook for FileMemory {
    fn name(&self) -> &'static str {
        "file memory"
    }

    fn wants(&self) -> HookSet {
        HookSet::EMPTY.with(HookKind::PreToolCall)
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        if let Moment::PreToolCall(moment) = moment
            && !FAMILY.contains(&moment.tool.as_str())
        {
            self.progressed(moment.cx);
        }
        Box::pin(async { Ok(Directive::Pass) })
    }
}

fn key(cx: &CallContext) -> Key {
    (cx.session.clone(), cx.task.clone())
}

fn is_script(cx: &CallContext) -> bool {
    cx.principal == Principal::Code
}

/// A number that stands for a value within this program.
pub(crate) fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
