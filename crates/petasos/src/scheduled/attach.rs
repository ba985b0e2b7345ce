//! What a job sent to a chat becomes part of the conversation that is held there, so that whoever
//! replies is understood. Between two turns of it, once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::SessionId;
use petasos_contract::delivery::Destination;
use petasos_contract::message::Message;
use petasos_sqlite::Store;
use petasos_store::{LeaseStore as _, RouteStore as _, Row, SessionStore, StoreError, Stored};

/// So many chats of a platform are looked at.
const ROUTES_MAX: u32 = 1000;
/// In a group where everybody has a conversation of their own, so many of them get to know it.
const SESSIONS_MAX: usize = 8;
const LOOK: Duration = Duration::from_millis(250);
/// About so many characters are a token.
const TOKEN: usize = 4;

/// Puts a text into the conversations of a place.
pub(super) async fn attach(
    store: &Arc<Store>,
    to: &Destination,
    (text, mark): (&str, &str),
    patience: Duration,
) -> Result<(), StoreError> {
    let routes = store.routes_of(&to.platform, ROUTES_MAX).await?;
    let here = routes.into_iter().filter(|route| {
        let key = &route.key;
        key.account == to.account && key.chat == to.chat && key.thread == to.thread
    });
    for route in here.take(SESSIONS_MAX) {
        put(store, &route.session, (text, mark), patience).await?;
    }
    Ok(())
}

async fn put(
    store: &Arc<Store>,
    session: &SessionId,
    (text, mark): (&str, &str),
    patience: Duration,
) -> Result<(), StoreError> {
    let until = Instant::now() + patience;
    let lease = loop {
        match store.claim(session, "what a job sent").await {
            Ok(lease) => break lease,
            // Nobody has said anything there yet.
            Err(StoreError::NotFound { .. }) => return Ok(()),
            Err(StoreError::Leased { .. }) if Instant::now() < until => {
                tokio::time::sleep(LOOK).await;
            }
            Err(error) => return Err(error),
        }
    };
    let done = put_between(store, session, text, mark).await;
    store.release(&lease);
    done
}

async fn put_between(
    store: &Arc<Store>,
    session: &SessionId,
    text: &str,
    mark: &str,
) -> Result<(), StoreError> {
    let loaded = store.load(session).await?;
    if loaded.rows.iter().any(|row| row.stored.note.as_deref() == Some(mark)) {
        return Ok(());
    }
    let tokens = u32::try_from(text.len() / TOKEN + TOKEN).unwrap_or(u32::MAX);
    let note = Some(mark.to_owned());
    let said = Stored { tokens, note, ..Stored::new(Message::assistant(text)) };
    store.append(session, vec![Row::Message(Box::new(said))]).await.map(drop)
}
