//! Sessions that nobody named and nobody came back to go after a week.

use std::time::Duration;

use petasos_contract::SessionId;
use petasos_store::{Filter, SessionScope};

use crate::conversation::{Conversations, FRESH, PLATFORM};
use crate::runs::{ms, now_ms};

/// For so long they stay.
const IDLE: Duration = Duration::from_hours(7 * 24);
/// So many are looked at.
const LOOKED_AT: usize = 10_000;

/// Removes those that are idle.
pub(crate) async fn prune(conversations: &Conversations) {
    let filter = Filter {
        scope: SessionScope::Everyone,
        source: Some(PLATFORM.to_owned()),
        limit: LOOKED_AT,
        ..Filter::default()
    };
    let heads = match conversations.store.list(&filter).await {
        Ok(heads) => heads,
        Err(error) => return tracing::warn!(%error, "old sessions are not looked for"),
    };
    let before = now_ms() - ms(IDLE);
    for head in heads.iter().filter(|head| head.id.starts_with(FRESH) && head.updated_ms < before) {
        let id = SessionId::new(head.id.as_str());
        if let Err(error) = conversations.store.delete(&id).await {
            tracing::warn!(%error, session = %id, "an old session is not removed");
        }
    }
}
