//! Files of this machine. Blocking calls run beside the runtime, one hop for each operation.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use petasos_contract::BoxFuture;
use petasos_contract::environment::{Entry, EnvError, FileKind, Files, Stat, WriteMode};
use petasos_contract::path::{HostPath, TargetPath};

/// This machine's files.
#[derive(Debug)]
pub(super) struct LocalFiles;

/// Runs a blocking operation on a path and names the path when it fails.
fn on<'a, T: Send + 'static>(
    path: &TargetPath,
    act: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> BoxFuture<'a, Result<T, EnvError>> {
    let path = path.clone();
    Box::pin(async move {
        let place = path.clone();
        let done = tokio::task::spawn_blocking(move || act(place.as_path())).await;
        let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
        done.map_err(|error| EnvError::File {
            missing: error.kind() == io::ErrorKind::NotFound,
            why: error.to_string(),
            path,
        })
    })
}

impl Files for LocalFiles {
    fn read<'a>(
        &'a self,
        path: &'a TargetPath,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        on(path, move |path| {
            let mut file = regular(path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            file.take(limit).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    fn write<'a>(
        &'a self,
        path: &'a TargetPath,
        content: &'a [u8],
        mode: WriteMode,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        let content = content.to_vec();
        on(path, move |path| {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            match mode {
                WriteMode::Replace => replace(path, &content),
                WriteMode::Append => {
                    let mut file = fs::OpenOptions::new().append(true).create(true).open(path)?;
                    file.write_all(&content)
                }
                WriteMode::Create => {
                    let mut file =
                        fs::OpenOptions::new().write(true).create_new(true).open(path)?;
                    file.write_all(&content)
                }
            }
        })
    }

    fn list<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<Vec<Entry>, EnvError>> {
        on(path, |path| {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let known = entry.metadata()?;
                let name = entry.file_name().to_string_lossy().into_owned();
                entries.push(Entry { name, kind: kind(known.file_type()), size: known.len() });
            }
            entries.sort_by(|left, right| left.name.cmp(&right.name));
            Ok(entries)
        })
    }

    fn stat<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<Stat, EnvError>> {
        on(path, |path| {
            let known = fs::metadata(path)?;
            let modified_ns =
                i128::from(known.mtime()) * 1_000_000_000 + i128::from(known.mtime_nsec());
            Ok(Stat {
                kind: kind(known.file_type()),
                size: known.len(),
                modified_ns,
                mode: Some(known.mode() & 0o7777),
                resolved: TargetPath::new(fs::canonicalize(path)?),
            })
        })
    }

    fn remove<'a>(&'a self, path: &'a TargetPath) -> BoxFuture<'a, Result<(), EnvError>> {
        on(path, |path| {
            if fs::symlink_metadata(path)?.is_dir() {
                fs::remove_dir(path)
            } else {
                fs::remove_file(path)
            }
        })
    }

    fn rename<'a>(
        &'a self,
        from: &'a TargetPath,
        to: &'a TargetPath,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        let to = to.clone();
        on(from, move |from| fs::rename(from, to.as_path()))
    }

    fn copy_in<'a>(
        &'a self,
        from: &'a HostPath,
        to: &'a TargetPath,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        let from = from.clone();
        on(to, move |to| fs::copy(from.as_path(), to).map(drop))
    }

    fn copy_out<'a>(
        &'a self,
        from: &'a TargetPath,
        to: &'a HostPath,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        let to = to.clone();
        on(from, move |from| fs::copy(from, to.as_path()).map(drop))
    }
}

/// Opens without waiting for a writer at the other end of a pipe, and refuses what has no end.
fn regular(path: &Path) -> io::Result<fs::File> {
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let known = file.metadata()?;
    if known.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !known.is_file() {
        return Err(io::Error::other("a device or pipe, which may have no end"));
    }
    Ok(file)
}

fn kind(kind: fs::FileType) -> FileKind {
    if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Special
    }
}

/// Replaces a file in one step; a link stays a link, and permissions stay as they were.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let draft = folder.join(format!(".petasos-{}", crate::ids::hex(6)));
    let before = fs::metadata(&target).ok();
    let mode = before.as_ref().map_or(0o644, |known| known.permissions().mode() & 0o7777);
    let written = (|| {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(mode & 0o777).open(&draft)?;
        if before.is_some() {
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, &target)
    })();
    written.or_else(|error| fs::remove_file(&draft).and(Err(error)))
}
