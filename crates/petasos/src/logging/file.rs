//! A file that is set aside when it has grown, and begun anew. Several programs may write to it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use petasos_contract::Settings;
use serde_json::Value;

/// So many lines are written between two looks at the size.
const LOOK_EVERY: u32 = 64;

/// The file.
#[derive(Debug)]
pub(super) struct Rolling {
    path: PathBuf,
    file: Option<File>,
    bytes_max: u64,
    kept: u64,
    written: u32,
}

impl Rolling {
    /// The file of this name; nothing is opened yet.
    pub(super) fn new(settings: &Settings, name: &str) -> Self {
        let number = |key: &str| settings.get(key).and_then(Value::as_u64);
        Self {
            path: settings.home().join(super::FOLDER).join(name),
            file: None,
            bytes_max: number("logging.max_size_mb").unwrap_or(5).max(1) << 20,
            kept: number("logging.backup_count").unwrap_or(3),
            written: 0,
        }
    }

    /// Adds a line. A log that cannot be written holds nothing else up.
    pub(super) fn write(&mut self, line: &str) {
        if self.try_write(line).is_err() {
            self.file = None;
        }
    }

    fn try_write(&mut self, line: &str) -> io::Result<()> {
        if self.written.is_multiple_of(LOOK_EVERY) {
            self.look()?;
        }
        self.written = self.written.wrapping_add(1);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(&self.path)?),
        };
        file.write_all(format!("{line}\n").as_bytes())
    }

    /// Sets a grown file aside; lets go of one that another program has set aside.
    fn look(&mut self) -> io::Result<()> {
        let Ok(there) = fs::metadata(&self.path) else {
            self.file = None;
            return Ok(());
        };
        if let Some(own) = &self.file
            && own.metadata()?.ino() != there.ino()
        {
            self.file = None;
        }
        if there.len() > self.bytes_max {
            self.file = None;
            self.set_aside()?;
        }
        Ok(())
    }

    fn set_aside(&self) -> io::Result<()> {
        let lock = open(&aside(&self.path, "lock"))?;
        // Somebody else is at it; the next look sees what they did.
        if lock.try_lock().is_err() {
            return Ok(());
        }
        if self.kept == 0 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.kept).rev() {
            let older = aside(&self.path, &number.to_string());
            if older.exists() {
                fs::rename(&older, aside(&self.path, &(number + 1).to_string()))?;
            }
        }
        fs::rename(&self.path, aside(&self.path, "1"))
    }
}

/// `agent.log.1` and its like.
pub(crate) fn aside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(end);
    path.with_file_name(name)
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grown_file_is_set_aside_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Rolling {
            path: folder.path().join("agent.log"),
            file: None,
            bytes_max: 2000,
            kept: 2,
            written: 0,
        };
        for number in 0..1000 {
            log.write(&format!("line {number:04} {}", "x".repeat(40)));
        }
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["agent.log", "agent.log.1", "agent.log.2", "agent.log.lock"]);
        let last = fs::read_to_string(folder.path().join("agent.log")).unwrap();
        assert!(last.ends_with(&format!("line 0999 {}\n", "x".repeat(40))));
    }
}
