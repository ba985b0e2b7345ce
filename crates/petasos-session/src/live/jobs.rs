//! News of background work: jobs that ended, words that wait for the model.

use std::sync::Arc;

use petasos_agent::Agent;
use petasos_agent::steer::{Inbox, Word};
use petasos_contract::SessionId;
use petasos_contract::jobs::{JobEvent, Jobs};

use super::LiveSession;
use crate::command::Page;

/// Comes back when there is news of the jobs of a session.
pub(crate) async fn jobs_changed(jobs: Option<&Arc<dyn Jobs>>, session: &SessionId) {
    match jobs {
        Some(jobs) => jobs.changed(session).await,
        None => std::future::pending().await,
    }
}

/// Comes back when something waits for the model.
pub(crate) async fn arrival(inbox: Option<&Inbox>) {
    match inbox {
        Some(inbox) => inbox.arrival().await,
        None => std::future::pending().await,
    }
}

impl LiveSession {
    /// Shows what happened to the jobs of this session, and leaves it for the model.
    pub(crate) fn take_job_news(&mut self) {
        let Some(jobs) = self.engine().ports.jobs.clone() else { return };
        let running = self.shared.work().and_then(|work| work.inbox);
        let inbox = running.or_else(|| self.agent.as_ref().map(Agent::inbox));
        for event in jobs.drain(self.id()) {
            let (short, long) = described(&event);
            self.show(Page::Note(format!("⚙ {short}")));
            if let (Some(inbox), Some(long)) = (&inbox, long) {
                inbox.news(long);
            }
        }
    }

    /// What waits for the model while nobody speaks; it begins a turn of its own.
    pub(crate) fn waiting_words(&self) -> Option<String> {
        let inbox = self.agent.as_ref().map(Agent::inbox)?;
        let words: Vec<String> = inbox.drain().iter().map(Word::text).collect();
        (!words.is_empty()).then(|| words.join("\n\n"))
    }
}

/// One line for the person, and what the model should read, if anything.
fn described(event: &JobEvent) -> (String, Option<String>) {
    match event {
        JobEvent::Completion { session_id, command, exit_code, output, .. } => {
            let short = format!("job {session_id} ended with {exit_code}: {command}");
            let long = format!("{short}\nThe end of its output:\n{output}");
            (short, Some(long))
        }
        JobEvent::WatchMatch { session_id, pattern, output, suppressed, .. } => {
            let short = format!("job {session_id} printed `{pattern}`");
            let long = format!("{short} ({suppressed} more matches were suppressed):\n{output}");
            (short, Some(long))
        }
        JobEvent::WatchDisabled { session_id, .. } => {
            (format!("job {session_id} matches too often and is no longer watched"), None)
        }
        JobEvent::WatchOverflowTripped { pause_s } => {
            (format!("jobs print too much: matches pause for {pause_s} s"), None)
        }
        JobEvent::WatchOverflowReleased { suppressed } => {
            (format!("matches are shown again; {suppressed} were suppressed"), None)
        }
        _ => ("something happened to a job; `/jobs` lists them".to_owned(), None),
    }
}
