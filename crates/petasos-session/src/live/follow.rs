//! What another process did to the conversation: its messages are shown, and taken over.

use petasos_agent::{Agent, TurnError, row_added};
use petasos_store::{Seq, SessionStore, Slice, StoreError};

use super::LiveSession;
use crate::command::Page;
use crate::event::SessionEvent;
use crate::ring::Ring;
use crate::session::Shared;

/// Watchers of a session that was not in memory hear what others said meanwhile; of a new one nobody
/// has heard anything, so that everything in it counts as known.
pub(crate) fn show_missed(ring: &Ring, agent: &Agent) {
    let id = agent.session();
    let rows = agent.transcript().rows().iter().filter(|row| row.active);
    for row in rows.filter(|_| ring.told() != Some(0)) {
        ring.push(SessionEvent::Agent(row_added(id, row)));
    }
    ring.told_until(agent.transcript().last());
}

/// The same while it is not in memory, for as long as somebody watches.
pub(crate) async fn show_cold(shared: &Shared, store: &dyn SessionStore) -> Result<(), StoreError> {
    if shared.cold.lock().is_none() {
        return Ok(());
    }
    let Some(told) = shared.ring.told().filter(|told| *told > 0) else { return Ok(()) };
    let rows = store.read(&shared.id, Slice::After(told)).await?;
    // Nobody wakes it meanwhile: then the rows might be its own.
    let cold = shared.cold.lock();
    for row in rows.iter().filter(|row| row.active && cold.is_some()) {
        shared.ring.push(SessionEvent::Agent(row_added(&shared.id, row)));
    }
    Ok(())
}

impl LiveSession {
    /// Shows what is new, and takes it over unless a turn waits for its time.
    pub(crate) async fn follow(
        &mut self,
        last: Option<Seq>,
        messages: u64,
    ) -> Result<(), TurnError> {
        let Some(told) = self.shared.ring.told() else { return Ok(()) };
        if last.is_some_and(|last| last > told) {
            let rows = self.engine().store.read(self.id(), Slice::After(told)).await?;
            // The session's own turn may have begun to write meanwhile.
            if self.shared.ring.told().is_none() {
                return Ok(());
            }
            for row in rows.iter().filter(|row| row.active) {
                let event = row_added(self.id(), row);
                self.shared.ring.push(SessionEvent::Agent(event));
            }
        }
        let Some(agent) = &mut self.agent else { return Ok(()) };
        let transcript = agent.transcript();
        let here = u64::try_from(transcript.rows().len()).unwrap_or(u64::MAX);
        if transcript.last() == last && here == messages {
            return Ok(());
        }
        let known = agent.catch_up().await?;
        // What was added since the rows were read is shown, too; the ring shows each of them once.
        let id = agent.session().clone();
        for row in agent.transcript().rows().iter().filter(|row| row.active && row.seq > told) {
            self.shared.ring.push(SessionEvent::Agent(row_added(&id, row)));
        }
        let (count, last) = (agent.transcript().rows().len(), agent.transcript().last());
        self.shared.ring.told_until(last);
        if count < known {
            let back = known - count;
            self.show(Page::Note(format!("{back} messages were removed elsewhere (/undo)")));
        }
        Ok(())
    }
}
