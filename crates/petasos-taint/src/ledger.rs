//! Files that strangers wrote, by path and by content, so that a later conversation which reads one
//! knows it. A line a file, in `provenance.jsonl` of the home.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::Settings;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Folders of the home that hold nothing but what came from outside.
const FOREIGN: [&str; 6] = ["web", "browser", "images", "videos", "audio", "screenshots"];
/// Larger files are known by their path alone.
const HASHED_BYTES_MAX: u64 = 20 << 20;
/// More lines are a home that collects; the oldest are forgotten.
const LINES_MAX: usize = 20_000;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    path: PathBuf,
    /// Empty when the label was taken away.
    source: String,
    sha256: Option<String>,
    at: u64,
}

/// The list of one home.
#[derive(Debug, Clone)]
pub struct Ledger {
    file: PathBuf,
    cache: PathBuf,
}

impl Ledger {
    /// The list of the home of these settings.
    pub fn of(settings: &Settings) -> Self {
        let home = settings.home();
        Self { file: home.join("provenance.jsonl"), cache: home.join("cache") }
    }

    /// Where a file came from, when strangers wrote it: its place says so, it was noted, or what
    /// it holds was.
    pub fn source(&self, path: &Path) -> Option<String> {
        self.snapshot().source(path)
    }

    /// The list as it is now, for several questions.
    pub fn snapshot(&self) -> LedgerSnapshot {
        LedgerSnapshot { cache: self.cache.clone(), lines: self.lines() }
    }

    /// Notes that a file holds strangers' words.
    pub fn note(&self, path: &Path, source: &str) -> io::Result<()> {
        self.append(path, source, digest(path))
    }

    /// A file was written anew without strangers' words: it is the user's own again.
    pub fn forgive(&self, path: &Path) -> io::Result<()> {
        let known = self.lines().iter().rev().find(|line| line.path == path).cloned();
        match known.filter(|line| !line.source.is_empty()) {
            Some(_) => self.append(path, "", None),
            None => Ok(()),
        }
    }

    fn append(&self, path: &Path, source: &str, sha256: Option<String>) -> io::Result<()> {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let line = Line { path: path.to_path_buf(), source: source.to_owned(), sha256, at };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        // One write of one line: two programs that note at once do not mix.
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file)?;
        file.write_all(text.as_bytes())
    }

    fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let newest = lines.get(lines.len().saturating_sub(LINES_MAX)..).unwrap_or_default();
        newest.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// The list at one moment.
#[derive(Debug, Clone)]
pub struct LedgerSnapshot {
    cache: PathBuf,
    lines: Vec<Line>,
}

impl LedgerSnapshot {
    /// Where a file came from, when strangers wrote it: its place says so, it was noted, or what
    /// it holds was.
    pub fn source(&self, path: &Path) -> Option<String> {
        if let Ok(below) = path.strip_prefix(&self.cache) {
            let first = below.components().next()?.as_os_str().to_str()?;
            return FOREIGN.contains(&first).then(|| format!("cache/{}", below.display()));
        }
        let lines = &self.lines;
        if let Some(line) = lines.iter().rev().find(|line| line.path == path) {
            return (!line.source.is_empty()).then(|| line.source.clone());
        }
        if lines.is_empty() {
            return None;
        }
        let digest = digest(path)?;
        let same = lines.iter().rev().find(|line| line.sha256.as_ref() == Some(&digest))?;
        (!same.source.is_empty()).then(|| same.source.clone())
    }
}

fn digest(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > HASHED_BYTES_MAX {
        return None;
    }
    let digest: [u8; 32] = Sha256::digest(std::fs::read(path).ok()?).into();
    let (one, two) = digest.split_at(16);
    let number = |half: &[u8]| u128::from_be_bytes(half.try_into().unwrap_or_default());
    Some(format!("{:032x}{:032x}", number(one), number(two)))
}
