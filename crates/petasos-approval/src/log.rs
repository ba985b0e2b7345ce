//! The decision log as a file: one line a decision in `logs/decisions.jsonl`, each chained to the
//! one before.
//!
//! Lines are appended under a lock, with secrets redacted. A line that a killed writer left half is
//! kept and reported; a line that was changed, removed or put in between is found by [`verify`].

mod chain;
mod entry;

use std::fs::{File, OpenOptions};
use std::future::ready;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use petasos_config::ConfigError;
use petasos_redact::Redactor;
use petasos_store::{DecisionFuture, SessionScope};

pub(crate) use entry::entry;
pub use petasos_store::{
    BrokenEntry, DecisionCheck, DecisionEntry, DecisionLog, DecisionLogError, DecisionOutcome,
    DecisionReason,
};

/// Builds what the first entry needs, for programs that have a moment to spare before it.
pub fn warm() {
    Redactor::warm();
}

/// No line is longer, so that the last one is found in it.
const TAIL_BYTES: u64 = 256 * 1024;
/// Most lines are far shorter.
const TAIL_BYTES_FIRST: u64 = 8 * 1024;

/// The decision log of one home.
#[derive(Debug)]
pub struct DecisionFile {
    home: PathBuf,
}

impl DecisionFile {
    /// The log of this home, which need not be there yet.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }
}

impl DecisionLog for DecisionFile {
    fn append(&self, entry: DecisionEntry) -> DecisionFuture<'_, u64> {
        Box::pin(ready(append(&self.home, entry)))
    }

    fn read<'a>(
        &'a self,
        last: usize,
        scope: &'a SessionScope,
    ) -> DecisionFuture<'a, Vec<DecisionEntry>> {
        Box::pin(ready(read_seen(&self.home, last, scope)))
    }

    fn verify(&self) -> DecisionFuture<'_, DecisionCheck> {
        Box::pin(ready(verify(&self.home)))
    }
}

/// Where the log of a home is.
pub fn file(home: &Path) -> PathBuf {
    home.join("logs").join("decisions.jsonl")
}

/// Adds one decision.
fn append(home: &Path, entry: DecisionEntry) -> Result<u64, DecisionLogError> {
    let path = file(home);
    let failed = |problem| unusable(&path, &problem);
    let lock = petasos_fs::lock(&path)
        .map_err(|error| DecisionLogError(ConfigError::from(error).to_string()))?;
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
    let entry = DecisionEntry { seq, prev, ..entry };
    text.push_str(&chain::line(&entry).map_err(failed)?);
    text.push('\n');
    log.write_all(text.as_bytes()).map_err(failed)?;
    drop(lock);
    Ok(seq)
}

/// The last decisions of everybody, oldest first; half and foreign lines are left out.
pub fn read(home: &Path, last: usize) -> Result<Vec<DecisionEntry>, DecisionLogError> {
    read_seen(home, last, &SessionScope::Everyone)
}

fn read_seen(
    home: &Path,
    last: usize,
    scope: &SessionScope,
) -> Result<Vec<DecisionEntry>, DecisionLogError> {
    let mut kept = std::collections::VecDeque::new();
    each_line(home, |_, line| {
        if let Ok(entry) = serde_json::from_slice::<DecisionEntry>(line)
            && scope.sees(entry.owner.as_ref())
        {
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
pub fn verify(home: &Path) -> Result<DecisionCheck, DecisionLogError> {
    let mut found = DecisionCheck::default();
    each_line(home, |number, line| {
        match chain::check(line, found.head.as_deref()) {
            chain::Link::Holds(hash) => {
                found.entries += 1;
                found.head = Some(hash);
            }
            chain::Link::Torn => found.torn.push(number),
            chain::Link::Broken(what) => found.broken = Some(BrokenEntry { line: number, what }),
        }
        found.broken.is_none()
    })?;
    Ok(found)
}

fn each_line(
    home: &Path,
    mut visit: impl FnMut(u64, &[u8]) -> bool,
) -> Result<(), DecisionLogError> {
    let path = file(home);
    let failed = |problem| unusable(&path, &problem);
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

fn unusable(file: &Path, problem: &io::Error) -> DecisionLogError {
    let file = file.display();
    DecisionLogError(format!(
        "cannot use `{file}`: {problem}; mend its permissions or move it away"
    ))
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
