//! Small files of our own in the home: replaced in one step, readable by their owner only.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file whole, or leaves the old one.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!(".petasos-{}-{number}.tmp", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    })();
    if written.is_err() {
        // The first error says what matters.
        drop(fs::remove_file(&draft));
    }
    written
}
