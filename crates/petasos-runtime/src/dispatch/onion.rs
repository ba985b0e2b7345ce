//! Execution middleware: frames around the handler, outermost first.
//!
//! A frame that fails before it called `next` is skipped; one that fails afterwards leaves what
//! `next` gave; one that gave `next` up half way fails the call, because the tool runs at most
//! once. A refusal from further in is passed on as it is.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use parking_lot::Mutex;
use petasos_contract::call::Refusal;
use petasos_contract::middleware::{AroundError, AroundMiddleware, Next};
use petasos_contract::{Args, BoxFuture, CallContext, ToolName, ToolOutput};
use tracing::warn;

/// What is inside the innermost frame.
pub(super) type Core<'a> = dyn Fn(Args) -> BoxFuture<'a, Result<ToolOutput, Refusal>> + Sync + 'a;

/// Runs the frames around the core.
pub(super) fn peel<'a>(
    tool: &'a ToolName,
    args: Args,
    frames: &'a [Arc<dyn AroundMiddleware>],
    core: &'a Core<'a>,
    cx: &'a CallContext,
) -> BoxFuture<'a, Result<ToolOutput, Refusal>> {
    let Some((frame, inner)) = frames.split_first() else { return core(args) };
    Box::pin(async move {
        let given: Arc<Mutex<Given>> = Arc::default();
        let kept = Arc::clone(&given);
        let next: Next<'_> = Box::new(move |args| {
            Box::pin(async move {
                *kept.lock() = Given::Begun;
                let result = peel(tool, args, inner, core, cx).await;
                *kept.lock() = Given::Result(result.clone());
                result
            })
        });
        let before = args.clone();
        let work = AssertUnwindSafe(async { frame.around(tool, args, next, cx).await });
        let why = match work.catch_unwind().await {
            Ok(Ok(output)) => return Ok(output),
            Ok(Err(AroundError::Refused(refusal))) => return Err(refusal),
            Ok(Err(AroundError::Failed(why))) => why,
            Err(_) => "it panicked".to_owned(),
        };
        warn!(middleware = frame.name(), %why, "execution middleware failed");
        let given = std::mem::take(&mut *given.lock());
        match given {
            Given::Result(result) => result,
            Given::Nothing => peel(tool, before, inner, core, cx).await,
            Given::Begun => {
                let name = frame.name();
                Err(super::broken(&format!("middleware `{name}` failed while it ran: {why}")))
            }
        }
    })
}

/// How far the rest of the onion came; what has begun is never begun again.
#[derive(Default)]
enum Given {
    #[default]
    Nothing,
    Begun,
    Result(Result<ToolOutput, Refusal>),
}
