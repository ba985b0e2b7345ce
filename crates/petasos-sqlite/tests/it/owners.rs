//! Whose a conversation is, and who finds it.

use petasos_contract::address::Address;
use petasos_store::{Filter, NewSession, Query, SessionScope, SessionStore, StoreError};

use super::{Place, new, user};

#[tokio::test]
async fn every_reader_is_scoped_by_owner() {
    let place = Place::new();
    let store = place.open();
    let (one, two) = (Address::chat("telegram", "1"), Address::chat("telegram", "2"));
    let mut ids = Vec::new();
    for (at, owner) in [None, Some(one.clone()), Some(two.clone())].into_iter().enumerate() {
        let title = Some(format!("talk {at}"));
        let head = store.create(NewSession { owner, title, ..new("cli") }).await.unwrap();
        store.append(&head.session(), vec![user("a wombat")]).await.unwrap();
        ids.push(head);
    }
    let scopes = [SessionScope::Local, SessionScope::Chat(one), SessionScope::Chat(two)];
    for (at, scope) in scopes.iter().enumerate() {
        let own = ids[at].id.as_str();
        let filter = Filter { scope: scope.clone(), ..Filter::default() };
        let listed = store.list(&filter).await.unwrap();
        assert_eq!(listed.iter().map(|head| head.id.as_str()).collect::<Vec<_>>(), [own]);
        for text in ["wombat", "omba"] {
            let query = Query { scope: scope.clone(), text: text.to_owned(), ..Query::default() };
            let hits = store.search(&query).await.unwrap();
            let found: Vec<&str> = hits.iter().map(|hit| hit.session.id.as_str()).collect();
            assert_eq!(found, [own], "{text}");
        }
        assert_eq!(store.find("latest", scope).await.unwrap().id, own);
        for (other, head) in ids.iter().enumerate() {
            for handle in [head.id.as_str(), &format!("talk {other}"), &format!("TALK {other}")] {
                let found = store.find(handle, scope).await;
                if other == at {
                    assert_eq!(found.unwrap().id, own);
                } else {
                    assert!(matches!(found, Err(StoreError::NotFound { .. })), "{found:?}");
                }
            }
        }
        // The beginning of an identity that all of them share is ambiguous to nobody but everyone.
        let beginning: String = own.chars().take(4).collect();
        assert_eq!(store.find(&beginning, scope).await.unwrap().id, own);
    }
    let all = Filter { scope: SessionScope::Everyone, ..Filter::default() };
    assert_eq!(store.list(&all).await.unwrap().len(), 3);
}
