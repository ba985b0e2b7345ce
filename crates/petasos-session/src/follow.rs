//! Following the store: what another process does to a session that is open here is seen here.
//!
//! One task listens for all sessions of a program. A hint from the store makes it look, at most a
//! few times a second, which conversations were changed and which questions are open; owners then
//! read what is new to them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use petasos_store::{StoreError, Stores};
use tracing::warn;

use crate::live::follow::show_cold;
use crate::owner::Request;
use crate::record;
use crate::sessions::Sessions;

/// Hints come in crowds: so much time passes before one is followed.
const PAUSE: Duration = Duration::from_millis(150);
/// Clocks and commits do not agree to the millisecond.
const SLACK_MS: i64 = 2_000;

/// Until the service is gone.
pub(crate) async fn follow(sessions: Weak<Sessions>, stores: Stores) {
    let mut changes = stores.changes.changes();
    let mut since = record::now_ms();
    while changes.changed().await.is_ok() {
        tokio::time::sleep(PAUSE).await;
        changes.mark_unchanged();
        let Some(sessions) = sessions.upgrade() else { return };
        let now = record::now_ms();
        match look(&sessions, &stores, since - SLACK_MS).await {
            Ok(()) => since = now,
            Err(error) => warn!(%error, "other processes were not followed"),
        }
    }
}

async fn look(sessions: &Arc<Sessions>, stores: &Stores, since: i64) -> Result<(), StoreError> {
    for extent in stores.sessions.updated_since(since).await? {
        let Some(session) = sessions.find(&extent.session) else { continue };
        // What the session itself adds, its watchers have heard of.
        if session.shared.ring.told().is_some() {
            let follow = Request::Follow { last: extent.last, messages: extent.messages };
            // An owner that is too busy to take it hears of it with the next change.
            sessions.tell(&extent.session, follow);
            show_cold(&session.shared, &*stores.sessions).await?;
        }
    }
    let open = stores.questions.open(None).await?;
    for id in sessions.resident() {
        let Some(session) = sessions.find(&id) else { continue };
        let asked = open.iter().find(|record| record.asked.session == id);
        let asked = asked.map(record::question).transpose()?;
        let mine = asked.as_ref().is_some_and(|asked| session.shared.desk.knows(&asked.id));
        session.shared.desk.asked_elsewhere(asked.filter(|_| !mine));
    }
    Ok(())
}
