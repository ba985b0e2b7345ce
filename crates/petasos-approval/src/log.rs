//! The decision log: one line a decision in `logs/decisions.jsonl`, each chained to the one before.
//!
//! Lines are appended under a lock, with secrets masked. A line that a killed writer left half is
//! kept and told; a line that was changed, removed or put in between is found by [`verify`]. What it
//! cannot find is a cut end: keep the head that it reports elsewhere to see that, too.

mod chain;
mod entry;

use petasos_redact::Redactor;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use petasos_config::ConfigError;
use serde::Serialize;

pub(crate) use entry::Record;
pub use entry::{Entry, Outcome, Reason};

/// Builds what the first entry needs, for programs that have a moment to spare before it.
pub fn warm() {
    Redactor::warm();
}

/// No line is longer, so that the last one is found in it.
const TAIL_BYTES: u64 = 256 * 1024;
/// Most lines are far shorter.
const TAIL_BYTES_FIRST: u64 = 8 * 1024;

/// Why the log could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The lock could not be had.
    #[error(transparent)]
    Lock(#[from] ConfigError),
    /// The file could not be read or written.
    #[error("cannot use `{}`: {problem}; mend its permissions or move it away", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        problem: io::Error,
    },
}

/// What a check of the whole log found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Lines that hold.
    pub entries: u64,
    /// Lines that a killed writer left half, by number.
    pub torn: Vec<u64>,
    /// The hash of the last line, to be kept elsewhere.
    pub head: Option<String>,
    /// The first line that does not hold.
    pub broken: Option<Broken>,
}

/// A line that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// Its number, from one.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

/// Where the log of a home is.
pub fn file(home: &Path) -> PathBuf {
    home.join("logs").join("decisions.jsonl")
}

/// Adds one decision.
pub(crate) fn append(home: &Path, record: Record) -> Result<(), LogError> {
    let path = file(home);
    let failed = |problem| LogError::Io { file: path.clone(), problem };
    let lock = petasos_fs::lock(&path).map_err(ConfigError::from)?;
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut log = options.open(&path).map_err(failed)?;
    let end = end_of(&mut log).map_err(failed)?;
    let mut text = String::new();
    if !end.whole {
        // The half line stays as a line of its own.
        text.push('\n');
    }
    let (seq, prev) = end.last.map_or((1, None), |(seq, hash)| (seq + 1, Some(hash)));
    text.push_str(&chain::line(&record.into_entry(seq, prev)).map_err(failed)?);
    text.push('\n');
    log.write_all(text.as_bytes()).map_err(failed)?;
    drop(lock);
    Ok(())
}

/// The last decisions, oldest first; half and foreign lines are left out.
pub fn read(home: &Path, last: usize) -> Result<Vec<Entry>, LogError> {
    let mut kept = std::collections::VecDeque::new();
    each_line(home, |_, line| {
        if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
            kept.push_back(entry);
            if kept.len() > last {
                kept.pop_front();
            }
        }
        true
    })?;
    Ok(kept.into())
}

/// Checks every line of the log.
pub fn verify(home: &Path) -> Result<Verified, LogError> {
    let mut found = Verified { entries: 0, torn: Vec::new(), head: None, broken: None };
    each_line(home, |number, line| {
        match chain::check(line, found.head.as_deref()) {
            chain::Link::Holds(hash) => {
                found.entries += 1;
                found.head = Some(hash);
            }
            chain::Link::Torn => found.torn.push(number),
            chain::Link::Broken(what) => found.broken = Some(Broken { line: number, what }),
        }
        found.broken.is_none()
    })?;
    Ok(found)
}

fn each_line(home: &Path, mut visit: impl FnMut(u64, &[u8]) -> bool) -> Result<(), LogError> {
    let path = file(home);
    let failed = |problem| LogError::Io { file: path.clone(), problem };
    let log = match File::open(&path) {
        Ok(log) => log,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let mut reader = BufReader::new(log);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if !text.is_empty() && !visit(number, text) {
            return Ok(());
        }
    }
}

struct End {
    last: Option<(u64, String)>,
    whole: bool,
}

/// The last line that holds, and whether the file ends with a whole one.
fn end_of(log: &mut File) -> io::Result<End> {
    let length = log.metadata()?.len();
    let mut end = End { last: None, whole: true };
    for bytes in [TAIL_BYTES_FIRST, TAIL_BYTES] {
        let start = length.saturating_sub(bytes);
        log.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::with_capacity(usize::try_from(length - start).unwrap_or(0));
        log.take(length - start).read_to_end(&mut tail)?;
        end.whole = tail.last().is_none_or(|byte| *byte == b'\n');
        // What stands before the first line end may be the rest of a longer line.
        let whole_lines = tail.iter().position(|byte| *byte == b'\n').filter(|_| start > 0);
        let lines = tail.get(whole_lines.map_or(0, |at| at + 1)..).unwrap_or_default();
        end.last = lines.rsplit(|byte| *byte == b'\n').find_map(chain::identity);
        if end.last.is_some() || start == 0 {
            break;
        }
    }
    Ok(end)
}

#[cfg(test)]
mod tests;
