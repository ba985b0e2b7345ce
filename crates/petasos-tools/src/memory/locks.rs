//! Files that somebody is changing: all files of a change are taken at once, so no two changes
//! wait for each other.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// The files that are being changed.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: Mutex<HashSet<PathBuf>>,
    freed: Condvar,
}

/// Files that are ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    locks: &'a Locks,
    paths: Vec<PathBuf>,
}

impl Locks {
    pub(super) fn hold(&self, paths: &[PathBuf], until: Instant) -> Option<Held<'_>> {
        let mut held = self.held.lock();
        while paths.iter().any(|path| held.contains(path)) {
            if self.freed.wait_until(&mut held, until).timed_out() {
                return None;
            }
        }
        held.extend(paths.iter().cloned());
        Some(Held { locks: self, paths: paths.to_vec() })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut held = self.locks.held.lock();
        for path in &self.paths {
            held.remove(path);
        }
        drop(held);
        self.locks.freed.notify_all();
    }
}
