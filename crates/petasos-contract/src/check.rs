//! Availability: whether a tool can work here and now, asked before the model is told of it.
//!
//! A check has a name, so that tools that share one probe share one answer, and a scope, so that
//! one session's answer never leaks into another's.

use std::fmt;
use std::sync::Arc;

use crate::BoxFuture;
use crate::context::CheckContext;

/// How widely one answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckScope {
    /// For everyone in this process.
    Process,
    /// For one home directory.
    Profile,
    /// For one session on one surface.
    Session,
}

/// The answer of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can be offered.
    Ready,
    /// It cannot, and this is why.
    Missing(String),
}

impl Availability {
    /// Whether the tool can be offered.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Ready when the condition holds, else missing for this reason.
    pub fn when(holds: bool, reason: &str) -> Self {
        if holds { Self::Ready } else { Self::Missing(reason.to_owned()) }
    }
}

/// A check that a built-in tool names.
pub struct CheckDef {
    /// Unique name; tools with the same check share its answer.
    pub id: &'static str,
    /// How widely the answer holds.
    pub scope: CheckScope,
    /// Asks. A panic or an overrun counts as missing. A probe that blocks or opens a socket does so
    /// on the blocking pool: lists are made on a runtime with a clock and nothing else.
    pub probe: fn(CheckContext) -> BoxFuture<'static, Availability>,
}

impl fmt::Debug for CheckDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckDef")
            .field("id", &self.id)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

type Probe = Arc<dyn Fn(CheckContext) -> BoxFuture<'static, Availability> + Send + Sync>;

/// A check at run time: built-in ones and those of MCP servers and plugins alike.
#[derive(Clone)]
pub struct Check {
    id: Arc<str>,
    scope: CheckScope,
    probe: Probe,
}

impl Check {
    /// A check made at run time.
    pub fn new(
        id: impl Into<Arc<str>>,
        scope: CheckScope,
        probe: impl Fn(CheckContext) -> BoxFuture<'static, Availability> + Send + Sync + 'static,
    ) -> Self {
        Self { id: id.into(), scope, probe: Arc::new(probe) }
    }

    /// Its unique name.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// How widely its answer holds.
    pub fn scope(&self) -> CheckScope {
        self.scope
    }

    /// Asks it. The caller owns deadline and panic fence.
    pub fn ask(&self, cx: CheckContext) -> BoxFuture<'static, Availability> {
        (self.probe)(cx)
    }
}

impl From<&'static CheckDef> for Check {
    fn from(def: &'static CheckDef) -> Self {
        Self { id: def.id.into(), scope: def.scope, probe: Arc::new(def.probe) }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check")
            .field("id", &self.id)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
