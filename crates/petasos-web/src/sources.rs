//! What was read in a session, numbered, so that an answer can cite it.

use std::collections::HashMap;

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_contract::ports::Memory;

/// The pages of every session.
#[derive(Debug, Default)]
pub struct Sources(Mutex<HashMap<SessionId, Vec<String>>>);

impl Sources {
    /// The number of a page in a session: the same page keeps its own.
    pub fn number(&self, session: &SessionId, url: &str) -> String {
        let mut all = self.0.lock();
        let pages = all.entry(session.clone()).or_default();
        let at = pages.iter().position(|known| known == url).unwrap_or_else(|| {
            pages.push(url.to_owned());
            pages.len() - 1
        });
        format!("w{}", at + 1)
    }

    /// What a session has read, in order.
    pub fn list(&self, session: &SessionId) -> Vec<String> {
        self.0.lock().get(session).cloned().unwrap_or_default()
    }
}

impl Memory for Sources {
    fn forget(&self, session: &SessionId) {
        self.0.lock().remove(session);
    }
}
