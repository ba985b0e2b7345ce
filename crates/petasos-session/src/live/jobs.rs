//! News of background work: jobs that ended, words that wait for the model.

use std::sync::Arc;

use petasos_agent::Agent;
use petasos_agent::steer::{Inbox, Word};
use petasos_contract::jobs::{JobEvent, Jobs};
use petasos_contract::{SessionId, Settings};
use serde_json::Value;

use super::LiveSession;
use crate::command::Page;
use crate::correspondent::Letter;

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
    /// Shows what happened to the jobs of this session, and leaves it for the model: with whoever
    /// answers for the conversation, else for the running turn or the next.
    pub(crate) async fn take_job_news(&mut self) {
        let Some(jobs) = self.engine().ports.jobs.clone() else { return };
        let running = self.shared.work().and_then(|work| work.inbox);
        let inbox = running.or_else(|| self.agent.as_ref().map(Agent::inbox));
        let told = Told::of(&self.choice.settings);
        for event in jobs.drain(self.id()) {
            let (short, long) = described(&event);
            if told.admits(&event) {
                self.show(Page::Note(format!("⚙ {short}")));
            }
            let Some(long) = long else { continue };
            let letter = Letter::ToModel(Word::News(long.clone()).text());
            if self.parts.carried(self.id(), letter).await {
                continue;
            }
            if let Some(inbox) = &inbox {
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

/// What a person is told about jobs; the model is told everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    All,
    Results,
    Errors,
    Nothing,
}

impl Told {
    fn of(settings: &Settings) -> Self {
        match settings.get("display.background_process_notifications") {
            Some(Value::Bool(false)) => Self::Nothing,
            Some(Value::String(word)) => match word.as_str() {
                "off" => Self::Nothing,
                "error" => Self::Errors,
                "result" => Self::Results,
                _ => Self::All,
            },
            _ => Self::All,
        }
    }

    fn admits(self, event: &JobEvent) -> bool {
        let code = match event {
            JobEvent::Completion { exit_code, .. } => Some(*exit_code),
            _ => None,
        };
        match self {
            Self::All => true,
            Self::Results => code.is_some(),
            Self::Errors => code.is_some_and(|code| code != 0),
            Self::Nothing => false,
        }
    }
}

/// One line for the person, and what the model should read, if anything.
fn described(event: &JobEvent) -> (String, Option<String>) {
    match event {
        JobEvent::Completion { session_id, command, exit_code, output, .. } => {
            let how = if *exit_code == 0 { "finished" } else { "failed" };
            let short = format!("job {session_id} {how} (exit {exit_code}): {command}");
            let long = format!("{short}\nThe end of its output:\n{output}");
            (short, Some(long))
        }
        JobEvent::WatchMatch { session_id, pattern, output, suppressed, .. } => {
            let short = format!("job {session_id} printed `{pattern}`");
            let long = format!("{short} ({suppressed} more matches were suppressed):\n{output}");
            (short, Some(long))
        }
        JobEvent::WatchDisabled { session_id, .. } => {
            (format!("job {session_id} matches too often; it is no longer watched"), None)
        }
        JobEvent::WatchOverflowTripped { pause_s } => {
            (format!("jobs print too much; matches are paused for {pause_s} s"), None)
        }
        JobEvent::WatchOverflowReleased { suppressed } => {
            (format!("matches are shown again; {suppressed} were suppressed"), None)
        }
        _ => ("something happened to a job; `/jobs` lists them".to_owned(), None),
    }
}
