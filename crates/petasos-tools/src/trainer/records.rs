//! The runs of a home. A record says what became of a run, also after its process is gone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use petasos_fs::{Lock, Record as FileRecord, lock_within};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Place, kept};
use crate::trouble::Trouble;

/// How often the state of a run may be asked for.
const CHECK_EVERY_S: u64 = 30 * 60;

/// A run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub(crate) run_id: String,
    pub(crate) environment: String,
    pub(crate) status: String,
    pub(crate) config: Map<String, Value>,
    pub(crate) wandb_project: String,
    pub(crate) wandb_run_name: String,
    pub(crate) config_path: PathBuf,
    pub(crate) logs: BTreeMap<String, PathBuf>,
    /// What each program is: `running`, or how it ended.
    pub(crate) processes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    pub(crate) started_s: u64,
    pub(crate) ended_s: Option<u64>,
    pub(crate) checked_s: Option<u64>,
    /// Somebody wants it to end; whoever owns it looks.
    pub(crate) is_to_stop: bool,
}

impl Record {
    /// Whether its programs should be there.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.status.as_str(), "starting" | "running" | "stopping")
    }

    /// How long it has run.
    pub(crate) fn minutes(&self) -> u64 {
        self.ended_s.unwrap_or_else(now_s).saturating_sub(self.started_s) / 60
    }
}

/// The runs of a home.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    file: FileRecord,
    folder: PathBuf,
}

type Kept = BTreeMap<String, Record>;

impl Runs {
    pub(crate) fn of(place: &Place) -> Self {
        let file = FileRecord::at(place.kept.join("runs.json"));
        Self { file, folder: place.kept.join("owners") }
    }

    /// Held as long as the process that owns a run lives.
    pub(super) fn own(&self, run: &str) -> Result<Lock, Trouble> {
        let lock = lock_within(&self.lock(run), Duration::from_secs(1));
        lock.map_err(|error| kept(&error.into()))
    }

    fn lock(&self, run: &str) -> PathBuf {
        self.folder.join(format!("{run}.lock"))
    }

    /// All of them. Those whose owner is gone say so from now on.
    pub(crate) fn all(&self) -> Result<Kept, Trouble> {
        let known: Kept = self.file.read().map_err(|error| kept(&error))?;
        let left: Vec<&String> = known
            .values()
            .filter(|run| run.is_live() && is_free(&self.lock(&run.run_id)))
            .map(|run| &run.run_id)
            .collect();
        if left.is_empty() {
            return Ok(known);
        }
        for run in left {
            self.change(run, |record| {
                if record.is_live() {
                    "interrupted".clone_into(&mut record.status);
                    let why = "the process that owned the run ended, and its programs with it";
                    record.error = Some(why.to_owned());
                    record.ended_s = Some(now_s());
                }
            })?;
        }
        self.file.read().map_err(|error| kept(&error))
    }

    /// One of them.
    pub(crate) fn one(&self, run: &str) -> Result<Record, Trouble> {
        let all = self.all()?;
        let known: Vec<String> = all.keys().cloned().collect();
        all.get(run).cloned().ok_or_else(|| {
            let why = format!("there is no run `{run}`: see `active_runs`");
            Trouble::new("not_found", why).with("active_runs", known)
        })
    }

    /// Adds one.
    pub(super) fn add(&self, record: Record) -> Result<(), Trouble> {
        let added = self.file.edit(|all: &mut Kept| {
            all.insert(record.run_id.clone(), record);
        });
        added.map_err(|error| kept(&error))
    }

    /// Changes one, if it is there.
    pub(crate) fn change(
        &self,
        run: &str,
        change: impl FnOnce(&mut Record),
    ) -> Result<(), Trouble> {
        let changed = self.file.edit(|all: &mut Kept| {
            if let Some(record) = all.get_mut(run) {
                change(record);
            }
        });
        changed.map_err(|error| kept(&error))
    }

    /// Notes that the state was asked for; how long to wait when that was too soon.
    pub(crate) fn check(&self, run: &str) -> Result<Option<u64>, Trouble> {
        let known = self.one(run)?;
        let since = known.checked_s.map(|at| now_s().saturating_sub(at));
        if let Some(since) = since.filter(|since| *since < CHECK_EVERY_S && known.is_live()) {
            return Ok(Some(CHECK_EVERY_S - since));
        }
        self.change(run, |record| record.checked_s = Some(now_s()))?;
        Ok(None)
    }
}

/// Whether nobody holds the lock.
fn is_free(lock: &Path) -> bool {
    lock_within(lock, Duration::ZERO).is_ok()
}

/// Seconds since 1970.
pub(super) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
