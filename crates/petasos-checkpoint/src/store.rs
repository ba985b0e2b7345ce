//! Where the copies of one workspace are: a git directory of our own, below the agent's home.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use petasos_contract::CallContext;
use sha2::{Digest as _, Sha256};

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
const REFS: &str = "refs/petasos";

/// The file that says what a copy without a name is about.
const UNNAMED: &str = "unnamed";

/// Changes whenever one of those files does.
const FORMAT: &[u8] = b"2\n";

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
        if self.unnamed().is_some() {
            return None;
        }
        let text = fs::read_to_string(self.folder.join("last")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    }

    /// What a copy is about that is in the index and has no name yet: one is being made, or a
    /// program died over it.
    pub(crate) fn unnamed(&self) -> Option<String> {
        fs::read_to_string(self.folder.join(UNNAMED)).ok()
    }

    /// From here on the index may hold a copy that has no name yet.
    pub(crate) fn begin(&self, about: &str) -> Result<(), CheckpointError> {
        self.remove(seen::NAME)?;
        self.put(UNNAMED, about.as_bytes())
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

    /// The index has a name: this is the last copy now.
    pub(crate) fn end(&self, last: u32) -> Result<(), CheckpointError> {
        self.put("last", format!("{}\n", id(last)).as_bytes())?;
        self.remove(UNNAMED)
    }

    /// A folder in which the name of a copy is the branch that git commits to.
    pub(crate) fn branch(&self, number: u32) -> Result<PathBuf, CheckpointError> {
        if self.is_taken(number) {
            return Err(CheckpointError::Git(format!("there is a checkpoint {number} already")));
        }
        let folder = self.folder.join("branch");
        let head = format!("ref: {REFS}/{}\n", id(number));
        // All but the branch is the store's.
        make(&folder)
            .and_then(|()| put(&folder.join("commondir"), b"..\n"))
            .and_then(|()| put(&folder.join("HEAD"), head.as_bytes()))
            .map_err(|source| self.failed(source))?;
        Ok(folder)
    }

    /// Keeps other programs out until the file is dropped; nothing when one of them is inside.
    pub(crate) fn lock(&self) -> Result<Option<File>, CheckpointError> {
        let fail = |source| self.failed(source);
        make(&self.folder).map_err(fail)?;
        let file = File::create(self.folder.join("lock")).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {
                self.remove_locks()?;
                Ok(Some(file))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(fail(source)),
        }
    }

    /// Removes what a git that was killed may have left: nobody else is here.
    fn remove_locks(&self) -> Result<(), CheckpointError> {
        for lock in ["index.lock", "packed-refs.lock", "branch/HEAD.lock"] {
            self.remove(lock)?;
        }
        if self.unnamed().is_none() {
            return Ok(());
        }
        let names = fs::read_dir(self.folder.join(REFS)).into_iter().flatten().flatten();
        for entry in names.filter(|entry| entry.path().extension() == Some("lock".as_ref())) {
            let name = entry.file_name();
            self.remove(&format!("{REFS}/{}", name.to_string_lossy()))?;
        }
        Ok(())
    }

    /// Whether a copy has this number.
    fn is_taken(&self, number: u32) -> bool {
        let name = format!("{REFS}/{}", id(number));
        let packed = fs::read_to_string(self.folder.join("packed-refs")).unwrap_or_default();
        self.folder.join(&name).exists() || packed.lines().any(|line| line.ends_with(&name))
    }

    fn failed(&self, source: io::Error) -> CheckpointError {
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
        self.remove("last")?;
        self.remove(seen::NAME)?;
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

/// Writes a small file of ours when it is not yet what it should be.
fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    File::create(path)?.write_all(content)
}
