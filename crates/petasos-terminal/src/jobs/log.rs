//! A job's output: the last part in memory, more of it on disk, counted in lines.
//!
//! The disk part rolls: when it is full it becomes the old part and a new one begins, so that a
//! job that never stops talking cannot fill the disk.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use petasos_contract::jobs::{Lines, LogPage};

/// What is kept in memory.
const MEMORY_CHARS_MAX: usize = 200_000;
/// What one part on disk may hold; there are two.
const PART_BYTES_MAX: u64 = 32 << 20;

/// The output of one job.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    disk: Disk,
    written: u64,
    /// Lines that rolled away with the part before the old one.
    lines_gone: u64,
    lines_old: u64,
    lines_new: u64,
    ends_open: bool,
    recent: VecDeque<String>,
    recent_chars: usize,
}

/// The part on disk.
#[derive(Debug)]
enum Disk {
    /// We write it.
    Writing(File),
    /// It is there, and we do not write it: another program does, or it is at its end.
    Reading,
    /// It cannot be written.
    Lost,
}

impl Log {
    /// Opens a log; a log that cannot be written lives in memory only.
    pub(super) fn open(path: PathBuf) -> Self {
        Self::resume(path, None)
    }

    /// Opens a log that another program began; what it wrote after this length was not settled and
    /// comes again.
    pub(super) fn resume(path: PathBuf, settled: Option<u64>) -> Self {
        let disk = match create(&path).and_then(|file| cut(file, settled)) {
            Ok(file) => Disk::Writing(file),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "a job's log is not on disk");
                Disk::Lost
            }
        };
        Self::with(path, disk)
    }

    /// The log of a job that another program holds, or that is over.
    pub(super) fn follow(path: PathBuf) -> Self {
        Self::with(path, Disk::Reading)
    }

    fn with(path: PathBuf, disk: Disk) -> Self {
        let written = fs::metadata(&path).map_or(0, |about| about.len());
        let lines_new = count_lines(&path);
        Self {
            lines_old: count_lines(&old(&path)),
            path,
            disk,
            written,
            lines_gone: 0,
            lines_new,
            ends_open: false,
            recent: VecDeque::new(),
            recent_chars: 0,
        }
    }

    /// Adds clean text.
    pub(super) fn push(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.lines_new += text.matches('\n').count() as u64;
        self.ends_open = !text.ends_with('\n');
        if let Disk::Writing(file) = &mut self.disk
            && let Err(error) = file.write_all(text.as_bytes())
        {
            tracing::warn!(%error, path = %self.path.display(), "a job's log ends here");
            self.disk = Disk::Lost;
        }
        self.written += text.len() as u64;
        if self.written > PART_BYTES_MAX {
            self.roll();
        }
        self.recent_chars += text.chars().count();
        self.recent.push_back(text);
        while let Some(first) = self.recent.front()
            && self.recent_chars - first.chars().count() >= MEMORY_CHARS_MAX
        {
            self.recent_chars -= first.chars().count();
            self.recent.pop_front();
        }
    }

    /// How long the part on disk is.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Nothing more comes: gives the descriptor back.
    pub(super) fn close(&mut self) {
        if matches!(self.disk, Disk::Writing(_)) {
            self.disk = Disk::Reading;
        }
    }

    fn roll(&mut self) {
        self.disk = Disk::Lost;
        let rolled = fs::rename(&self.path, old(&self.path)).and_then(|()| create(&self.path));
        match rolled {
            Ok(file) => {
                self.disk = Disk::Writing(file);
                self.written = 0;
                self.lines_gone += self.lines_old;
                self.lines_old = std::mem::take(&mut self.lines_new);
            }
            Err(error) => tracing::warn!(%error, "a job's log cannot roll; it ends here"),
        }
    }

    /// The last characters.
    pub(super) fn tail(&self, chars_max: usize) -> String {
        if self.recent.is_empty() && matches!(self.disk, Disk::Reading) {
            return tail_of(&self.path, chars_max).unwrap_or_default();
        }
        let mut parts = Vec::new();
        let mut chars = 0;
        for part in self.recent.iter().rev() {
            parts.push(part.as_str());
            chars += part.chars().count();
            if chars >= chars_max {
                break;
            }
        }
        let text: String = parts.into_iter().rev().collect();
        text.chars().skip(chars.saturating_sub(chars_max)).collect()
    }

    /// What a reader needs to page without holding up the writer.
    pub(super) fn pages(&mut self) -> Pages {
        let on_disk = !matches!(self.disk, Disk::Lost);
        if self.recent.is_empty() && matches!(self.disk, Disk::Reading) {
            // Others write it.
            (self.lines_old, self.lines_new) =
                (count_lines(&old(&self.path)), count_lines(&self.path));
        }
        Pages {
            path: self.path.clone(),
            on_disk,
            memory: if on_disk { String::new() } else { self.tail(MEMORY_CHARS_MAX) },
            gone: self.lines_gone,
            total: self.lines_gone + self.lines_old + self.lines_new + u64::from(self.ends_open),
        }
    }
}

/// A view of a log at one moment.
#[derive(Debug)]
pub(super) struct Pages {
    path: PathBuf,
    on_disk: bool,
    memory: String,
    gone: u64,
    total: u64,
}

impl Pages {
    /// Reads the wanted lines; blocks.
    pub(super) fn read(&self, lines: Lines) -> io::Result<LogPage> {
        let (skip, limit) = match lines {
            Lines::Last(count) => (self.total.saturating_sub(count), count),
            Lines::From { offset, limit } => (offset, limit),
        };
        let skip = skip.max(self.gone);
        let wanted = |reader: &mut dyn Iterator<Item = io::Result<String>>| {
            let skipped = usize::try_from(skip - self.gone).unwrap_or(usize::MAX);
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            reader.skip(skipped).take(limit).collect::<io::Result<Vec<String>>>()
        };
        let found = if self.on_disk {
            let old = lines_of(&old(&self.path)).into_iter().flatten();
            let new = lines_of(&self.path)?;
            wanted(&mut old.chain(new))?
        } else {
            wanted(&mut self.memory.split_inclusive('\n').map(|line| Ok(line.to_owned())))?
        };
        let last = skip + found.len() as u64;
        let showing = if found.is_empty() {
            format!("none of {}", self.total)
        } else {
            format!("{}-{last} of {}", skip + 1, self.total)
        };
        Ok(LogPage { output: found.concat(), total_lines: self.total, showing })
    }
}

fn lines_of(path: &Path) -> io::Result<impl Iterator<Item = io::Result<String>> + use<>> {
    let mut reader = BufReader::new(File::open(path)?);
    Ok(std::iter::from_fn(move || {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(Ok(line)),
            Err(error) => Some(Err(error)),
        }
    }))
}

fn count_lines(path: &Path) -> u64 {
    lines_of(path).map_or(0, |lines| lines.count() as u64)
}

fn old(path: &Path) -> PathBuf {
    path.with_extension("old")
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Drops what comes after this length.
fn cut(file: File, settled: Option<u64>) -> io::Result<File> {
    if let Some(length) = settled
        && file.metadata()?.len() > length
    {
        file.set_len(length)?;
    }
    Ok(file)
}

/// The last characters of a file.
fn tail_of(path: &Path, chars_max: usize) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4 * chars_max as u64)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.chars().skip(text.chars().count().saturating_sub(chars_max)).collect())
}

/// Logs that no record names and nobody wrote to for so long were left by a killed program.
const LEFT_FOR: Duration = Duration::from_hours(168);

/// Removes the logs that killed programs left.
pub(super) fn sweep(folder: &Path, is_known: impl Fn(&Path) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let written = entry.metadata().and_then(|about| about.modified());
        let is_old = written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > LEFT_FOR));
        if path.extension() == Some("log".as_ref()) && is_old && !is_known(&path) {
            discard(&path);
        }
    }
}

/// Removes the files of a log.
pub(super) fn discard(path: &Path) {
    for path in [path.to_owned(), old(path)] {
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(%error, path = %path.display(), "an old log stays behind");
        }
    }
}
