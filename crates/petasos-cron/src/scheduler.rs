//! The scheduler: looks what is due, claims it, lets it run, and ends it with what it came to.
//!
//! Any number of them may look at one store. What decides is a row for each due time, so that
//! nothing runs twice; a row is made for each due time that does not run, so that nothing is lost
//! in silence.

mod account;
mod advance;
mod sweep;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_contract::wait::Owned;
use petasos_store::{
    DeliveryWish, Finish, JobChange, JobState, NewDelivery, NewOccurrence, OccurrenceRow,
    OccurrenceState, ScheduleStore, StoreError, Trigger,
};
use serde_json::{Map, Value};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use self::advance::Taken;
use crate::host::Wall;
use crate::job::Job;

/// Nobody sleeps longer than this: a machine may have been asleep, a job may have been made.
const SLEEP_MAX: Duration = Duration::from_secs(30);
/// How often a run says that it lives.
const BEAT: Duration = Duration::from_secs(15);
/// A clock that differs by more from the time that passed was changed, or the machine slept.
const JUMP: Duration = Duration::from_mins(1);
/// So often what is still due is looked at again.
const ROUNDS_MAX: usize = 5;
/// How often somebody who waits for runs looks.
const LOOK: Duration = Duration::from_millis(50);
/// How long interrupted runs may take.
const LAST: Duration = Duration::from_secs(10);
/// So many jobs are claimed at one look.
const CLAIMS_MAX: u32 = 1000;
/// So many at a time.
const TOGETHER: usize = 32;

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How it ended.
    pub state: OccurrenceState,
    /// Whether its reply is to be sent.
    pub wish: DeliveryWish,
    /// What is sent.
    pub deliveries: Vec<NewDelivery>,
    /// What else is known.
    pub detail: Map<String, Value>,
    /// The job must be looked at by a person, for this reason.
    pub hold: Option<String>,
}

/// An occurrence that is ours.
pub struct Attempt<'a> {
    /// The occurrence.
    pub row: &'a OccurrenceRow,
    /// Its job.
    pub job: &'a Job,
    /// Ends it early.
    pub cancel: &'a CancellationToken,
    /// Where it is kept.
    pub store: &'a dyn ScheduleStore,
}

impl std::fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").field("row", self.row).finish_non_exhaustive()
    }
}

/// Runs what is due.
pub trait Worker: Send + Sync {
    /// Runs one occurrence.
    fn work<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Ended>;

    /// The deliveries of an occurrence were planned.
    fn planned<'a>(&'a self, occurrence: &'a str) -> BoxFuture<'a, ()>;

    /// Sends what earlier processes planned and did not send.
    fn unsent(&self) -> BoxFuture<'_, ()>;

    /// Why nothing may begin now.
    fn stopped(&self) -> Option<String>;

    /// These were missed or are late; people are told.
    fn missed(&self, missed: Vec<MissedRun>) -> BoxFuture<'_, ()>;

    /// The processes of these died in the middle; people are told.
    fn lost(&self, lost: Vec<LostRun>) -> BoxFuture<'_, ()>;
}

/// A run of which nobody knows how far it came.
#[derive(Debug, Clone)]
pub struct LostRun {
    /// Whose.
    pub job: Job,
    /// Which.
    pub row: OccurrenceRow,
}

/// Due times that did not run, or one that runs late.
#[derive(Debug, Clone)]
pub struct MissedRun {
    /// Whose.
    pub job: Job,
    /// Until when.
    pub last: Timestamp,
    /// How many.
    pub count: u64,
    /// How late it is, where it runs.
    pub late_by: Option<Duration>,
}

/// How a scheduler behaves.
#[derive(Debug, Clone)]
pub struct SchedulerOptions {
    /// Where it lives: `gateway`, `daemon`, `tick`.
    pub kind: &'static str,
    /// So many runs at once.
    pub parallel: usize,
    /// Missed instants are made up for as their jobs say.
    pub catch_up: bool,
}

/// What one look came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// So many were claimed.
    pub claimed: usize,
    /// So many due times were noted as not run.
    pub skipped: usize,
    /// When the next job is due, in milliseconds since 1970.
    pub next_ms: Option<i64>,
}

struct Running {
    cancel: CancellationToken,
    task: Option<Owned<()>>,
}

/// Looks for due jobs and runs them.
pub struct Scheduler {
    store: Arc<dyn ScheduleStore>,
    wall: Arc<dyn Wall>,
    worker: Arc<dyn Worker>,
    options: SchedulerOptions,
    slots: Arc<Semaphore>,
    running: Arc<Mutex<HashMap<String, Running>>>,
    ended: Arc<Notify>,
    /// The clock and the time that had passed at the last look.
    last: Mutex<Option<(Timestamp, tokio::time::Instant)>>,
    /// Who was silent at the last look, and since when.
    suspects: Mutex<HashMap<(String, i64), tokio::time::Instant>>,
    /// Nothing more begins.
    closing: CancellationToken,
    /// What runs is to end.
    draining: CancellationToken,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Over this store; looks when it is told to.
    pub fn new(
        store: Arc<dyn ScheduleStore>,
        wall: Arc<dyn Wall>,
        worker: Arc<dyn Worker>,
        options: SchedulerOptions,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            wall,
            worker,
            slots: Arc::new(Semaphore::new(options.parallel.max(1))),
            options,
            running: Arc::default(),
            ended: Arc::default(),
            last: Mutex::new(None),
            suspects: Mutex::default(),
            closing: CancellationToken::new(),
            draining: CancellationToken::new(),
        })
    }

    /// Looks for due jobs until it is drained.
    pub async fn serve(self: Arc<Self>) {
        let beats = Owned::start(Arc::clone(&self).beat());
        while !self.closing.is_cancelled() {
            let wait = match self.look().await {
                Ok(look) => self.until(look.next_ms),
                Err(error) => {
                    tracing::warn!(%error, "due jobs cannot be looked for");
                    Duration::from_secs(5)
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.ended.notified() => {}
                () = self.closing.cancelled() => {}
            }
        }
        // What still runs goes on to say that it lives.
        self.draining.cancelled().await;
        drop(beats);
    }

    fn until(&self, next_ms: Option<i64>) -> Duration {
        let now = self.wall.now().as_millisecond();
        let ahead = next_ms.map_or(i64::MAX, |next| next.saturating_sub(now)).max(1);
        Duration::from_millis(u64::try_from(ahead).unwrap_or(1)).min(SLEEP_MAX)
    }

    /// Looks once: ends what was left, claims what is due, starts what was claimed.
    pub async fn look(self: &Arc<Self>) -> Result<Look, StoreError> {
        let now = self.wall.now();
        let jumped = self.jumped(now);
        if jumped {
            self.follow_clock(now).await?;
            self.worker.unsent().await;
        }
        self.store.note_scheduler(self.options.kind, now.as_millisecond()).await?;
        let (mut look, mut missed) = (Look::default(), Vec::new());
        self.sweep(now, &mut missed).await?;
        if let Some(why) = self.worker.stopped() {
            tracing::debug!(why, "nothing is begun");
            return Ok(look);
        }
        // Whoever meets another scheduler, or a run that ends in this moment, looks again.
        for _ in 0..ROUNDS_MAX {
            let due = self.store.due_jobs(now.as_millisecond(), CLAIMS_MAX).await?;
            if due.is_empty() || self.closing.is_cancelled() {
                break;
            }
            // Those that are taken together share a commit.
            let taking = stream::iter(due).map(|row| self.take(row, now)).buffered(TOGETHER);
            let taken: Vec<Taken> = taking.try_collect().await?;
            for one in taken {
                look.claimed += usize::from(one.claimed);
                look.skipped += one.skipped;
                missed.extend(one.missed);
            }
        }
        while !self.closing.is_cancelled()
            && let Some(row) = self.store.claim_waiting(now.as_millisecond()).await?
        {
            look.claimed += 1;
            self.start_row(row).await?;
        }
        if !missed.is_empty() {
            self.worker.missed(missed).await;
        }
        look.next_ms = self.store.next_job().await?;
        Ok(look)
    }

    /// Whether the clock was changed since the last look, or this is the first.
    fn jumped(&self, now: Timestamp) -> bool {
        let passed = tokio::time::Instant::now();
        let Some((then, since)) = self.last.lock().replace((now, passed)) else { return true };
        let wall = now.duration_since(then);
        let real = jiff::SignedDuration::try_from(passed.duration_since(since));
        let off = real.map(|real| (wall - real).unsigned_abs()).unwrap_or_default();
        if off > JUMP {
            tracing::warn!(?off, "the clock was changed, or the machine slept");
        }
        off > JUMP
    }

    /// Runs a job now; nobody waits for its end. Its schedule is left alone.
    pub async fn start_now(self: &Arc<Self>, job: Job) -> Result<OccurrenceRow, StoreError> {
        let row = self.demanded(&job).await?;
        self.start(job, row.clone());
        Ok(row)
    }

    /// An occurrence of its own for a job that somebody wants to run.
    async fn demanded(&self, job: &Job) -> Result<OccurrenceRow, StoreError> {
        let now_ms = self.wall.now().as_millisecond();
        let mut demand = NewOccurrence {
            job: job.id.clone(),
            trigger: Trigger::Manual,
            scheduled_ms: now_ms,
            attempt: 1,
            state: OccurrenceState::Claimed,
            reason: String::new(),
            first_ms: now_ms,
            folded: 0,
            late_ms: 0,
        };
        // Two who ask in one millisecond get two runs.
        loop {
            match self.store.demand(demand.clone(), now_ms).await? {
                Some(row) => return Ok(row),
                None => demand.scheduled_ms += 1,
            }
        }
    }

    /// Runs a job now and waits for its end. Its schedule is left alone.
    pub async fn run_now(self: &Arc<Self>, job: &Job) -> Result<OccurrenceRow, StoreError> {
        let row = self.demanded(job).await?;
        let id = row.id.clone();
        let cancel = self.draining.child_token();
        let entry = Running { cancel: cancel.clone(), task: None };
        self.running.lock().insert(id.clone(), entry);
        let _forget = Forget(&self.running, id.clone());
        self.run(job, &row, &cancel).await;
        let ended = self.store.occurrence(&id).await?;
        Ok(ended.unwrap_or(row))
    }

    async fn start_row(self: &Arc<Self>, row: OccurrenceRow) -> Result<(), StoreError> {
        let found = self.store.job(&row.new.job).await?;
        let job = found.ok_or_else(|| "its job was removed".to_owned()).and_then(Job::read);
        match job {
            Ok(job) => self.start(job, row),
            Err(why) => {
                let ended = Ended::skipped(&why);
                self.close(&row.id, ended).await?;
            }
        }
        Ok(())
    }

    /// Runs a claimed occurrence when a slot is free.
    fn start(self: &Arc<Self>, job: Job, row: OccurrenceRow) {
        let id = row.id.clone();
        let cancel = self.draining.child_token();
        let entry = Running { cancel: cancel.clone(), task: None };
        self.running.lock().insert(id.clone(), entry);
        let this = Arc::clone(self);
        let task = Owned::start(async move {
            this.run(&job, &row, &cancel).await;
            this.ended.notify_one();
        });
        if let Some(entry) = self.running.lock().get_mut(&id) {
            entry.task = Some(task);
        }
    }

    async fn run(&self, job: &Job, row: &OccurrenceRow, cancel: &CancellationToken) {
        let spread = tokio::time::sleep(jitter(job, row));
        let slot = tokio::select! {
            biased;
            // Whoever waits for a place lets the next process have it, also when one becomes free
            // because the program ends.
            () = self.closing.cancelled() => None,
            () = cancel.cancelled() => None,
            slot = async {
                spread.await;
                self.slots.acquire().await
            } => slot.ok(),
        };
        let mut ended = match slot {
            Some(_slot) => {
                let attempt = Attempt { row, job, cancel, store: &*self.store };
                self.worker.work(attempt).await
            }
            None => Ended::interrupted("the program ended before it began"),
        };
        let hold = ended.hold.clone();
        // Whoever looks for runs of a job that was removed since knows its name.
        ended.detail.insert("job_name".to_owned(), Value::from(job.name.as_str()));
        if let Err(error) = self.close(&row.id, ended).await {
            tracing::error!(%error, occurrence = row.id, "a run could not be closed");
        }
        if let Some(why) = hold {
            self.hold(&job.id, &why).await;
        }
        self.worker.planned(&row.id).await;
    }

    async fn close(&self, id: &str, ended: Ended) -> Result<(), StoreError> {
        let Ended { state, wish, deliveries, detail, .. } = ended;
        let at_ms = self.wall.now().as_millisecond();
        let finish = Finish { state, wish, deliveries, detail, at_ms };
        if !self.store.finish(id, finish).await? {
            tracing::warn!(occurrence = id, "a run ended that was given up before");
        }
        Ok(())
    }

    /// A job does not run until a person has looked at it.
    async fn hold(&self, id: &str, why: &str) {
        for _ in 0..3 {
            let Ok(Some(row)) = self.store.job(id).await else { return };
            if row.job.state != JobState::Scheduled && row.job.state != JobState::Completed {
                return;
            }
            let state = Some((JobState::Held, why.to_owned()));
            let change = JobChange { state, ..JobChange::default() };
            let now = self.wall.now().as_millisecond();
            match self.store.change_job(id, row.revision, change, now).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::error!(%error, job = id, "a job could not be held"),
            }
        }
    }

    /// The occurrences that are claimed or run here.
    pub fn claimed(&self) -> Vec<String> {
        self.busy();
        self.running.lock().keys().cloned().collect()
    }

    /// How many occurrences are claimed or run here.
    pub fn busy(&self) -> usize {
        let mut running = self.running.lock();
        running.retain(|_, entry| !entry.task.as_ref().is_some_and(Owned::is_finished));
        running.len()
    }

    /// Waits until nothing runs here any more.
    pub async fn idle(&self) {
        while self.busy() > 0 {
            // Whoever else waits may have taken the notice.
            drop(tokio::time::timeout(LOOK, self.ended.notified()).await);
        }
    }

    /// Begins nothing more, lets runs go on for so long, then interrupts them.
    pub async fn drain(&self, patience: Duration) {
        self.closing.cancel();
        if tokio::time::timeout(patience, self.idle()).await.is_err() {
            tracing::warn!("runs are interrupted");
        }
        self.draining.cancel();
        if tokio::time::timeout(LAST, self.idle()).await.is_err() {
            tracing::warn!("runs did not end");
        }
    }

    /// Says that the runs of this process live; ends those that were given up.
    pub async fn beat(self: Arc<Self>) {
        loop {
            tokio::time::sleep(BEAT).await;
            self.beat_once().await;
        }
    }

    /// The same, once.
    pub async fn beat_once(&self) {
        if self.busy() == 0 {
            return;
        }
        let ids = self.claimed();
        let now = self.wall.now().as_millisecond();
        match self.store.beat(ids.clone(), now).await {
            Ok(ours) => {
                for id in ids.iter().filter(|id| !ours.contains(id)) {
                    let running = self.running.lock();
                    if let Some(entry) = running.get(id) {
                        entry.cancel.cancel();
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "runs could not say that they live"),
        }
    }
}

/// Takes a run off the list however its caller ends.
struct Forget<'a>(&'a Mutex<HashMap<String, Running>>, String);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}

/// Spreads the starts of a job, the same way each time for one due time.
fn jitter(job: &Job, row: &OccurrenceRow) -> Duration {
    if job.body.jitter == 0 {
        return Duration::ZERO;
    }
    let seed =
        row.id.bytes().fold(17_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    Duration::from_millis(seed % (job.body.jitter * 1000))
}
