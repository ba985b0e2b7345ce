//! The bytes of attachments: files beside the database, found by what is in them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use petasos_store::{ATTACHMENT_BYTES_MAX, BoardError, Completion, NewFile, StoreError};
use sha2::{Digest as _, Sha256};

const NAME_CHARS_MAX: usize = 120;

/// Where attachments are kept.
#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

/// A file whose bytes are on disk.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) filename: String,
    pub(super) content_type: Option<String>,
    pub(super) source: Option<String>,
    pub(super) size: u64,
    pub(super) sha256: String,
    pub(super) path: PathBuf,
}

impl Folder {
    /// That of the database at this path.
    pub(super) fn beside(database: &Path) -> Self {
        let home = database.parent().unwrap_or(Path::new("."));
        Self(home.join("kanban").join("files"))
    }

    /// Where a file is: the same bytes under the same name are kept once.
    pub(super) fn path(&self, sha256: &str, name: &str) -> PathBuf {
        self.0.join(sha256).join(name)
    }

    pub(super) fn keep(&self, file: NewFile) -> Result<Stored, BoardError> {
        if file.content.len() > ATTACHMENT_BYTES_MAX {
            let most = ATTACHMENT_BYTES_MAX >> 20;
            let message = format!("`{}` is larger than {most} MB", file.filename);
            return Err(BoardError::Bad(message));
        }
        let mut sha256 = String::with_capacity(64);
        for byte in Sha256::digest(&file.content) {
            // Writing to a text cannot fail.
            write!(sha256, "{byte:02x}").unwrap_or_default();
        }
        let filename = clean(&file.filename);
        let path = self.path(&sha256, &filename);
        place(&path, &file.content).map_err(|error| {
            StoreError::Failed(format!("`{}` cannot be written: {error}", path.display()))
        })?;
        Ok(Stored {
            filename,
            content_type: file.content_type,
            source: file.source,
            size: u64::try_from(file.content.len()).unwrap_or(u64::MAX),
            sha256,
            path,
        })
    }
}

/// Puts bytes where they belong, whole or not at all.
fn place(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let known = std::fs::metadata(path).ok().map(|found| found.len());
    if known == u64::try_from(content.len()).ok() {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut make = std::fs::DirBuilder::new();
    make.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
    make.create(folder)?;
    let part = folder.join(format!(".part-{}", crate::stamp::new_session_id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&part).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&part, path)
    });
    if written.is_err() && part.exists() {
        std::fs::remove_file(&part)?;
    }
    written
}

/// A name without folders, control characters and leading dots.
fn clean(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|letter| !letter.is_control()).collect();
    let plain = plain.trim().trim_start_matches('.');
    // The end tells what it is.
    let skipped = plain.chars().count().saturating_sub(NAME_CHARS_MAX);
    let short: String = plain.chars().skip(skipped).collect();
    if short.is_empty() { "attachment".to_owned() } else { short }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BoardError> + Send + 'static,
) -> Result<T, BoardError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::Failed(format!("a copy ended: {error}")).into()))
}

/// Keeps one file.
pub(super) async fn keep(folder: Folder, file: NewFile) -> Result<Stored, BoardError> {
    blocking(move || folder.keep(file)).await
}

/// Keeps the artifacts of a task that is done.
pub(super) async fn keep_all(
    folder: Folder,
    mut done: Completion,
) -> Result<(Completion, Vec<Stored>), BoardError> {
    let files = std::mem::take(&mut done.artifacts);
    let stored =
        blocking(move || files.into_iter().map(|file| folder.keep(file)).collect()).await?;
    Ok((done, stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_folder() {
        for (name, kept) in [
            ("../../etc/passwd", "passwd"),
            ("..", "attachment"),
            ("C:\\x\\report.pdf", "report.pdf"),
            (".bashrc", "bashrc"),
            ("a\nb.txt", "ab.txt"),
            ("", "attachment"),
        ] {
            assert_eq!(clean(name), kept, "{name}");
        }
        assert!(clean(&format!("{}.pdf", "x".repeat(500))).ends_with("x.pdf"));
    }
}
