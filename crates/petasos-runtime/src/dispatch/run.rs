//! Running: the handler, behind a deadline, a cancellation and a panic fence.
//!
//! This is the only file that calls a tool.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use petasos_contract::approval::{Finding, Policy};
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::context::CALL_DEADLINE;
use petasos_contract::event::{Event, EventSink};
use petasos_contract::middleware::AroundMiddleware;
use petasos_contract::{Args, CallContext, Cleared, ToolName, ToolOutput, wait};
use tokio::time::Instant;
use tracing::warn;

use super::{ClearedCall, clear, layers, pins};
use crate::registry::Entry;

/// When a call began, and what people had taken by then.
pub(super) struct Clock {
    paused: Duration,
}

impl Clock {
    pub(super) fn start(cx: &CallContext) -> Self {
        Self { paused: cx.pauses.total() }
    }

    /// The context of a handler that starts now: it has its own limit, and the caller's deadline is
    /// moved by what people took to agree to the call.
    pub(super) fn moved(&self, call: &ClearedCall, cx: &CallContext) -> CallContext {
        let own = call.entry.tool.time_limit(call.cleared.args(), cx).unwrap_or_default();
        let limit = Instant::now().into_std() + own.max(CALL_DEADLINE);
        let caller = cx.deadline + cx.pauses.total().saturating_sub(self.paused);
        CallContext { deadline: limit.min(caller), ..cx.clone() }
    }
}

/// What was cancelled or ran out of time on the way does not start.
pub(super) fn in_time(entry: &Entry, cx: &CallContext) -> Result<(), Refusal> {
    if cx.cancel.is_cancelled() {
        return Err(cancelled(entry));
    }
    if Instant::now() >= cx.deadline.into() {
        return Err(not_started(entry));
    }
    Ok(())
}

pub(super) fn not_started(entry: &Entry) -> Refusal {
    let message = format!("Timeout: `{}` was not started, its time had run out", entry.name);
    Refusal::new(RefusalKind::Timeout, message)
}

/// Runs a cleared call to its end, or to its deadline.
pub(super) async fn fenced(
    call: ClearedCall,
    layers: &[Arc<dyn AroundMiddleware>],
    policy: &dyn Policy,
    cx: &CallContext,
) -> Result<ToolOutput, Refusal> {
    tell(&cx.events, || Event::ToolStarted {
        session: cx.session.clone(),
        call: call.id.clone(),
        tool: call.entry.name.clone(),
    });
    let entry = &call.entry;
    let seconds = cx.deadline.saturating_duration_since(Instant::now().into_std()).as_secs_f32();
    let core = Core { entry, policy, escalated: &call.escalated, cx };
    let work = async {
        tokio::select! {
            biased;
            ended = layers::call(call.cleared, layers, &core, cx) => ended,
            () = cx.pauses.until(cx.deadline) => Err(overran(entry, seconds)),
        }
    };
    // A tool that notices the interrupt gives what it has so far; one that does not is dropped.
    match wait::unless_cancelled(&cx.cancel, wait::WIND_UP, work).await {
        Some(Err(refusal)) if cx.cancel.is_cancelled() && refusal.kind == RefusalKind::Failed => {
            Err(cancelled(entry))
        }
        Some(ended) => ended,
        None => Err(cancelled(entry)),
    }
}

/// What is inside the innermost layer: the handler, and the last look before it.
pub(super) struct Core<'a> {
    entry: &'a Entry,
    policy: &'a dyn Policy,
    /// What hooks and scanners wanted a person to agree to.
    escalated: &'a [Finding],
    cx: &'a CallContext,
}

impl<'a> Core<'a> {
    /// The tool.
    pub(super) fn tool(&self) -> &'a ToolName {
        &self.entry.name
    }

    /// The same call with other arguments, as far as it needs nobody's consent.
    pub(super) async fn judge_again(&self, args: Args) -> Result<Cleared, Refusal> {
        clear::again(self.entry, args, self.escalated, self.policy, self.cx).await
    }

    /// The inner wrap: a failing handler and a panicking one are told the same way. While a person
    /// thought about the call its world may have moved: then it is judged as it is now.
    pub(super) async fn handle(&self, cleared: Cleared) -> Result<ToolOutput, Refusal> {
        let cleared = if pins::hold(&cleared.plan().pins) {
            cleared
        } else {
            self.judge_again(cleared.into_args()).await?
        };
        // The tool's own future is made inside the fence: a panic before its first await counts too.
        let run = async { self.entry.tool.run(cleared, self.cx).await };
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(failed(error.kind(), error.message())),
            Err(panic) => Err(failed("Panic", &panic_message(&*panic))),
        }
    }
}

pub(super) fn failed(kind: &str, message: &str) -> Refusal {
    Refusal::new(RefusalKind::Failed, format!("{kind}: {message}"))
}

fn overran(entry: &Entry, seconds: f32) -> Refusal {
    let message =
        format!("Timeout: `{}` did not finish within {seconds:.1} s and was stopped", entry.name);
    Refusal::new(RefusalKind::Timeout, message)
}

pub(super) fn cancelled(entry: &Entry) -> Refusal {
    let message = format!("`{}` was cancelled by the user", entry.name);
    Refusal::new(RefusalKind::Cancelled, message)
}

/// Tells a surface; one that panics disturbs no call.
pub(crate) fn tell(events: &EventSink, event: impl FnOnce() -> Event) {
    if std::panic::catch_unwind(AssertUnwindSafe(|| events.emit(event))).is_err() {
        warn!("an event subscriber panicked");
    }
}

/// The text of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it gave no message".to_owned())
}
