//! One run: script, prompt, a fresh session, limits, what it said, and where that goes.

mod prepare;
mod settle;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::delivery::Parcel;
use petasos_contract::event::Event;
use petasos_contract::reply::Cost;
use petasos_contract::{BoxFuture, SessionId, wait};
use petasos_session::{
    Admission, Begin, EndReason, Input, Outcome, Replay, Session, SessionEvent, StreamItem,
    TurnEnd, TurnHandle, WhenBusy,
};
use petasos_store::OccurrenceState;
use tokio_util::sync::CancellationToken;

use crate::host::{CronHost, Place};
use crate::job::Job;
use crate::jobs::Jobs;
use crate::options::CronOptions;
use crate::scheduler::{Attempt, Ended, MissedRun, Worker};
use crate::{reply, script, targets};
use prepare::Prepared;
use settle::Said;

/// How long a turn may take to end when it is interrupted.
const WIND_UP: Duration = Duration::from_secs(5);

/// Runs jobs as sessions.
pub struct Runs {
    jobs: Jobs,
    /// Files that follow the texts of replies, by occurrence.
    files: Mutex<HashMap<String, Vec<Parcel>>>,
}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runs").finish_non_exhaustive()
    }
}

impl Runs {
    /// Of these jobs.
    pub fn new(jobs: Jobs) -> Arc<Self> {
        Arc::new(Self { jobs, files: Mutex::default() })
    }

    fn host(&self) -> &Arc<dyn CronHost> {
        self.jobs.host()
    }

    fn options(&self) -> &CronOptions {
        self.jobs.options()
    }

    async fn one(&self, attempt: &Attempt<'_>) -> Ended {
        let Attempt { row, job, cancel, store } = attempt;
        if let Err(held) = self.may_run(job).await {
            return self.held(job, row, held).await;
        }
        let now = self.jobs.now();
        let stamp = self.jobs.options().zone.civil(now).strftime("%Y%m%d_%H%M%S").to_string();
        let tail: String = row.id.chars().rev().take(4).collect();
        let session = SessionId::new(format!("cron_{}_{stamp}_{tail}", job.id));
        let begun = store.begin(&row.id, Some(&session), now.as_millisecond()).await;
        if !matches!(begun, Ok(true)) {
            return Ended::interrupted("somebody else has it");
        }
        // From here on nobody can say that nothing happened.
        if !matches!(store.called(&row.id).await, Ok(true)) {
            return Ended::interrupted("somebody else has it");
        }
        let mut printed = String::new();
        if let Some(file) = &job.body.script {
            if let Err(held) = self.harmless(file) {
                return self.held(job, row, held).await;
            }
            let limit = self.options().script_timeout;
            let ran =
                script::run(file, self.host(), limit, job.body.workdir.as_deref(), cancel).await;
            let stdout = self.host().redact(&ran.stdout);
            if job.body.no_agent {
                return self.settle(job, row, Said::script(stdout, ran.error)).await;
            }
            if let Some(error) = ran.error {
                return self.settle(job, row, Said::failed(&self.host().redact(&error))).await;
            }
            if reply::lets_sleep(&stdout) {
                return self.settle(job, row, Said::asleep(stdout)).await;
            }
            printed = stdout;
        }
        let prepared = match self.prepare(job, &printed).await {
            Ok(prepared) => prepared,
            Err(held) => return self.held(job, row, held).await,
        };
        let said = self.converse(job, &session, prepared, cancel).await;
        self.settle(job, row, said).await
    }

    /// A fresh session, one turn.
    async fn converse(
        &self,
        job: &Job,
        session: &SessionId,
        prepared: Prepared,
        cancel: &CancellationToken,
    ) -> Said {
        let places = targets::resolve(&job.body, self.host()).await.places;
        let address = places.first().map(|place| petasos_contract::Address {
            thread: place.thread.clone().map(Into::into),
            ..petasos_contract::Address::chat(place.platform.as_str(), place.chat.as_str())
        });
        let place = Place { workdir: job.body.workdir.clone(), address };
        self.host().placed(session, place, job);
        let said = match self.turn(job, session, prepared, cancel).await {
            Ok(said) => said,
            Err(why) => Said::failed(&why),
        };
        self.host().left(session);
        said
    }

    async fn turn(
        &self,
        job: &Job,
        id: &SessionId,
        prepared: Prepared,
        cancel: &CancellationToken,
    ) -> Result<Said, String> {
        let mut choice = self.host().choice(job)?;
        choice.new.id = Some(id.clone());
        // A title belongs to one conversation, and a job has many.
        let when = id.as_str().strip_prefix(&format!("cron_{}_", job.id)).unwrap_or_default();
        choice.new.title = Some(format!("{} {when}", job.name));
        choice.new.owner.clone_from(&job.body.origin);
        choice.new.cwd = job.body.workdir.as_ref().map(|path| path.display().to_string());
        let sessions = self.host().sessions()?;
        let choice = Box::new(choice);
        let session = sessions.open(Begin::New { choice, after: None }).await;
        let session = session.map_err(|error| error.to_string())?;
        let input =
            Input { content: prepared.text.as_str().into(), context: Vec::new(), turn: None };
        let admitted = session.submit(input, WhenBusy::Refuse).await;
        let said = match admitted.map_err(|error| error.to_string())? {
            Admission::Started(turn) | Admission::Queued { turn, .. } => {
                self.watched(job, &session, turn, cancel).await
            }
            Admission::Steered => Said::failed("the session was not a fresh one"),
        };
        if let Err(error) = session.end(EndReason::Shutdown).await {
            tracing::debug!(%error, "the session of a run had ended");
        }
        Ok(said)
    }

    /// Waits for the end of a turn within its limits: its whole time, and its longest silence.
    async fn watched(
        &self,
        job: &Job,
        session: &Session,
        turn: TurnHandle,
        cancel: &CancellationToken,
    ) -> Said {
        let mut events = session.events(Replay::Turn);
        let whole = job.body.timeout.map_or(self.options().timeout, Duration::from_secs);
        let deadline = tokio::time::Instant::now() + whole;
        let end = turn.end();
        tokio::pin!(end);
        let (mut open, mut spent) = (true, 0.0);
        let why = loop {
            let quiet = self.options().inactivity.unwrap_or(Duration::MAX / 4);
            tokio::select! {
                ended = &mut end => return Said::turn(ended),
                () = tokio::time::sleep_until(deadline) => {
                    break format!("it took longer than {} s", whole.as_secs());
                }
                () = cancel.cancelled() => {
                    session.interrupt();
                    return Said::stopped();
                }
                item = events.next(), if open => {
                    open = item.is_some();
                    spent += item.as_ref().map_or(0.0, cost_of);
                    if let Some(most) = job.body.max_cost.filter(|most| spent > *most) {
                        break format!("it cost ${spent:.4}, and may cost ${most:.2}");
                    }
                }
                () = tokio::time::sleep(quiet.min(Duration::from_hours(24 * 365))) => {
                    break format!("nothing happened for {} s", quiet.as_secs());
                }
            }
        };
        session.interrupt();
        let partly = wait::until(Instant::now() + WIND_UP, "an interrupted run", &mut end).await;
        let partly = partly.ok().flatten().and_then(Result::ok);
        Said::timed_out(&why, partly.as_ref())
    }
}

/// What a reply of the model cost, in US dollars, as far as that is known.
fn cost_of(item: &StreamItem) -> f64 {
    let StreamItem::Event(envelope) = item else { return 0.0 };
    match &envelope.event {
        SessionEvent::Agent(Event::Replied { cost, .. }) => match cost {
            Cost::Actual { usd } | Cost::Estimated { usd } => *usd,
            Cost::Included | Cost::Unknown => 0.0,
        },
        _ => 0.0,
    }
}

/// Whether a turn came to a reply.
fn outcome(end: &TurnEnd) -> OccurrenceState {
    match end.outcome {
        // What was stopped, filtered or given up is no reply, whatever stands in its place.
        Outcome::Interrupted | Outcome::Refused | Outcome::Halted => OccurrenceState::Failed,
        _ if end.text.trim().is_empty() => OccurrenceState::Failed,
        _ => OccurrenceState::Succeeded,
    }
}

impl Worker for Runs {
    fn work<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Ended> {
        Box::pin(async move { self.one(&attempt).await })
    }

    fn planned<'a>(&'a self, occurrence: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.send_planned(occurrence))
    }

    fn stopped(&self) -> Option<String> {
        self.host().stopped()
    }

    fn missed(&self, missed: Vec<MissedRun>) -> BoxFuture<'_, ()> {
        Box::pin(self.tell_missed(missed))
    }
}
