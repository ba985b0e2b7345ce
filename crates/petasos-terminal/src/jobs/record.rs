//! `processes.json`: what a later program must know to find the jobs of an earlier one.
//!
//! Several programs may share one home, so each edit is made under a lock and touches only its
//! own entries, and a job whose program still lives is left to it.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use petasos_contract::jobs::{Completion, JobId, Notify};
use petasos_contract::{SessionId, TaskId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::tree;

/// One job, as it is written down. Texts are masked before they come here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// How it ended, once it has.
    #[serde(default)]
    pub(super) ended: Option<Ended>,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) code: i32,
    pub(super) completion: Completion,
    /// In seconds since 1970.
    pub(super) at: f64,
}

/// Whose a job is.
#[derive(Debug)]
pub(super) enum Hold {
    /// It is over.
    Ended(Ended),
    /// We have it now: nobody else did.
    Ours,
    /// Another program that lives has it.
    Theirs,
    /// Nothing is known of it any more.
    Unknown,
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

/// What a look into the book found.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// The jobs that are wanted, and whose they are.
    pub(super) wanted: Vec<(Record, Hold)>,
    /// Jobs that ended long ago; they are in the book no more.
    pub(super) expired: Vec<Record>,
    /// The logs of all jobs that are in the book.
    pub(super) logs: HashSet<PathBuf>,
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

    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Writes a job down.
    pub(super) fn add(&self, record: Record) -> io::Result<()> {
        self.edit(|records| {
            records.insert(record.session_id.as_str().to_owned(), record);
        })
    }

    /// A job has ended. It stays listed for a while.
    pub(super) fn finish(&self, job: &JobId, ended: Ended) -> io::Result<()> {
        self.edit(|records| {
            if let Some(record) = records.get_mut(job.as_str()) {
                record.ended.get_or_insert(ended);
            }
        })
    }

    /// Strikes a job out, unless another program that lives has it; tells whether it is gone.
    pub(super) fn remove(&self, job: &JobId) -> io::Result<bool> {
        let mut is_gone = true;
        self.edit(|records| {
            is_gone = records.get(job.as_str()).is_none_or(|record| !record.program.is_another());
            if is_gone {
                records.remove(job.as_str());
            }
        })?;
        Ok(is_gone)
    }

    /// Every job that is wanted, and whose it is; those that nobody holds become ours. Jobs that
    /// ended before this time are struck out and come back apart.
    pub(super) fn claim_all(
        &self,
        is_wanted: impl Fn(&Record) -> bool,
        since: f64,
    ) -> io::Result<Claims> {
        let mut claims = Claims::default();
        if !self.exists() {
            return Ok(claims);
        }
        self.edit(|records| {
            records.retain(|_, record| {
                let is_old = record.ended.as_ref().is_some_and(|ended| ended.at < since);
                if is_old {
                    claims.expired.push(record.clone());
                }
                !is_old
            });
            claims.logs = records.values().map(|record| record.log.clone()).collect();
            for record in records.values_mut().filter(|record| is_wanted(record)) {
                let hold = record.claim();
                claims.wanted.push((record.clone(), hold));
            }
        })?;
        Ok(claims)
    }

    /// Whose a job is; one that nobody holds becomes ours.
    pub(super) fn claim(&self, job: &JobId) -> io::Result<Hold> {
        let mut hold = Hold::Unknown;
        self.edit(|records| {
            if let Some(record) = records.get_mut(job.as_str()) {
                hold = record.claim();
            }
        })?;
        Ok(hold)
    }

    /// Changes the records under a lock. Each job has a file of its own as well, from which a
    /// damaged book is made again.
    fn edit(&self, change: impl FnOnce(&mut Records)) -> io::Result<()> {
        let folder = self.path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let lock = self.path.with_extension("lock");
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(lock)?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let (mut records, is_damaged) = match read(&self.path) {
            Ok(records) => (records, false),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tracing::warn!(%error, path = %self.path.display(), "the list of jobs is made again");
                (self.rebuilt(), true)
            }
            Err(error) => return Err(error),
        };
        let before = records.clone();
        change(&mut records);
        if records == before && !is_damaged {
            return Ok(());
        }
        for (name, record) in &records {
            if before.get(name) != Some(record) {
                replace(&file_of(&record.log), record)?;
            }
        }
        let gone = before.iter().filter(|(name, _)| !records.contains_key(*name));
        for (_, record) in gone {
            match fs::remove_file(file_of(&record.log)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        replace(&self.path, &records)
    }

    /// The records as the files of the jobs tell them.
    fn rebuilt(&self) -> Records {
        let folder = self.path.with_file_name("jobs");
        let beside = self.path.parent().map(Path::to_owned).unwrap_or_default();
        let folders = [folder, beside].into_iter().filter_map(|folder| fs::read_dir(folder).ok());
        let files = folders.flatten().flatten().map(|entry| entry.path());
        let records = files
            .filter(|path| path.extension() == Some("json".as_ref()))
            .filter_map(|path| serde_json::from_slice::<Record>(&fs::read(path).ok()?).ok());
        records.map(|record| (record.session_id.as_str().to_owned(), record)).collect()
    }
}

impl Record {
    /// Whose it is; ours when nobody else has it.
    fn claim(&mut self) -> Hold {
        if let Some(ended) = &self.ended {
            return Hold::Ended(ended.clone());
        }
        if self.program.is_another() {
            return Hold::Theirs;
        }
        self.program = Program::this();
        Hold::Ours
    }
}

/// Where the record of one job is.
fn file_of(log: &Path) -> PathBuf {
    log.with_extension("json")
}

/// Writes a file whole or not at all.
fn replace(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(serde_json::to_string_pretty(content)?.as_bytes())?;
    file.sync_data()?;
    fs::rename(draft, path)
}

fn read(path: &Path) -> io::Result<Records> {
    match File::open(path) {
        Ok(file) => serde_json::from_reader(io::BufReader::new(file))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Records::new()),
        Err(error) => Err(error),
    }
}
