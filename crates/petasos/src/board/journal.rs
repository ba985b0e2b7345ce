//! What a worker says, as it says it. A file that has grown is set aside once; older words go.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use parking_lot::Mutex;
use petasos_contract::Settings;
use serde_json::Value;

const BYTES_MAX: u64 = 2 << 20;

/// The log of one task.
pub(super) struct Journal {
    path: PathBuf,
    bytes_max: u64,
    open: Mutex<Option<(File, u64)>>,
}

impl Journal {
    /// At this place; nothing is opened yet.
    pub(super) fn new(path: PathBuf, settings: &Settings) -> Self {
        let wanted = settings.get("kanban.worker_log_rotate_bytes").and_then(Value::as_u64);
        Self { path, bytes_max: wanted.unwrap_or(BYTES_MAX).max(1), open: Mutex::default() }
    }

    /// Adds words. A log that cannot be written does not hold the worker up.
    pub(super) fn write(&self, words: &[u8]) {
        let mut open = self.open.lock();
        if let Err(error) = self.try_write(&mut open, words) {
            tracing::warn!(%error, "the words of a worker are not kept");
            *open = None;
        }
    }

    fn try_write(&self, open: &mut Option<(File, u64)>, words: &[u8]) -> io::Result<()> {
        if open.as_ref().is_some_and(|(_, size)| *size >= self.bytes_max) {
            *open = None;
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        let (file, size) = match open {
            Some(open) => open,
            none => none.insert(self.opened()?),
        };
        file.write_all(words)?;
        *size = size.saturating_add(u64::try_from(words.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    fn opened(&self) -> io::Result<(File, u64)> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grown_log_is_set_aside_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/t_1.log");
        let log = Journal { path: path.clone(), bytes_max: 8, open: Mutex::default() };
        for words in ["one two ", "three four ", "five"] {
            log.write(words.as_bytes());
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "five");
        assert_eq!(fs::read_to_string(path.with_extension("log.1")).unwrap(), "three four ");
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&path).unwrap());
        assert_eq!(mode & 0o777, 0o600);
    }
}
