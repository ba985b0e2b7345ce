//! What requests used: nothing is lost among many writers, and each sees what is theirs.

use petasos_contract::SessionId;
use petasos_contract::address::Address;
use petasos_contract::model::{Role, Served};
use petasos_contract::reply::{Cost, Usage};
use petasos_store::{
    NewSession, SessionScope, Spent, Stores, UsageEntry, UsageFilter, UsageLine, UsageTotals,
};

use super::{Case, Make, RACERS, chat, race};

/// The cases alone, for a store of usage that is not a whole database.
pub static USAGE_CASES: &[Case] = &[
    Case {
        name: "usage of many who add at once is summed up, none is lost",
        run: |make| Box::pin(none_is_lost(make)),
    },
    Case {
        name: "usage is summed up by role, provider and model, with what nobody knows the price of",
        run: |make| Box::pin(by_role_and_model(make)),
    },
    Case {
        name: "usage is seen by those who see its conversation and by nobody else",
        run: |make| Box::pin(usage_by_owner(make)),
    },
];

async fn begun(stores: &Stores, owner: Option<Address>) -> SessionId {
    let new = NewSession { source: "cli".to_owned(), owner, ..NewSession::default() };
    stores.sessions.create(new).await.expect("a conversation").session()
}

fn used(session: &SessionId, by: (Role, &str, &str), cost: Cost) -> UsageEntry {
    let (role, provider, model) = by;
    let (provider, model) = (provider.to_owned(), model.to_owned());
    let served = Served { provider, model, ..Served::default() };
    let usage =
        Usage { input: 7, output: 5, cache_read: 3, cache_write: 2, reasoning: 1, requests: 1 };
    let spent = Spent { role, served, usage, cost };
    UsageEntry { session: session.clone(), owner: None, spent }
}

async fn totals(stores: &Stores, scope: SessionScope, only: Option<&SessionId>) -> UsageTotals {
    let filter = UsageFilter { scope, session: only.cloned() };
    stores.usage.totals(&filter).await.expect("sums")
}

async fn none_is_lost(make: Make) {
    const EACH: u64 = 10;
    let session = begun(&make(), None).await;
    race(&make, |stores, _| {
        let entry = used(&session, (Role::Main, "p", "m"), Cost::Actual { usd: 0.5 });
        async move {
            for _ in 0..EACH {
                stores.usage.add(&entry).await.expect("an entry");
            }
        }
    })
    .await;
    let found = totals(&make(), SessionScope::Local, None).await;
    let times = EACH * u64::try_from(RACERS).expect("a number");
    let [line] = found.lines.as_slice() else { panic!("{found:?}") };
    let usage = Usage {
        input: 7 * times,
        output: 5 * times,
        cache_read: 3 * times,
        cache_write: 2 * times,
        reasoning: times,
        requests: times,
    };
    assert_eq!((line.usage, line.has_unknown, found.unread), (usage, false, 0));
    assert!((line.usd - 40.0).abs() < 1e-6, "{line:?}");
}

async fn by_role_and_model(make: Make) {
    let stores = make();
    let (one, two) = (begun(&stores, None).await, begun(&stores, None).await);
    let main = (Role::Main, "p", "m");
    let entries = [
        used(&one, (Role::Compression, "p", "m"), Cost::Included),
        used(&one, (Role::Main, "q", "m"), Cost::Estimated { usd: 0.25 }),
        used(&one, main, Cost::Unknown),
        // What was unknown once stays so, whatever is known later.
        used(&one, main, Cost::Actual { usd: 0.5 }),
        used(&two, main, Cost::Actual { usd: 1.0 }),
    ];
    for entry in &entries {
        stores.usage.add(entry).await.expect("an entry");
    }
    let each = |it: &UsageLine| {
        (it.role, it.provider.clone(), it.usage.requests, it.usd.to_string(), it.has_unknown)
    };
    let row = |role, provider: &str, requests, usd: &str, unknown| {
        (role, provider.to_owned(), requests, usd.to_owned(), unknown)
    };
    let reader = make();
    let all = totals(&reader, SessionScope::Local, None).await;
    let mut wanted = vec![
        row(Role::Main, "p", 3, "1.5", true),
        row(Role::Main, "q", 1, "0.25", false),
        row(Role::Compression, "p", 1, "0", false),
    ];
    wanted.sort_by_key(|it| (it.0, it.1.clone()));
    assert_eq!(all.lines.iter().map(each).collect::<Vec<_>>(), wanted);
    let second = totals(&reader, SessionScope::Local, Some(&two)).await;
    assert_eq!(
        second.lines.iter().map(each).collect::<Vec<_>>(),
        [row(Role::Main, "p", 1, "1", false)]
    );
    let nothing = totals(&reader, SessionScope::Local, Some(&SessionId::new("no such"))).await;
    assert_eq!(nothing, UsageTotals::default());
}

async fn usage_by_owner(make: Make) {
    let stores = make();
    let ann = Address { user: Some("ann".into()), ..chat("1") };
    let ben = Address { user: Some("ben".into()), ..chat("1") };
    let owners = [None, Some(ann.clone()), Some(ben.clone()), Some(chat("2"))];
    for (at, owner) in owners.iter().enumerate() {
        let session = begun(&stores, owner.clone()).await;
        let model = at.to_string();
        let entry = used(&session, (Role::Main, "p", &model), Cost::Included);
        let entry = UsageEntry { owner: owner.clone(), ..entry };
        stores.usage.add(&entry).await.expect("an entry");
    }
    let reader = make();
    let slack = Address { platform: "slack".into(), ..ann.clone() };
    for (scope, wanted) in [
        (SessionScope::Local, vec!["0"]),
        (SessionScope::Chat(ann), vec!["1"]),
        (SessionScope::Chat(ben), vec!["2"]),
        (SessionScope::Chat(chat("2")), vec!["3"]),
        (SessionScope::Chat(slack), vec![]),
        (SessionScope::Everyone, vec!["0", "1", "2", "3"]),
    ] {
        let found = totals(&reader, scope.clone(), None).await;
        let models: Vec<&str> = found.lines.iter().map(|it| it.model.as_str()).collect();
        assert_eq!(models, wanted, "{scope:?}");
    }
}
