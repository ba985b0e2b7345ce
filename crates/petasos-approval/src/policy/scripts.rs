//! The files that a command would run, read while it is judged and pinned: what was read must be
//! the same when the command runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::plan::Pin;
use sha2::{Digest as _, Sha256};

use super::paths;
use petasos_analysis::Scripts;

/// Larger files are programs whose text says little.
const BYTES_MAX: u64 = 64 << 10;

/// The files of this machine, for one judgement.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// What the agent wrote in this session, behind all links.
    written: Arc<BTreeSet<PathBuf>>,
    pins: Mutex<Vec<Pin>>,
}

impl Disk {
    pub(crate) fn new(written: Arc<BTreeSet<PathBuf>>) -> Self {
        Self { written, pins: Mutex::default() }
    }

    /// What was read.
    pub(crate) fn pins(&self) -> Vec<Pin> {
        std::mem::take(&mut self.pins.lock())
    }

    fn read(&self, path: &str, by_agent: bool) -> Option<String> {
        if by_agent && self.written.is_empty() {
            return None;
        }
        let root = Path::new("/");
        let path = paths::real(Path::new(path), root, root);
        if self.written.contains(&path) != by_agent {
            return None;
        }
        let bytes = small(&path)?;
        let pin = Pin::Content { sha256: Sha256::digest(&bytes).into(), path };
        let text = String::from_utf8(bytes).ok()?;
        let mut pins = self.pins.lock();
        if !pins.contains(&pin) {
            pins.push(pin);
        }
        Some(text)
    }
}

impl Scripts for Disk {
    fn written(&self, path: &str) -> Option<String> {
        self.read(path, true)
    }

    fn paths(&self) -> Vec<String> {
        self.written.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect()
    }

    fn foreign(&self, path: &str) -> Option<String> {
        self.read(path, false)
    }
}

/// The bytes of a regular file that is not large.
fn small(path: &Path) -> Option<Vec<u8>> {
    // Asked first: opening a pipe would wait for somebody.
    let known = std::fs::metadata(path).ok()?;
    let fits = known.is_file() && known.len() <= BYTES_MAX;
    fits.then(|| std::fs::read(path).ok()).flatten()
}
