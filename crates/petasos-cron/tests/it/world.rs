//! Jobs in a real store, a clock that tests move, and a worker that notes what it is given.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_cron::{
    Attempt, Ended, JobBody, LostRun, MissedRun, Schedule, Scheduler, SchedulerOptions, Wall,
    Worker,
};
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{JobLimits, JobState, NewJob, OccurrenceRow, OccurrenceState, ScheduleStore};
use tempfile::TempDir;

/// A clock that moves when it is told to.
#[derive(Debug)]
pub(crate) struct HandClock(AtomicI64);

impl HandClock {
    pub(crate) fn at(at: Timestamp) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(at.as_millisecond())))
    }

    pub(crate) fn set(&self, at: Timestamp) {
        self.0.store(at.as_millisecond(), Ordering::SeqCst);
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

impl Wall for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

/// What a worker does with an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// It calls something and succeeds.
    Works,
    /// It is stuck before it has called anything.
    StuckBefore,
    /// It is stuck after it has called something.
    StuckAfter,
}

/// What is done, by the count of what was done before.
type Habits = fn(u64) -> Habit;

/// Notes what was called for which due time.
#[derive(Debug, Default)]
pub(crate) struct Noting {
    pub(crate) called: Mutex<BTreeMap<(String, i64), u32>>,
    pub(crate) missed: Mutex<Vec<(String, u64)>>,
    pub(crate) late: Mutex<Vec<(String, u64)>>,
    /// Runs that people were told the end of is not known.
    pub(crate) lost: Mutex<Vec<String>>,
    pub(crate) ids: Mutex<Vec<String>>,
    /// What it does; it works without.
    pub(crate) habit: Mutex<Option<Habits>>,
    count: AtomicU64,
}

impl Worker for Noting {
    fn work<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Ended> {
        Box::pin(async move {
            let row = attempt.row;
            self.ids.lock().push(row.id.clone());
            let number = self.count.fetch_add(1, Ordering::SeqCst);
            let habit = self.habit.lock().map_or(Habit::Works, |habit| habit(number));
            let now = row.new.scheduled_ms;
            assert!(attempt.store.begin(&row.id, None, now).await.unwrap());
            if habit == Habit::StuckBefore {
                attempt.cancel.cancelled().await;
                return Ended::interrupted("stuck");
            }
            assert!(attempt.store.called(&row.id).await.unwrap());
            let due = (row.new.job.clone(), row.new.scheduled_ms);
            *self.called.lock().entry(due).or_default() += 1;
            if habit == Habit::StuckAfter {
                attempt.cancel.cancelled().await;
                return Ended::plain(OccurrenceState::Failed, "stuck");
            }
            Ended::plain(OccurrenceState::Succeeded, "")
        })
    }

    fn planned<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn unsent(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn stopped(&self) -> Option<String> {
        None
    }

    fn missed(&self, missed: Vec<MissedRun>) -> BoxFuture<'_, ()> {
        let (late, missed): (Vec<_>, Vec<_>) =
            missed.into_iter().partition(|it| it.late_by.is_some());
        self.late.lock().extend(late.into_iter().map(|it| (it.job.id, it.count)));
        self.missed.lock().extend(missed.into_iter().map(|it| (it.job.id, it.count)));
        Box::pin(std::future::ready(()))
    }

    fn lost(&self, lost: Vec<LostRun>) -> BoxFuture<'_, ()> {
        self.lost.lock().extend(lost.into_iter().map(|it| it.row.id));
        Box::pin(std::future::ready(()))
    }
}

/// A folder with a store.
pub(crate) struct World {
    folder: TempDir,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) worker: Arc<Noting>,
}

impl World {
    pub(crate) fn new(at: Timestamp) -> Self {
        let (folder, clock) = (TempDir::new().unwrap(), HandClock::at(at));
        Self { folder, clock, worker: Arc::default() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("petasos.db")
    }

    pub(crate) fn store(&self) -> Arc<Store> {
        Arc::new(Store::open(&OpenOptions::new(self.file())).unwrap())
    }

    /// A scheduler as another process has it.
    pub(crate) fn scheduler(&self, parallel: usize) -> Arc<Scheduler> {
        let options = SchedulerOptions { kind: "test", parallel, catch_up: true };
        let (clock, worker) = (Arc::clone(&self.clock) as _, Arc::clone(&self.worker) as _);
        Scheduler::new(self.store(), clock, worker, options)
    }

    /// The owners of these occurrences are gone, as far as anybody can tell.
    pub(crate) fn died(&self, ids: &[String]) {
        died(&self.file(), ids);
    }

    pub(crate) async fn job(
        &self,
        store: &dyn ScheduleStore,
        id: &str,
        schedule: &Schedule,
        body: JobBody,
    ) {
        let now = self.clock.now();
        let body = JobBody { schedule: Some(schedule.stored()), ..body };
        let new = NewJob {
            id: id.to_owned(),
            name: id.to_owned(),
            state: JobState::Scheduled,
            body: body.to_map(),
            cursor_ms: now.as_millisecond(),
            next_ms: schedule.next_after(now).map(Timestamp::as_millisecond),
            maker: String::new(),
            created_ms: now.as_millisecond(),
        };
        store.add_job(new, JobLimits { jobs: 5000, by_maker: 1 }).await.unwrap();
    }

    pub(crate) async fn rows(&self, job: &str) -> Vec<OccurrenceRow> {
        let mut rows = self.store().occurrences(Some(job), 100_000).await.unwrap();
        rows.reverse();
        rows
    }
}

fn died(file: &Path, ids: &[String]) {
    let direct = rusqlite::Connection::open(file).unwrap();
    direct.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    for id in ids {
        let pid = std::process::id();
        let sql = format!(
            "UPDATE occurrences SET owner = replace(owner, char(10) || '{pid}' || char(10), \
             char(10) || '99999999' || char(10)) WHERE id = ?1"
        );
        direct.execute(&sql, [id]).unwrap();
    }
}
