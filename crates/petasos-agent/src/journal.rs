//! What began and ended since the last stored result, so that a crash in between leaves known who
//! ran. The transcript arms it for a round; the loop's seat writes into it while the round runs.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::event::{Event, EventSink};
use petasos_contract::{CallId, SessionId};
use petasos_store::{Later, Row, Seq, SessionStore, StoreError};

/// A write that takes so long is worth a word.
const UNUSUAL: Duration = Duration::from_secs(3);

/// The journal of one conversation.
pub(crate) struct Journal {
    store: Arc<dyn SessionStore>,
    session: SessionId,
    round: Mutex<(Option<Seq>, EventSink)>,
}

impl Journal {
    pub(crate) fn new(store: Arc<dyn SessionStore>, session: SessionId) -> Arc<Self> {
        Arc::new(Self { store, session, round: Mutex::default() })
    }

    /// A round begins behind this row.
    pub(crate) fn arm(&self, last: Option<Seq>, events: EventSink) {
        *self.round.lock() = (last, events);
    }

    /// The call begins now. Refused when somebody else went on meanwhile: nothing has been done
    /// yet.
    pub(crate) async fn begins(&self, call: &CallId) -> Result<(), StoreError> {
        let (last, events) = self.round.lock().clone();
        let rows = vec![Row::Expect(last), Row::Started(vec![call.clone()])];
        patiently(self.store.append(&self.session, rows), &events).await.map(drop)
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Waits for the store; after a while it is told what is waited for.
pub(crate) async fn patiently<T>(write: Later<'_, T>, events: &EventSink) -> Result<T, StoreError> {
    let mut write = write;
    let Ok(done) = tokio::time::timeout(UNUSUAL, &mut write).await else {
        let text = "waiting for the session database: another process writes to it, or its disk \
                    is slow";
        events.emit(|| Event::Notice { text: text.to_owned() });
        return write.await;
    };
    done
}
