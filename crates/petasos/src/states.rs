//! Engines that keep something for a session, as sessions see them: each is told when one ends.

use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_contract::ports::Memory;
use petasos_session::SessionState;

/// Where the shell of a session stands, what it exported, passwords that were typed for it.
pub(crate) struct Shells(pub(crate) Arc<petasos_terminal::Engine>);

impl SessionState for Shells {
    fn end(&self, session: &SessionId) {
        self.0.forget_session(session);
    }
}

/// What was approved for a session.
pub(crate) struct Approvals(pub(crate) Arc<petasos_approval::Engine>);

impl SessionState for Approvals {
    fn end(&self, session: &SessionId) {
        self.0.end_session(session);
    }
}

/// What its file tools have read.
pub(crate) struct Files(pub(crate) Arc<dyn Memory>);

impl SessionState for Files {
    fn end(&self, session: &SessionId) {
        self.0.forget(session);
    }
}
