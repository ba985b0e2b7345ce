//! Visiting every file below a root, on all cores, except those nobody asked for.
//!
//! Hidden files and those that ignore files name are passed over as ripgrep does; protected ones
//! are passed over and counted; links are not followed. What cannot be read is noted and does not
//! end the walk.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use super::glob::Glob;
use crate::files::guard::Guard;
use crate::files::watch::{Ended, Watch};

/// Where a search goes and where it does not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// A folder or a file, behind all links.
    pub(crate) root: &'a Path,
    /// The user's home, for git's list of what to ignore everywhere.
    pub(crate) user_home: &'a Path,
    /// Which files are wanted: those that match all of these.
    pub(crate) globs: &'a [Glob],
    /// Which files are protected.
    pub(crate) guard: &'a Guard,
    /// When to stop.
    pub(crate) watch: &'a Watch<'a>,
}

/// How a walk went.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Files that were left out because they are protected.
    pub(crate) omitted: u64,
    /// Places that could not be read.
    pub(crate) unreadable: u64,
    /// One of them, with the reason.
    pub(crate) example: Option<String>,
    /// Why it stopped before the end.
    pub(crate) ended: Option<Ended>,
}

/// One file of the walk.
#[derive(Debug)]
pub(crate) struct Visit<'a> {
    /// Its path below the root; the file's name when the root is the file.
    pub(crate) inside: &'a Path,
    /// The entry itself.
    pub(crate) entry: &'a DirEntry,
}

/// Visits every wanted file; `visitor` makes one visitor for each thread.
pub(crate) fn walk<V>(scope: Scope<'_>, visitor: impl Fn() -> V) -> Walked
where
    V: FnMut(Visit<'_>) -> io::Result<()> + Send,
{
    let notes = Notes::default();
    builder(scope).build_parallel().run(|| {
        let (mut visit, notes) = (visitor(), &notes);
        Box::new(move |entry| {
            if scope.watch.ended().is_some() {
                notes.stopped.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            match entry {
                Err(error) => notes.unreadable(&error.to_string()),
                Ok(entry) => step(scope, &entry, &mut visit, notes),
            }
            WalkState::Continue
        })
    });
    notes.walked(scope.watch)
}

fn builder(scope: Scope<'_>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(scope.root);
    // The walker would look up git's global settings in the process environment.
    builder.git_global(false).current_dir(scope.root);
    let everywhere = scope.user_home.join(".config/git/ignore");
    if everywhere.is_file() {
        // A broken line in it hides less than was meant and is no reason to fail.
        drop(builder.add_ignore(everywhere));
    }
    builder
}

fn step(
    scope: Scope<'_>,
    entry: &DirEntry,
    visit: &mut impl FnMut(Visit<'_>) -> io::Result<()>,
    notes: &Notes,
) {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return;
    }
    let inside = match entry.path().strip_prefix(scope.root) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside,
        Ok(_) | Err(_) => Path::new(entry.file_name()),
    };
    if !scope.globs.iter().all(|glob| glob.matches(inside)) {
        return;
    }
    if scope.guard.refuses(entry.path()).is_some() {
        notes.omitted.fetch_add(1, Ordering::Relaxed);
        return;
    }
    match visit(Visit { inside, entry }) {
        Ok(()) => {}
        // The visitor stopped for the same reason as the walk will at its next step.
        Err(_) if scope.watch.ended().is_some() => notes.stopped.store(true, Ordering::Relaxed),
        // It was there a moment ago: someone else works here too.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => notes.unreadable(&format!("{}: {error}", entry.path().display())),
    }
}

#[derive(Default)]
struct Notes {
    omitted: AtomicU64,
    unreadable: AtomicU64,
    example: Mutex<Option<String>>,
    stopped: AtomicBool,
}

impl Notes {
    fn unreadable(&self, what: &str) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
        let mut example = self.example.lock();
        // The smallest, so that two runs tell the same.
        if example.as_deref().is_none_or(|known| what < known) {
            *example = Some(what.to_owned());
        }
    }

    fn walked(self, watch: &Watch<'_>) -> Walked {
        Walked {
            omitted: self.omitted.into_inner(),
            unreadable: self.unreadable.into_inner(),
            example: self.example.into_inner(),
            ended: self.stopped.into_inner().then(|| watch.ended()).flatten(),
        }
    }
}
