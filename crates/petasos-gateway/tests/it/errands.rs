//! Background work for tests: jobs whose end a test tells, and a call that never ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::environment::EnvError;
use petasos_contract::jobs::{Completion, JobEvent, JobId, JobView, Jobs, Lines, LogPage, Waited};
use petasos_contract::plan::Cleared;
use petasos_contract::{BoxFuture, CallContext, SessionId, Tool, ToolDef, ToolError, ToolOutput};
use serde_json::json;
use tokio::sync::Notify;

/// Jobs that nobody runs, and news of them.
#[derive(Default)]
pub(crate) struct Errands {
    news: Mutex<HashMap<SessionId, Vec<JobEvent>>>,
    told: Notify,
}

impl Errands {
    /// A job of a session has ended.
    pub(crate) fn ended(&self, session: &SessionId, output: &str) {
        let event = JobEvent::Completion {
            session_id: JobId::new("job_1"),
            session_key: session.clone(),
            command: "make".to_owned(),
            exit_code: 0,
            completion_reason: Completion::Exited,
            termination_source: None,
            output: output.to_owned(),
            started_at: 0.0,
        };
        self.news.lock().entry(session.clone()).or_default().push(event);
        self.told.notify_waiters();
    }
}

impl Jobs for Errands {
    fn list(&self, _: &CallContext) -> Vec<JobView> {
        Vec::new()
    }

    fn list_all(&self) -> Vec<JobView> {
        Vec::new()
    }

    fn poll(&self, _: &JobId, _: &CallContext) -> Option<JobView> {
        None
    }

    fn log<'a>(
        &'a self,
        _: &'a JobId,
        _: Lines,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<LogPage>, EnvError>> {
        Box::pin(async { Ok(None) })
    }

    fn wait<'a>(
        &'a self,
        _: &'a JobId,
        _: Duration,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Option<(Waited, JobView)>> {
        Box::pin(async { None })
    }

    fn kill<'a>(
        &'a self,
        _: &'a JobId,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<(bool, JobView)>, EnvError>> {
        Box::pin(async { Ok(None) })
    }

    fn write<'a>(
        &'a self,
        _: &'a JobId,
        _: Vec<u8>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<usize>, EnvError>> {
        Box::pin(async { Ok(None) })
    }

    fn close_input<'a>(
        &'a self,
        _: &'a JobId,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<()>, EnvError>> {
        Box::pin(async { Ok(None) })
    }

    fn drain(&self, session: &SessionId) -> Vec<JobEvent> {
        self.news.lock().remove(session).unwrap_or_default()
    }

    fn changed<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            loop {
                let told = self.told.notified();
                tokio::pin!(told);
                told.as_mut().enable();
                if self.news.lock().contains_key(session) {
                    return;
                }
                told.await;
            }
        })
    }
}

/// A call that begins and never ends.
pub(crate) static STUCK: ToolDef = ToolDef {
    name: "stuck",
    toolset: "stuck",
    emoji: "⏳",
    schema: || {
        json!({
            "description": "Waits for ever.",
            "parameters": { "type": "object", "properties": {} },
        })
    },
    build: |_| Arc::new(Stuck),
    ..ToolDef::USUAL
};

struct Stuck;

impl Tool for Stuck {
    fn run<'a>(
        &'a self,
        _: Cleared,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::pending())
    }
}
