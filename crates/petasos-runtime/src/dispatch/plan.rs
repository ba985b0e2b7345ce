//! The plan: the tool resolves what judging and running must agree on, once.
//!
//! Behind the same fence as the handler: a tool that panics, hangs or is interrupted while it plans
//! has done nothing.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use petasos_contract::call::Refusal;
use petasos_contract::context::CALL_DEADLINE;
use petasos_contract::{Args, CallContext, Plan, wait};
use tokio::time::Instant;

use super::run;
use crate::registry::Entry;

/// Asks the tool for its plan.
pub(super) async fn make(entry: &Entry, args: Args, cx: &CallContext) -> Result<Plan, Refusal> {
    let deadline = cx.deadline.min(Instant::now().into_std() + CALL_DEADLINE);
    let cx = &CallContext { deadline, ..cx.clone() };
    // The tool's own future is made inside the fence: a panic before its first await counts too.
    let planning = AssertUnwindSafe(async { entry.tool.plan(args, cx).await }).catch_unwind();
    let planning = async {
        tokio::select! {
            biased;
            planned = planning => Some(planned),
            () = cx.pauses.until(deadline) => None,
        }
    };
    match wait::unless_cancelled(&cx.cancel, Duration::ZERO, planning).await {
        Some(Some(Ok(Ok(plan)))) => Ok(plan),
        Some(Some(Ok(Err(error)))) => Err(run::failed(error.kind(), error.message())),
        Some(Some(Err(panic))) => Err(super::broken(&run::panic_message(&*panic))),
        Some(None) => Err(run::not_started(entry)),
        None => Err(run::cancelled(entry)),
    }
}
