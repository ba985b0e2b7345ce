//! Writing a file so that a reader, or a kill at any moment, sees the old content or the new one.
//!
//! A temporary file in the same directory, flushed to disk, renamed over the old one, the directory
//! flushed. What a killed writer left behind, the next one that holds the lock clears away.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::FsError;

const SYMLINKS_MAX: usize = 32;

/// Permission bits of a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Those of the file that is replaced; for a new file, these.
    KeepOr(u32),
    /// These.
    Exactly(u32),
}

/// Replaces a file, following symbolic links to the real one. Creates missing directories.
pub fn write(path: &Path, bytes: &[u8], mode: Mode) -> Result<(), FsError> {
    let target = target_of(path)?;
    write_target(&target, bytes, mode)
}

/// Replaces a file whose lock is held, clearing away what killed writers left.
pub fn write_locked(target: &Path, bytes: &[u8], mode: Mode) -> Result<(), FsError> {
    clear_leftovers(target);
    write_target(target, bytes, mode)
}

/// The file behind symbolic links, whether or not it exists yet.
pub fn target_of(path: &Path) -> Result<PathBuf, FsError> {
    let mut target = path.to_path_buf();
    for _ in 0..SYMLINKS_MAX {
        match fs::read_link(&target) {
            Ok(next) if next.is_absolute() => target = next,
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            // Not a link, or not there.
            Err(_) => return Ok(target),
        }
    }
    Err(FsError::LinkCircle { file: path.to_path_buf() })
}

fn write_target(target: &Path, bytes: &[u8], mode: Mode) -> Result<(), FsError> {
    let directory = create_parent(target)?;
    let failed = |error| FsError::io("write", target, error);
    let old = fs::metadata(target).ok();
    let mut temporary = tempfile::Builder::new()
        .prefix(&format!("{}.", name_of(target)))
        .suffix(".tmp")
        .tempfile_in(&directory)
        .map_err(failed)?;
    temporary.write_all(bytes).map_err(failed)?;
    dress(temporary.as_file(), old.as_ref(), mode).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(target).map_err(|error| failed(error.error))?;
    // Not every file system can flush a directory; the rename itself is done.
    if let Err(error) = File::open(&directory).and_then(|directory| directory.sync_all()) {
        tracing::debug!(%error, directory = %directory.display(), "directory not flushed");
    }
    Ok(())
}

#[cfg(unix)]
fn dress(file: &File, old: Option<&fs::Metadata>, mode: Mode) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let bits = match (mode, old) {
        (Mode::KeepOr(_), Some(old)) => old.permissions().mode() & 0o7777,
        (Mode::KeepOr(bits) | Mode::Exactly(bits), _) => bits,
    };
    if let Some(old) = old {
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            // Only root can give a file away; anybody else keeps what they own.
            if let Err(error) = fchown(file, Some(old.uid()), Some(old.gid())) {
                tracing::debug!(%error, "owner not kept");
            }
        }
    }
    file.set_permissions(fs::Permissions::from_mode(bits))
}

#[cfg(not(unix))]
fn dress(_: &File, _: Option<&fs::Metadata>, _: Mode) -> std::io::Result<()> {
    Ok(())
}

pub(crate) fn create_parent(path: &Path) -> Result<PathBuf, FsError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&directory).map_err(|error| FsError::io("create", &directory, error))?;
    Ok(directory)
}

/// Only with the lock held: nobody else can then be between the two steps of a write.
fn clear_leftovers(target: &Path) {
    let Some(directory) = target.parent() else { return };
    let prefix = format!("{}.", name_of(target));
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| {
            name.starts_with(&prefix) && Path::new(name).extension().is_some_and(|e| e == "tmp")
        });
        if ours && let Err(error) = fs::remove_file(entry.path()) {
            tracing::debug!(%error, "leftover stays");
        }
    }
}

/// Hidden, so that nobody takes a temporary file for the real one.
fn name_of(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}", name.trim_start_matches('.'))
}

pub(crate) fn sibling(target: &Path, ending: &str) -> PathBuf {
    target.with_file_name(format!("{}.{ending}", name_of(target)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::lock::lock;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_write_keeps_mode_and_link_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real.yaml");
        let link = dir.path().join("config.yaml");
        std::os::unix::fs::symlink("real.yaml", &link).unwrap();
        write(&link, b"one", Mode::KeepOr(0o640)).unwrap();
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        write(&link, b"two", Mode::KeepOr(0o600)).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"two");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn leftovers_of_a_killed_writer_go_with_the_next_locked_write() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        write(&dir.path().join(".config.yaml.abc.tmp"), b"half", Mode::KeepOr(0o600)).unwrap();
        write(&dir.path().join("mine.tmp"), b"kept", Mode::KeepOr(0o600)).unwrap();
        let held = lock(&file).unwrap();
        write_locked(&file, b"whole", Mode::KeepOr(0o600)).unwrap();
        drop(held);
        let mut names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".config.yaml.lock", "config.yaml", "mine.tmp"]);
    }

    #[test]
    fn a_circle_of_links_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        std::os::unix::fs::symlink(&b, &a).unwrap();
        std::os::unix::fs::symlink(&a, &b).unwrap();
        assert!(write(&a, b"", Mode::KeepOr(0o600)).is_err());
    }
}
