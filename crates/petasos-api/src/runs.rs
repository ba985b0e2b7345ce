//! All runs of a server: begun, found again, stored, and forgotten.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use parking_lot::Mutex;
use petasos_contract::delivery::Parcel;
use petasos_contract::wait::Owned;
use petasos_session::{Admission, EventStream, Input, Replay, Session, SubmissionId, WhenBusy};
use petasos_store::{ApiStore, RunRow};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::conversation::Conversations;
use crate::error::ApiError;
use crate::host::ApiHost;
use crate::outgoing::Outgoing;
use crate::pump::Pump;
use crate::run::{
    AFTER_DEATH, Held, Life, Run, RunEvent, RunFacts, RunReader, RunStatus, Spent, stored,
};

/// A run is kept for so long after its end.
const KEPT: Duration = Duration::from_hours(1);
/// A request under an idempotency key is remembered for so long.
pub(crate) const ONCE: Duration = Duration::from_hours(24);
/// A request that has not become a run by then never will.
const BEGINNING: Duration = Duration::from_secs(5);
/// Events are stored together, so often.
const STORED_EVERY: Duration = Duration::from_millis(200);

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A name that nobody guesses.
pub(crate) fn new_id(prefix: &str) -> Result<String, ApiError> {
    let mut bits = [0_u8; 16];
    getrandom::fill(&mut bits).map_err(|error| crate::error::internal(error.to_string()))?;
    Ok(format!("{prefix}{:032x}", u128::from_be_bytes(bits)))
}

/// How far runs may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunLimits {
    /// So many at once; zero means any number.
    pub(crate) most: usize,
    /// One in which nothing happens for so long is over.
    pub(crate) silence: Option<Duration>,
}

/// What is counted of runs.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) begun: AtomicU64,
    pub(crate) completed: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) stopped: AtomicU64,
    pub(crate) input_tokens: AtomicU64,
    pub(crate) output_tokens: AtomicU64,
}

/// A run with the task that fills its log.
struct LiveRun {
    run: Arc<Run>,
    _work: Owned<()>,
    /// Its place among those that may run at once; one of an earlier process needs none.
    _place: Option<OwnedSemaphorePermit>,
}

/// All runs.
pub(crate) struct Runs {
    live: Mutex<HashMap<String, LiveRun>>,
    store: Arc<dyn ApiStore>,
    host: Arc<dyn ApiHost>,
    outgoing: Option<Arc<Outgoing>>,
    /// Those that may still begin.
    room: Arc<Semaphore>,
    limits: RunLimits,
    pub(crate) counted: Counted,
}

/// A run as it was found.
pub(crate) enum Found {
    /// It is in memory.
    Live(Arc<Run>),
    /// It ended, perhaps in an earlier process.
    Ended(RunRow),
}

impl Runs {
    pub(crate) fn new(
        store: Arc<dyn ApiStore>,
        host: Arc<dyn ApiHost>,
        outgoing: Option<Arc<Outgoing>>,
        limits: RunLimits,
    ) -> Arc<Self> {
        let (live, counted) = (Mutex::default(), Counted::default());
        let places = if limits.most == 0 { Semaphore::MAX_PERMITS } else { limits.most };
        let room = Arc::new(Semaphore::new(places));
        Arc::new(Self { live, store, host, outgoing, room, limits, counted })
    }

    pub(crate) fn store(&self) -> &Arc<dyn ApiStore> {
        &self.store
    }

    /// Takes the place of one more.
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.room).try_acquire_owned().map_err(|_| {
            let message = format!("{} turns run already: ask again in a moment", self.limits.most);
            let status = StatusCode::TOO_MANY_REQUESTS;
            ApiError::new(status, "too_many_runs", message).after(2)
        })
    }

    /// How many run now.
    pub(crate) fn running(&self) -> usize {
        self.live.lock().len()
    }

    /// Those that run now.
    pub(crate) fn all(&self) -> Vec<Arc<Run>> {
        self.live.lock().values().map(|one| Arc::clone(&one.run)).collect()
    }

    /// Begins a run in a session.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
        facts: RunFacts,
        (session, input): (Session, Input),
        busy: WhenBusy,
    ) -> Result<Arc<Run>, ApiError> {
        let run = Run::new(facts, 1);
        if run.facts.kept {
            self.store.put_run(row(&run)).await?;
        }
        let events = session.events(Replay::Now);
        let submitted = match session.submit(input, busy).await {
            Ok(Admission::Started(turn) | Admission::Queued { turn, .. }) => turn,
            Ok(Admission::Steered) => {
                return Err(crate::error::internal("the message was steered"));
            }
            Err(error) => {
                let error = ApiError::from(error);
                self.give_up(&run, &error).await;
                return Err(error);
            }
        };
        self.counted.begun.fetch_add(1, Ordering::Relaxed);
        self.watch(&run, session, events, Some((submitted.id, place)));
        Ok(run)
    }

    /// A run that never began is over, so that nobody waits for it.
    async fn give_up(&self, run: &Run, error: &ApiError) {
        if !run.facts.kept {
            return;
        }
        let redact = |text: &str| self.host.redact(text);
        let status = error.status.as_u16();
        run.push(RunEvent::Failed { error: error.body(&redact), status });
        keep(&*self.store, run).await;
    }

    /// Fills the log of a run from its session, and stores it.
    fn watch(
        self: &Arc<Self>,
        run: &Arc<Run>,
        session: Session,
        events: EventStream,
        turn: Option<(SubmissionId, OwnedSemaphorePermit)>,
    ) {
        let (turn, place) = turn.unzip();
        let around = (Arc::clone(&self.host), self.outgoing.clone());
        let pump = Pump::new(Arc::clone(run), session, around, turn);
        let pump = pump.silent_for(self.limits.silence);
        // The task must not hold what holds it.
        let (runs, store): (Weak<Self>, _) = (Arc::downgrade(self), Arc::clone(&self.store));
        let filled = Arc::clone(run);
        let work = Owned::start(async move {
            tokio::select! {
                () = pump.work(events) => {}
                never = storing(&*store, &filled) => match never {},
            }
            if let Some(runs) = runs.upgrade() {
                runs.over(&filled).await;
            }
        });
        let id = run.facts.id.clone();
        self.live.lock().insert(id, LiveRun { run: Arc::clone(run), _work: work, _place: place });
    }

    async fn over(self: Arc<Self>, run: &Arc<Run>) {
        // Planned before the end is stored: an end that is known has its delivery.
        self.deliver(run).await;
        if run.facts.kept {
            keep(&*self.store, run).await;
        }
        if let Some(outgoing) = &self.outgoing {
            let status = run.status().as_str();
            let output = run.output().unwrap_or_default();
            let facts = &run.facts;
            let data = json!({
                "run_id": facts.id, "session_id": facts.session.as_str(), "owner": facts.owner,
                "status": status, "output": output, "usage": run.used(),
            });
            outgoing.tell("turn_ended", &data, &format!("{status}: {output}")).await;
        }
        let counter = match run.status() {
            RunStatus::Completed => &self.counted.completed,
            RunStatus::Failed => &self.counted.failed,
            _ => &self.counted.stopped,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if let Some(used) = run.used() {
            self.counted.input_tokens.fetch_add(used.input_tokens, Ordering::Relaxed);
            self.counted.output_tokens.fetch_add(used.output_tokens, Ordering::Relaxed);
        }
        // The task ends here: what is removed aborts nothing that is still to be done.
        self.live.lock().remove(&run.facts.id);
    }

    /// Puts the answer of a run on its way to where it goes besides its readers.
    async fn deliver(&self, run: &Run) {
        let Some(to) = run.facts.to.clone() else { return };
        let Some(deliveries) = self.host.deliveries() else { return };
        let text = match run.error() {
            Some(error) => format!("{}: the turn failed: {error}", run.facts.model),
            None => run.output().unwrap_or_default(),
        };
        if text.trim().is_empty() {
            return;
        }
        let token = format!("webhook-run:{}", run.facts.id);
        let parcel = Parcel { to, text, token, wait: Duration::ZERO };
        if let Err(error) = deliveries.deliver(parcel).await {
            tracing::warn!(error, run = run.facts.id, "an answer was not delivered");
        }
    }

    /// A run of this owner.
    pub(crate) async fn find(&self, id: &str, owner: &str) -> Result<Option<Found>, ApiError> {
        let live = self.live.lock().get(id).map(|one| Arc::clone(&one.run));
        if let Some(run) = live.filter(|run| run.facts.owner == owner) {
            return Ok(Some(Found::Live(run)));
        }
        let row = self.store.run(id).await?.filter(|row| row.owner == owner);
        Ok(row.map(Found::Ended))
    }

    /// Somebody who reads a run behind this number, live or not.
    pub(crate) async fn reader(
        &self,
        id: &str,
        owner: &str,
        after: i64,
    ) -> Result<Option<RunReader>, ApiError> {
        let read = |run: &Arc<Run>| run.read(after, Arc::clone(&self.store));
        Ok(match self.find(id, owner).await? {
            None => None,
            Some(Found::Live(run)) => Some(read(&run)),
            // It begins in this moment, or another process has it.
            Some(Found::Ended(row)) if row.ended_ms.is_none() => {
                let run = Run::new(facts(&row), 1);
                let filled = follow(Arc::downgrade(&run), Arc::clone(&self.store));
                Some(read(&run).followed_by(Owned::start(filled)))
            }
            Some(Found::Ended(row)) => Some(read(&self.replayed(row).await?)),
        })
    }

    async fn replayed(&self, row: RunRow) -> Result<Arc<Run>, ApiError> {
        let run = Run::new(facts(&row), 1);
        let events = self.store.run_events(&row.id, 0).await?;
        run.replay(events.into_iter().filter_map(stored));
        // Events of another version may say nothing to us; nobody waits for more of them.
        run.push(interrupted());
        Ok(run)
    }

    /// Runs of an earlier process: those that wait for a person go on, the others are over.
    pub(crate) async fn recover(
        self: &Arc<Self>,
        conversations: &Conversations,
        least_age: Duration,
    ) -> Result<(), ApiError> {
        // A request becomes a run within moments, also in another process.
        let unbegun = now_ms() - ms(least_age.max(BEGINNING));
        for row in self.store.open_runs(unbegun).await? {
            let own = self.live.lock().contains_key(&row.id);
            if own || now_ms() - row.created_ms < ms(least_age) {
                continue;
            }
            // Another process works on it.
            if conversations.store.holder(&row.session).await?.is_some() {
                continue;
            }
            let waits = RunStatus::named(&row.status);
            let waits =
                matches!(waits, Some(RunStatus::WaitingForApproval | RunStatus::WaitingForInput));
            let events = self.store.run_events(&row.id, 0).await?;
            let last = events.last().map_or(0, |(number, _)| *number);
            let run = Run::new(facts(&row), last + AFTER_DEATH);
            let session = if waits { conversations.waiting(&row).await } else { None };
            if let Some(session) = session {
                let events = session.events(Replay::Turn);
                self.watch(&run, session, events, None);
            } else {
                run.push(interrupted());
                keep(&*self.store, &run).await;
            }
        }
        Ok(())
    }

    /// Forgets what nobody can ask for any more.
    pub(crate) async fn tidy(&self) {
        let now = now_ms();
        let done = self.store.forget_runs(now - ms(KEPT), now - ms(ONCE)).await;
        if let Err(error) = done {
            tracing::warn!(%error, "old runs are not forgotten yet");
        }
    }
}

/// The end of a run that nobody works on any more.
fn interrupted() -> RunEvent {
    let (output, usage) = (String::new(), Spent::default());
    RunEvent::Cancelled { output, usage, status: RunStatus::Interrupted }
}

/// Fills the log of a run that another process works on, as it stores it.
async fn follow(run: Weak<Run>, store: Arc<dyn ApiStore>) {
    let mut last = 0;
    while let Some(run) = run.upgrade() {
        match store.run_events(&run.facts.id, last).await {
            Ok(events) => {
                last = events.last().map_or(last, |(number, _)| *number);
                run.replay(events.into_iter().filter_map(stored));
            }
            Err(error) => tracing::debug!(%error, run = run.facts.id, "not read yet"),
        }
        if run.status().is_over() {
            return;
        }
        drop(run);
        tokio::time::sleep(STORED_EVERY).await;
    }
}

/// Stores what comes, together.
async fn storing(store: &dyn ApiStore, run: &Run) -> std::convert::Infallible {
    loop {
        run.unstored.notified().await;
        if run.facts.kept {
            tokio::time::sleep(STORED_EVERY).await;
            keep(store, run).await;
        }
    }
}

async fn keep(store: &dyn ApiStore, run: &Run) {
    let (events, status) = run.take_unstored();
    let Some((last, _)) = events.last() else { return };
    let last = *last;
    let ended = status.is_over().then(now_ms);
    match store.add_run_events(&run.facts.id, events, status.as_str(), ended).await {
        Ok(()) => run.stored_until(last),
        Err(error) => tracing::warn!(%error, run = run.facts.id, "events are not stored yet"),
    }
}

fn row(run: &Run) -> RunRow {
    let facts = &run.facts;
    RunRow {
        id: facts.id.clone(),
        owner: facts.owner.clone(),
        session: facts.session.clone(),
        status: RunStatus::Queued.as_str().to_owned(),
        about: json!({ "model": facts.model, "held": facts.held }),
        created_ms: facts.created_ms,
        ended_ms: None,
    }
}

fn facts(row: &RunRow) -> RunFacts {
    let model = row.about.get("model").and_then(serde_json::Value::as_str).unwrap_or_default();
    RunFacts {
        id: row.id.clone(),
        owner: row.owner.clone(),
        session: row.session.clone(),
        created_ms: row.created_ms,
        model: model.to_owned(),
        life: Life::OnItsOwn,
        kept: true,
        deadline: None,
        held: Held::kept(&row.about),
        to: None,
    }
}
