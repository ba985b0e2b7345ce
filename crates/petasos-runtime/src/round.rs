//! Runs a batch of calls as planned: one result per call, in call order, whatever happens.

mod heartbeat;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use petasos_contract::CallContext;
use petasos_contract::call::{Content, Disposition, Refusal, RefusalKind, ToolCall, ToolResult};
use petasos_contract::wait::Owned;
use tokio::sync::Semaphore;

use crate::budget;
use crate::dispatch::Dispatcher;
use crate::plan::{Segment, plan};

/// So many calls of a batch run at the same time.
pub const WORKERS_MAX: usize = 8;
/// How long a parallel run may take when nothing else is configured.
pub const BATCH_LIMIT: Duration = Duration::from_mins(7);
/// How long overdue workers may take to wind up: to tell their hooks and end.
const GRACE: Duration = Duration::from_secs(3);
/// The same for interrupted ones, all together: a tool that stops, its hooks, and a moment.
const INTERRUPTED_GRACE: Duration = Duration::from_millis(700);

/// What is noted between the steps of a round, so that a crash leaves known which calls ended.
pub trait RoundJournal: Send + Sync {
    /// Why nothing could be noted; the round stops there.
    type Error: Send;

    /// The context of the next step: the place to give it a deadline of its own.
    fn step(&self, cx: &CallContext) -> CallContext {
        cx.clone()
    }

    /// These calls ended and others of the round follow.
    fn ended(&self, results: &[ToolResult])
    -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// For callers that keep no journal.
struct Unjournaled;

impl RoundJournal for Unjournaled {
    type Error = Infallible;

    async fn ended(&self, _: &[ToolResult]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Runs a batch. Results are in call order and within the turn's budget.
pub async fn run(
    dispatcher: &Arc<Dispatcher>,
    calls: Vec<ToolCall>,
    cx: &CallContext,
) -> Vec<ToolResult> {
    match run_journaled(dispatcher, calls, cx, &Unjournaled).await {
        Ok(results) => results,
        Err(never) => match never {},
    }
}

/// As [`run`], with a journal of the calls that ended. The last step is left out of it: its results
/// are stored right behind the round.
///
/// # Errors
/// When the journal cannot be written; calls that ended by then have run.
pub async fn run_journaled<J: RoundJournal>(
    dispatcher: &Arc<Dispatcher>,
    calls: Vec<ToolCall>,
    cx: &CallContext,
    journal: &J,
) -> Result<Vec<ToolResult>, J::Error> {
    let tools = dispatcher.registry().seen_by(cx.origin());
    let segments = plan(&calls, &tools, &dispatcher.base(cx), cx);
    let mut results: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
    let mut steps = segments.into_iter().flat_map(steps).peekable();
    while let Some(members) = steps.next() {
        let interrupted = cx.cancel.is_cancelled();
        let done = step(dispatcher, &calls, &members, &journal.step(cx)).await;
        if !interrupted && steps.peek().is_some() {
            journal.ended(&done).await?;
        }
        for (at, result) in members.into_iter().zip(done) {
            results[at] = Some(result);
        }
    }
    let lost = || "no result came back";
    let mut results: Vec<ToolResult> = results
        .into_iter()
        .zip(&calls)
        .map(|(result, call)| result.unwrap_or_else(|| missing(call, lost())))
        .collect();
    budget::fit_turn(&mut results, dispatcher, cx).await;
    Ok(results)
}

/// What is begun and ended together: a parallel segment, or each call of a sequence by itself.
fn steps(segment: Segment) -> Vec<Vec<usize>> {
    match segment {
        Segment::Parallel(members) => vec![members],
        Segment::Sequential(order) => order.into_iter().map(|at| vec![at]).collect(),
    }
}

/// Runs one step; a long wait is reported from time to time with what is waited for.
async fn step(
    dispatcher: &Arc<Dispatcher>,
    calls: &[ToolCall],
    members: &[usize],
    cx: &CallContext,
) -> Vec<ToolResult> {
    let batch: Vec<ToolCall> = members.iter().map(|at| calls[*at].clone()).collect();
    let names: Vec<String> = batch.iter().map(|call| format!("`{}`", call.name)).collect();
    let work = async {
        match batch.as_slice() {
            [call] => vec![one(dispatcher, call, cx).await],
            _ => parallel(dispatcher, batch, cx).await,
        }
    };
    heartbeat::during(&names.join(", "), work, cx).await
}

/// One call of a sequence; after an interrupt the rest is skipped without being started.
async fn one(dispatcher: &Dispatcher, call: &ToolCall, cx: &CallContext) -> ToolResult {
    if cx.cancel.is_cancelled() {
        return skipped(call);
    }
    let cx = cx.for_call(call.id.clone());
    dispatcher.dispatch(call.clone(), &cx).await
}

async fn parallel(
    dispatcher: &Arc<Dispatcher>,
    calls: Vec<ToolCall>,
    cx: &CallContext,
) -> Vec<ToolResult> {
    let (paused, now) = (cx.pauses.total(), tokio::time::Instant::now().into_std());
    let workers = Arc::new(Semaphore::new(WORKERS_MAX));
    let started: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let limit = batch_limit(dispatcher.time_limit(&call, cx), cx);
            let deadline = limit.map_or(cx.deadline, |limit| cx.deadline.min(now + limit));
            let worker = Worker {
                dispatcher: Arc::clone(dispatcher),
                workers: Arc::clone(&workers),
                cx: CallContext { deadline, ..cx.for_call(call.id.clone()) },
                paused,
            };
            (call.clone(), Owned::start(worker.work(call)), deadline)
        })
        .collect();
    // Together, so that what they may take to wind up is shared.
    let collected = started
        .into_iter()
        .map(|(call, worker, deadline)| async move { collect(&call, worker, deadline, cx).await });
    join_all(collected).await
}

/// A worker of its own for one call; it ends with the batch that owns it. The dispatcher keeps the
/// deadline itself, so that an overdue call still tells its hooks how it ended.
struct Worker {
    dispatcher: Arc<Dispatcher>,
    workers: Arc<Semaphore>,
    cx: CallContext,
    /// What people had taken when the batch began.
    paused: Duration,
}

impl Worker {
    async fn work(mut self, call: ToolCall) -> ToolResult {
        let turn = tokio::select! {
            biased;
            () = self.cx.cancel.cancelled() => return skipped(&call),
            turn = self.workers.acquire() => turn,
            () = self.cx.pauses.until(self.cx.deadline) => {
                return overran(&call, Disposition::None);
            }
        };
        if turn.is_err() {
            return skipped(&call);
        }
        self.cx.deadline += self.cx.pauses.total().saturating_sub(self.paused);
        self.dispatcher.dispatch(call, &self.cx).await
    }
}

/// Waits for one worker: its result, or why there is none.
async fn collect(
    call: &ToolCall,
    worker: Owned<ToolResult>,
    deadline: Instant,
    cx: &CallContext,
) -> ToolResult {
    let interrupted = async {
        cx.cancel.cancelled().await;
        tokio::time::sleep(INTERRUPTED_GRACE).await;
    };
    tokio::select! {
        biased;
        result = worker.join() => {
            result.unwrap_or_else(|| missing(call, "its worker ended without a result"))
        }
        () = cx.pauses.until(deadline + GRACE) => overran(call, Disposition::Unknown),
        () = interrupted => cancelled(call),
    }
}

/// How long a call of a batch may take: the usual limit, or its own where that is longer.
/// `CONCURRENT_TOOL_TIMEOUT_S` overrides both; zero or less takes the limit away.
fn batch_limit(own: Option<Duration>, cx: &CallContext) -> Option<Duration> {
    let configured = cx.settings.role("CONCURRENT_TOOL_TIMEOUT_S");
    match configured.and_then(|variable| variable.value.expose().trim().parse::<f64>().ok()) {
        Some(seconds) if seconds > 0.0 => Duration::try_from_secs_f64(seconds).ok(),
        Some(_) => None,
        None => Some(own.unwrap_or_default().max(BATCH_LIMIT)),
    }
}

fn skipped(call: &ToolCall) -> ToolResult {
    let text =
        format!("[Tool execution skipped: {} was not started, the user interrupted]", call.name);
    let result = refused(call, RefusalKind::Cancelled, "", Disposition::None);
    ToolResult { content: Content::Text(text), ..result }
}

fn cancelled(call: &ToolCall) -> ToolResult {
    let text = format!("[Tool execution cancelled: {} was interrupted by the user]", call.name);
    let result = refused(call, RefusalKind::Cancelled, "", Disposition::Unknown);
    ToolResult { content: Content::Text(text), ..result }
}

fn overran(call: &ToolCall, disposition: Disposition) -> ToolResult {
    let name = &call.name;
    let what = match disposition {
        Disposition::None => "was not started, the batch ran out of time",
        Disposition::Done | Disposition::Unknown => "did not end with its batch",
    };
    refused(call, RefusalKind::Timeout, &format!("`{name}` {what}"), disposition)
}

fn missing(call: &ToolCall, why: &str) -> ToolResult {
    refused(call, RefusalKind::Lost, why, Disposition::Unknown)
}

fn refused(call: &ToolCall, kind: RefusalKind, why: &str, disposition: Disposition) -> ToolResult {
    let refusal = Refusal::new(kind, format!("Error executing {}: {why}", call.name));
    ToolResult::refused(call, &refusal, disposition)
}
