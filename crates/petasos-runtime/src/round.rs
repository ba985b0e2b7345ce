//! Runs a batch of calls as planned: one result per call, in call order, whatever happens.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use petasos_contract::CallContext;
use petasos_contract::call::{
    Content, Disposition, Refusal, RefusalKind, Status, ToolCall, ToolResult,
};
use petasos_contract::wait::{self, Owned};
use serde_json::json;
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

/// Runs a batch. Results are in call order and within the turn's budget.
pub async fn run(
    dispatcher: &Arc<Dispatcher>,
    calls: Vec<ToolCall>,
    cx: &CallContext,
) -> Vec<ToolResult> {
    let segments = plan(&calls, &dispatcher.registry().snapshot(), cx);
    let mut results: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
    for segment in segments {
        match segment {
            Segment::Sequential(order) => {
                for at in order {
                    results[at] = Some(one(dispatcher, &calls[at], cx).await);
                }
            }
            Segment::Parallel(members) => {
                let together = members.iter().map(|at| (*at, calls[*at].clone())).collect();
                for (at, result) in parallel(dispatcher, together, cx).await {
                    results[at] = Some(result);
                }
            }
        }
    }
    let lost = || "no result came back";
    let mut results: Vec<ToolResult> = results
        .into_iter()
        .zip(&calls)
        .map(|(result, call)| result.unwrap_or_else(|| missing(call, lost())))
        .collect();
    budget::fit_turn(&mut results, dispatcher, cx).await;
    results
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
    calls: Vec<(usize, ToolCall)>,
    cx: &CallContext,
) -> Vec<(usize, ToolResult)> {
    let limit = batch_limit(cx);
    let deadline = limit.map_or(cx.deadline, |limit| cx.deadline.min(Instant::now() + limit));
    let workers = Arc::new(Semaphore::new(WORKERS_MAX));
    let started: Vec<_> = calls
        .into_iter()
        .map(|(at, call)| {
            let cx = CallContext { deadline, ..cx.for_call(call.id.clone()) };
            let worker = start(dispatcher, &workers, call.clone(), cx);
            (at, call, worker)
        })
        .collect();
    // Together, so that what they may take to wind up is shared.
    let collected = started
        .into_iter()
        .map(|(at, call, worker)| async move { (at, collect(&call, worker, deadline, cx).await) });
    join_all(collected).await
}

/// A worker of its own for one call; it ends with the batch that owns it. The dispatcher keeps the
/// deadline itself, so that an overdue call still tells its hooks how it ended.
fn start(
    dispatcher: &Arc<Dispatcher>,
    workers: &Arc<Semaphore>,
    call: ToolCall,
    cx: CallContext,
) -> Owned<ToolResult> {
    let (dispatcher, workers) = (Arc::clone(dispatcher), Arc::clone(workers));
    Owned::start(async move {
        let turn = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return skipped(&call),
            turn = wait::until(cx.deadline, "a free worker", workers.acquire()) => turn,
        };
        match turn {
            Ok(Ok(_turn)) => dispatcher.dispatch(call, &cx).await,
            Ok(Err(_)) => skipped(&call),
            Err(_) => overran(&call, Disposition::None),
        }
    })
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
        () = tokio::time::sleep_until((deadline + GRACE).into()) => {
            overran(call, Disposition::Unknown)
        }
        () = interrupted => cancelled(call),
    }
}

/// `CONCURRENT_TOOL_TIMEOUT_S` overrides the limit; zero or less takes it away.
fn batch_limit(cx: &CallContext) -> Option<Duration> {
    let own = cx.settings.role("CONCURRENT_TOOL_TIMEOUT_S");
    match own.and_then(|variable| variable.value.expose().trim().parse::<f64>().ok()) {
        Some(seconds) if seconds > 0.0 => Duration::try_from_secs_f64(seconds).ok(),
        Some(_) => None,
        None => Some(BATCH_LIMIT),
    }
}

fn skipped(call: &ToolCall) -> ToolResult {
    let text =
        format!("[Tool execution skipped: {} was not started, the user interrupted]", call.name);
    plain(call, Content::Text(text), RefusalKind::Cancelled, Disposition::None)
}

fn cancelled(call: &ToolCall) -> ToolResult {
    let text = format!("[Tool execution cancelled: {} was interrupted by the user]", call.name);
    plain(call, Content::Text(text), RefusalKind::Cancelled, Disposition::Unknown)
}

fn overran(call: &ToolCall, disposition: Disposition) -> ToolResult {
    let name = &call.name;
    let what = match disposition {
        Disposition::None => "was not started, the batch ran out of time",
        Disposition::Done | Disposition::Unknown => "did not end with its batch",
    };
    let message = format!("Error executing {name}: `{name}` {what}");
    let content = Content::Text(json!({ "error": message }).to_string());
    plain(call, content, RefusalKind::Timeout, disposition)
}

fn missing(call: &ToolCall, why: &str) -> ToolResult {
    let refusal =
        Refusal::new(RefusalKind::Broken, format!("Error executing {}: {why}", call.name));
    let content = Content::Text(json!({ "error": refusal.message }).to_string());
    let result = plain(call, content, RefusalKind::Broken, Disposition::Unknown);
    ToolResult { status: Status::Error, error_type: Some("thread_missing_result"), ..result }
}

fn plain(
    call: &ToolCall,
    content: Content,
    kind: RefusalKind,
    disposition: Disposition,
) -> ToolResult {
    ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        content,
        status: kind.status(),
        disposition,
        error_type: Some(kind.error_type()),
        duration_ms: 0,
        halts_turn: false,
    }
}
