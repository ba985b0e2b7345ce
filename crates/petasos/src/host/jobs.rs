//! Background jobs as commands see them: those of earlier runs included, whichever session owns them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::Surface;
use petasos_contract::environment::EnvError;
use petasos_contract::jobs::{JobId, JobView, Jobs as _};
use petasos_contract::{CallContext, SessionId};
use petasos_terminal::JobTable;

use super::Host;
use crate::report::Report;

/// What the name of every job begins with; a person may leave it out.
const PREFIX: &str = "proc_";

impl Host {
    /// A conversation goes on: its jobs of earlier runs are its own again, and their ends are news.
    pub async fn recall_jobs(&self, session: &SessionId) {
        let cx = self.call_context(Surface::Cli, session.clone());
        self.terminal.jobs().recall(&cx).await;
    }

    /// Looks at the background jobs, those of earlier runs included.
    pub fn with_jobs<T, F: Future<Output = T>>(
        &self,
        look: impl FnOnce(Arc<JobTable>) -> F,
    ) -> Result<T, Report> {
        let looked = self.wait(async {
            self.terminal.restore_jobs(&self.settings).await?;
            let jobs = self.terminal.jobs();
            self.notice_the_dead(jobs).await;
            Ok(look(Arc::clone(jobs)).await)
        })?;
        looked.map_err(|error: EnvError| Report::new(error.to_string()).code("terminal"))
    }

    /// A job that ended while nobody was there is known to have ended only after a look at it.
    async fn notice_the_dead(&self, jobs: &JobTable) {
        const LOOK: Duration = Duration::from_millis(50);
        let looks = jobs.list_all().into_iter().map(|view| async move {
            let cx = self.call_context(Surface::Cli, view.owner.clone());
            jobs.wait(&view.session_id, LOOK, &cx).await
        });
        futures::future::join_all(looks).await;
    }

    /// Does something with one job, whichever session it belongs to.
    pub fn with_job<T, F: Future<Output = Result<Option<T>, EnvError>>>(
        &self,
        job: &str,
        act: impl FnOnce(Arc<JobTable>, JobId, CallContext) -> F,
    ) -> Result<T, Report> {
        let done = self.with_jobs(|jobs| async move {
            let (id, owner) = match one_of(jobs.list_all(), job) {
                Ok(Some(view)) => (view.session_id, view.owner),
                Ok(None) => return Ok(Ok(None)),
                Err(several) => return Err(several),
            };
            // A person at this machine acts for the session that owns the job.
            let cx = self.call_context(Surface::Cli, owner);
            Ok(act(jobs, id, cx).await)
        })??;
        let done = done.map_err(|error| Report::new(error.to_string()).code("terminal"))?;
        done.ok_or_else(|| {
            Report::new(format!("no job is named `{job}`"))
                .code("not_found")
                .hint("`petasos ps` lists them")
        })
    }
}

/// The job of this name, else the only one whose name begins so, with or without `proc_`.
fn one_of(jobs: Vec<JobView>, named: &str) -> Result<Option<JobView>, Report> {
    let bare = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let wanted = bare(named);
    let begins =
        |view: &JobView| !wanted.is_empty() && bare(view.session_id.as_str()).starts_with(&wanted);
    let mut found: Vec<JobView> = jobs.into_iter().filter(begins).collect();
    if let Some(at) = found.iter().position(|view| view.session_id.as_str() == named) {
        return Ok(Some(found.swap_remove(at)));
    }
    if found.len() > 1 {
        let all: Vec<&str> = found.iter().map(|view| view.session_id.as_str()).collect();
        return Err(Report::new(format!("several jobs begin with `{named}`: {}", all.join(", ")))
            .code("ambiguous")
            .hint("`petasos ps` shows what each of them is"));
    }
    Ok(found.pop())
}
