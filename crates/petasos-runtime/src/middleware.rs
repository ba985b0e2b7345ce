//! The registered middleware: request rewriters, chained, and the onions around execution.
//!
//! Two pairs: one for tool calls, which the dispatcher walks through, and one for requests to a
//! model, which [`Attended`] does. An empty list costs a look at its length.

mod asking;
mod attended;
#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures::FutureExt;
use petasos_contract::middleware::{
    AroundMiddleware, AskMiddleware, MiddlewareError, PromptMiddleware, RequestMiddleware,
    Rewritten,
};
use petasos_contract::model::{Prompt, Role};
use petasos_contract::{Args, CallContext, ToolName, wait};
use tracing::warn;

pub use attended::Attended;

/// How long a rewriter may take.
pub const REWRITE_DEADLINE: Duration = Duration::from_mins(1);

/// A list that is read without locks and replaced as a whole.
struct Chain<T: ?Sized>(ArcSwap<Vec<Arc<T>>>);

impl<T: ?Sized> Default for Chain<T> {
    fn default() -> Self {
        Self(ArcSwap::default())
    }
}

impl<T: ?Sized> Chain<T> {
    fn add(&self, one: &Arc<T>) {
        self.0.rcu(|old| {
            let mut next = Vec::clone(old);
            next.push(Arc::clone(one));
            next
        });
    }

    fn keep(&self, stays: impl Fn(&T) -> bool) {
        self.0.rcu(|old| old.iter().filter(|one| stays(one)).cloned().collect::<Vec<_>>());
    }

    fn is_empty(&self) -> bool {
        self.0.load().is_empty()
    }

    fn all(&self) -> Arc<Vec<Arc<T>>> {
        self.0.load_full()
    }
}

/// The registered middleware.
#[derive(Default)]
pub struct Middleware {
    request: Chain<dyn RequestMiddleware>,
    around: Chain<dyn AroundMiddleware>,
    prompt: Chain<dyn PromptMiddleware>,
    ask: Chain<dyn AskMiddleware>,
}

impl Middleware {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rewriter of arguments behind those that are there.
    pub fn register_request(&self, rewriter: &Arc<dyn RequestMiddleware>) {
        self.request.add(rewriter);
    }

    /// Adds a layer around tools inside those that are there.
    pub fn register_around(&self, layer: &Arc<dyn AroundMiddleware>) {
        self.around.add(layer);
    }

    /// Adds a rewriter of prompts behind those that are there.
    pub fn register_prompt(&self, rewriter: &Arc<dyn PromptMiddleware>) {
        self.prompt.add(rewriter);
    }

    /// Adds a frame around requests to models inside those that are there.
    pub fn register_ask(&self, frame: &Arc<dyn AskMiddleware>) {
        self.ask.add(frame);
    }

    /// Removes the middleware with this name.
    pub fn deregister(&self, name: &str) {
        self.request.keep(|one| one.name() != name);
        self.around.keep(|one| one.name() != name);
        self.prompt.keep(|one| one.name() != name);
        self.ask.keep(|one| one.name() != name);
    }

    /// Chains all rewriters over the arguments; a broken one is skipped.
    pub(crate) async fn rewrite(
        &self,
        tool: &ToolName,
        args: &mut Args,
        cx: &CallContext,
    ) -> Vec<Rewritten> {
        let mut done = Vec::new();
        if self.request.is_empty() {
            return done;
        }
        for rewriter in self.request.all().iter() {
            match fenced(cx, async { rewriter.rewrite(tool, args, cx).await }).await {
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

    /// Chains all rewriters over a prompt; a broken one is skipped.
    async fn rewrite_prompt(
        &self,
        prompt: &mut Prompt,
        role: Role,
        cx: &CallContext,
    ) -> Vec<Rewritten> {
        let mut done = Vec::new();
        for rewriter in self.prompt.all().iter() {
            match fenced(cx, async { rewriter.rewrite(prompt, role, cx).await }).await {
                Ok(None) => {}
                Ok(Some(rewrite)) => {
                    // Where deltas go is the surface's, not the middleware's.
                    let deltas = std::mem::take(&mut prompt.deltas);
                    *prompt = Prompt { deltas, ..rewrite.prompt };
                    let by = rewriter.name().to_owned();
                    done.push(Rewritten { by, reason: rewrite.reason });
                }
                Err(error) => warn!(middleware = rewriter.name(), %error, "rewriter skipped"),
            }
        }
        done
    }

    /// The layers around tools, outermost first.
    pub(crate) fn layers(&self) -> Arc<Vec<Arc<dyn AroundMiddleware>>> {
        self.around.all()
    }

    fn touches_prompts(&self) -> bool {
        !self.prompt.is_empty() || !self.ask.is_empty()
    }
}

impl std::fmt::Debug for Middleware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Middleware")
            .field("request", &self.request.all().len())
            .field("around", &self.around.all().len())
            .field("prompt", &self.prompt.all().len())
            .field("ask", &self.ask.all().len())
            .finish()
    }
}

async fn fenced<T>(
    cx: &CallContext,
    work: impl Future<Output = Result<T, MiddlewareError>>,
) -> Result<T, MiddlewareError> {
    let deadline = cx.deadline.min(Instant::now() + REWRITE_DEADLINE);
    let work = AssertUnwindSafe(work).catch_unwind();
    match wait::until(deadline, "request middleware", work).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(MiddlewareError("it panicked".to_owned())),
        Err(elapsed) => Err(MiddlewareError(elapsed.to_string())),
    }
}
