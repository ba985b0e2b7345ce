//! The folder of the control sockets: ours alone, with a short name, gone when we are.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::{ids, tree};

const PREFIX: &str = "petasos-ssh-";

/// A socket's name may have 104 characters on the strictest system, and ssh first makes it under
/// a longer one of its own: 17 more, and our number.
const FOLDER_BYTES_MAX: usize = 104 - 17 - 5;

/// A folder that is removed when dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes it below `temp`, or below `/tmp` when that name is too long for a socket. Removes
    /// what programs that are gone left there.
    pub(super) fn make(temp: &Path) -> io::Result<Self> {
        let me = std::process::id();
        let started = tree::start_time(me).unwrap_or_default();
        let name = format!("{PREFIX}{me}-{started}-{}", ids::hex(4));
        let fits =
            temp.is_absolute() && temp.as_os_str().len() + 1 + name.len() <= FOLDER_BYTES_MAX;
        let parent = if fits { temp } else { Path::new("/tmp") };
        sweep(parent);
        fs::create_dir_all(parent)?;
        let path = parent.join(name);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::debug!(%error, folder = %folder.display(), "a folder of ssh sockets stays behind");
    }
}

/// Removes the folders of programs that no longer run.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        let is_left = |(pid, started): (u32, u64)| tree::start_time(pid) != Some(started);
        if owner.is_some_and(is_left) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
}

/// The process that made a folder of this name, and when that began.
fn owner(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_private_short_and_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let left = temp.path().join(format!("{PREFIX}4194304-1-00"));
        fs::create_dir(&left).unwrap();
        let folder = Folder::make(temp.path()).unwrap();
        let path = folder.path().to_owned();
        assert!(path.starts_with(temp.path()) && !left.exists());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_long_temp_folder_does_not_make_a_long_socket() {
        let long = Path::new("/tmp").join("x".repeat(90));
        let folder = Folder::make(&long).unwrap();
        assert!(folder.path().as_os_str().len() <= FOLDER_BYTES_MAX);
    }
}
