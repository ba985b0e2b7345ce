//! Files by name, the newest first.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;

use super::ledger::Ledger;
use super::walk::{Scope, Walked, walk};

/// What was found.
#[derive(Debug)]
pub(crate) struct Names {
    /// The newest files, below the root.
    pub(crate) files: Vec<PathBuf>,
    /// How many there are altogether.
    pub(crate) total: u64,
    /// How the walk went.
    pub(crate) walked: Walked,
}

/// Finds the newest `needed` files of the scope.
pub(crate) fn find(scope: Scope<'_>, needed: usize) -> Names {
    let newest = Mutex::new(Ledger::<(Reverse<SystemTime>, PathBuf), ()>::new(needed));
    let total = AtomicU64::new(0);
    let walked = walk(scope, || {
        |visit: super::walk::Visit<'_>| {
            let changed = visit.entry.metadata().map_err(std::io::Error::other)?.modified()?;
            total.fetch_add(1, Ordering::Relaxed);
            newest.lock().add((Reverse(changed), visit.inside.to_owned()), 1, ());
            Ok(())
        }
    });
    let files = newest.into_inner().into_entries().map(|((_, path), ())| path).collect();
    Names { files, total: total.into_inner(), walked }
}
