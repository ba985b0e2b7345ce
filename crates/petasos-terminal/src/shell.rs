//! What outlives a command: where each session is and what it exported.
//!
//! Kept by session and task, never by process: two sessions of one program do not see each
//! other's directory. Parallel commands of one session each add what they changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::environment::{Exports, Facts, Isolation, Located, Session};
use petasos_contract::path::{TargetPath, resolve};
use petasos_contract::terminal::{Lender, Lent};
use petasos_contract::{CallContext, SessionId, TaskId};

use crate::childenv;
use crate::settings::TerminalSettings;

/// Whoever lends to the commands of a session, by name.
type Lenders = BTreeMap<String, Arc<dyn Lender>>;

/// The records of all sessions.
#[derive(Default)]
pub(crate) struct Shells {
    records: Mutex<HashMap<(SessionId, TaskId), Record>>,
    /// Who lends to the commands of a session, by where it lends from.
    lenders: Mutex<HashMap<SessionId, Lenders>>,
}

impl std::fmt::Debug for Shells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shells").field("records", &self.records).finish_non_exhaustive()
    }
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

    /// Somebody lends to the commands of a session.
    pub(crate) fn lend(&self, session: &SessionId, from: &str, lender: Arc<dyn Lender>) {
        self.lenders.lock().entry(session.clone()).or_default().insert(from.to_owned(), lender);
    }

    /// Only those who are still in use go on lending.
    pub(crate) fn take_back(&self, session: &SessionId, in_use: &dyn Fn(&str) -> bool) {
        if let Some(lenders) = self.lenders.lock().get_mut(session) {
            lenders.retain(|from, _| in_use(from));
        }
    }

    /// What is lent to a session now. Lenders look at the disk, so they are asked where that may
    /// take its time.
    pub(crate) async fn lent(&self, cx: &CallContext) -> Lent {
        let lenders: Vec<Arc<dyn Lender>> = self
            .lenders
            .lock()
            .get(&cx.session)
            .into_iter()
            .flat_map(BTreeMap::values)
            .cloned()
            .collect();
        if lenders.is_empty() {
            return Lent::default();
        }
        let asked = tokio::task::spawn_blocking(move || {
            let mut all = Lent::default();
            for lent in lenders.iter().map(|lender| lender.lent()) {
                all.variables.extend(lent.variables);
                all.files.extend(lent.files);
            }
            all.files.sort();
            all.files.dedup();
            all
        });
        asked.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "nothing is lent to this command");
            Lent::default()
        })
    }

    /// Sends a session somewhere.
    pub(crate) fn set_cwd(&self, cx: &CallContext, cwd: TargetPath) {
        self.records.lock().entry(key(cx)).or_default().cwd = Some(cwd);
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.records.lock().retain(|(owner, _), _| owner != session);
        self.lenders.lock().remove(session);
    }
}

fn key(cx: &CallContext) -> (SessionId, TaskId) {
    (cx.session.clone(), cx.task.clone())
}

/// The values of variables that are lent, as far as they are set. A model provider's credential is
/// lent to nobody.
pub(crate) fn values(names: &[String], cx: &CallContext) -> Exports {
    let value = |name: &String| Some(cx.settings.variable(name)?.value.expose().to_owned());
    let allowed = names.iter().filter(|name| !childenv::is_provider_secret(name));
    allowed.filter_map(|name| Some((name.clone(), value(name)?))).collect()
}

/// Files of the home that are lent. One behind a link is not: it would be another one.
pub(crate) fn files(names: Vec<String>, cx: &CallContext) -> Vec<(PathBuf, String)> {
    let here = |name: String| {
        let mut path = cx.settings.home().to_owned();
        for part in name.split('/') {
            path.push(part);
            if path.is_symlink() {
                tracing::warn!(name, "a file behind a link is not lent");
                return None;
            }
        }
        Some((path, name))
    };
    names.into_iter().filter_map(here).collect()
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
