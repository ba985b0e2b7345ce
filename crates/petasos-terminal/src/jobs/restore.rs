//! Jobs of earlier programs, and of others that still live: found by their records, followed as
//! long as another program holds them, and held by us when nobody does.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::BoxFuture;
use petasos_contract::environment::{Control, EnvError, Environment, Process, Size};
use petasos_contract::jobs::{Completion, Notify};
use petasos_contract::wait::Owned;
use petasos_contract::{SessionId, Settings};

use super::job::{End, Facts, Job, Pump, Until};
use super::log::{self, Log};
use super::record::{Ended, Hold, Record};
use super::{Entry, FINISHED_FOR, JobTable, book, folder, seconds_now};
use crate::output::Cleaner;
use petasos_redact::Redactor;

/// How often a job that another program holds is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What a restore works with.
pub(crate) struct Restore<'a> {
    pub(crate) environment: &'a Arc<dyn Environment>,
    pub(crate) redactor: &'a Arc<Redactor>,
    pub(crate) settings: &'a Settings,
    /// Only the jobs of this session.
    pub(crate) owner: Option<&'a SessionId>,
}

impl JobTable {
    /// Finds the jobs of other programs again; returns how many live.
    pub(crate) async fn restore(&self, restore: Restore<'_>) -> io::Result<usize> {
        let book = book(restore.settings);
        let is_wanted = |record: &Record| {
            restore.owner.is_none_or(|owner| *owner == record.session_key)
                && record.backend == restore.environment.facts().backend
                && self.any(&record.session_id).is_none()
        };
        let since = seconds_now() - FINISHED_FOR.as_secs_f64();
        let claims = book.claim_all(is_wanted, since)?;
        for record in claims.expired {
            log::discard(&record.log);
        }
        let is_known = |log: &Path| claims.logs.contains(log);
        log::sweep(&folder(restore.settings), is_known);
        let mut found = 0;
        for (record, hold) in claims.wanted {
            let process = match &hold {
                Hold::Ended(_) => None,
                _ => restore.environment.find(&record.handle).await.ok().flatten(),
            };
            match (hold, process) {
                (Hold::Ended(ended), _) => self.insert_ended(record, &ended, restore.settings),
                (Hold::Ours, Some(process)) => {
                    found += 1;
                    self.insert_held(record, process, &restore);
                }
                (Hold::Theirs, Some(process)) => {
                    found += 1;
                    self.insert_followed(record, &*process, &restore);
                }
                (Hold::Theirs, None) => {}
                (Hold::Ours | Hold::Unknown, _) => {
                    tracing::info!(job = %record.session_id, "a job of an earlier run is gone");
                    if book.remove(&record.session_id)? {
                        log::discard(&record.log);
                    }
                }
            }
        }
        Ok(found)
    }

    /// A job that is over, for those who want to know how it ended.
    fn insert_ended(&self, record: Record, ended: &Ended, settings: &Settings) {
        let log = Log::follow(record.log.clone());
        let job = Job::new(facts(record, settings), &Notify::Silent, log, Arc::new(Nothing), None);
        job.ended_before(ended);
        self.put(&Arc::new(job), None);
    }

    /// A job that nobody held.
    fn insert_held(&self, record: Record, process: Box<dyn Process>, restore: &Restore<'_>) {
        let log = Log::resume(record.log.clone(), process.settled());
        let (notify, control) = (record.notify.clone(), process.control());
        let job = Job::new(facts(record, restore.settings), &notify, log, control, None);
        let job = Arc::new(job);
        let pump = self.pump(&job, process, restore.redactor);
        let place = Arc::clone(restore.environment);
        let task = Owned::start(async move {
            pump.run().await;
            drop(place);
        });
        self.put(&job, Some(task));
    }

    /// A job that another program holds: ours as soon as that one is gone.
    fn insert_followed(&self, record: Record, process: &dyn Process, restore: &Restore<'_>) {
        let log = Log::follow(record.log.clone());
        let (handle, control) = (record.handle.clone(), process.control());
        let job = Job::new(facts(record, restore.settings), &Notify::Silent, log, control, None);
        let job = Arc::new(job);
        let (followed, redactor) = (Arc::clone(&job), Arc::clone(restore.redactor));
        let (place, notices) = (Arc::clone(restore.environment), Arc::clone(&self.notices));
        let task = Owned::start(async move {
            let Some(process) = followed.follow(&handle, &*place).await else {
                followed.end(-1, Completion::Lost, &notices);
                followed.release();
                return;
            };
            *followed.log.lock() = Log::resume(followed.facts.log.clone(), process.settled());
            let cleaner = Cleaner::new(redactor);
            let (job, until) = (followed, Until::Exit);
            Pump { job, process, cleaner, until, notices, is_terminal: false }.run().await;
            drop(place);
        });
        self.put(&job, Some(task));
    }

    fn pump(&self, job: &Arc<Job>, process: Box<dyn Process>, redactor: &Arc<Redactor>) -> Pump {
        Pump {
            job: Arc::clone(job),
            process,
            cleaner: Cleaner::new(Arc::clone(redactor)),
            until: Until::Exit,
            notices: Arc::clone(&self.notices),
            is_terminal: false,
        }
    }

    fn put(&self, job: &Arc<Job>, pump: Option<Owned<()>>) {
        let entry = Entry { job: Arc::clone(job), _pump: pump, _typing: None };
        self.entries.lock().insert(job.facts.id.clone(), entry);
    }
}

impl Job {
    /// Waits until the program that holds the job is gone and gives the job, which is ours then;
    /// nothing when it ended before.
    async fn follow(&self, handle: &str, place: &dyn Environment) -> Option<Box<dyn Process>> {
        loop {
            match self.facts.book.claim(&self.facts.id) {
                Ok(Hold::Ended(ended)) => {
                    self.ended_before(&ended);
                    return None;
                }
                Ok(Hold::Ours) => return place.find(handle).await.ok().flatten(),
                Ok(Hold::Theirs) => tokio::time::sleep(LOOK_AGAIN).await,
                Ok(Hold::Unknown) => return None,
                Err(error) => {
                    tracing::warn!(%error, job = %self.facts.id, "a job cannot be followed");
                    return None;
                }
            }
        }
    }

    /// It ended while another program held it.
    fn ended_before(&self, ended: &Ended) {
        let ago = Duration::try_from_secs_f64(seconds_now() - ended.at).unwrap_or_default();
        let at = Instant::now().checked_sub(ago).unwrap_or_else(Instant::now);
        let end = End { code: ended.code, completion: ended.completion, at };
        self.state.lock().ended.get_or_insert(end);
        self.over.send_replace(true);
        self.release();
    }
}

fn facts(record: Record, settings: &Settings) -> Facts {
    Facts {
        id: record.session_id,
        owner: record.session_key,
        task: record.task,
        command: record.command,
        cwd: record.cwd,
        pid: record.pid,
        started_at: record.started_at,
        detached: true,
        is_terminal: false,
        log: record.log,
        book: book(settings),
    }
}

/// What is left to control of a tree of which nothing lives.
pub(super) struct Nothing;

impl Control for Nothing {
    fn kill(&self, _: Duration) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async { Ok(()) })
    }

    fn keep(&self) -> BoxFuture<'_, Result<Option<String>, EnvError>> {
        Box::pin(async { Ok(None) })
    }

    fn emptied(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn resize(&self, _: Size) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async { Ok(()) })
    }

    fn pids(&self) -> Vec<u32> {
        Vec::new()
    }
}
