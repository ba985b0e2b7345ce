//! What a small workspace looked like when the index last held it. While it looks the same git need
//! not be started to find that nothing changed, which is what it finds before most calls.
//!
//! Everything counts here, ignored or not: what is the same in every byte is the same by whatever
//! rules. A workspace that is not small, or holds what we do not understand, is git's business.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::CheckpointError as Error;
use crate::settings::CheckpointSettings;
use crate::store::{EXCLUDED, Store, hex};

/// The file that it is written down in.
pub(crate) const NAME: &str = "seen";

/// More files and folders than this are not looked at one by one.
const ENTRIES_MAX: usize = 300;

/// More than this is not read.
const BYTES_MAX: u64 = 1 << 20;

/// Times of files are coarse: one that was as young as this when it was read may have changed since
/// without showing it.
const COARSE: Duration = Duration::from_millis(100);
/// The same on file systems that count in seconds.
const COARSEST: Duration = Duration::from_millis(2100);

/// A small workspace in every byte.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// By which rules it was copied.
    rules: String,
    at: Duration,
    entries: BTreeMap<String, Entry>,
}

/// A file, a link or a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    /// Its kind and its permissions.
    mode: u32,
    /// What changes when somebody writes to it.
    stamp: Stamp,
    /// Its content; nothing for a folder.
    digest: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Seen {
    /// How it looks now; what is known of it need not be read again. Nothing when it is not small.
    pub(crate) fn now(store: &Store, rules: String, known: Option<&Self>) -> Option<Self> {
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let mut found = Vec::new();
        list(&store.workspace, "", &mut found)?;
        let bytes: u64 = found.iter().map(|(_, about)| about.len()).sum();
        if bytes > BYTES_MAX {
            return None;
        }
        let mut entries = BTreeMap::new();
        for (name, about) in found {
            let stamp = Stamp::of(&about);
            let digest = match known.and_then(|known| known.remembered(&name, stamp)) {
                Some(digest) => digest,
                None => digest(&store.workspace.join(&name), &name, &about)?,
            };
            entries.insert(name, Entry { mode: about.mode(), stamp, digest });
        }
        Some(Self { rules, at, entries })
    }

    /// What was written down, if anything was.
    pub(crate) fn read(store: &Store) -> Option<Self> {
        serde_json::from_slice(&fs::read(store.folder.join(NAME)).ok()?).ok()
    }

    /// Writes it down, unless something moved meanwhile.
    pub(crate) fn keep(self, store: &Store) -> Result<(), Error> {
        let again = Self::now(store, self.rules.clone(), Some(&self));
        let stamps = |seen: &Self| seen.entries.values().map(|it| it.stamp).collect::<Vec<_>>();
        let is_still =
            again.is_some_and(|again| self.is_same(&again) && stamps(&self) == stamps(&again));
        match serde_json::to_vec(&self) {
            Ok(text) if is_still => store.put(NAME, &text),
            _ => store.remove(NAME),
        }
    }

    /// Whether nothing differs.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let ours = self.entries.iter().map(|(path, it)| (path, it.mode, &it.digest));
        let theirs = other.entries.iter().map(|(path, it)| (path, it.mode, &it.digest));
        self.rules == other.rules && ours.eq(theirs)
    }

    /// The digest of a file that nobody has written to since.
    fn remembered(&self, name: &str, stamp: Stamp) -> Option<String> {
        let entry = self.entries.get(name).filter(|entry| entry.stamp == stamp)?;
        let (seconds, nanos) = stamp.changed;
        let changed = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
        let coarse = if nanos == 0 { COARSEST } else { COARSE };
        (changed + coarse < self.at).then(|| entry.digest.clone())
    }
}

impl Stamp {
    fn of(about: &Metadata) -> Self {
        if about.is_dir() {
            // Its times tell of what is in it, which is looked at anyway.
            return Self { inode: about.ino(), size: 0, modified: (0, 0), changed: (0, 0) };
        }
        Self {
            inode: about.ino(),
            size: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

/// By which rules a workspace is copied.
pub(crate) fn rules(store: &Store, settings: &CheckpointSettings) -> String {
    let own = fs::read(store.workspace.join(".git/info/exclude")).unwrap_or_default();
    let mut hasher = Sha256::new();
    hasher.update(EXCLUDED);
    hasher.update(settings.max_file_size_mb.to_ne_bytes());
    hasher.update(own);
    hex(&hasher.finalize())
}

fn list(folder: &Path, name: &str, found: &mut Vec<(String, Metadata)>) -> Option<()> {
    for entry in fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let own = entry.file_name();
        let own = own.to_str()?;
        if own == ".git" {
            // The user's repository is not copied; one inside it is a matter for git.
            if name.is_empty() {
                continue;
            }
            return None;
        }
        if found.len() >= ENTRIES_MAX {
            return None;
        }
        let inside = if name.is_empty() { own.to_owned() } else { format!("{name}/{own}") };
        let about = entry.metadata().ok()?;
        let is_folder = about.is_dir();
        found.push((inside.clone(), about));
        if is_folder {
            list(&entry.path(), &inside, found)?;
        }
    }
    Some(())
}

fn digest(path: &Path, name: &str, about: &Metadata) -> Option<String> {
    let kind = about.file_type();
    if kind.is_dir() {
        return Some(String::new());
    }
    // Not even a digest of a secret is written down; it is new whenever somebody touched it.
    if name.rsplit('/').next().is_some_and(|own| own.starts_with(".env")) {
        return serde_json::to_string(&Stamp::of(about)).ok();
    }
    if kind.is_symlink() {
        return Some(hex(&Sha256::digest(fs::read_link(path).ok()?.to_str()?)));
    }
    if !kind.is_file() {
        return None;
    }
    Some(hex(&Sha256::digest(fs::read(path).ok()?)))
}
