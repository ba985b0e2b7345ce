//! What every store of grants must do. It runs all [`CASES`], each over a fresh one.
//!
//! [`Make`] opens the same store as often as it is asked, each time as another process would.
#![expect(clippy::expect_used, reason = "a promise that is not kept fails the test that runs it")]

use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_contract::address::Address;
use petasos_store::{GrantError, GrantRecord, GrantStore, NewGrant, SessionScope};

/// Opens the store of one case once more.
pub type Make = Arc<dyn Fn() -> Arc<dyn GrantStore> + Send + Sync>;

/// One promise.
#[derive(Debug)]
pub struct GrantCase {
    /// What is promised.
    pub name: &'static str,
    /// Panics when it is not kept.
    pub run: fn(Make) -> BoxFuture<'static, ()>,
}

/// Every promise.
pub static CASES: &[GrantCase] = &[
    GrantCase {
        name: "a grant is there for every handle, as it was made, until it is revoked",
        run: |make| Box::pin(lasts(make)),
    },
    GrantCase {
        name: "of many who grant at once none is lost, and the same is granted once",
        run: |make| Box::pin(none_is_lost(make)),
    },
    GrantCase {
        name: "grants are seen and revoked by their owner and by nobody else",
        run: |make| Box::pin(by_owner(make)),
    },
    GrantCase {
        name: "the snapshot follows what this and other handles do, and is the same until then",
        run: |make| Box::pin(snapshot_follows(make)),
    },
    GrantCase {
        name: "what would allow everything is refused, and nothing is there of it",
        run: |make| Box::pin(refuses(make)),
    },
];

fn what(command: &str) -> NewGrant {
    let command = command.split(' ').map(str::to_owned).collect();
    NewGrant { command, ..NewGrant::default() }
}

fn person(name: &str) -> Address {
    Address { user: Some(name.into()), ..Address::chat("telegram", "1") }
}

async fn all(store: &Arc<dyn GrantStore>) -> Vec<GrantRecord> {
    store.granted(&SessionScope::Everyone).await.expect("a list")
}

async fn lasts(make: Make) {
    let (one, two) = (make(), make());
    assert_eq!(all(&two).await, []);
    let whole = NewGrant {
        key: Some("recursive delete".to_owned()),
        tool: Some("terminal".to_owned()),
        exact: true,
        path: Some("~/a".to_owned()),
        project: Some("/work".into()),
        expires: Some(1),
        ..what("rm -r a")
    };
    let first = one.grant(whole.clone(), None).await.expect("a grant");
    assert_eq!((&first.what, &first.owner), (&whole, &None));
    let second = one.grant(what("git push"), None).await.expect("a grant");
    assert_ne!(first.id, second.id);
    // Expired or not: who lists sees it, who judges compares the time.
    assert!(first.is_expired(1) && !first.is_expired(0) && !second.is_expired(u64::MAX));
    assert_eq!(all(&two).await, [first.clone(), second.clone()], "the oldest first");
    let everyone = SessionScope::Everyone;
    assert_eq!(two.revoke("no such", &everyone).await, Ok(false));
    assert_eq!(two.revoke(&first.id, &everyone).await, Ok(true));
    assert_eq!(one.revoke(&first.id, &everyone).await, Ok(false), "it is gone already");
    assert_eq!(all(&one).await, [second]);
}

async fn none_is_lost(make: Make) {
    const HANDLES: usize = 8;
    const EACH: usize = 5;
    let shared = what("make all");
    let work = (0..HANDLES).map(|handle| {
        let (store, shared) = (make(), shared.clone());
        // Stores in files never wait, so that only threads of their own race.
        tokio::task::spawn_blocking(move || {
            tokio::runtime::Handle::current().block_on(async {
                let mut same = Vec::new();
                for number in 0..EACH {
                    let own = what(&format!("run {handle} {number}"));
                    store.grant(own, None).await.expect("a grant");
                    same.push(store.grant(shared.clone(), None).await.expect("a grant").id);
                }
                same
            })
        })
    });
    let ids = futures::future::join_all(work).await;
    let mut ids: Vec<String> = ids.into_iter().flat_map(|ids| ids.expect("its handle")).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let found = all(&make()).await;
    assert_eq!(found.len(), HANDLES * EACH + 1);
    let mut names: Vec<&str> = found.iter().map(|it| it.id.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), found.len(), "each has a name of its own");
}

async fn by_owner(make: Make) {
    let store = make();
    let (ann, ben) = (person("ann"), person("ben"));
    let machine = store.grant(what("git push"), None).await.expect("a grant");
    let anns = store.grant(what("git push"), Some(ann.clone())).await.expect("a grant");
    let bens = store.grant(what("git push"), Some(ben.clone())).await.expect("a grant");
    let again = store.grant(what("git push"), Some(ann.clone())).await.expect("a grant");
    assert_eq!(again, anns, "it was granted before");
    assert!(machine.id != anns.id && anns.id != bens.id, "each owner has one");
    assert_eq!(anns.owner, Some(ann.clone()));
    let reader = make();
    let slack = Address { platform: "slack".into(), ..ann.clone() };
    let seen = [
        (SessionScope::Local, vec![machine.clone()]),
        (SessionScope::Chat(ann.clone()), vec![anns.clone()]),
        (SessionScope::Chat(ben.clone()), vec![bens.clone()]),
        (SessionScope::Chat(slack.clone()), vec![]),
        (SessionScope::Everyone, vec![machine.clone(), anns.clone(), bens.clone()]),
    ];
    for (scope, wanted) in seen {
        assert_eq!(reader.granted(&scope).await, Ok(wanted), "{scope:?}");
    }
    // The machine's hold everywhere, a chat's only there.
    let here = |grant: &GrantRecord| [&ann, &ben, &slack].map(|place| grant.holds_at(place));
    assert_eq!((here(&machine), here(&anns)), ([true; 3], [true, false, false]));
    let bens_scope = SessionScope::Chat(ben);
    for other in [&machine.id, &anns.id] {
        assert_eq!(reader.revoke(other, &bens_scope).await, Ok(false));
    }
    assert_eq!(reader.revoke(&anns.id, &SessionScope::Local).await, Ok(false));
    assert_eq!(all(&store).await.len(), 3);
    assert_eq!(reader.revoke(&bens.id, &bens_scope).await, Ok(true));
    assert_eq!(all(&store).await, [machine, anns]);
}

async fn snapshot_follows(make: Make) {
    let (one, two) = (make(), make());
    assert!(one.snapshot().is_empty());
    let first = one.grant(what("git push"), Some(person("ann"))).await.expect("a grant");
    assert_eq!(*one.snapshot(), std::slice::from_ref(&first), "of every owner");
    assert!(Arc::ptr_eq(&one.snapshot(), &one.snapshot()), "nothing has changed");
    let second = two.grant(what("git pull"), None).await.expect("a grant");
    until(&one, &[first.clone(), second.clone()]).await;
    assert_eq!(two.revoke(&first.id, &SessionScope::Everyone).await, Ok(true));
    assert_eq!(*two.snapshot(), std::slice::from_ref(&second), "at once for who did it");
    until(&one, &[second]).await;
}

/// Another process's change may be heard of a little later; it must be heard of.
async fn until(store: &Arc<dyn GrantStore>, wanted: &[GrantRecord]) {
    let follows = async {
        while *store.snapshot() != wanted {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let most = petasos_store::CHANGE_LATE_MAX * 20;
    let followed = tokio::time::timeout(most, follows).await;
    assert!(followed.is_ok(), "{:?} instead of {wanted:?}", store.snapshot());
}

async fn refuses(make: Make) {
    let store = make();
    let nothing = NewGrant::default();
    let unlimited = NewGrant { key: Some("recursive delete".to_owned()), ..NewGrant::default() };
    for what in [nothing, unlimited] {
        let refused = store.grant(what, None).await;
        assert!(matches!(refused, Err(GrantError::Refused(_))), "{refused:?}");
    }
    assert_eq!(all(&make()).await, []);
}
