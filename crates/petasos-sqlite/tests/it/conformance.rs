//! SQLite keeps the promises of every store, and the suite notices when one is broken.

use std::future::ready;
use std::sync::Arc;

use petasos_contract::wait::Owned;
use petasos_contract::{BoxFuture, SessionId};
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{
    Holder, Later, Lease, LeaseStore, SessionScope, StoreError, Stores, UsageEntry, UsageError,
    UsageFilter, UsageStore, UsageTotals,
};
use petasos_testkit::suites::store::{Case, LEASE_CASES, USAGE_CASES, cases};

/// What is done to stores.
type Change = fn(Stores) -> Stores;

/// Runs cases, each over a fresh file that `change` may do something to; gives those that fail.
async fn broken<'a>(cases: impl Iterator<Item = &'a Case>, change: Change) -> Vec<&'static str> {
    let mut all = Vec::new();
    for case in cases {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("petasos.db");
        let make =
            move || change(Stores::of(&Arc::new(Store::open(&OpenOptions::new(&file)).unwrap())));
        all.push(async move {
            let ran = Owned::start((case.run)(Arc::new(make))).join().await;
            drop(folder);
            (case.name, ran.is_some())
        });
    }
    let ran = futures::future::join_all(all).await;
    ran.into_iter().filter(|(_, kept)| !kept).map(|(name, _)| name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_keeps_every_promise_of_a_store() {
    assert_eq!(broken(cases(), |stores| stores).await, [""; 0]);
}

/// How leases go wrong.
#[derive(Clone, Copy, PartialEq)]
enum LeaseFault {
    /// Everybody gets one.
    Everybody,
    /// One that was given back stays.
    NotReleased,
    /// Anything counts as a renewal.
    AlwaysRenewed,
    /// Nobody is told who has it.
    HolderHidden,
}

struct WrongLeases(Arc<dyn LeaseStore>, LeaseFault);

impl LeaseStore for WrongLeases {
    fn claim<'a>(&'a self, session: &'a SessionId, purpose: &'a str) -> Later<'a, Lease> {
        Box::pin(async move {
            match self.0.claim(session, purpose).await {
                Err(StoreError::Leased { .. }) if self.1 == LeaseFault::Everybody => {
                    let (token, session) = (purpose.to_owned(), session.clone());
                    Ok(Lease { session, token, last: None, messages: 0 })
                }
                claimed => claimed,
            }
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Later<'a, ()> {
        match self.1 {
            LeaseFault::AlwaysRenewed => Box::pin(ready(Ok(()))),
            _ => self.0.renew(lease),
        }
    }

    fn release(&self, lease: &Lease) {
        if self.1 != LeaseFault::NotReleased {
            self.0.release(lease);
        }
    }

    fn holder<'a>(&'a self, session: &'a SessionId) -> Later<'a, Option<Holder>> {
        match self.1 {
            LeaseFault::HolderHidden => Box::pin(ready(Ok(None))),
            _ => self.0.holder(session),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_breaks_a_promise_about_leases_does_not_pass() {
    fn with(stores: Stores, fault: LeaseFault) -> Stores {
        Stores { leases: Arc::new(WrongLeases(Arc::clone(&stores.leases), fault)), ..stores }
    }
    let faults: [(&str, Change); 4] = [
        ("everybody", |stores| with(stores, LeaseFault::Everybody)),
        ("not released", |stores| with(stores, LeaseFault::NotReleased)),
        ("always renewed", |stores| with(stores, LeaseFault::AlwaysRenewed)),
        ("holder hidden", |stores| with(stores, LeaseFault::HolderHidden)),
    ];
    for (fault, change) in faults {
        assert_ne!(broken(LEASE_CASES.iter(), change).await, [""; 0], "{fault} passes");
    }
}

/// How usage goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum UsageFault {
    Forgets,
    Doubles,
    ShowsEverybodys,
    IgnoresSession,
    ForgetsUnknown,
}

struct WrongUsage(Arc<dyn UsageStore>, UsageFault);

impl UsageStore for WrongUsage {
    fn add<'a>(&'a self, entry: &'a UsageEntry) -> BoxFuture<'a, Result<(), UsageError>> {
        Box::pin(async move {
            match self.1 {
                UsageFault::Forgets => return Ok(()),
                UsageFault::Doubles => self.0.add(entry).await?,
                _ => {}
            }
            self.0.add(entry).await
        })
    }

    fn totals<'a>(
        &'a self,
        filter: &'a UsageFilter,
    ) -> BoxFuture<'a, Result<UsageTotals, UsageError>> {
        let mut filter = filter.clone();
        match self.1 {
            UsageFault::ShowsEverybodys => filter.scope = SessionScope::Everyone,
            UsageFault::IgnoresSession => filter.session = None,
            _ => {}
        }
        Box::pin(async move {
            let mut found = self.0.totals(&filter).await?;
            if self.1 == UsageFault::ForgetsUnknown {
                found.lines.iter_mut().for_each(|line| line.has_unknown = false);
            }
            Ok(found)
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_breaks_a_promise_about_usage_does_not_pass() {
    fn with(stores: Stores, fault: UsageFault) -> Stores {
        Stores { usage: Arc::new(WrongUsage(Arc::clone(&stores.usage), fault)), ..stores }
    }
    let faults: [(&str, Change); 5] = [
        ("forgets", |stores| with(stores, UsageFault::Forgets)),
        ("doubles", |stores| with(stores, UsageFault::Doubles)),
        ("shows everybody's", |stores| with(stores, UsageFault::ShowsEverybodys)),
        ("ignores the session", |stores| with(stores, UsageFault::IgnoresSession)),
        ("forgets unknown prices", |stores| with(stores, UsageFault::ForgetsUnknown)),
    ];
    for (fault, change) in faults {
        assert_ne!(broken(USAGE_CASES.iter(), change).await, [""; 0], "{fault} passes");
    }
}
