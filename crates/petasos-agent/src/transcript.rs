//! The conversation in memory, always behind the one on disk: a row is stored, then it is here.

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::call::ToolResult;
use petasos_contract::event::EventSink;
use petasos_contract::message::{Assistant, Message};
use petasos_contract::{SessionId, TurnId};
use petasos_store::{
    Amend, Lease, Loaded, LoadedRow, Row, Seq, SessionStore, Spent, StoreError, Stored, Swap,
};

use crate::journal::{Journal, patiently};
use crate::{history, tokens};

/// A journal entry keeps so much of a result: enough to go on after a crash.
const JOURNAL_CHARS_MAX: usize = 20_000;

/// One conversation.
pub struct Transcript {
    store: Arc<dyn SessionStore>,
    session: SessionId,
    rows: Vec<LoadedRow>,
    last: Option<Seq>,
    /// A write was given up of which nobody knows whether it was done.
    unsure: bool,
    /// Who is told when the store lets a turn wait.
    events: EventSink,
    journal: Arc<Journal>,
}

impl Transcript {
    /// An empty one.
    pub fn begin(store: Arc<dyn SessionStore>, session: SessionId) -> Self {
        Self::with(store, session, Vec::new(), None)
    }

    /// One that was loaded.
    pub fn of(store: Arc<dyn SessionStore>, loaded: Loaded) -> Self {
        let session = loaded.head.session();
        Self::with(store, session, loaded.rows, loaded.last)
    }

    fn with(
        store: Arc<dyn SessionStore>,
        session: SessionId,
        rows: Vec<LoadedRow>,
        last: Option<Seq>,
    ) -> Self {
        let journal = Journal::new(Arc::clone(&store), session.clone());
        let (unsure, events) = (false, EventSink::default());
        Self { store, session, rows, last, unsure, events, journal }
    }

    /// Tells these when the store lets us wait.
    pub(crate) fn attend(&mut self, events: EventSink) {
        self.events = events;
    }

    /// Whether nobody added to the conversation or took something back since, and every call has its
    /// result.
    pub(crate) fn is_current(&self, lease: &Lease) -> bool {
        let same = !self.unsure
            && self.last == lease.last
            && u64::try_from(self.rows.len()).is_ok_and(|rows| rows == lease.messages);
        let mut answered = BTreeSet::new();
        for row in self.rows.iter().rev() {
            match &row.stored.message {
                Message::Tool(result) => drop(answered.insert(&result.tool_call_id)),
                Message::User { .. } => {}
                Message::Assistant(said) => {
                    let whole = said.tool_calls.iter().all(|call| answered.contains(&call.id));
                    return whole && same;
                }
            }
        }
        same
    }

    /// Reads the conversation again.
    pub(crate) async fn catch_up(&mut self) -> Result<(), StoreError> {
        let loaded = self.store.load(&self.session).await?;
        (self.rows, self.last, self.unsure) = (loaded.rows, loaded.last, false);
        Ok(())
    }

    /// The last row that is known.
    pub fn last(&self) -> Option<Seq> {
        self.last
    }

    /// Whose it is.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Its rows, those that are replayed.
    pub fn rows(&self) -> &[LoadedRow] {
        &self.rows
    }

    /// The messages as a model may be asked.
    pub fn outgoing(&self) -> Vec<Message> {
        history::outgoing(self.rows.iter().map(|row| &row.stored))
    }

    /// The same with words at its end that are not kept.
    pub fn outgoing_with(&self, words: Option<&str>) -> Vec<Message> {
        let extra = words.map(|words| Stored::new(Message::user(words)));
        history::outgoing(self.rows.iter().map(|row| &row.stored).chain(extra.as_ref()))
    }

    /// About how many tokens it takes.
    pub fn tokens(&self) -> u64 {
        self.rows.iter().map(|row| u64::from(row.stored.tokens)).sum()
    }

    /// Adds messages: durable first, then here. Refused when somebody else went on meanwhile.
    pub async fn add(&mut self, messages: Vec<Stored>) -> Result<(), StoreError> {
        self.append(messages, Vec::new()).await
    }

    /// Adds a message and what is stored beside it, in one step.
    pub(crate) async fn add_with(
        &mut self,
        message: Stored,
        beside: Option<Row>,
    ) -> Result<(), StoreError> {
        self.append(vec![message], beside.into_iter().collect()).await
    }

    /// Adds a reply, what it took, and what is stored beside it, in one step.
    pub async fn add_reply(
        &mut self,
        reply: Stored,
        spent: Spent,
        beside: Option<Row>,
    ) -> Result<(), StoreError> {
        let spent = Box::new(spent);
        let mut rows = vec![Row::Spent(spent.clone())];
        rows.extend(beside);
        let added = self.append(vec![reply], rows).await;
        match &added {
            // What it took may be stored with it, and must not be counted twice.
            Ok(()) | Err(StoreError::Slow { .. }) => {}
            // It was paid for all the same.
            Err(_) => self.amend(Amend::Spent(spent)).await?,
        }
        added
    }

    async fn append(&mut self, messages: Vec<Stored>, beside: Vec<Row>) -> Result<(), StoreError> {
        if self.unsure {
            self.catch_up().await?;
        }
        let messages: Vec<Stored> = messages.into_iter().map(counted).collect();
        let mut rows = vec![Row::Expect(self.last)];
        rows.extend(beside);
        rows.extend(messages.iter().cloned().map(|stored| Row::Message(Box::new(stored))));
        let seqs = patiently(self.store.append(&self.session, rows), &self.events).await;
        self.unsure = matches!(seqs, Err(StoreError::Slow { .. }));
        let seqs = seqs?;
        for (seq, stored) in seqs.iter().zip(messages) {
            self.rows.push(LoadedRow { seq: *seq, at_ms: 0, active: true, stored });
        }
        self.last = self.last.max(seqs.last().copied());
        Ok(())
    }

    /// A round begins: calls are noted behind the rows that are here.
    pub(crate) fn arm(&self) {
        self.journal.arm(self.last, self.events.clone());
    }

    /// Where calls are noted that begin.
    pub(crate) fn journal(&self) -> Arc<Journal> {
        Arc::clone(&self.journal)
    }

    /// The last reply with those of its calls that have no result, and the turn it belongs to;
    /// nothing when somebody has spoken since or no call is open.
    pub(crate) fn waiting(&self) -> Option<(Assistant, Option<TurnId>)> {
        let mut answered = BTreeSet::new();
        for row in self.rows.iter().rev() {
            match &row.stored.message {
                Message::Tool(result) => drop(answered.insert(&result.tool_call_id)),
                Message::User { .. } => return None,
                Message::Assistant(said) => {
                    let mut said = said.clone();
                    said.tool_calls.retain(|call| !answered.contains(&call.id));
                    let open = !said.tool_calls.is_empty();
                    return open.then(|| (said, row.stored.turn.clone()));
                }
            }
        }
        None
    }

    /// These calls have ended; their messages follow with the rest of the batch.
    pub async fn note_ended(&self, results: &[ToolResult]) -> Result<(), StoreError> {
        let row = |result: &ToolResult| Row::Ended {
            call: result.id.clone(),
            text: result.content.text().chars().take(JOURNAL_CHARS_MAX).collect(),
            disposition: result.disposition,
        };
        let rows = results.iter().map(row).collect();
        patiently(self.store.append(&self.session, rows), &self.events).await.map(drop)
    }

    /// Replaces rows: hidden from replay, kept in the log.
    pub async fn swap(&mut self, swaps: Vec<Swap>) -> Result<(), StoreError> {
        let swaps: Vec<Swap> =
            swaps.into_iter().map(|swap| Swap { shown: swap.shown.map(counted), ..swap }).collect();
        let change = Amend::Swap(swaps.clone());
        let mut seqs = self.store.amend(&self.session, change).await?.into_iter();
        for swap in swaps {
            let hidden = |row: &LoadedRow| swap.hidden.contains(&row.seq);
            let at = self.rows.iter().rposition(hidden);
            let shown = swap.shown.map(|stored| {
                let seq = seqs.next().unwrap_or_default();
                self.last = self.last.max(Some(seq));
                LoadedRow { seq, at_ms: 0, active: true, stored }
            });
            if let (Some(at), Some(shown)) = (at, shown) {
                self.rows.insert(at + 1, shown);
            }
            self.rows.retain(|row| !swap.hidden.contains(&row.seq));
        }
        Ok(())
    }

    /// Tells the store something about the conversation.
    pub async fn amend(&self, change: Amend) -> Result<(), StoreError> {
        self.store.amend(&self.session, change).await.map(drop)
    }

    /// The store behind it.
    pub fn store(&self) -> &Arc<dyn SessionStore> {
        &self.store
    }
}

fn counted(mut stored: Stored) -> Stored {
    let own = tokens::of_message(&stored.message);
    let sent = stored.sent.as_deref().map_or(0, tokens::of_text);
    stored.tokens = u32::try_from(own.max(sent)).unwrap_or(u32::MAX);
    stored
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcript")
            .field("session", &self.session)
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}
