//! Middleware: code that changes a request, or wraps its execution.
//!
//! Request middleware is chained: each sees what the one before made of the arguments. Execution
//! middleware forms an onion; `next` is consumed, so the tool runs at most once.

use crate::BoxFuture;
use crate::args::Args;
use crate::call::Refusal;
use crate::context::CallContext;
use crate::id::ToolName;
use crate::output::ToolOutput;

/// A change that request middleware made, for the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// Which middleware.
    pub by: String,
    /// Its reason.
    pub reason: Option<String>,
}

/// New arguments, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewrite {
    /// The arguments from here on.
    pub args: Args,
    /// Why they changed.
    pub reason: Option<String>,
}

/// A middleware that failed; it is skipped and named in the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MiddlewareError(pub String);

/// Changes the arguments of a call before anything is decided about it.
pub trait RequestMiddleware: Send + Sync {
    /// Who it is.
    fn name(&self) -> &str;

    /// New arguments, or `None` to leave them.
    fn rewrite<'a>(
        &'a self,
        tool: &'a ToolName,
        args: &'a Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<Rewrite>, MiddlewareError>>;
}

/// Why a frame of the onion gave no result.
#[derive(Debug, Clone, PartialEq)]
pub enum AroundError {
    /// Something further in refused; passed on as it is.
    Refused(Refusal),
    /// The frame itself failed. Before `next` it is skipped; after it, what `next` gave stands.
    Failed(String),
}

impl From<Refusal> for AroundError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What the rest of the onion does.
pub type Next<'a> = Box<dyn FnOnce(Args) -> BoxFuture<'a, Result<ToolOutput, Refusal>> + Send + 'a>;

/// Wraps the execution of a call.
pub trait AroundMiddleware: Send + Sync {
    /// Who it is.
    fn name(&self) -> &str;

    /// Runs `next` at most once and gives the result, its own or another.
    fn around<'a>(
        &'a self,
        tool: &'a ToolName,
        args: Args,
        next: Next<'a>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, AroundError>>;
}
