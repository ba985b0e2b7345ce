//! The file that holds a whole output when the model sees only its two ends.
//!
//! A spill that cannot be written is told by its absence in the result: the command has run and
//! its ends are there, so a full disk must not turn it into a failure.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use petasos_contract::path::HostPath;
use tokio::fs::{DirBuilder, File, OpenOptions};
use tokio::io::AsyncWriteExt;

/// More than this is not kept.
const BYTES_MAX: u64 = 4 << 30;

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
    gathered: String,
    written: u64,
}

impl Spill {
    pub(crate) fn new(temp: &Path) -> Self {
        Self {
            folder: temp.join("petasos-results"),
            file: None,
            gathered: String::new(),
            written: 0,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Makes the file and writes what came before.
    pub(super) async fn open(&mut self, before: &str) {
        match self.create().await {
            Ok(file) => self.file = Some(file),
            Err(error) => {
                tracing::warn!(%error, folder = %self.folder.display(), "cannot keep whole output");
                return;
            }
        }
        self.write(before).await;
    }

    async fn create(&self) -> std::io::Result<(File, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).await?;
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
        if self.gathered.len() >= GATHERED_BYTES {
            self.hand_over().await;
        }
    }

    async fn hand_over(&mut self) {
        let gathered = std::mem::take(&mut self.gathered);
        let Some((file, path)) = &mut self.file else { return };
        if let Err(error) = file.write_all(gathered.as_bytes()).await {
            tracing::warn!(%error, path = %path.display(), "whole output is not kept");
            self.file = None;
        }
    }

    /// Where the whole output is.
    pub(super) async fn close(mut self) -> Option<HostPath> {
        self.hand_over().await;
        let (mut file, path) = self.file.take()?;
        match file.flush().await {
            Ok(()) => Some(HostPath::new(path)),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "whole output is not kept");
                None
            }
        }
    }
}
