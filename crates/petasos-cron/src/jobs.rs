//! Making, finding and changing jobs: the one way for commands, tools and imports.

mod check;
mod draft;

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use petasos_store::{
    JobChange, JobLimits, JobReceipt, JobState, NewJob, NewOccurrence, OccurrenceState,
    ScheduleStore, SessionScope, StoreError, Trigger,
};

use crate::host::{CronHost, Wall};
use crate::job::{Job, JobBody};
use crate::late::{self, Misfire};
use crate::mirror::Mirrored;
use crate::options::CronOptions;
use crate::schedule::{self, Schedule, ScheduleError, Zone};

pub use draft::{Author, Draft};

/// So many jobs, and so many made by one conversation in a day.
const LIMITS: JobLimits = JobLimits { jobs: 1000, by_maker: 20 };

/// Why a job was not made, found or changed. Says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// The text is no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Something about it cannot be.
    #[error("{0}")]
    Invalid(String),
    /// Its words were found to be dangerous.
    #[error("the prompt {}", .0.join(", "))]
    Findings(Vec<String>),
    /// Nothing has this name.
    #[error("no job is named `{0}`: `petasos cron list` shows them")]
    NotFound(String),
    /// More than one has.
    #[error("`{name}` names {} jobs: use an id ({})", ids.len(), ids.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// Their ids.
        ids: Vec<String>,
    },
    /// Somebody else changed it in this moment.
    #[error("job {0} was changed by somebody else meanwhile: look at it and try again")]
    Changed(String),
    /// There are too many.
    #[error("{0}")]
    TooMany(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl JobError {
    /// The word for it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Schedule(_) => "schedule",
            Self::Invalid(_) => "invalid",
            Self::Findings(_) => "scan",
            Self::NotFound(_) => "not_found",
            Self::Ambiguous { .. } => "ambiguous",
            Self::Changed(_) => "conflict",
            Self::TooMany(_) => "limit",
            Self::Store(_) => "store",
        }
    }
}

/// A job, and what whoever made or changed it should know.
#[derive(Debug, Clone)]
pub struct Made {
    /// The job.
    pub job: Job,
    /// What to know.
    pub told: Vec<String>,
}

/// The jobs of a home.
#[derive(Clone)]
pub struct Jobs {
    store: Arc<dyn ScheduleStore>,
    host: Arc<dyn CronHost>,
    wall: Arc<dyn Wall>,
    options: CronOptions,
    pub(crate) mirrored: Arc<Mutex<Mirrored>>,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Jobs {
    /// Over this store, as the settings say.
    pub fn new(
        store: Arc<dyn ScheduleStore>,
        host: Arc<dyn CronHost>,
        wall: Arc<dyn Wall>,
    ) -> Result<Self, ScheduleError> {
        let options = CronOptions::of(&host.settings())?;
        Ok(Self { store, host, wall, options, mirrored: Arc::default() })
    }

    /// The settings.
    pub fn options(&self) -> &CronOptions {
        &self.options
    }

    /// Where they are kept.
    pub fn store(&self) -> &Arc<dyn ScheduleStore> {
        &self.store
    }

    /// The program around.
    pub fn host(&self) -> &Arc<dyn CronHost> {
        &self.host
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.wall.now()
    }

    /// The clock.
    pub fn wall(&self) -> &Arc<dyn Wall> {
        &self.wall
    }

    /// Reads a schedule as a new job would.
    pub fn plan(&self, text: &str, tz: Option<&str>) -> Result<schedule::Parsed, ScheduleError> {
        let zone = tz.map_or_else(|| Ok(self.options.zone.clone()), Zone::named)?;
        schedule::parse(text, &zone, self.now())
    }

    /// Every job that can be read, and the others by id and reason.
    pub async fn list(&self) -> Result<(Vec<Job>, Vec<(String, String)>), StoreError> {
        let (mut jobs, mut broken) = (Vec::new(), Vec::new());
        for row in self.store.jobs().await? {
            let id = row.job.id.clone();
            match Job::read(row) {
                Ok(job) => jobs.push(job),
                Err(why) => broken.push((id, why)),
            }
        }
        Ok((jobs, broken))
    }

    /// The job of an id, or of a name in any case.
    pub async fn find(&self, reference: &str) -> Result<Job, JobError> {
        self.find_in(reference, &SessionScope::Everyone).await
    }

    /// The same among those that somebody may see: a chat has its own.
    pub async fn find_in(&self, reference: &str, scope: &SessionScope) -> Result<Job, JobError> {
        let reference = reference.trim();
        // An id needs no look at all the others.
        if let Some(row) = self.store.job(reference).await?
            && let Ok(job) = Job::read(row)
            && scope.sees(job.body.origin.as_ref())
        {
            return Ok(job);
        }
        let (mut jobs, mut broken) = self.list().await?;
        jobs.retain(|job| scope.sees(job.body.origin.as_ref()));
        broken.retain(|_| *scope == SessionScope::Everyone);
        if let Some((id, why)) = broken.iter().find(|(id, _)| id == reference) {
            return Err(JobError::Invalid(format!("job {id} cannot be read: {why}")));
        }
        let folded = reference.to_lowercase();
        let mut named = jobs.into_iter().filter(|job| job.name.to_lowercase() == folded);
        match (named.next(), named.next()) {
            (Some(job), None) => Ok(job),
            (None, _) => Err(JobError::NotFound(reference.to_owned())),
            (Some(one), Some(other)) => {
                let ids = [one, other].into_iter().chain(named).map(|job| job.id).collect();
                Err(JobError::Ambiguous { name: reference.to_owned(), ids })
            }
        }
    }

    /// Makes a job.
    pub async fn create(&self, draft: Draft, author: &Author) -> Result<Made, JobError> {
        let text = draft.schedule.clone().ok_or_else(|| {
            JobError::Invalid("a job needs a schedule, such as `every weekday at 9:00`".to_owned())
        })?;
        let parsed = self.plan(&text, draft.tz.as_deref())?;
        let mut told = parsed.told;
        let mut body = JobBody {
            origin: author.origin.clone(),
            created_by: author.name.clone(),
            label: author.label,
            deliver: if author.origin.is_some() { "origin" } else { "local" }.to_owned(),
            ..JobBody::default()
        };
        let name = draft.name.clone();
        told.extend(self.fill(&mut body, draft, author).await?);
        if body.prompt.trim().is_empty() && body.skills.is_empty() && !body.no_agent {
            let what = "a job needs a prompt or a skill, or `no_agent` with a script";
            return Err(JobError::Invalid(what.to_owned()));
        }
        body.schedule = Some(parsed.schedule.stored());
        if parsed.schedule.is_once() && body.repeat.times.is_none() {
            body.repeat.times = Some(1);
        }
        self.snapshot(&mut body);
        let name = check::name(name, &body)?;
        let job = self.keep(name, body, &parsed.schedule, author).await?;
        Ok(Made { job, told })
    }

    /// Keeps a job whose parts were checked.
    async fn keep(
        &self,
        name: String,
        body: JobBody,
        schedule: &Schedule,
        author: &Author,
    ) -> Result<Job, JobError> {
        let job = self.keep_as(new_id(), (name, body), schedule, author).await?;
        self.mirror().await;
        Ok(job)
    }

    /// The same under an id that it had elsewhere; the file of jobs is the caller's.
    pub(crate) async fn keep_as(
        &self,
        id: String,
        (name, body): (String, JobBody),
        schedule: &Schedule,
        author: &Author,
    ) -> Result<Job, JobError> {
        let now = self.now();
        // An instant that lies a moment back is still to come.
        let cursor = match schedule.shape {
            schedule::Shape::Once(at) if at <= now => {
                at.checked_sub(jiff::SignedDuration::from_secs(1)).unwrap_or(at)
            }
            _ => now,
        };
        let next = schedule.next_after(cursor).map(Timestamp::as_millisecond);
        let new = NewJob {
            id: id.clone(),
            name,
            state: if next.is_some() { JobState::Scheduled } else { JobState::Completed },
            body: body.to_map(),
            cursor_ms: cursor.as_millisecond(),
            next_ms: next,
            maker: author.session.clone().unwrap_or_default(),
            created_ms: now.as_millisecond(),
        };
        match self.store.add_job(new, LIMITS).await? {
            JobReceipt::Kept => self.find(&id).await,
            JobReceipt::TooMany => Err(JobError::TooMany(format!(
                "there are {} jobs already: remove some",
                LIMITS.jobs
            ))),
            JobReceipt::TooManyToday => Err(JobError::TooMany(format!(
                "this conversation made {} jobs within a day: no more today",
                LIMITS.by_maker
            ))),
        }
    }

    /// Changes a job. One that was held or paused stays so unless it gets a new schedule.
    pub async fn update(
        &self,
        reference: &str,
        draft: Draft,
        author: &Author,
    ) -> Result<Made, JobError> {
        let job = self.find(reference).await?;
        let mut body = job.body.clone();
        let accepts_drift = draft.accept_drift;
        let (name, text, tz) = (draft.name.clone(), draft.schedule.clone(), draft.tz.clone());
        let mut told = self.fill(&mut body, draft, author).await?;
        let mut change = JobChange { name, ..JobChange::default() };
        let tz = tz.or_else(|| Some(job.schedule.zone.name().to_owned()));
        if let Some(text) = text.or_else(|| {
            (tz.as_deref() != Some(job.schedule.zone.name())).then(|| job.schedule.exact())
        }) {
            let parsed = self.plan(&text, tz.as_deref())?;
            told.extend(parsed.told);
            body.schedule = Some(parsed.schedule.stored());
            body.repeat.completed = 0;
            if job.schedule.is_once() != parsed.schedule.is_once() {
                body.repeat.times = parsed.schedule.is_once().then_some(1);
            }
            let now = self.now();
            let next = parsed.schedule.next_after(now).map(Timestamp::as_millisecond);
            change.times = Some((now.as_millisecond(), next));
            if matches!(job.state, JobState::Completed | JobState::Failed) {
                change.state = Some((JobState::Scheduled, String::new()));
            }
        }
        if accepts_drift {
            self.snapshot(&mut body);
            let times = change.times.unwrap_or_else(|| self.times_now(&job));
            if job.state == JobState::Held && times.1.is_some() {
                change.state = Some((JobState::Scheduled, String::new()));
                change.times = Some(times);
            } else if job.state == JobState::Held {
                change.state = Some((JobState::Completed, String::new()));
                told.push(format!("its time is over: `petasos cron run {}` runs it", job.id));
            }
        }
        change.body = Some(body.to_map());
        self.change(&job, change).await?;
        Ok(Made { job: self.find(&job.id).await?, told })
    }

    /// The configured provider and model are the ones that this job was made for.
    fn snapshot(&self, body: &mut JobBody) {
        let settings = self.host.settings();
        let text = |key: &str| settings.text(key).map(str::to_owned);
        (body.provider_snapshot, body.model_snapshot) =
            (text("model.provider"), text("model.default"));
    }

    fn times_now(&self, job: &Job) -> (i64, Option<i64>) {
        let now = self.now();
        let next = job.schedule.next_after(now).map(Timestamp::as_millisecond);
        (now.as_millisecond(), next)
    }

    async fn change(&self, job: &Job, change: JobChange) -> Result<(), JobError> {
        let now = self.now().as_millisecond();
        if self.store.change_job(&job.id, job.revision, change, now).await? {
            self.mirror().await;
            return Ok(());
        }
        Err(JobError::Changed(job.id.clone()))
    }

    /// A job does not run until it is resumed.
    pub async fn pause(&self, reference: &str, why: &str) -> Result<Job, JobError> {
        let job = self.find(reference).await?;
        let state = Some((JobState::Paused, why.to_owned()));
        self.change(&job, JobChange { state, ..JobChange::default() }).await?;
        self.find(&job.id).await
    }

    /// A job runs again from now on; what it missed meanwhile is noted as skipped.
    pub async fn resume(&self, reference: &str) -> Result<Job, JobError> {
        let job = self.find(reference).await?;
        if job.state == JobState::Scheduled {
            return Ok(job);
        }
        let (now, next) = self.times_now(&job);
        if next.is_none() {
            let what = "it has no instant left: give it a new schedule";
            return Err(JobError::Invalid(what.to_owned()));
        }
        let last = crate::job::moment(job.cursor_ms);
        // Under `skip` with nothing to run, everything that has come counts as missed.
        let due = late::due(&job.schedule, last, self.now(), Misfire::Skip);
        let state = Some((JobState::Scheduled, String::new()));
        let change = JobChange { state, times: Some((now, next)), ..JobChange::default() };
        self.change(&job, change).await?;
        if let Some(due) = due {
            let first = due.missed.map(|missed| missed.first).or(due.run.map(|run| run.at));
            let last = due.run.map(|run| run.at).or(due.missed.map(|missed| missed.last));
            let count = due.missed.map_or(0, |missed| missed.count)
                + due.run.map_or(0, |run| run.folded + 1);
            if let (Some(first), Some(last)) = (first, last) {
                let note = NewOccurrence {
                    job: job.id.clone(),
                    trigger: Trigger::Schedule,
                    scheduled_ms: last.as_millisecond(),
                    attempt: 1,
                    state: OccurrenceState::Skipped,
                    reason: if job.state == JobState::Held {
                        job.why.clone()
                    } else {
                        "paused".to_owned()
                    },
                    first_ms: first.as_millisecond(),
                    folded: count.saturating_sub(1),
                    late_ms: 0,
                };
                self.store.demand(note, now).await?;
            }
        }
        self.find(&job.id).await
    }

    /// Forgets a job; what became of its runs is still known.
    pub async fn remove(&self, reference: &str) -> Result<Job, JobError> {
        let job = self.find(reference).await?;
        self.store.remove_job(&job.id).await?;
        self.mirror().await;
        Ok(job)
    }
}

fn new_id() -> String {
    let mut bytes = [0_u8; 6];
    if getrandom::fill(&mut bytes).is_err() {
        let now = Timestamp::now().as_nanosecond().to_be_bytes();
        bytes.iter_mut().zip(now.iter().rev()).for_each(|(to, from)| *to = *from);
    }
    let mut id = String::new();
    for byte in bytes {
        use std::fmt::Write as _;
        let written = write!(id, "{byte:02x}");
        debug_assert!(written.is_ok(), "a string takes everything");
    }
    id
}
