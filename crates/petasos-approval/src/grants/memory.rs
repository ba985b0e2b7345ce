//! What this process remembers: a set for each session, and what became lasting since the snapshot.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::SessionId;

use petasos_store::{GrantError, NewGrant};

use super::narrow::{Held, made};
use crate::keys::same_key;

/// So many files of a session are told apart from those of others.
const WRITTEN_MAX: usize = 8192;

#[derive(Debug, Default)]
struct Session {
    keys: BTreeSet<String>,
    grants: Arc<Vec<Held>>,
    written: Arc<BTreeSet<PathBuf>>,
    off: bool,
    /// What its calls may have cost, in cents.
    spent: u32,
}

/// The memory of a process, for many sessions and homes.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    sessions: Mutex<HashMap<SessionId, Session>>,
    always: Mutex<HashMap<PathBuf, BTreeSet<String>>>,
}

impl Memory {
    pub(crate) fn remember_session(&self, session: &SessionId, key: &str) {
        let mut sessions = self.sessions.lock();
        sessions.entry(session.clone()).or_default().keys.insert(key.to_owned());
    }

    /// Notes files that a session wrote.
    pub(crate) fn wrote(&self, session: &SessionId, files: &[PathBuf]) {
        if files.is_empty() {
            return;
        }
        let mut sessions = self.sessions.lock();
        let written = &mut sessions.entry(session.clone()).or_default().written;
        let room = WRITTEN_MAX.saturating_sub(written.len());
        Arc::make_mut(written).extend(files.iter().take(room).cloned());
    }

    /// The files that a session wrote.
    pub(crate) fn written(&self, session: &SessionId) -> Arc<BTreeSet<PathBuf>> {
        self.sessions.lock().get(session).map(|it| Arc::clone(&it.written)).unwrap_or_default()
    }

    /// Remembers narrow grants for a session.
    pub(crate) fn grant(
        &self,
        session: &SessionId,
        grants: Vec<NewGrant>,
    ) -> Result<(), GrantError> {
        let held = grants.into_iter().map(|what| Held::new(made(what, None)));
        let held: Vec<Held> = held.collect::<Result<_, _>>().map_err(GrantError::Refused)?;
        let mut sessions = self.sessions.lock();
        Arc::make_mut(&mut sessions.entry(session.clone()).or_default().grants).extend(held);
        Ok(())
    }

    /// The narrow grants of a session.
    pub(crate) fn held(&self, session: &SessionId) -> Arc<Vec<Held>> {
        self.sessions.lock().get(session).map(|it| Arc::clone(&it.grants)).unwrap_or_default()
    }

    pub(crate) fn in_session(&self, session: &SessionId, key: &str) -> bool {
        let sessions = self.sessions.lock();
        sessions.get(session).is_some_and(|it| it.keys.iter().any(|known| same_key(known, key)))
    }

    /// Counts what a call may cost.
    pub(crate) fn spend(&self, session: &SessionId, cents: u32) {
        if cents == 0 {
            return;
        }
        let mut sessions = self.sessions.lock();
        let spent = &mut sessions.entry(session.clone()).or_default().spent;
        *spent = spent.saturating_add(cents);
    }

    /// What a session may have spent so far, in cents.
    pub(crate) fn spent(&self, session: &SessionId) -> u32 {
        self.sessions.lock().get(session).map_or(0, |it| it.spent)
    }

    pub(crate) fn set_off(&self, session: &SessionId, off: bool) {
        self.sessions.lock().entry(session.clone()).or_default().off = off;
    }

    pub(crate) fn is_off(&self, session: &SessionId) -> bool {
        self.sessions.lock().get(session).is_some_and(|it| it.off)
    }

    pub(crate) fn end(&self, session: &SessionId) {
        self.sessions.lock().remove(session);
    }

    pub(crate) fn remember_always(&self, home: &Path, key: &str) {
        self.always.lock().entry(home.to_path_buf()).or_default().insert(key.to_owned());
    }

    pub(crate) fn always(&self, home: &Path, key: &str) -> bool {
        let always = self.always.lock();
        always.get(home).is_some_and(|keys| keys.iter().any(|known| same_key(known, key)))
    }

    pub(crate) fn forget(&self, home: &Path, key: &str) {
        if let Some(keys) = self.always.lock().get_mut(home) {
            keys.retain(|known| !same_key(known, key));
        }
        for session in self.sessions.lock().values_mut() {
            session.keys.retain(|known| !same_key(known, key));
            Arc::make_mut(&mut session.grants)
                .retain(|held| held.grant.what.key.as_deref() != Some(key));
        }
    }
}
