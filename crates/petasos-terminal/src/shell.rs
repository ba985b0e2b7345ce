//! What outlives a command: where each session is and what it exported.
//!
//! Kept by session and task, never by process: two sessions of one program do not see each
//! other's directory. Parallel commands of one session each add what they changed.

use std::collections::{BTreeSet, HashMap};

use parking_lot::Mutex;
use petasos_contract::environment::{Exports, Facts, Isolation, Located, Session};
use petasos_contract::path::{TargetPath, resolve};
use petasos_contract::{CallContext, SessionId, TaskId};

use crate::childenv;
use crate::settings::TerminalSettings;

/// The records of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Shells {
    records: Mutex<HashMap<(SessionId, TaskId), Record>>,
    /// Names of this program's variables that a session may see besides the usual ones.
    passed: Mutex<HashMap<SessionId, BTreeSet<String>>>,
}

/// What one session carries from command to command.
#[derive(Debug, Default, Clone)]
pub(crate) struct Record {
    pub(crate) cwd: Option<TargetPath>,
    pub(crate) exports: Exports,
    pub(crate) unset: BTreeSet<String>,
}

impl Shells {
    /// What the session carries.
    pub(crate) fn record(&self, cx: &CallContext) -> Record {
        self.records.lock().get(&key(cx)).cloned().unwrap_or_default()
    }

    /// Notes what a finished command left.
    pub(crate) fn note(&self, cx: &CallContext, session: Session) {
        let mut records = self.records.lock();
        let record = records.entry(key(cx)).or_default();
        if session.cwd.is_some() {
            record.cwd = session.cwd;
        }
        for (name, value) in session.exports {
            record.unset.remove(&name);
            record.exports.insert(name, value);
        }
        for name in session.unset {
            record.exports.remove(&name);
            record.unset.insert(name);
        }
    }

    /// Lets a session see more variables.
    pub(crate) fn pass(&self, session: &SessionId, names: &[String]) {
        let allowed = names.iter().filter(|name| !childenv::is_provider_secret(name)).cloned();
        self.passed.lock().entry(session.clone()).or_default().extend(allowed);
    }

    /// Those variables, as far as they are set.
    pub(crate) fn passed(&self, cx: &CallContext) -> Exports {
        let passed = self.passed.lock();
        let names = passed.get(&cx.session).into_iter().flatten();
        let value = |name: &String| Some(cx.settings.variable(name)?.value.expose().to_owned());
        names.filter_map(|name| Some((name.clone(), value(name)?))).collect()
    }

    /// Sends a session somewhere.
    pub(crate) fn set_cwd(&self, cx: &CallContext, cwd: TargetPath) {
        self.records.lock().entry(key(cx)).or_default().cwd = Some(cwd);
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.records.lock().retain(|(owner, _), _| owner != session);
        self.passed.lock().remove(session);
    }
}

fn key(cx: &CallContext) -> (SessionId, TaskId) {
    (cx.session.clone(), cx.task.clone())
}

/// Where a session is: its record, else the configured place, else where the program was started.
pub(crate) fn cwd(record: &Record, cx: &CallContext) -> TargetPath {
    if let Some(cwd) = &record.cwd {
        return cwd.clone();
    }
    let own = |user: &str| user.is_empty().then(|| cx.settings.user_home().to_owned());
    let configured = TerminalSettings::of(&cx.settings)
        .ok()
        .and_then(|terminal| terminal.cwd().map(|cwd| resolve(cwd, &cx.workspace, own)));
    TargetPath::new(configured.unwrap_or_else(|| cx.workspace.to_path_buf()))
}

/// Where a session is in a place that is not this machine: no path of ours means anything there.
pub(crate) fn away(record: &Record, facts: &Facts) -> TargetPath {
    record.cwd.clone().unwrap_or_else(|| facts.cwd.clone())
}

/// A directory as a caller wrote it, as every path is resolved.
pub(crate) fn within(located: &Located, workdir: &TargetPath) -> TargetPath {
    let home = located.home.as_path();
    let own = |user: &str| user.is_empty().then(|| home.to_owned());
    TargetPath::new(resolve(&workdir.to_string(), located.cwd.as_path(), own))
}

/// Where a command of the session begins, and which directory must be there. In a directory that is
/// gone nothing runs, least of all in the one above it; only a bare change to another directory
/// leads out, and begins at the root.
pub(crate) fn entered(
    located: &Located,
    script: &str,
    directory: Option<(u64, u64)>,
) -> (TargetPath, Option<(u64, u64)>) {
    let is_host = located.environment.facts().isolation == Isolation::Host;
    let stuck = is_host && !located.cwd.as_path().is_dir();
    if stuck && leads_out(script) {
        return (TargetPath::new("/"), None);
    }
    (located.cwd.clone(), directory)
}

/// `cd` with one plain word that needs no directory to start from, and nothing else.
fn leads_out(script: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@~".contains(letter);
    let mut words = script.split_ascii_whitespace();
    let first = words.next() == Some("cd");
    let place = words.next().unwrap_or("~");
    first && words.next().is_none() && place.starts_with(['/', '~']) && place.chars().all(plain)
}
