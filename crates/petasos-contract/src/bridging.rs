//! Synchronous handlers as tools: a blocking one goes to the blocking pool, a brief one runs in place.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use crate::BoxFuture;
use crate::args::Args;
use crate::context::CallContext;
use crate::effect::Effects;
use crate::id::ToolName;
use crate::output::ToolOutput;
use crate::plan::{Cleared, Plan};
use crate::tool::{Mode, Patch, Tool, ToolError};

/// A handler without `async`.
pub trait SyncTool: Send + Sync + 'static {
    /// Does the work.
    fn call(&self, args: Args, cx: &CallContext) -> Result<ToolOutput, ToolError>;

    /// As [`Tool::effects`].
    fn effects(&self, _args: &Args) -> Effects {
        Effects::none()
    }

    /// As [`Tool::schema_patch`].
    fn schema_patch(&self, _granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(Patch::Keep)
    }
}

/// A handler without `async` that resolves its work before it is judged.
pub trait PlannedTool: Send + Sync + 'static {
    /// What it resolves.
    type Work: Send + Sync + 'static;

    /// As [`Tool::plan`]: what would be done, and all that doing it needs.
    fn plan(&self, args: Args, cx: &CallContext) -> Result<(Plan, Self::Work), ToolError>;

    /// Does the work.
    fn call(&self, work: Self::Work, cx: &CallContext) -> Result<ToolOutput, ToolError>;

    /// As [`Tool::schema_patch`].
    fn schema_patch(&self, _granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(Patch::Keep)
    }
}

/// A handler that may block: files, databases, heavy computing.
#[derive(Debug)]
pub struct Blocking<T>(Arc<T>);

impl<T> Blocking<T> {
    /// Wraps the handler.
    pub fn new(handler: T) -> Self {
        Self(Arc::new(handler))
    }
}

impl<T: SyncTool> Tool for Blocking<T> {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let (handler, cx) = (Arc::clone(&self.0), cx.clone());
        Box::pin(blocking(move || handler.call(cleared.into_args(), &cx)))
    }

    fn effects(&self, args: &Args) -> Effects {
        self.0.effects(args)
    }

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        self.0.schema_patch(granted)
    }

    fn mode(&self) -> Mode {
        Mode::Blocking
    }
}

/// A handler that may block, and that plans first.
#[derive(Debug)]
pub struct Planning<T>(Arc<T>);

impl<T> Planning<T> {
    /// Wraps the handler.
    pub fn new(handler: T) -> Self {
        Self(Arc::new(handler))
    }
}

impl<T: PlannedTool> Tool for Planning<T> {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let (handler, cx) = (Arc::clone(&self.0), cx.clone());
        Box::pin(blocking(move || {
            let (plan, work) = handler.plan(args, &cx)?;
            Ok(plan.with_work(work))
        }))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let (handler, cx) = (Arc::clone(&self.0), cx.clone());
        Box::pin(blocking(move || handler.call(cleared.into_work()?, &cx)))
    }

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        self.0.schema_patch(granted)
    }

    fn mode(&self) -> Mode {
        Mode::Blocking
    }
}

/// Does something on the blocking pool.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // The fence of the dispatcher reports a panic the same way for every handler.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(ToolError::new("Cancelled", error.to_string())),
    }
}

/// A handler that computes for microseconds and never blocks.
#[derive(Debug)]
pub struct Inline<T>(T);

impl<T> Inline<T> {
    /// Wraps the handler.
    pub fn new(handler: T) -> Self {
        Self(handler)
    }
}

impl<T: SyncTool> Tool for Inline<T> {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.0.call(cleared.into_args(), cx) })
    }

    fn effects(&self, args: &Args) -> Effects {
        self.0.effects(args)
    }

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        self.0.schema_patch(granted)
    }

    fn mode(&self) -> Mode {
        Mode::Inline
    }
}
