//! `processes.json`: what a later program must know to find the jobs of an earlier one.
//!
//! Several programs may share one home, so each edit is made under a lock and touches only its
//! own entries, and a job whose program still lives is left to it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use petasos_contract::jobs::{JobId, Notify};
use petasos_contract::{SessionId, TaskId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::tree;

/// One job, as it is written down. Texts are masked before they come here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) session_id: JobId,
    pub(super) session_key: SessionId,
    pub(super) task: TaskId,
    pub(super) backend: String,
    pub(super) command: String,
    pub(super) cwd: String,
    pub(super) pid: Option<u32>,
    pub(super) started_at: f64,
    pub(super) notify: Notify,
    pub(super) handle: String,
    pub(super) log: PathBuf,
    pub(super) program: Program,
}

/// The program that holds a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Program {
    pid: u32,
    started: u64,
}

impl Program {
    /// This one.
    pub(super) fn this() -> Self {
        let pid = std::process::id();
        Self { pid, started: tree::start_time(pid).unwrap_or(0) }
    }

    /// Whether it is another one that still lives.
    pub(super) fn is_another(self) -> bool {
        self != Self::this() && tree::start_time(self.pid) == Some(self.started)
    }
}

type Records = BTreeMap<String, Record>;

/// The file, which may not exist yet.
#[derive(Debug, Clone)]
pub(super) struct Book {
    path: PathBuf,
}

impl Book {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes a job down.
    pub(super) fn add(&self, record: Record) -> io::Result<()> {
        self.edit(|records| {
            records.insert(record.session_id.as_str().to_owned(), record);
        })
    }

    /// Strikes a job out.
    pub(super) fn remove(&self, job: &JobId) -> io::Result<()> {
        self.edit(|records| {
            records.remove(job.as_str());
        })
    }

    /// Takes over every job that nobody holds: not another program that lives, and not we.
    pub(super) fn take_over(&self, is_held: impl Fn(&JobId) -> bool) -> io::Result<Vec<Record>> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        let mut taken = Vec::new();
        self.edit(|records| {
            for record in records.values_mut() {
                if record.program.is_another() || is_held(&record.session_id) {
                    continue;
                }
                record.program = Program::this();
                taken.push(record.clone());
            }
        })?;
        Ok(taken)
    }

    fn edit(&self, change: impl FnOnce(&mut Records)) -> io::Result<()> {
        let folder = self.path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let lock = self.path.with_extension("lock");
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(lock)?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let mut records = read(&self.path)?;
        change(&mut records);
        let draft = self.path.with_extension("draft");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(serde_json::to_string_pretty(&records)?.as_bytes())?;
        fs::rename(draft, &self.path)
    }
}

fn read(path: &Path) -> io::Result<Records> {
    match File::open(path) {
        Ok(file) => Ok(serde_json::from_reader(io::BufReader::new(file))?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Records::new()),
        Err(error) => Err(error),
    }
}
