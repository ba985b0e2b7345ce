//! Checkpoints of folders that are gone: they are found by a look into the home, and removed once
//! nobody has used them for a while, or at once when a person says so.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use petasos_contract::{CallContext, Settings};

/// A folder may be on a disk that is not there today.
const GRACE: Duration = Duration::from_hours(168);

/// How often the program looks of its own accord.
const EVERY: Duration = Duration::from_hours(24);

/// How many stores go at one time.
const AT_ONCE: usize = 50;

/// When the program last looked.
const STAMP: &str = ".swept";

/// What a store is called while it is being removed.
const GOING: &str = ".going-";

/// The checkpoints of a folder that is gone.
#[derive(Debug, Clone)]
pub struct Orphan {
    /// The folder that is gone.
    pub workspace: PathBuf,
    store: PathBuf,
    used: SystemTime,
}

/// The checkpoints of all folders that are gone.
pub fn orphans(settings: &Settings) -> Vec<Orphan> {
    let all = fs::read_dir(home(settings)).into_iter().flatten().flatten();
    let mut found: Vec<_> = all.filter_map(|entry| orphan(entry.path())).collect();
    found.sort_by(|one, other| one.workspace.cmp(&other.workspace));
    found
}

fn home(settings: &Settings) -> PathBuf {
    settings.home().join("checkpoints")
}

fn orphan(store: PathBuf) -> Option<Orphan> {
    let workspace = fs::read(store.join("workspace")).unwrap_or_default();
    let workspace = PathBuf::from(OsStr::from_bytes(&workspace));
    if is_going(&store) {
        // Half of it may be gone, the name of its folder first.
        let named = !workspace.as_os_str().is_empty();
        let workspace = if named { workspace } else { store.clone() };
        return Some(Orphan { workspace, store, used: SystemTime::UNIX_EPOCH });
    }
    let is_gone = workspace.is_absolute()
        && fs::symlink_metadata(&workspace)
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let used = fs::metadata(store.join("lock")).and_then(|about| about.modified()).ok()?;
    is_gone.then_some(Orphan { workspace, store, used })
}

fn is_going(store: &Path) -> bool {
    store.file_name().is_some_and(|name| name.as_bytes().starts_with(GOING.as_bytes()))
}

impl Orphan {
    /// Removes them, unless somebody is in the store.
    pub fn remove(&self) -> io::Result<()> {
        if is_going(&self.store) {
            return fs::remove_dir_all(&self.store);
        }
        let lock = File::open(self.store.join("lock"))?;
        lock.try_lock()?;
        let name = self.store.file_name().unwrap_or_default().to_string_lossy();
        let going = self.store.with_file_name(format!("{GOING}{name}"));
        // By one step: half a store must not be taken for a whole one.
        fs::rename(&self.store, &going)?;
        fs::remove_dir_all(&going)
    }
}

/// Removes what nobody has used for a while, once a day.
pub(crate) async fn sweep(cx: &CallContext) {
    let stamp = home(&cx.settings).join(STAMP);
    let looked = fs::metadata(&stamp).and_then(|about| about.modified());
    if looked.is_ok_and(|looked| looked.elapsed().is_ok_and(|age| age < EVERY)) {
        return;
    }
    if let Err(error) = File::create(&stamp).and_then(|file| file.set_modified(SystemTime::now())) {
        tracing::debug!(%error, "checkpoints of folders that are gone are not looked for");
        return;
    }
    let settings = std::sync::Arc::clone(&cx.settings);
    let swept = tokio::task::spawn_blocking(move || {
        let is_old = |orphan: &Orphan| orphan.used.elapsed().is_ok_and(|age| age > GRACE);
        for orphan in orphans(&settings).into_iter().filter(is_old).take(AT_ONCE) {
            match orphan.remove() {
                Ok(()) => {
                    tracing::info!(folder = %orphan.workspace.display(), "checkpoints of a folder that is gone were removed");
                }
                Err(error) => {
                    tracing::warn!(%error, folder = %orphan.workspace.display(), "checkpoints of a folder that is gone stay");
                }
            }
        }
    });
    if let Err(error) = swept.await {
        tracing::warn!(%error, "the sweep of checkpoints ended early");
    }
}
