//! One versioned stream of what happens, for every surface that shows or records it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::call::Status;
use crate::id::{CallId, SessionId, ToolName};

/// The version that `--json` streams and traces carry.
pub const EVENT_VERSION: u32 = 1;

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A tool call begins to run.
    ToolStarted {
        /// The conversation.
        session: SessionId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
    },
    /// A tool call has its result.
    ToolFinished {
        /// The conversation.
        session: SessionId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// How it ended.
        status: Status,
        /// How long it took.
        duration_ms: u64,
    },
    /// A result carries text that looks like instructions.
    ToolOutputRisk {
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// `high` or `low`.
        risk: &'static str,
        /// What was found.
        findings: Vec<&'static str>,
    },
    /// Something a person should know, once.
    Notice {
        /// The text.
        text: String,
    },
}

/// Receives events. Must not block: a slow subscriber drops or buffers by itself.
pub trait Subscriber: Send + Sync {
    /// Takes one event.
    fn take(&self, event: Event);
}

/// Where a call tells what happens.
#[derive(Clone, Default)]
pub struct EventSink(Option<Arc<dyn Subscriber>>);

impl EventSink {
    /// Nobody listens.
    pub fn silent() -> Self {
        Self(None)
    }

    /// Tells this subscriber.
    pub fn to(subscriber: Arc<dyn Subscriber>) -> Self {
        Self(Some(subscriber))
    }

    /// Tells an event; it is built only when somebody listens.
    pub fn emit(&self, event: impl FnOnce() -> Event) {
        if let Some(subscriber) = &self.0 {
            subscriber.take(event());
        }
    }
}

impl fmt::Debug for EventSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventSink(listening: {})", self.0.is_some())
    }
}
