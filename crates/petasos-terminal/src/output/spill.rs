//! The file that holds a whole output when the model sees only its two ends.
//!
//! A spill that cannot be written is told by its absence in the result: the command has run and
//! its ends are there, so a full disk must not turn it into a failure. The folder has a quota:
//! whoever adds a file removes what is old, and the oldest of what is too much.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petasos_contract::path::HostPath;
use tokio::fs::{DirBuilder, File, OpenOptions};
use tokio::io::AsyncWriteExt;

/// More than this of one output is not kept.
const BYTES_MAX: u64 = 256 << 20;

/// All of them together may take so much.
const QUOTA_BYTES: u64 = 1 << 30;

/// How long one is kept.
const KEPT_FOR: Duration = Duration::from_hours(72);

/// One that somebody may still write to, or has just been shown, stays whatever the quota says.
const YOUNG: Duration = Duration::from_mins(10);

/// A program prints in pieces of a few KB; each write of the file is a hop to another thread, so
/// pieces are gathered up to this size.
const GATHERED_BYTES: usize = 256 * 1024;

/// Makes names of one process differ; it carries no meaning.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A file that appears when it is needed.
#[derive(Debug)]
pub(crate) struct Spill {
    folder: PathBuf,
    file: Option<(File, PathBuf)>,
    /// It could not be written: no other is tried.
    has_failed: bool,
    gathered: String,
    written: u64,
}

impl Spill {
    pub(crate) fn new(temp: &Path) -> Self {
        Self {
            folder: temp.join("petasos-results"),
            file: None,
            has_failed: false,
            gathered: String::new(),
            written: 0,
        }
    }

    /// Whether it is open, or was and will not be again.
    pub(super) fn is_begun(&self) -> bool {
        self.file.is_some() || self.has_failed
    }

    /// Makes the file and writes what came before.
    pub(super) async fn open(&mut self, before: &str) {
        match self.create().await {
            Ok(file) => self.file = Some(file),
            Err(error) => {
                self.has_failed = true;
                tracing::warn!(%error, folder = %self.folder.display(), "cannot keep whole output");
                return;
            }
        }
        self.write(before).await;
    }

    async fn create(&self) -> std::io::Result<(File, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).await?;
        let folder = self.folder.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || sweep(&folder)).await {
            tracing::warn!(%error, "old output was not removed");
        }
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("terminal-{}-{serial}-{}.txt", std::process::id(), crate::ids::hex(4));
        let path = self.folder.join(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path).await?;
        Ok((file, path))
    }

    /// Adds text.
    pub(super) async fn write(&mut self, text: &str) {
        if self.file.is_none() || self.written > BYTES_MAX {
            return;
        }
        self.written += text.len() as u64;
        self.gathered.push_str(text);
        if self.written > BYTES_MAX {
            self.gathered.push_str("\n[more output was not kept]\n");
        }
        if self.gathered.len() >= GATHERED_BYTES {
            self.hand_over().await;
        }
    }

    async fn hand_over(&mut self) {
        let gathered = std::mem::take(&mut self.gathered);
        let Some((file, _)) = &mut self.file else { return };
        if let Err(error) = file.write_all(gathered.as_bytes()).await {
            self.give_up(&error).await;
        }
    }

    /// Half of it helps nobody and fills the disk.
    async fn give_up(&mut self, error: &std::io::Error) {
        self.has_failed = true;
        let Some((file, path)) = self.file.take() else { return };
        tracing::warn!(%error, path = %path.display(), "whole output is not kept");
        drop(file);
        if let Err(error) = tokio::fs::remove_file(&path).await {
            tracing::warn!(%error, path = %path.display(), "a part of it stays");
        }
    }

    /// Where the whole output is.
    pub(super) async fn close(mut self) -> Option<HostPath> {
        self.hand_over().await;
        let (file, _) = self.file.as_mut()?;
        match file.flush().await {
            Ok(()) => self.file.take().map(|(_, path)| HostPath::new(path)),
            Err(error) => {
                self.give_up(&error).await;
                None
            }
        }
    }
}

/// Removes what is old, and the oldest of what is too much.
fn sweep(folder: &Path) {
    let mut total = 0;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        let age = about.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
        if about.is_file() {
            total += about.len();
            files.push((age, about.len(), entry.path()));
        }
    }
    files.sort();
    for (age, size, path) in files.into_iter().rev() {
        if age < YOUNG || (age < KEPT_FOR && total <= QUOTA_BYTES) {
            return;
        }
        match std::fs::remove_file(&path) {
            Ok(()) => total -= size,
            Err(error) => tracing::debug!(%error, path = %path.display(), "old output stays"),
        }
    }
}
