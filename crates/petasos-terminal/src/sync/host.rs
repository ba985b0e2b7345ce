//! The host's side: which files follow, reading them without following links, and writing back
//! only what is still what it was.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;
use petasos_contract::environment::EnvError;
use petasos_contract::path::TargetPath;

use super::plan::{self, Hash, Manifest};
use super::rel::Rel;
use crate::ids;

/// Folders of the home that follow; what changes in them comes back.
const FOLDERS: &[&str] = &[
    "skills",
    "cache/documents",
    "cache/images",
    "cache/audio",
    "cache/videos",
    "cache/screenshots",
    "cache/web",
    "cache/delegation",
];

/// Stores of all secrets, which never leave whatever is declared.
const STORES: &[&str] =
    &[".env", "auth.json", "config.yaml", "credentials.json", "state.db", "processes.json"];

/// A file larger than this is no skill and no document.
const FILE_MAX: u64 = 256 << 20;
/// The most bytes of one upload.
const BATCH_MAX: u64 = 16 << 20;

/// A file on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) rel: Rel,
    pub(super) bytes: Vec<u8>,
    pub(super) hash: Hash,
    pub(super) executable: bool,
}

/// How a file was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    Written,
    /// Under this name beside ours.
    Beside(String),
}

type Seen = (u64, u64, Option<SystemTime>);

/// The host's files.
#[derive(Debug)]
pub(super) struct Host {
    root: PathBuf,
    credentials: Vec<Rel>,
    /// Hashes of files that have not changed since, by what the system says about them.
    hashes: Mutex<HashMap<Rel, (Seen, Hash)>>,
}

impl Host {
    /// The files of a home; with those declared ones that are refused, and why.
    pub(super) fn new(home: &Path, declared: &[String]) -> (Self, Vec<(String, &'static str)>) {
        let (mut credentials, mut refused) = (Vec::new(), Vec::new());
        for name in declared {
            match Rel::new(name.trim()) {
                None => refused.push((name.clone(), "it is no plain path below the agent home")),
                Some(rel) if STORES.contains(&rel.as_str()) || rel.as_str().starts_with(".env") => {
                    refused.push((name.clone(), "it holds all secrets, not those of one skill"));
                }
                Some(rel) => credentials.push(rel),
            }
        }
        let host = Self { root: home.to_owned(), credentials, hashes: Mutex::default() };
        (host, refused)
    }

    /// Whether a file may come back: credentials never do.
    pub(super) fn takes_back(&self, rel: &Rel) -> bool {
        !self.credentials.contains(rel)
            && !rel.as_str().contains(".remote-")
            && FOLDERS.iter().any(|folder| rel.is_below(folder))
    }

    /// Every file that follows, with its hash. What cannot be read does not follow.
    pub(super) fn manifest(&self) -> Manifest {
        let mut found = Vec::new();
        for folder in FOLDERS {
            if let Some(rel) = Rel::new(folder) {
                self.walk(&rel, &mut found);
            }
        }
        found.extend(self.credentials.iter().cloned());
        found.into_iter().filter_map(|rel| self.hash(&rel).map(|hash| (rel, hash))).collect()
    }

    fn walk(&self, folder: &Rel, found: &mut Vec<Rel>) {
        let Some(path) = self.real(folder) else { return };
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(rel) = name.to_str().and_then(|name| Rel::new(&format!("{folder}/{name}")))
            else {
                continue;
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.walk(&rel, found),
                Ok(kind) if kind.is_file() => found.push(rel),
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// The path of a file, unless a link lies on the way to it.
    fn real(&self, rel: &Rel) -> Option<PathBuf> {
        let mut path = self.root.clone();
        for part in rel.as_str().split('/') {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(about) if about.is_symlink() => return None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
        Some(path)
    }

    fn open(&self, rel: &Rel) -> io::Result<File> {
        let path = self.real(rel).ok_or(io::ErrorKind::InvalidInput)?;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or(0);
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() || about.len() > FILE_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(file)
    }

    /// The hash of a file now; `None` when it is not there or cannot follow.
    pub(super) fn hash(&self, rel: &Rel) -> Option<Hash> {
        let mut file = self.open(rel).ok()?;
        let about = file.metadata().ok()?;
        let seen = (about.ino(), about.len(), about.modified().ok());
        if let Some((was, hash)) = self.hashes.lock().get(rel)
            && *was == seen
        {
            return Some(hash.clone());
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let hash = plan::hash(&bytes);
        // One that was written just now may be written again within the clock's grain.
        let old = about.modified().ok().and_then(|at| at.elapsed().ok());
        if old.is_some_and(|age| age.as_secs() >= 2) {
            self.hashes.lock().insert(rel.clone(), (seen, hash.clone()));
        }
        Some(hash)
    }

    /// The files to upload, read in portions; one that has gone meanwhile is left out.
    pub(super) fn batches<'a>(
        &'a self,
        wanted: &'a [Rel],
    ) -> impl Iterator<Item = Result<Vec<Outgoing>, EnvError>> + 'a {
        let mut rest = wanted.iter().peekable();
        std::iter::from_fn(move || {
            let (mut batch, mut size) = (Vec::new(), 0);
            while size < BATCH_MAX {
                let Some(rel) = rest.next() else { break };
                match self.read(rel) {
                    Ok(file) => {
                        size += file.bytes.len() as u64 + 512;
                        batch.push(file);
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => {
                        let path = TargetPath::new(rel.as_str());
                        let why = error.to_string();
                        return Some(Err(EnvError::File { path, why, missing: false }));
                    }
                }
            }
            (!batch.is_empty()).then_some(Ok(batch))
        })
    }

    fn read(&self, rel: &Rel) -> io::Result<Outgoing> {
        let mut file = self.open(rel)?;
        let executable = file.metadata()?.permissions().mode() & 0o100 != 0;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let hash = plan::hash(&bytes);
        Ok(Outgoing { rel: rel.clone(), bytes, hash, executable })
    }

    /// Replaces a file in one step, when it still is what was looked at; else puts the new one
    /// beside it.
    pub(super) fn write(&self, rel: &Rel, bytes: &[u8], was: Option<&Hash>) -> io::Result<Kept> {
        let path = self.real(rel).ok_or(io::ErrorKind::InvalidInput)?;
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::create_dir_all(folder)?;
        let mode = fs::symlink_metadata(&path).map_or(0o600, |about| about.mode() & 0o777);
        let draft = folder.join(format!(".petasos-{}", ids::hex(6)));
        let written = fresh(&draft, bytes, mode).and_then(|()| {
            if self.hash(rel).as_ref() != was {
                return Ok(false);
            }
            match was {
                Some(_) => fs::rename(&draft, &path).map(|()| true),
                // A link fails where somebody was faster, a rename would overwrite.
                None => match fs::hard_link(&draft, &path) {
                    Ok(()) => fs::remove_file(&draft).map(|()| true),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                    Err(error) => Err(error),
                },
            }
        });
        match written {
            Ok(true) => Ok(Kept::Written),
            Ok(false) => {
                fs::remove_file(&draft)?;
                self.beside(rel, bytes, &plan::hash(bytes))
            }
            Err(error) => {
                if let Err(left) = fs::remove_file(&draft) {
                    tracing::debug!(%left, "a draft is left");
                }
                Err(error)
            }
        }
    }

    /// Puts a content beside a file, under a name that tells where it came from.
    pub(super) fn beside(&self, rel: &Rel, bytes: &[u8], hash: &Hash) -> io::Result<Kept> {
        let short = hash.get(..8).unwrap_or("copy");
        let name = format!("{rel}.remote-{short}");
        let copy = Rel::new(&name).ok_or(io::ErrorKind::InvalidInput)?;
        let path = self.real(&copy).ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match fresh(&path, bytes, 0o600) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Kept::Beside(name)),
            done => done.map(|()| Kept::Beside(name)),
        }
    }
}

fn fresh(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}
