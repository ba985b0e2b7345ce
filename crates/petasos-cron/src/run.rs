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
use crate::scheduler::{Attempt, Ended, LostRun, MissedRun, Worker};
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
        let Attempt { row, job, store, .. } = attempt;
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
        // A model that only answers has done nothing: its first call of a tool is noted when it
        // comes. From here on nobody can say that nothing happened.
        let acts = job.body.script.is_some() || self.host().acts_by_itself(job).await;
        if acts && !matches!(store.called(&row.id).await, Ok(true)) {
            return Ended::interrupted("somebody else has it");
        }
        let printed = match self.scripted(attempt).await {
            Ok(printed) => printed,
            Err(ended) => return *ended,
        };
        let prepared = match self.prepare(job, &printed).await {
            Ok(prepared) => prepared,
            Err(held) => return self.held(job, row, held).await,
        };
        match self.converse(attempt, &session, prepared).await {
            Some(said) => self.settle(job, row, said).await,
            None => self.cut_off(attempt).await,
        }
    }

    /// What the script of a job printed for the agent, or what the run came to by it alone.
    async fn scripted(&self, attempt: &Attempt<'_>) -> Result<String, Box<Ended>> {
        let Attempt { row, job, cancel, .. } = attempt;
        let Some(file) = &job.body.script else { return Ok(String::new()) };
        if let Err(held) = self.harmless(file) {
            return Err(Box::new(self.held(job, row, held).await));
        }
        let limit = self.options().script_timeout;
        let ran = script::run(file, self.host(), limit, job.body.workdir.as_deref(), cancel).await;
        if ran.stopped {
            return Err(Box::new(self.cut_off(attempt).await));
        }
        let stdout = self.host().redact(&ran.stdout);
        let said = if job.body.no_agent {
            Said::script(stdout, ran.error)
        } else if let Some(error) = ran.error {
            Said::failed(&self.host().redact(&error))
        } else if reply::lets_sleep(&stdout) {
            Said::asleep(stdout)
        } else {
            return Ok(stdout);
        };
        Err(Box::new(self.settle(job, row, said).await))
    }

    /// The program ends in the middle of a run: what had called nothing may begin again in the next
    /// one, of anything else nobody knows how far it came.
    async fn cut_off(&self, attempt: &Attempt<'_>) -> Ended {
        let Attempt { row, job, store, .. } = attempt;
        match store.occurrence(&row.id).await {
            Ok(Some(now)) if !now.called => {
                Ended::interrupted("the program ended before anything was called")
            }
            _ => self.settle(job, row, Said::cut_off()).await,
        }
    }

    /// A fresh session, one turn; nothing when the program ends meanwhile.
    async fn converse(
        &self,
        attempt: &Attempt<'_>,
        session: &SessionId,
        prepared: Prepared,
    ) -> Option<Said> {
        let Attempt { row, job, cancel, .. } = attempt;
        let places = targets::resolve(&job.body, self.host()).await.places;
        let address = places.first().map(|place| petasos_contract::Address {
            thread: place.thread.clone().map(Into::into),
            ..petasos_contract::Address::chat(place.platform.as_str(), place.chat.as_str())
        });
        let place = Place { run: row.id.clone(), workdir: job.body.workdir.clone(), address };
        self.host().placed(session, place, job);
        let said = match self.turn(job, session, prepared, cancel).await {
            Ok(said) => said,
            Err(why) => Some(Said::failed(&why)),
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
    ) -> Result<Option<Said>, String> {
        let context = self.host().skills(&job.body.skills, id).await?;
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
        let input = Input { content: prepared.text.as_str().into(), context, turn: None };
        let admitted = session.submit(input, WhenBusy::Refuse).await;
        let said = match admitted.map_err(|error| error.to_string())? {
            Admission::Started(turn) | Admission::Queued { turn, .. } => {
                self.watched(job, &session, turn, cancel).await
            }
            Admission::Steered => Some(Said::failed("the session was not a fresh one")),
        };
        if let Err(error) = session.end(EndReason::Shutdown).await {
            tracing::debug!(%error, "the session of a run had ended");
        }
        Ok(said)
    }

    /// Waits for the end of a turn within its limits: its whole time, and its longest silence.
    /// Nothing when the program ends before it does.
    async fn watched(
        &self,
        job: &Job,
        session: &Session,
        turn: TurnHandle,
        cancel: &CancellationToken,
    ) -> Option<Said> {
        let mut events = session.events(Replay::Turn);
        let whole = job.body.timeout.map_or(self.options().timeout, Duration::from_secs);
        let deadline = tokio::time::Instant::now() + whole;
        let end = turn.end();
        tokio::pin!(end);
        let (mut open, mut spent, mut who) = (true, 0.0, None);
        let why = loop {
            let quiet = self.options().inactivity.unwrap_or(Duration::MAX / 4);
            tokio::select! {
                // What was said before the end is heard before it.
                biased;
                () = tokio::time::sleep_until(deadline) => {
                    break format!("it took longer than {} s", whole.as_secs());
                }
                () = cancel.cancelled() => {
                    session.interrupt();
                    let last = wait::until(Instant::now() + WIND_UP, "a run that is cut off", end);
                    // One that was done all the same is done.
                    let done = last.await.ok().flatten().and_then(Result::ok);
                    let done = done.filter(|end| end.outcome != Outcome::Interrupted);
                    return done.map(|end| Said::turn(Some(Ok(end))).by(who));
                }
                item = events.next(), if open => {
                    open = item.is_some();
                    if let Some((model, cost)) = item.as_ref().and_then(replied) {
                        spent += cost;
                        who = Some(model);
                    }
                    if let Some(most) = job.body.max_cost.filter(|most| spent > *most) {
                        break format!("it cost ${spent:.4}, and may cost ${most:.2}");
                    }
                }
                ended = &mut end => return Some(Said::turn(ended).by(who)),
                () = tokio::time::sleep(quiet.min(Duration::from_hours(24 * 365))) => {
                    break format!("nothing happened for {} s", quiet.as_secs());
                }
            }
        };
        session.interrupt();
        let partly = wait::until(Instant::now() + WIND_UP, "an interrupted run", &mut end).await;
        let partly = partly.ok().flatten().and_then(Result::ok);
        Some(Said::timed_out(&why, partly.as_ref()).by(who))
    }
}

/// Who answered, and what that cost in US dollars, as far as it is known.
fn replied(item: &StreamItem) -> Option<(String, f64)> {
    let StreamItem::Event(envelope) = item else { return None };
    let SessionEvent::Agent(Event::Replied { served, cost, .. }) = &envelope.event else {
        return None;
    };
    let usd = match cost {
        Cost::Actual { usd } | Cost::Estimated { usd } => *usd,
        Cost::Included | Cost::Unknown => 0.0,
    };
    Some((format!("{} from {}", served.model, served.provider), usd))
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

    fn unsent(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.send_left())
    }

    fn stopped(&self) -> Option<String> {
        self.host().stopped()
    }

    fn missed(&self, missed: Vec<MissedRun>) -> BoxFuture<'_, ()> {
        Box::pin(self.tell_missed(missed))
    }

    fn lost(&self, lost: Vec<LostRun>) -> BoxFuture<'_, ()> {
        Box::pin(self.tell_lost(lost))
    }
}
