//! The onion around one request to a model, with the rules of the one around tools: a frame that
//! fails before `next` is skipped, one that fails after it leaves what `next` gave, and the model
//! is asked at most once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use parking_lot::Mutex;
use petasos_contract::middleware::{AskError, AskMiddleware, NextAsk};
use petasos_contract::model::{Model, ModelError, Prompt, Reason, Reply, Role};
use petasos_contract::{BoxFuture, CallContext};
use tracing::warn;

/// What stays the same from frame to frame.
#[derive(Clone, Copy)]
pub(super) struct Core<'a> {
    pub(super) model: &'a dyn Model,
    pub(super) role: Role,
    pub(super) cx: &'a CallContext,
}

/// Asks through the frames.
pub(super) fn peel<'a>(
    prompt: Prompt,
    frames: &'a [Arc<dyn AskMiddleware>],
    core: Core<'a>,
) -> BoxFuture<'a, Result<Reply, ModelError>> {
    let Some((frame, inner)) = frames.split_first() else {
        return Box::pin(async move { core.model.ask(&prompt, core.role, core.cx).await });
    };
    Box::pin(async move {
        let given: Arc<Mutex<Given>> = Arc::default();
        let (kept, deltas) = (Arc::clone(&given), prompt.deltas.clone());
        let next: NextAsk<'_> = Box::new(move |prompt| {
            Box::pin(async move {
                *kept.lock() = Given::Begun;
                let result = peel(Prompt { deltas, ..prompt }, inner, core).await;
                *kept.lock() = Given::Result(Box::new(result.clone()));
                result
            })
        });
        let before = prompt.clone();
        let work = AssertUnwindSafe(async { frame.around(prompt, next, core.role, core.cx).await });
        let why = match work.catch_unwind().await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(AskError::Model(error))) => return Err(*error),
            Ok(Err(AskError::Failed(why))) => why,
            Err(_) => "it panicked".to_owned(),
        };
        warn!(middleware = frame.name(), %why, "execution middleware failed");
        let given = std::mem::take(&mut *given.lock());
        match given {
            Given::Result(result) => *result,
            Given::Nothing => peel(before, inner, core).await,
            Given::Begun => {
                let name = frame.name();
                let line = format!("middleware `{name}` failed while it asked the model: {why}");
                Err(ModelError::new(Reason::Unknown, line))
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
    Result(Box<Result<Reply, ModelError>>),
}
