//! Sessions that nobody named and nobody came back to go after a week.

use std::time::Duration;

use petasos_contract::SessionId;
use petasos_store::{Filter, SessionScope, SessionStore, StoreError};

use crate::conversation::{FRESH, PLATFORM};
use crate::runs::ms;

/// For so long they stay.
const IDLE: Duration = Duration::from_hours(7 * 24);
/// So many are looked at together.
const TOGETHER: usize = 1000;

/// Removes those that are idle at this time.
pub(crate) async fn prune(store: &dyn SessionStore, now_ms: i64) {
    let old = match idle(store, now_ms - ms(IDLE)).await {
        Ok(old) => old,
        Err(error) => return tracing::warn!(%error, "old sessions are not looked for"),
    };
    for id in old {
        if let Err(error) = store.delete(&id).await {
            tracing::warn!(%error, session = %id, "an old session is not removed");
        }
    }
}

async fn idle(store: &dyn SessionStore, before_ms: i64) -> Result<Vec<SessionId>, StoreError> {
    let mut found = Vec::new();
    for page in 0.. {
        let filter = Filter {
            scope: SessionScope::Everyone,
            source: Some(PLATFORM.to_owned()),
            limit: TOGETHER,
            offset: page * TOGETHER,
            ..Filter::default()
        };
        let heads = store.list(&filter).await?;
        let old = heads.iter().filter(|it| it.id.starts_with(FRESH) && it.updated_ms < before_ms);
        found.extend(old.map(|it| SessionId::new(it.id.as_str())));
        if heads.len() < TOGETHER {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use petasos_sqlite::{OpenOptions, Store};
    use petasos_store::NewSession;

    use super::*;
    use crate::runs::now_ms;

    #[tokio::test]
    async fn a_week_after_its_last_word_a_session_without_a_name_is_gone() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
        for (id, source) in [("api-1", PLATFORM), ("mine", PLATFORM), ("api-2", "cli")] {
            let id = Some(SessionId::new(id));
            let new = NewSession { id, source: source.to_owned(), ..NewSession::default() };
            store.create(new).await.unwrap();
        }
        let filter =
            || Filter { scope: SessionScope::Everyone, all_sources: true, ..Filter::default() };
        let day = 24 * 3_600_000;
        prune(&store, now_ms() + 6 * day).await;
        assert_eq!(store.list(&filter()).await.unwrap().len(), 3);
        prune(&store, now_ms() + 8 * day).await;
        let left = store.list(&filter()).await.unwrap();
        let mut left: Vec<&str> = left.iter().map(|head| head.id.as_str()).collect();
        left.sort_unstable();
        assert_eq!(left, ["api-2", "mine"], "named ones and those of others stay");
    }
}
