//! What another process did to the conversation: its messages are shown, and taken over.

use petasos_agent::{TurnError, row_added};
use petasos_store::{Seq, Slice};

use super::LiveSession;
use crate::command::Page;
use crate::event::SessionEvent;

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
