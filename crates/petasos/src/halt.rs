//! The emergency stop of a home: durable, heard by every process, undone only by `petasos resume`.
//!
//! While it holds, no tool runs whoever calls it, turns that run are interrupted, and a gateway
//! begins nothing and sends nothing. Background jobs are ended by whoever stops.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_contract::wait::Owned;
use petasos_session::Sessions;
use serde::{Deserialize, Serialize};

/// The file in the home that says so.
const FILE: &str = "stopped.json";
/// How often a process looks whether it still may work.
const LOOK: Duration = Duration::from_millis(400);

/// Who stopped everything, and when.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stopped {
    by: String,
    at_ms: i64,
}

/// Why nothing may run in a home, when everything was stopped.
pub(crate) fn stopped(home: &Path) -> Option<String> {
    let text = std::fs::read_to_string(home.join(FILE)).ok()?;
    let by =
        serde_json::from_str(&text).map_or_else(|_| "somebody".to_owned(), |it: Stopped| it.by);
    Some(format!("everything was stopped by {by}; `petasos resume` lets work go on"))
}

/// Stops everything of a home.
pub(crate) fn stop(home: &Path, by: &str) -> Result<(), String> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let at_ms = i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
    let text = serde_json::to_vec(&Stopped { by: by.to_owned(), at_ms })
        .map_err(|error| error.to_string())?;
    petasos_fs::write(&home.join(FILE), &text, petasos_fs::Mode::Exactly(0o600))
        .map_err(|error| error.to_string())?;
    tracing::warn!(by, "everything is stopped");
    Ok(())
}

/// Lets work go on; whether it was stopped.
pub(crate) fn resume(home: &Path) -> Result<bool, String> {
    match std::fs::remove_file(home.join(FILE)) {
        Ok(()) => {
            tracing::warn!("work goes on");
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

/// Interrupts the turns of these sessions while everything is stopped; ends when dropped.
pub(crate) fn watch(home: &Path, sessions: &Arc<Sessions>) -> Owned<()> {
    let (home, sessions): (PathBuf, Weak<Sessions>) = (home.to_owned(), Arc::downgrade(sessions));
    Owned::start(async move {
        while let Some(sessions) = sessions.upgrade() {
            if stopped(&home).is_some() {
                for id in sessions.resident() {
                    if let Some(session) = sessions.find(&id) {
                        session.interrupt();
                    }
                }
            }
            drop(sessions);
            tokio::time::sleep(LOOK).await;
        }
    })
}

/// No tool runs while everything is stopped.
#[derive(Debug)]
pub(crate) struct HaltHook(pub(crate) PathBuf);

impl Hook for HaltHook {
    fn name(&self) -> &'static str {
        "emergency-stop"
    }

    fn wants(&self) -> HookSet {
        HookSet::EMPTY.with(HookKind::PreToolCall)
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn fire<'a>(&'a self, _: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        let wanted = stopped(&self.0).map_or(Directive::Pass, Directive::Block);
        Box::pin(std::future::ready(Ok(wanted)))
    }
}
