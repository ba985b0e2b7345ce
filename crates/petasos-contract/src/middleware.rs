//! Middleware: code that changes a request, or wraps its execution.
//!
//! Request middleware is chained: each sees what the one before made of the arguments. Execution
//! middleware forms an onion; `next` is consumed, so the tool runs at most once.

use crate::BoxFuture;
use crate::args::Args;
use crate::call::Refusal;
use crate::context::CallContext;
use crate::effect::Effects;
use crate::id::ToolName;
use crate::model::{ModelError, Prompt, Reply, Role};
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

/// A call that is about to run, as the layers around it see it.
#[derive(Debug)]
pub struct Execution<'a> {
    /// The tool.
    pub tool: &'a ToolName,
    /// Its arguments.
    pub args: Args,
    /// What it was judged to do.
    pub effects: &'a Effects,
}

/// What the inner layers do. Other arguments than the layer was given are planned and judged again.
pub type Next<'a> = Box<dyn FnOnce(Args) -> BoxFuture<'a, Result<ToolOutput, Refusal>> + Send + 'a>;

/// Wraps the execution of a call.
pub trait AroundMiddleware: Send + Sync {
    /// Who it is.
    fn name(&self) -> &str;

    /// Runs `next` at most once and gives the result, its own or another.
    fn around<'a>(
        &'a self,
        call: Execution<'a>,
        next: Next<'a>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, AroundError>>;
}

/// A changed prompt, and why.
#[derive(Debug, Clone)]
pub struct PromptRewrite {
    /// What is asked from here on.
    pub prompt: Prompt,
    /// Why it changed.
    pub reason: Option<String>,
}

/// Changes what a model is asked.
pub trait PromptMiddleware: Send + Sync {
    /// Who it is.
    fn name(&self) -> &str;

    /// Another prompt, or `None` to leave it.
    fn rewrite<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<PromptRewrite>, MiddlewareError>>;
}

/// Why a frame around a request gave no reply.
#[derive(Debug, Clone)]
pub enum AskError {
    /// Something further in failed; passed on as it is.
    Model(Box<ModelError>),
    /// The frame itself failed. Before `next` it is skipped; after it, what `next` gave stands.
    Failed(String),
}

impl From<ModelError> for AskError {
    fn from(error: ModelError) -> Self {
        Self::Model(Box::new(error))
    }
}

/// What the rest of the onion around a request does.
pub type NextAsk<'a> =
    Box<dyn FnOnce(Prompt) -> BoxFuture<'a, Result<Reply, ModelError>> + Send + 'a>;

/// Wraps a request to a model.
pub trait AskMiddleware: Send + Sync {
    /// Who it is.
    fn name(&self) -> &str;

    /// Runs `next` at most once and gives the reply, its own or another.
    fn around<'a>(
        &'a self,
        prompt: Prompt,
        next: NextAsk<'a>,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, AskError>>;
}
