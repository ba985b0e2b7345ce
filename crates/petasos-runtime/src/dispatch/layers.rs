//! Execution middleware: layers around the handler, outermost first.
//!
//! A layer that fails before it called `next` is skipped; one that fails afterwards leaves what
//! `next` gave; one that gave `next` up half way fails the call, because the tool runs at most
//! once. A refusal from further in is passed on as it is. A layer that changes the arguments has
//! them planned and judged again before the next one sees them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use parking_lot::Mutex;
use petasos_contract::call::Refusal;
use petasos_contract::middleware::{AroundError, AroundMiddleware, Execution, Next};
use petasos_contract::{BoxFuture, CallContext, Cleared, ToolOutput};
use tracing::warn;

use super::run::Core;

/// Runs the layers around the core.
pub(super) fn call<'a>(
    cleared: Cleared,
    layers: &'a [Arc<dyn AroundMiddleware>],
    core: &'a Core<'a>,
    cx: &'a CallContext,
) -> BoxFuture<'a, Result<ToolOutput, Refusal>> {
    let Some((layer, inner)) = layers.split_first() else { return Box::pin(core.handle(cleared)) };
    Box::pin(async move {
        let (args, effects) = (cleared.args().clone(), cleared.plan().effects.clone());
        let progress = Arc::new(Mutex::new(Progress::Waiting(cleared)));
        let next = next(Arc::clone(&progress), inner, core, cx);
        let execution = Execution { tool: core.tool(), args, effects: &effects };
        let work = AssertUnwindSafe(async { layer.around(execution, next, cx).await });
        let why = match work.catch_unwind().await {
            Ok(Ok(output)) => return Ok(output),
            Ok(Err(AroundError::Refused(refusal))) => return Err(refusal),
            Ok(Err(AroundError::Failed(why))) => why,
            Err(_) => "it panicked".to_owned(),
        };
        warn!(middleware = layer.name(), %why, "execution middleware failed");
        let reached = std::mem::take(&mut *progress.lock());
        match reached {
            Progress::Ended(result) => result,
            Progress::Waiting(cleared) => call(cleared, inner, core, cx).await,
            Progress::Begun => {
                let name = layer.name();
                Err(super::broken(&format!("middleware `{name}` failed while it ran: {why}")))
            }
        }
    })
}

/// How far the inner layers came; what has begun is never begun again.
#[derive(Default)]
enum Progress {
    Waiting(Cleared),
    #[default]
    Begun,
    Ended(Result<ToolOutput, Refusal>),
}

fn next<'a>(
    progress: Arc<Mutex<Progress>>,
    inner: &'a [Arc<dyn AroundMiddleware>],
    core: &'a Core<'a>,
    cx: &'a CallContext,
) -> Next<'a> {
    Box::new(move |args| {
        Box::pin(async move {
            let Progress::Waiting(cleared) = std::mem::take(&mut *progress.lock()) else {
                return Err(super::broken("middleware ran the call twice"));
            };
            let result = async {
                let same = args == *cleared.args();
                let cleared = if same { cleared } else { core.judge_again(args).await? };
                call(cleared, inner, core, cx).await
            };
            let result = result.await;
            *progress.lock() = Progress::Ended(result.clone());
            result
        })
    })
}
