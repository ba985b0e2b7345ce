//! What a plugin writes to its error output, kept in a file of bounded size.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::Settings;

/// A log longer than this begins anew; the last one stays beside it.
const BYTES_MAX: u64 = 1024 * 1024;

/// A plugin's log.
#[derive(Debug, Clone)]
pub struct Log(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    path: PathBuf,
    writing: Mutex<()>,
}

impl Log {
    /// The log of a plugin.
    pub fn of(key: &str, settings: &Settings) -> Self {
        let name = key.replace('/', "__");
        let path = settings.home().join("logs").join("plugins").join(format!("{name}.log"));
        Self(Arc::new(Inside { path, writing: Mutex::new(()) }))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Adds a line; a full disk loses lines and nothing else.
    pub(crate) fn line(&self, text: &str) {
        let _one_at_a_time = self.0.writing.lock();
        if let Err(error) = self.write(text) {
            tracing::debug!(%error, path = %self.0.path.display(), "a plugin's line is lost");
        }
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        let path = &self.0.path;
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        if path.metadata().is_ok_and(|known| known.len() > BYTES_MAX) {
            fs::rename(path, path.with_extension("log.1"))?;
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        writeln!(file, "{text}")
    }
}
