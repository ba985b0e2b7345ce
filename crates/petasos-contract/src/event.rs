//! One versioned stream of what happens, for every surface that shows or records it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::call::Status;
use crate::id::{CallId, SessionId, ToolName, TurnId};
use crate::reply::{Cost, Delta, Finish, Served, Step, Usage};

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
    /// A piece of what a running tool prints, as it comes; secrets masked.
    ToolOutput {
        /// The call.
        call: CallId,
        /// The piece.
        text: String,
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
    /// A turn begins: somebody said something.
    TurnStarted {
        /// The conversation.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// A piece of a reply; a higher attempt replaces all that lower ones of the request told.
    Delta {
        /// The conversation.
        session: SessionId,
        /// Which request of the turn.
        request: u32,
        /// Which attempt of the request.
        attempt: u32,
        /// The piece.
        delta: Delta,
    },
    /// A model answered; what it said is stored by now.
    Replied {
        /// The conversation.
        session: SessionId,
        /// Which request of the turn.
        request: u32,
        /// Its visible text.
        text: String,
        /// How many calls it asks for.
        calls: usize,
        /// Why it ended.
        finish: Finish,
        /// Who answered.
        served: Served,
        /// What was used.
        usage: Usage,
        /// What it cost.
        cost: Cost,
        /// What was done to get it.
        path: Vec<Step>,
    },
    /// A model asks for a call.
    ToolRequested {
        /// The conversation.
        session: SessionId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// The arguments, as they came.
        arguments: String,
    },
    /// A call's result is stored.
    ToolAnswered {
        /// The conversation.
        session: SessionId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// How it ended.
        status: Status,
        /// The beginning of the result.
        preview: String,
        /// What people are shown of it.
        view: ResultView,
    },
    /// A tool wrote a file.
    FileChanged {
        /// The conversation.
        session: SessionId,
        /// The call.
        call: CallId,
        /// The file, from the working directory.
        path: String,
        /// A unified diff, cut when it is long; secrets masked.
        diff: String,
    },
    /// The conversation was shortened for the model; the log keeps everything.
    Compressed {
        /// The conversation.
        session: SessionId,
        /// About how many tokens it was.
        before: u64,
        /// About how many it is.
        after: u64,
        /// How.
        how: String,
    },
    /// Guidance of the user reached the model.
    Steered {
        /// The conversation.
        session: SessionId,
        /// The words.
        text: String,
    },
    /// Another process added a message to the conversation.
    MessageAdded {
        /// The conversation.
        session: SessionId,
        /// Its place in the log.
        seq: i64,
        /// Whose words: `user`, `assistant`, `tool`.
        role: &'static str,
        /// Its text.
        text: String,
        /// The tools that it calls.
        calls: Vec<ToolName>,
    },
    /// A subagent begins.
    SubagentStarted {
        /// Who asked for it.
        session: SessionId,
        /// Its own conversation.
        child: SessionId,
        /// What it is to do.
        goal: String,
    },
    /// Something happened inside a subagent.
    Subagent {
        /// Its conversation.
        child: SessionId,
        /// What happened.
        event: Box<Event>,
    },
    /// A subagent ended.
    SubagentEnded {
        /// Who asked for it.
        session: SessionId,
        /// Its own conversation.
        child: SessionId,
        /// How: `completed`, `failed`, `interrupted`, `timeout`.
        status: String,
    },
    /// A turn ended; its transcript is whole.
    TurnEnded {
        /// The conversation.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// How: `replied`, `interrupted`, `out_of_budget`, `refused`, `halted`, `failed`.
        end: String,
        /// The final text.
        text: String,
        /// How many requests it took.
        requests: u32,
        /// What it used, subagents included.
        usage: Usage,
        /// How long it took.
        duration_ms: u64,
    },
}

/// What people are shown of a result: models read it whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ResultView {
    /// How many lines its text has.
    pub lines: usize,
    /// The last of them, where they are what a program printed or an error says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<String>,
    /// How the program ended, when not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The task list, where the result is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskView>,
}

/// One entry of a task list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskView {
    /// What is to be done.
    pub text: String,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    pub status: String,
}

impl Event {
    /// The event as one JSON object that carries the version, for `--json` streams.
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or(Value::Null);
        if let Value::Object(object) = &mut value {
            object.insert("v".to_owned(), EVENT_VERSION.into());
        }
        value
    }
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
