//! Going back within a conversation: rows are hidden, everything else stays as it is.
//!
//! Work in the background belongs to the conversation, not to the exchange that began it: it goes
//! on, and what it finds arrives like any other news.

use std::sync::Arc;

use petasos_store::{Amend, Seq, Slice};

use crate::agent::{Agent, TurnError};
use crate::lease::Held;
use crate::todo::TodoList;

impl Agent {
    /// Hides this row and everything behind it; the log keeps them.
    pub async fn rewind(&mut self, from: Seq) -> Result<(), TurnError> {
        let store = Arc::clone(&self.engine.store);
        // Whoever reads the conversation in at this moment is waited for, not an obstacle.
        let _held = Held::take(&store, self.session(), "an undo").await?;
        store.amend(self.session(), Amend::Rewind(from)).await?;
        self.transcript.catch_up().await?;
        let mut list = TodoList::default();
        list.recall(self.transcript.rows());
        *self.seat.todo.lock() = list;
        crate::compress::take_back(&self.engine, &self.transcript);
        Ok(())
    }

    /// What a shortened conversation no longer shows is found in its log: the list of tasks, and
    /// work in the background that nobody has heard of yet.
    pub(crate) async fn recall_shortened(&self) -> Result<(), TurnError> {
        let rows = self.transcript.rows();
        let short = |note: &str| matches!(note, "summary" | "pruned");
        if !rows.iter().any(|row| row.stored.note.as_deref().is_some_and(short)) {
            return Ok(());
        }
        let log = self.engine.store.read(self.session(), Slice::Whole).await?;
        self.seat.delegation.recall(&log);
        if !TodoList::default().recall(rows) {
            self.seat.todo.lock().recall(&log);
        }
        Ok(())
    }
}
