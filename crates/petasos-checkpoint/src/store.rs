//! Where the copies of one workspace are: a git directory of our own, below the agent's home.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use petasos_contract::CallContext;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::draft::INDEX;
use crate::error::CheckpointError;
use crate::seen;

/// Never copied, whatever the project ignores: secrets, and what programs can make again.
pub(crate) const EXCLUDED: &str = ".env\n.env.*\n!.env.example\n.envrc\nnode_modules/\n.venv/\nvenv/\n\
                        __pycache__/\n.mypy_cache/\n.pytest_cache/\n.petasos-*.new\n";

/// Bytes go in and come out as they are, whatever the project's attributes say.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding\n";

/// Copies have references of their own; git wants a branch to be named all the same.
const HEAD: &str = "ref: refs/heads/none\n";

/// Where copies have their names.
pub(crate) const REFS: &str = "refs/petasos";

/// The file that tells of a whole copy without a name.
const UNNAMED: &str = "unnamed";

/// The file with the number of the last copy.
const LAST: &str = "last";

/// Changes whenever one of those files does.
const FORMAT: &[u8] = b"3\n";

/// A git that was killed with its petasos is gone after this; until then its locks are its own.
const LOCK_AGE: Duration = Duration::from_secs(10);

/// What the store says of a copy whose bytes are safe and whose name is missing: one is being made,
/// or a program died over it. It is written when the draft is whole, and not before.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// What the list shows.
    pub(crate) about: String,
    /// The index that holds the copy.
    pub(crate) draft: String,
}

/// Who is in the store.
pub(crate) enum Lock {
    /// We are, until the file is dropped.
    Ours(File),
    /// Another program, or another part of this one.
    Theirs {
        /// Its process, where it is known.
        pid: Option<u32>,
    },
}

/// The copies of one workspace.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) workspace: PathBuf,
    pub(crate) folder: PathBuf,
}

impl Store {
    /// The store of a call's workspace.
    pub(crate) fn of(cx: &CallContext) -> Result<Self, CheckpointError> {
        let home = cx.settings.home();
        let workspace = cx.workspace.canonicalize().map_err(|source| CheckpointError::Store {
            path: cx.workspace.to_path_buf(),
            source,
        })?;
        let user_home = cx.settings.user_home();
        let is_home = user_home.canonicalize().is_ok_and(|home| home.starts_with(&workspace));
        if workspace.parent().is_none() || is_home || home.as_os_str().is_empty() {
            return Err(CheckpointError::TooWide(workspace));
        }
        let folder = home.join("checkpoints").join(name(&workspace));
        Ok(Self { workspace, folder })
    }

    /// Whether there is one; it may be without copies.
    pub(crate) fn exists(&self) -> bool {
        self.folder.join("HEAD").exists()
    }

    /// The number of the last copy, when the index is still the one it was made from.
    pub(crate) fn last(&self) -> Option<u32> {
        if self.folder.join(UNNAMED).exists() {
            return None;
        }
        fs::read_to_string(self.folder.join(LAST)).ok()?.trim().parse().ok()
    }

    /// The copy that has no name yet. What an older version left is none: it promised nothing about
    /// the index.
    pub(crate) fn pending(&self) -> Result<Option<Pending>, CheckpointError> {
        let Ok(text) = fs::read(self.folder.join(UNNAMED)) else { return Ok(None) };
        let pending = serde_json::from_slice(&text).ok();
        if let Some(pending) = pending.filter(|it: &Pending| self.folder.join(&it.draft).exists()) {
            return Ok(Some(pending));
        }
        // It has become the index, and its number is not known.
        self.forget_last()?;
        self.remove(UNNAMED)?;
        Ok(None)
    }

    /// The draft is whole: from here on it is a copy, which has no name yet.
    pub(crate) fn promise(&self, pending: &Pending) -> Result<(), CheckpointError> {
        self.remove(seen::NAME)?;
        let text = serde_json::to_vec(pending).map_err(|error| self.failed(error.into()))?;
        self.put(UNNAMED, &text)
    }

    /// Nothing is known of the index any more but what is in it.
    pub(crate) fn forget_last(&self) -> Result<(), CheckpointError> {
        self.remove(seen::NAME)?;
        self.remove(LAST)
    }

    /// Writes a small file of ours.
    pub(crate) fn put(&self, name: &str, content: &[u8]) -> Result<(), CheckpointError> {
        put(&self.folder.join(name), content).map_err(|source| self.failed(source))
    }

    /// Removes one, if it is there.
    pub(crate) fn remove(&self, name: &str) -> Result<(), CheckpointError> {
        match fs::remove_file(self.folder.join(name)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(self.failed(source)),
            _ => Ok(()),
        }
    }

    /// A draft becomes the index.
    pub(crate) fn adopt(&self, draft: &str) -> Result<(), CheckpointError> {
        match fs::rename(self.folder.join(draft), self.folder.join(INDEX)) {
            // An empty workspace may have none.
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(self.failed(source)),
            _ => Ok(()),
        }
    }

    /// The draft has a name: it is the last copy now.
    pub(crate) fn end(&self, draft: &str, last: u32) -> Result<(), CheckpointError> {
        self.adopt(draft)?;
        self.put(LAST, format!("{}\n", id(last)).as_bytes())?;
        self.remove(UNNAMED)
    }

    /// Keeps other programs out until the file is dropped.
    pub(crate) fn lock(&self) -> Result<Lock, CheckpointError> {
        let fail = |source| self.failed(source);
        make(&self.folder).map_err(fail)?;
        let mut open = OpenOptions::new();
        let open = open.read(true).write(true).create(true).truncate(false);
        let mut file = open.open(self.folder.join("lock")).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {
                let pid = std::process::id().to_string();
                file.set_len(0).and_then(|()| file.write_all(pid.as_bytes())).map_err(fail)?;
                Ok(Lock::Ours(file))
            }
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).map_err(fail)?;
                Ok(Lock::Theirs { pid: pid.trim().parse().ok() })
            }
            Err(TryLockError::Error(source)) => Err(fail(source)),
        }
    }

    /// Removes the locks on names that a git left which was killed long enough ago.
    pub(crate) fn remove_locks(&self) {
        let names = fs::read_dir(self.folder.join(REFS)).into_iter().flatten().flatten();
        let locks = names.map(|entry| entry.path());
        let locks = locks.filter(|path| path.extension() == Some("lock".as_ref()));
        for lock in locks.chain([self.folder.join("packed-refs.lock")]) {
            let made = fs::metadata(&lock).and_then(|about| about.modified());
            let is_old = made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > LOCK_AGE));
            if is_old && let Err(error) = fs::remove_file(&lock) {
                tracing::debug!(%error, "a lock that a killed git left stays");
            }
        }
    }

    /// The first number from this one on that is nobody's.
    pub(crate) fn free_from(&self, mut number: u32) -> u32 {
        let lock = |number| self.folder.join(format!("{REFS}/{}.lock", id(number))).exists();
        while self.is_taken(number) || lock(number) {
            number += 1;
        }
        number
    }

    /// Whether a copy has this number.
    pub(crate) fn is_taken(&self, number: u32) -> bool {
        let name = format!("{REFS}/{}", id(number));
        let packed = fs::read_to_string(self.folder.join("packed-refs")).unwrap_or_default();
        self.folder.join(&name).exists() || packed.lines().any(|line| line.ends_with(&name))
    }

    pub(crate) fn failed(&self, source: io::Error) -> CheckpointError {
        CheckpointError::Store { path: self.folder.clone(), source }
    }

    /// Makes the repository and what git reads from it. These few files are all that `git init`
    /// would leave, without its start.
    pub(crate) fn prepare(&self) -> Result<(), CheckpointError> {
        let format = self.folder.join("format");
        if fs::read(&format).is_ok_and(|known| known == FORMAT) {
            return Ok(());
        }
        // What another version remembered need not be true.
        self.forget_last()?;
        let fail = |source| self.failed(source);
        let info = self.folder.join("info");
        for folder in [&info, &self.folder.join("objects"), &self.folder.join("refs")] {
            make(folder).map_err(fail)?;
        }
        put(&info.join("exclude"), EXCLUDED.as_bytes()).map_err(fail)?;
        put(&info.join("attributes"), ATTRIBUTES.as_bytes()).map_err(fail)?;
        self.put("workspace", self.workspace.as_os_str().as_bytes())?;
        self.put("HEAD", HEAD.as_bytes())?;
        // The last of them: where it is, the others are.
        self.put("format", FORMAT)
    }

    /// A path given by a person, below the workspace.
    pub(crate) fn inside(&self, path: &str) -> Result<String, CheckpointError> {
        let outside = || CheckpointError::Outside(path.to_owned());
        let path = Path::new(path);
        let inside = path.strip_prefix(&self.workspace).unwrap_or(path);
        let is_plain = inside.components().all(|part| {
            matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
        });
        let text = inside.to_str().filter(|text| is_plain && !text.is_empty());
        text.map(str::to_owned).ok_or_else(outside)
    }
}

/// The name of a copy.
pub(crate) fn id(number: u32) -> String {
    format!("{number:06}")
}

fn name(workspace: &Path) -> String {
    let digest = Sha256::digest(workspace.as_os_str().as_bytes());
    hex(digest.get(..8).unwrap_or_default())
}

/// Bytes as people write them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a small file of ours when it is not yet what it should be; whole or not at all.
fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    // Two programs may prepare one store.
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    File::create(&draft)?.write_all(content)?;
    fs::rename(&draft, path)
}
