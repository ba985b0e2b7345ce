//! What every decision log must do. It runs all [`CASES`], each over a fresh one.
//!
//! [`Make`] opens the same log as often as it is asked, each time as another process would. What a
//! changed or removed entry looks like is the log's own business: [`Tamper`] does it.
#![expect(clippy::expect_used, reason = "a promise that is not kept fails the test that runs it")]

use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_contract::address::Address;
use petasos_contract::context::Surface;
use petasos_store::{
    BrokenEntry, DecisionEntry, DecisionLog, DecisionOutcome, DecisionReason, SessionScope,
};

/// What somebody does to a log behind its back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tamper {
    /// The word `second` in the second entry becomes another one.
    Change,
    /// The second entry is removed.
    Remove,
    /// The second and the third entry change places.
    Exchange,
}

/// Opens the log of one case.
#[derive(Clone)]
pub struct Make {
    /// Once more, as another process would.
    pub open: Arc<dyn Fn() -> Arc<dyn DecisionLog> + Send + Sync>,
    /// Does something to it that no process of ours would do.
    pub tamper: Arc<dyn Fn(Tamper) + Send + Sync>,
}

impl std::fmt::Debug for Make {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Make")
    }
}

/// One promise.
#[derive(Debug)]
pub struct DecisionCase {
    /// What is promised.
    pub name: &'static str,
    /// Panics when it is not kept.
    pub run: fn(Make) -> BoxFuture<'static, ()>,
}

/// Every promise.
pub static CASES: &[DecisionCase] = &[
    DecisionCase {
        name: "a decision reads back as it was, with the log's own number and predecessor",
        run: |make| Box::pin(reads_back(make)),
    },
    DecisionCase {
        name: "many who add at once make one chain, and none of theirs is lost",
        run: |make| Box::pin(one_chain(make)),
    },
    DecisionCase {
        name: "decisions are read by those who see their conversation and by nobody else",
        run: |make| Box::pin(by_owner(make)),
    },
    DecisionCase {
        name: "a changed, a removed and an exchanged entry are found",
        run: |make| Box::pin(finds_tampering(make)),
    },
];

/// An entry about this subject.
pub fn decided(subject: &str, owner: Option<Address>) -> DecisionEntry {
    DecisionEntry {
        seq: 77,
        at: 5,
        session: "s".to_owned(),
        owner,
        call: "call-1".to_owned(),
        heat: Some("warm".to_owned()),
        sources: vec!["https://a.test".to_owned()],
        surface: Surface::Cli,
        principal: "model".to_owned(),
        workspace: "/work".to_owned(),
        tool: "terminal".to_owned(),
        subject: subject.to_owned(),
        subject_hash: "h".to_owned(),
        verdict: "ask".into(),
        outcome: DecisionOutcome::Denied,
        by: Some("a person".to_owned()),
        scope: None,
        comment: Some("no".to_owned()),
        reasons: vec![DecisionReason {
            key: "k".to_owned(),
            why: "w".to_owned(),
            waived: Some("x".to_owned()),
        }],
        commands: vec![vec!["rm".to_owned(), "-r".to_owned()]],
        prev: Some("not the one before".to_owned()),
    }
}

async fn reads_back(make: Make) {
    let log = (make.open)();
    let untouched = log.verify().await.expect("a check");
    assert_eq!((untouched.entries, untouched.head, untouched.broken), (0, None, None));
    for (subject, number) in [("first", 1), ("second", 2), ("third", 3)] {
        assert_eq!(log.append(decided(subject, None)).await, Ok(number));
    }
    let other = (make.open)();
    let entries = other.read(2, &SessionScope::Local).await.expect("entries");
    let subjects: Vec<(&str, u64)> =
        entries.iter().map(|it| (it.subject.as_str(), it.seq)).collect();
    assert_eq!(subjects, [("second", 2), ("third", 3)], "the last ones, the oldest first");
    let all = other.read(usize::MAX, &SessionScope::Local).await.expect("entries");
    assert_eq!((all.len(), all[0].prev.as_deref()), (3, None));
    assert!(all[1].prev.is_some() && all[1].prev != all[2].prev, "{all:?}");
    for entry in all {
        let (seq, prev, subject) = (entry.seq, entry.prev.clone(), entry.subject.clone());
        assert_eq!(entry, DecisionEntry { seq, prev, ..decided(&subject, None) });
    }
    let checked = other.verify().await.expect("a check");
    assert_eq!((checked.entries, checked.broken, checked.torn.len()), (3, None, 0));
    let head = checked.head.expect("a head");
    log.append(decided("fourth", None)).await.expect("an entry");
    let last = other.read(1, &SessionScope::Local).await.expect("entries");
    assert_eq!(last[0].prev.as_ref(), Some(&head), "the head is what the next one names");
    let next = other.verify().await.expect("a check");
    assert!(next.head.is_some_and(|it| it != head));
}

async fn one_chain(make: Make) {
    const HANDLES: usize = 8;
    const EACH: usize = 10;
    let work = (0..HANDLES).map(|handle| {
        let log = (make.open)();
        // Logs in files never wait, so that only threads of their own race.
        tokio::task::spawn_blocking(move || {
            tokio::runtime::Handle::current().block_on(async {
                let mut numbers = Vec::new();
                for at in 0..EACH {
                    let entry = decided(&format!("{handle} {at}"), None);
                    numbers.push(log.append(entry).await.expect("an entry"));
                }
                numbers
            })
        })
    });
    let numbers = futures::future::join_all(work).await;
    let mut numbers: Vec<u64> = numbers.into_iter().flat_map(|it| it.expect("one")).collect();
    numbers.sort_unstable();
    let all = u64::try_from(HANDLES * EACH).expect("a number");
    assert_eq!(numbers, (1..=all).collect::<Vec<_>>(), "each number once");
    let log = (make.open)();
    let found = log.read(usize::MAX, &SessionScope::Everyone).await.expect("entries");
    assert!(found.iter().map(|it| it.seq).eq(1..=all), "in the order of their numbers");
    let mut subjects: Vec<&str> = found.iter().map(|it| it.subject.as_str()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), HANDLES * EACH);
    let checked = log.verify().await.expect("a check");
    assert_eq!((checked.entries, checked.broken, checked.torn.len()), (all, None, 0));
}

async fn by_owner(make: Make) {
    let person = |name: &str| Address { user: Some(name.into()), ..Address::chat("telegram", "1") };
    let (ann, ben) = (person("ann"), person("ben"));
    let log = (make.open)();
    let owners = [None, Some(ann.clone()), Some(ben.clone()), None];
    for (at, owner) in owners.into_iter().enumerate() {
        log.append(decided(&at.to_string(), owner)).await.expect("an entry");
    }
    let reader = (make.open)();
    let slack = Address { platform: "slack".into(), ..ann.clone() };
    for (scope, wanted) in [
        (SessionScope::Local, vec!["0", "3"]),
        (SessionScope::Chat(ann), vec!["1"]),
        (SessionScope::Chat(ben), vec!["2"]),
        (SessionScope::Chat(slack), vec![]),
        (SessionScope::Everyone, vec!["0", "1", "2", "3"]),
    ] {
        let found = reader.read(9, &scope).await.expect("entries");
        let subjects: Vec<&str> = found.iter().map(|it| it.subject.as_str()).collect();
        assert_eq!(subjects, wanted, "{scope:?}");
    }
    // What is not seen does not count against the number that is asked for.
    let last = reader.read(1, &SessionScope::Chat(person("ann"))).await.expect("entries");
    assert_eq!(last.len(), 1);
}

async fn finds_tampering(make: Make) {
    let log = (make.open)();
    for subject in ["first", "second", "third"] {
        log.append(decided(subject, None)).await.expect("an entry");
    }
    // One after the other: what was found stays found.
    for tamper in [Tamper::Exchange, Tamper::Exchange, Tamper::Change, Tamper::Remove] {
        let healed = matches!((make.open)().verify().await, Ok(it) if it.broken.is_some());
        (make.tamper)(tamper);
        let checked = (make.open)().verify().await.expect("a check");
        let broken = checked.broken.as_ref().map(|BrokenEntry { line, .. }| *line);
        let back = tamper == Tamper::Exchange && healed;
        assert_eq!(broken, (!back).then_some(2), "{tamper:?}: {checked:?}");
    }
}
