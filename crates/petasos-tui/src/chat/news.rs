//! News of background work: jobs that ended, words that wait for the model.

use std::sync::Arc;

use petasos_agent::steer::Inbox;
use petasos_contract::SessionId;
use petasos_contract::jobs::{JobEvent, Jobs};

use super::{Chat, ChatError};

/// Comes back when there is news of the jobs of a conversation.
pub(super) async fn jobs_changed(jobs: Option<&Arc<dyn Jobs>>, session: Option<&SessionId>) {
    match (jobs, session) {
        (Some(jobs), Some(session)) => jobs.changed(session).await,
        _ => std::future::pending().await,
    }
}

/// Comes back when something waits for the model.
pub(super) async fn arrival(inbox: Option<&Inbox>) {
    match inbox {
        Some(inbox) => inbox.arrival().await,
        None => std::future::pending().await,
    }
}

impl Chat {
    /// What happened to the jobs of this conversation since the last look.
    pub(super) fn job_news(&self) -> Vec<JobEvent> {
        match (self.engine.ports.jobs.as_ref(), self.session()) {
            (Some(jobs), Some(session)) => jobs.drain(&session),
            _ => Vec::new(),
        }
    }

    /// Shows it and leaves it for the model.
    pub(super) fn tell_jobs(&mut self, news: &[JobEvent]) {
        let running = self.working.as_ref().and_then(|working| working.inbox.clone());
        let inbox = running.or_else(|| self.agent.as_ref().map(petasos_agent::Agent::inbox));
        for event in news {
            let (short, long) = told(event);
            self.remark(&format!("⚙ {short}"));
            if let (Some(inbox), Some(long)) = (&inbox, long) {
                inbox.news(long);
            }
        }
    }

    /// News while nobody speaks begin a turn of their own.
    pub(super) async fn follow_news(&mut self) -> Result<(), ChatError> {
        let Some(inbox) = self.agent.as_ref().map(petasos_agent::Agent::inbox) else {
            return Ok(());
        };
        let words: Vec<String> =
            inbox.drain().iter().map(petasos_agent::steer::Word::text).collect();
        if words.is_empty() {
            return Ok(());
        }
        self.take_turn(&words.join("\n\n")).await
    }
}

/// One line for the person, and what the model should read, if anything.
fn told(event: &JobEvent) -> (String, Option<String>) {
    match event {
        JobEvent::Completion { session_id, command, exit_code, output, .. } => {
            let short = format!("job {session_id} ended with {exit_code}: {command}");
            let long = format!("{short}\nThe end of its output:\n{output}");
            (short, Some(long))
        }
        JobEvent::WatchMatch { session_id, pattern, output, suppressed, .. } => {
            let short = format!("job {session_id} printed `{pattern}`");
            let long = format!("{short} ({suppressed} more were not told):\n{output}");
            (short, Some(long))
        }
        JobEvent::WatchDisabled { session_id, .. } => {
            (format!("job {session_id} matches too often and is no longer watched"), None)
        }
        JobEvent::WatchOverflowTripped { pause_s } => {
            (format!("jobs print too much: matches pause for {pause_s} s"), None)
        }
        JobEvent::WatchOverflowReleased { suppressed } => {
            (format!("matches are told again; {suppressed} were not"), None)
        }
        _ => ("something happened to a job; `/jobs` lists them".to_owned(), None),
    }
}
