//! Conversations are logs: nothing is lost, nothing is half there, and each is seen by its owner.

use petasos_contract::message::Message;
use petasos_store::{
    Amend, CHANGE_LATE_MAX, Filter, NewSession, Query, Row, SessionScope, Slice, StoreError,
};

use super::{Case, Make, RACERS, begun, chat, race};

pub(super) static CASES: &[Case] = &[
    Case {
        name: "of many who go on from the same row one does, and nothing of the others is there",
        run: |make| Box::pin(one_goes_on(make)),
    },
    Case {
        name: "rows are added all or none, and taking back hides without removing",
        run: |make| Box::pin(all_or_none(make)),
    },
    Case {
        name: "conversations are found by those who may see them and by nobody else",
        run: |make| Box::pin(by_owner(make)),
    },
    Case {
        name: "another handle hears of a change, and sees which conversation it was",
        run: |make| Box::pin(hears(make)),
    },
];

fn said(text: &str) -> Row {
    Row::message(Message::user(text))
}

async fn one_goes_on(make: Make) {
    let stores = make();
    let session = begun(&stores).await;
    let mut last = None;
    for round in 1..=5 {
        let added = race(&make, |stores, number| {
            let session = session.clone();
            async move {
                let rows = vec![Row::Expect(last), said(&format!("racer {number}"))];
                stores.sessions.append(&session, rows).await
            }
        })
        .await;
        let won: Vec<_> = added.iter().filter_map(|added| added.as_ref().ok()).collect();
        assert_eq!(won.len(), 1, "{added:?}");
        let refused = added.iter().filter(|it| matches!(it, Err(StoreError::Conflict { .. })));
        assert_eq!(refused.count(), RACERS - 1, "{added:?}");
        last = won[0].last().copied();
        let loaded = stores.sessions.load(&session).await.expect("it");
        assert_eq!((loaded.rows.len(), loaded.last), (round, last));
    }
}

async fn all_or_none(make: Make) {
    let (one, two) = (make(), make());
    let session = begun(&one).await;
    let seqs = one.sessions.append(&session, vec![said("a"), said("b")]).await.expect("rows");
    assert!(seqs.is_sorted() && seqs.len() == 2, "{seqs:?}");
    let torn = vec![said("c"), Row::Expect(Some(seqs[0])), said("d")];
    assert!(two.sessions.append(&session, torn).await.is_err());
    assert_eq!(two.sessions.load(&session).await.expect("it").rows.len(), 2);
    two.sessions.amend(&session, Amend::Rewind(seqs[1])).await.expect("taken back");
    assert_eq!(one.sessions.load(&session).await.expect("it").rows.len(), 1);
    let log = one.sessions.read(&session, Slice::Whole).await.expect("the log");
    assert_eq!(log.iter().map(|row| row.active).collect::<Vec<_>>(), [true, false]);
    let behind = one.sessions.read(&session, Slice::After(seqs[0])).await.expect("rows");
    assert_eq!(behind.iter().map(|row| row.seq).collect::<Vec<_>>(), [seqs[1]]);
    let lease = one.leases.claim(&session, "a turn").await.expect("a lease");
    assert_eq!((lease.last, lease.messages), (Some(seqs[1]), 1));
}

async fn by_owner(make: Make) {
    let stores = make();
    let mut heads = Vec::new();
    for owner in [None, Some(chat("1")), Some(chat("2"))] {
        let new = NewSession { source: "cli".to_owned(), owner, ..NewSession::default() };
        let head = stores.sessions.create(new).await.expect("a conversation");
        stores.sessions.append(&head.session(), vec![said("a wombat")]).await.expect("a row");
        heads.push(head);
    }
    let scopes =
        [SessionScope::Local, SessionScope::Chat(chat("1")), SessionScope::Chat(chat("2"))];
    let reader = make();
    for (own, scope) in scopes.iter().enumerate() {
        let filter = Filter { scope: scope.clone(), ..Filter::default() };
        let listed = reader.sessions.list(&filter).await.expect("a list");
        assert_eq!(listed.iter().map(|it| &it.id).collect::<Vec<_>>(), [&heads[own].id]);
        let query = Query { scope: scope.clone(), text: "wombat".into(), ..Query::default() };
        let hits = reader.sessions.search(&query).await.expect("hits");
        assert_eq!(hits.iter().map(|it| &it.session.id).collect::<Vec<_>>(), [&heads[own].id]);
        for (at, head) in heads.iter().enumerate() {
            let found = reader.sessions.find(&head.id, scope).await;
            assert_eq!(found.is_ok(), at == own, "{found:?}");
        }
    }
}

async fn hears(make: Make) {
    let (one, two) = (make(), make());
    let session = begun(&one).await;
    let before = two.sessions.load(&session).await.expect("it").head.updated_ms;
    let mut changes = two.changes.changes();
    // The first look may count as a change; then it is quiet.
    while tokio::time::timeout(CHANGE_LATE_MAX * 2, changes.changed()).await.is_ok() {}
    one.sessions.append(&session, vec![said("news")]).await.expect("a row");
    // A busy machine may be late; it must not be deaf.
    let heard = tokio::time::timeout(CHANGE_LATE_MAX * 20, changes.changed()).await;
    assert!(heard.is_ok_and(|heard| heard.is_ok()), "nobody told");
    let updated = two.sessions.updated_since(before).await.expect("extents");
    let found = updated.iter().find(|extent| extent.session == session).expect("it");
    assert_eq!(found.messages, 1);
}
