//! Door 8: the handler runs, behind a deadline, a cancellation and a panic fence.
//!
//! This is the only file that calls a tool.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use petasos_contract::approval::{Intent, Policy, Verdict};
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::context::CALL_DEADLINE;
use petasos_contract::event::{Event, EventSink};
use petasos_contract::middleware::AroundMiddleware;
use petasos_contract::{Args, CallContext, ToolOutput, wait};
use tokio::time::Instant;
use tracing::warn;

use super::{Cleared, clear, onion};
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
    pub(super) fn moved(&self, call: &Cleared, cx: &CallContext) -> CallContext {
        let own = call.entry.tool.time_limit(&call.args, cx).unwrap_or_default();
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
        let name = &entry.name;
        let message = format!("Timeout: `{name}` was not started, its time had run out");
        return Err(Refusal::new(RefusalKind::Timeout, message));
    }
    Ok(())
}

/// Runs a cleared call to its end, or to its deadline.
pub(super) async fn fenced(
    call: Cleared,
    frames: &[Arc<dyn AroundMiddleware>],
    policy: &dyn Policy,
    cx: &CallContext,
) -> Result<ToolOutput, Refusal> {
    tell(&cx.events, || Event::ToolStarted {
        session: cx.session.clone(),
        call: call.id.clone(),
        tool: call.entry.name.clone(),
    });
    let entry = Arc::clone(&call.entry);
    let seconds = cx.deadline.saturating_duration_since(Instant::now().into_std()).as_secs_f32();
    let work = async {
        if frames.is_empty() {
            still_cleared(&call, &call.args, policy, cx).await?;
            return handler(&call.entry, call.args, cx).await;
        }
        let core = |args: Args| {
            let call = &call;
            Box::pin(async move {
                still_cleared(call, &args, policy, cx).await?;
                handler(&call.entry, args, cx).await
            }) as petasos_contract::BoxFuture<'_, _>
        };
        onion::peel(&entry.name, call.args.clone(), frames, &core, cx).await
    };
    let work = async {
        tokio::select! {
            biased;
            ended = work => ended,
            () = cx.pauses.until(cx.deadline) => Err(overran(&entry, seconds)),
        }
    };
    // A tool that notices the interrupt gives what it has so far; one that does not is dropped.
    match wait::unless_cancelled(&cx.cancel, wait::WIND_UP, work).await {
        Some(Err(refusal)) if cx.cancel.is_cancelled() && refusal.kind == RefusalKind::Failed => {
            Err(cancelled(&entry))
        }
        Some(ended) => ended,
        None => Err(cancelled(&entry)),
    }
}

/// The inner wrap: a failing handler and a panicking one are told the same way.
async fn handler(entry: &Entry, args: Args, cx: &CallContext) -> Result<ToolOutput, Refusal> {
    // The tool's own future is made inside the fence: a panic before its first await counts too.
    let run = AssertUnwindSafe(async { entry.tool.run(args, cx).await }).catch_unwind();
    match run.await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(error)) => Err(failed(error.kind(), error.message())),
        Err(panic) => Err(failed("Panic", &panic_message(&*panic))),
    }
}

fn failed(kind: &str, message: &str) -> Refusal {
    Refusal::new(RefusalKind::Failed, format!("{kind}: {message}"))
}

/// What runs is what was judged. Middleware inside the approval may have changed the arguments, and
/// while a person thought about it another call may have moved the session or a link: then it is
/// judged again, and anything but a plain yes refuses it.
async fn still_cleared(
    call: &Cleared,
    args: &Args,
    policy: &dyn Policy,
    cx: &CallContext,
) -> Result<(), Refusal> {
    let tool = &call.entry.name;
    let effects = call.entry.tool.effects(args, cx);
    let approved = || call.approved.is_some_and(|digest| digest == clear::digest(tool, args));
    let same = effects == call.effects && (*args == call.args || approved());
    if same && policy.holds(cx) {
        return Ok(());
    }
    let intent = Intent { tool, args, effects: &effects, escalated: &call.escalated };
    let found = match policy.scan(&intent, cx) {
        Some(scan) => scan.await,
        None => Vec::new(),
    };
    let escalated = [&call.escalated[..], &found].concat();
    if policy.judge(&Intent { escalated: &escalated, ..intent }, cx) == Verdict::Allow {
        return Ok(());
    }
    let message = "Not run: its arguments, its directory or the files behind its paths changed \
                   after it had been judged, and it needs approval as it is now.";
    Err(Refusal::new(RefusalKind::Altered, message))
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
