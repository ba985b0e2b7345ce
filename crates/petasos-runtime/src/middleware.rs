//! The registered middleware: request rewriters, chained, and the onion around execution.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures::FutureExt;
use petasos_contract::middleware::{
    AroundMiddleware, MiddlewareError, RequestMiddleware, Rewrite, Rewritten,
};
use petasos_contract::{Args, CallContext, ToolName, wait};
use tracing::warn;

/// How long a rewriter may take.
pub const REWRITE_DEADLINE: Duration = Duration::from_mins(1);

type Rewriters = Vec<Arc<dyn RequestMiddleware>>;
type Frames = Vec<Arc<dyn AroundMiddleware>>;

/// The registered middleware.
#[derive(Default)]
pub struct Middleware {
    request: ArcSwap<Rewriters>,
    around: ArcSwap<Frames>,
}

impl Middleware {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rewriter behind those that are there.
    pub fn register_request(&self, rewriter: &Arc<dyn RequestMiddleware>) {
        self.request.rcu(|old| {
            let mut next = Rewriters::clone(old);
            next.push(Arc::clone(rewriter));
            next
        });
    }

    /// Adds a frame inside those that are there.
    pub fn register_around(&self, frame: &Arc<dyn AroundMiddleware>) {
        self.around.rcu(|old| {
            let mut next = Frames::clone(old);
            next.push(Arc::clone(frame));
            next
        });
    }

    /// Removes the middleware with this name.
    pub fn deregister(&self, name: &str) {
        self.request
            .rcu(|old| old.iter().filter(|one| one.name() != name).cloned().collect::<Rewriters>());
        self.around
            .rcu(|old| old.iter().filter(|one| one.name() != name).cloned().collect::<Frames>());
    }

    /// Chains all rewriters over the arguments; a broken one is skipped.
    pub(crate) async fn rewrite(
        &self,
        tool: &ToolName,
        args: &mut Args,
        cx: &CallContext,
    ) -> Vec<Rewritten> {
        let mut done = Vec::new();
        if self.request.load().is_empty() {
            return done;
        }
        for rewriter in self.request.load_full().iter() {
            match fenced(rewriter.as_ref(), tool, args, cx).await {
                Ok(None) => {}
                Ok(Some(rewrite)) => {
                    *args = rewrite.args;
                    let by = rewriter.name().to_owned();
                    done.push(Rewritten { by, reason: rewrite.reason });
                }
                Err(error) => warn!(middleware = rewriter.name(), %error, "rewriter skipped"),
            }
        }
        done
    }

    /// The frames, outermost first.
    pub(crate) fn frames(&self) -> Arc<Frames> {
        self.around.load_full()
    }
}

impl std::fmt::Debug for Middleware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Middleware")
            .field("request", &self.request.load().len())
            .field("around", &self.around.load().len())
            .finish()
    }
}

async fn fenced(
    rewriter: &dyn RequestMiddleware,
    tool: &ToolName,
    args: &Args,
    cx: &CallContext,
) -> Result<Option<Rewrite>, MiddlewareError> {
    let deadline = cx.deadline.min(Instant::now() + REWRITE_DEADLINE);
    let work = AssertUnwindSafe(async { rewriter.rewrite(tool, args, cx).await }).catch_unwind();
    match wait::until(deadline, "request middleware", work).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(MiddlewareError("it panicked".to_owned())),
        Err(elapsed) => Err(MiddlewareError(elapsed.to_string())),
    }
}
