//! The table as the `process` tool and the surfaces see it.

use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::environment::EnvError;
use petasos_contract::jobs::{JobEvent, JobId, JobStatus, JobView, Jobs, Lines, LogPage, Waited};
use petasos_contract::{BoxFuture, CallContext, SessionId, wait};
use tokio::sync::mpsc::error::TrySendError;

use super::job::{Job, Typed};
use super::{JobTable, is_running};
use crate::settings::TerminalSettings;

/// Sessions whose jobs need not be looked for again; one that is forgotten is looked for once more.
const RECALLED_MAX: usize = 1000;

const LIST_CHARS: usize = 200;
const POLL_CHARS: usize = 1000;
const KILL_CHARS: usize = 2000;
const WAIT_CHARS: usize = 50_000;

impl Jobs for JobTable {
    fn recall<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(engine) = self.engine.upgrade() else { return };
            if self.recalled.lock().contains(&cx.session) {
                return;
            }
            if let Err(error) = engine.restore_jobs_of(&cx.session, &cx.settings).await {
                tracing::warn!(%error, "jobs of an earlier run are not found");
                return;
            }
            let mut recalled = self.recalled.lock();
            if recalled.len() >= RECALLED_MAX {
                recalled.clear();
            }
            recalled.insert(cx.session.clone());
        })
    }

    fn list(&self, cx: &CallContext) -> Vec<JobView> {
        let mut views = self.list_all();
        let theirs = |view: &JobView| self.of(&view.session_id, cx).is_some();
        views.retain(theirs);
        views
    }

    fn list_all(&self) -> Vec<JobView> {
        self.sweep();
        let entries = self.entries.lock();
        let mut views: Vec<JobView> =
            entries.values().map(|entry| entry.job.view(LIST_CHARS)).collect();
        views.sort_by(|left, right| left.started_at.total_cmp(&right.started_at));
        views
    }

    fn poll(&self, job: &JobId, cx: &CallContext) -> Option<JobView> {
        let job = self.of(job, cx)?;
        let view = job.view(POLL_CHARS);
        // A person at the terminal has seen it now; a chat is told all the same.
        if view.status == JobStatus::Exited && cx.surface == Surface::Cli {
            self.saw_end(&job);
        }
        Some(view)
    }

    fn log<'a>(
        &'a self,
        job: &'a JobId,
        lines: Lines,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<LogPage>, EnvError>> {
        Box::pin(async move {
            let Some(job) = self.of(job, cx) else { return Ok(None) };
            let pages = job.log.lock().pages();
            let read = tokio::task::spawn_blocking(move || pages.read(lines)).await;
            let page = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
            if !is_running(&job) {
                self.saw_end(&job);
            }
            page.map(Some).map_err(|error| EnvError::Limit(format!("the log is lost: {error}")))
        })
    }

    fn wait<'a>(
        &'a self,
        job: &'a JobId,
        timeout: Duration,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<(Waited, JobView)>> {
        Box::pin(async move {
            let job = self.of(job, cx)?;
            let mut over = job.over.subscribe();
            let deadline = (Instant::now() + timeout).min(cx.deadline);
            let ended = async { over.wait_for(|over| *over).await.is_ok() };
            let waited = tokio::select! {
                ended = wait::until(deadline, "a background job", ended) => match ended {
                    Ok(_) => Waited::Exited,
                    Err(_) => Waited::Timeout,
                },
                () = cx.cancel.cancelled() => Waited::Interrupted,
            };
            if waited == Waited::Exited {
                self.saw_end(&job);
            }
            Some((waited, job.view(WAIT_CHARS)))
        })
    }

    fn kill<'a>(
        &'a self,
        job: &'a JobId,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<(bool, JobView)>, EnvError>> {
        Box::pin(async move {
            let Some(job) = self.of(job, cx) else { return Ok(None) };
            let grace = TerminalSettings::of(&cx.settings)?.grace();
            let was_running = is_running(&job);
            let failed = self.kill_job(&job, grace, "process_kill").await;
            self.saw_end(&job);
            match failed {
                Some(error) if was_running => Err(error),
                Some(_) | None => Ok(Some((was_running, job.view(KILL_CHARS)))),
            }
        })
    }

    fn write<'a>(
        &'a self,
        job: &'a JobId,
        bytes: Vec<u8>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<usize>, EnvError>> {
        Box::pin(async move {
            let Some(job) = self.of(job, cx) else { return Ok(None) };
            let count = bytes.len();
            type_into(&job, Typed::Bytes(bytes))?;
            Ok(Some(count))
        })
    }

    fn close_input<'a>(
        &'a self,
        job: &'a JobId,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<()>, EnvError>> {
        Box::pin(async move {
            let Some(job) = self.of(job, cx) else { return Ok(None) };
            type_into(&job, Typed::Close).map(Some)
        })
    }

    fn drain(&self, session: &SessionId) -> Vec<JobEvent> {
        self.notices.drain(session)
    }

    fn tell(&self, session: &SessionId, event: JobEvent) {
        self.notices.push(session, event);
    }

    fn changed<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()> {
        Box::pin(self.notices.changed(session))
    }
}

impl JobTable {
    fn saw_end(&self, job: &Job) {
        job.state.lock().seen = true;
        self.notices.consume(&job.facts.owner, &job.facts.id);
    }
}

fn type_into(job: &Job, typed: Typed) -> Result<(), EnvError> {
    let id = &job.facts.id;
    if !is_running(job) {
        return Err(EnvError::Limit(format!("`{id}` has ended and takes no input")));
    }
    let Some(input) = job.input() else {
        return Err(EnvError::Limit(format!("`{id}` has no open input")));
    };
    job.state.lock().question = None;
    input.try_send(typed).map_err(|error| match error {
        TrySendError::Full(_) => EnvError::Limit(format!("`{id}` does not read its input")),
        TrySendError::Closed(_) => EnvError::Limit(format!("the input of `{id}` is closed")),
    })
}
