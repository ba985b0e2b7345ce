//! Background jobs: kept by name, owned by a session, found again after a restart.

mod job;
mod log;
mod notices;
mod port;
mod record;
mod restore;
mod watch;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use petasos_contract::clock::Clock;
use petasos_contract::environment::{EnvError, Environment, Process};
use petasos_contract::jobs::{Completion, JobId, JobStatus, Notify};
use petasos_contract::wait::{self, Owned};
use petasos_contract::{CallContext, SessionId, Settings};
use tokio::sync::mpsc;

use crate::engine::Engine;
use crate::ids;
use crate::output::Cleaner;
use crate::sudo::Askpass;
pub(crate) use job::{DRAIN_MAX, DRAIN_QUIET, Until};
use job::{Facts, Job, Pump, Typed};
use log::Log;
use notices::Notices;
use petasos_redact::Redactor;
use record::{Book, Program, Record};
pub(crate) use restore::Restore;

/// So many jobs may live at a time.
const RUNNING_MAX: usize = 256;
/// So many are remembered in all.
const TRACKED_MAX: usize = 320;
/// A finished job is remembered for so long after its end.
const FINISHED_FOR: Duration = Duration::from_mins(30);
/// How long the end of a killed job is waited for.
const RELEASE_MAX: Duration = Duration::from_secs(1);
/// So many pieces of input may wait for a program that does not read.
const TYPED_MAX: usize = 64;

/// Where jobs keep their files.
pub(crate) fn folder(settings: &Settings) -> PathBuf {
    if settings.home().as_os_str().is_empty() {
        return settings.temp().join(format!("petasos-jobs-{}", std::process::id()));
    }
    settings.home().join("jobs")
}

fn book(settings: &Settings) -> Book {
    if settings.home().as_os_str().is_empty() {
        return Book::at(folder(settings).join("processes.json"));
    }
    Book::at(settings.home().join("processes.json"))
}

/// Whether any job was ever written down.
pub(crate) fn are_recorded(settings: &Settings) -> bool {
    book(settings).exists()
}

/// All jobs of this program.
pub struct JobTable {
    entries: Mutex<HashMap<JobId, Entry>>,
    notices: Arc<Notices>,
    /// Who opens the places in which jobs of earlier programs run.
    engine: Weak<Engine>,
    /// Sessions whose jobs were looked for.
    recalled: Mutex<HashSet<SessionId>>,
}

struct Entry {
    job: Arc<Job>,
    _pump: Option<Owned<()>>,
    _typing: Option<Owned<()>>,
}

/// A program that becomes a job.
pub(crate) struct Adopted {
    pub(crate) process: Box<dyn Process>,
    pub(crate) command: String,
    pub(crate) cwd: String,
    pub(crate) notify: Notify,
    pub(crate) until: Until,
    pub(crate) is_terminal: bool,
    /// What it has said so far, clean.
    pub(crate) said: String,
    /// Whether it outlives this program, and in which kind of place.
    pub(crate) keep_in: Option<&'static str>,
    /// Where it runs, which must not be closed as long as it does.
    pub(crate) place: Arc<dyn Environment>,
    /// Answers its `sudo` for as long as it runs.
    pub(crate) askpass: Option<Askpass>,
}

impl std::fmt::Debug for JobTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobTable").field("jobs", &self.entries.lock().len()).finish_non_exhaustive()
    }
}

impl JobTable {
    /// An empty table.
    pub(crate) fn new(clock: Arc<dyn Clock>, engine: Weak<Engine>) -> Self {
        Self {
            entries: Mutex::new(HashMap::new()),
            notices: Arc::new(Notices::new(clock)),
            engine,
            recalled: Mutex::default(),
        }
    }

    /// Whether one more may live; asked before it is started.
    pub(crate) fn room(&self) -> Result<(), EnvError> {
        self.sweep();
        let entries = self.entries.lock();
        let running = entries.values().filter(|e| e.job.state.lock().ended.is_none()).count();
        if running < RUNNING_MAX {
            return Ok(());
        }
        Err(EnvError::Limit(format!(
            "{running} background jobs run already: end some with `process` action `kill`"
        )))
    }

    /// Forgets finished jobs, the oldest first.
    fn sweep(&self) {
        let mut entries = self.entries.lock();
        let finished = |entry: &Entry| entry.job.state.lock().ended.map(|end| end.at);
        let mut ended: Vec<(JobId, Instant)> =
            entries.iter().filter_map(|(id, entry)| Some((id.clone(), finished(entry)?))).collect();
        ended.sort_by_key(|(_, at)| *at);
        let surplus = entries.len().saturating_sub(TRACKED_MAX);
        let old = |(at, (_, ended)): &(usize, (JobId, Instant))| {
            *at < surplus || ended.elapsed() > FINISHED_FOR
        };
        let gone: Vec<JobId> =
            ended.into_iter().enumerate().filter(old).map(|(_, (id, _))| id).collect();
        let gone: Vec<Entry> = gone.iter().filter_map(|id| entries.remove(id)).collect();
        drop(entries);
        for Entry { job, .. } in gone {
            match job.facts.book.remove(&job.facts.id) {
                Ok(true) => log::discard(&job.facts.log),
                // Another program shows it.
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "a finished job stays in the book"),
            }
        }
    }

    /// Makes a running program a job.
    pub(crate) async fn adopt(
        &self,
        adopted: Adopted,
        redactor: &Arc<Redactor>,
        cx: &CallContext,
    ) -> Result<JobId, EnvError> {
        let id = JobId::new(format!("proc_{}", ids::hex(6)));
        let facts = Facts {
            id: id.clone(),
            owner: cx.session.clone(),
            task: cx.task.clone(),
            command: redactor.command(&adopted.command).into_owned(),
            cwd: adopted.cwd.clone(),
            pid: adopted.process.pid(),
            started_at: seconds_now(),
            detached: false,
            is_terminal: adopted.is_terminal,
            log: folder(&cx.settings).join(format!("{id}.log")),
            book: book(&cx.settings),
        };
        if let Some(backend) = adopted.keep_in
            && let Some(handle) = adopted.process.control().keep().await?
        {
            let record = Record {
                session_id: id.clone(),
                session_key: facts.owner.clone(),
                task: facts.task.clone(),
                backend: backend.to_owned(),
                command: facts.command.clone(),
                cwd: facts.cwd.clone(),
                pid: facts.pid,
                started_at: facts.started_at,
                notify: adopted.notify.clone(),
                handle,
                log: facts.log.clone(),
                program: Program::this(),
                ended: None,
            };
            write_down(&facts.book, record);
        }
        self.insert(facts, adopted, redactor);
        Ok(id)
    }

    fn insert(&self, facts: Facts, mut adopted: Adopted, redactor: &Arc<Redactor>) {
        let mut log = Log::open(facts.log.clone());
        log.push(std::mem::take(&mut adopted.said));
        let typing = adopted.process.input().map(|input| {
            let (sender, receiver) = mpsc::channel::<Typed>(TYPED_MAX);
            (sender, Owned::start(job::type_in(input, receiver)))
        });
        let (input, typing) = typing.unzip();
        let id = facts.id.clone();
        let control = adopted.process.control();
        let job = Arc::new(Job::new(facts, &adopted.notify, log, control, input));
        let pump = Pump {
            job: Arc::clone(&job),
            process: adopted.process,
            cleaner: Cleaner::new(Arc::clone(redactor)),
            until: adopted.until,
            notices: Arc::clone(&self.notices),
            is_terminal: adopted.is_terminal,
        };
        // Whatever becomes of the task, the process is let go of before its place.
        let held = (pump, adopted.place, adopted.askpass);
        let pump = Owned::start(async move {
            let (pump, place, askpass) = held;
            pump.run().await;
            drop(askpass);
            drop(place);
        });
        self.entries.lock().insert(id, Entry { job, _pump: Some(pump), _typing: typing });
    }

    /// The job of a name, whoever owns it.
    fn any(&self, id: &JobId) -> Option<Arc<Job>> {
        self.entries.lock().get(id).map(|entry| Arc::clone(&entry.job))
    }

    /// The job of a name, when the call may see it.
    fn of(&self, id: &JobId, cx: &CallContext) -> Option<Arc<Job>> {
        self.any(id).filter(|job| job.facts.owner == cx.session)
    }

    /// Ends every job, for a program that must leave nothing behind.
    pub async fn end_all(&self, grace: Duration) {
        let jobs: Vec<Arc<Job>> =
            self.entries.lock().values().map(|entry| Arc::clone(&entry.job)).collect();
        for job in jobs {
            self.kill_job(&job, grace, "shutdown").await;
        }
    }

    async fn kill_job(
        &self,
        job: &Arc<Job>,
        grace: Duration,
        ender: &'static str,
    ) -> Option<EnvError> {
        {
            let mut state = job.state.lock();
            if state.ended.is_none() {
                state.ender = Some(ender);
            }
            state.seen = true;
        }
        let killed = job.control().kill(grace).await;
        job.end(job::KILLED_CODE, Completion::Killed, &self.notices);
        if killed.is_ok() {
            // What it left unread is read, masked and removed; a pipe that somebody else holds
            // open is not waited for.
            let mut released = job.released.subscribe();
            let read = released.wait_for(|released| *released);
            let until = Instant::now() + RELEASE_MAX;
            if wait::until(until, "the last output of a job", read).await.is_err() {
                tracing::debug!(job = %job.facts.id, "the last output of a job was not read");
            }
        }
        killed.err()
    }
}

fn write_down(book: &Book, record: Record) {
    if let Err(error) = book.add(record) {
        tracing::warn!(%error, "a job will not be found after a restart");
    }
}

fn seconds_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn is_running(job: &Job) -> bool {
    job.view(0).status == JobStatus::Running
}
