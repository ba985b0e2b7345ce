//! The files of a home keep the promises of their traits, and the suites notice a broken one.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use petasos_approval::grants::GrantsFile;
use petasos_approval::log::{self, DecisionFile};
use petasos_contract::address::Address;
use petasos_contract::wait::Owned;
use petasos_store::{
    DecisionCheck, DecisionEntry, DecisionFuture, DecisionLog, GrantError, GrantFuture,
    GrantRecord, GrantStore, NewGrant, SessionScope,
};
use petasos_testkit::suites::decisions::{self, Tamper};
use petasos_testkit::suites::grants;

type Around<T> = fn(Arc<T>) -> Arc<T>;

async fn broken_grants(around: Around<dyn GrantStore>) -> Vec<&'static str> {
    let mut broken = Vec::new();
    for case in grants::CASES {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_owned();
        let make: grants::Make = Arc::new(move || around(Arc::new(GrantsFile::new(&path))));
        if Owned::start((case.run)(make)).join().await.is_none() {
            broken.push(case.name);
        }
    }
    broken
}

async fn broken_decisions(around: Around<dyn DecisionLog>) -> Vec<&'static str> {
    let mut broken = Vec::new();
    for case in decisions::CASES {
        let home = tempfile::tempdir().unwrap();
        let (path, same) = (home.path().to_owned(), home.path().to_owned());
        let make = decisions::Make {
            open: Arc::new(move || around(Arc::new(DecisionFile::new(&path)))),
            tamper: Arc::new(move |how| tamper(&same, how)),
        };
        if Owned::start((case.run)(make)).join().await.is_none() {
            broken.push(case.name);
        }
    }
    broken
}

fn tamper(home: &Path, how: Tamper) {
    let file = log::file(home);
    let text = std::fs::read_to_string(&file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match how {
        Tamper::Change => lines[1] = lines[1].replace("second", "sekond"),
        Tamper::Remove => drop(lines.remove(1)),
        Tamper::Exchange => lines.swap(1, 2),
    }
    let text = lines.join("\n") + "\n";
    petasos_fs::write(&file, text.as_bytes(), petasos_fs::Mode::Exactly(0o600)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_files_of_a_home_keep_every_promise_of_their_traits() {
    assert_eq!(broken_grants(|store| store).await, [""; 0]);
    assert_eq!(broken_decisions(|log| log).await, [""; 0]);
}

/// How a store of grants goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum GrantFault {
    Forgets,
    KeepsRevoked,
    ShowsEverybodys,
    RevokesAnybodys,
    LosesOwner,
    OldSnapshot,
    NewSnapshotEachTime,
    TakesAnything,
}

struct WrongGrants {
    store: Arc<dyn GrantStore>,
    fault: GrantFault,
    first: OnceLock<Arc<Vec<GrantRecord>>>,
}

impl GrantStore for WrongGrants {
    fn snapshot(&self) -> Arc<Vec<GrantRecord>> {
        match self.fault {
            GrantFault::OldSnapshot => Arc::clone(self.first.get_or_init(|| self.store.snapshot())),
            GrantFault::NewSnapshotEachTime => Arc::new((*self.store.snapshot()).clone()),
            _ => self.store.snapshot(),
        }
    }

    fn granted<'a>(&'a self, scope: &'a SessionScope) -> GrantFuture<'a, Vec<GrantRecord>> {
        match self.fault {
            GrantFault::ShowsEverybodys => self.store.granted(&SessionScope::Everyone),
            _ => self.store.granted(scope),
        }
    }

    fn grant(&self, what: NewGrant, owner: Option<Address>) -> GrantFuture<'_, GrantRecord> {
        let owner = owner.filter(|_| self.fault != GrantFault::LosesOwner);
        Box::pin(async move {
            let made = match self.store.grant(what.clone(), owner.clone()).await {
                Err(GrantError::Refused(_)) if self.fault == GrantFault::TakesAnything => {
                    return Ok(GrantRecord { id: "g".to_owned(), created: 0, owner, what });
                }
                made => made?,
            };
            if self.fault == GrantFault::Forgets {
                self.store.revoke(&made.id, &SessionScope::Everyone).await?;
            }
            Ok(made)
        })
    }

    fn revoke<'a>(&'a self, id: &'a str, scope: &'a SessionScope) -> GrantFuture<'a, bool> {
        match self.fault {
            GrantFault::RevokesAnybodys => self.store.revoke(id, &SessionScope::Everyone),
            GrantFault::KeepsRevoked => Box::pin(std::future::ready(Ok(true))),
            _ => self.store.revoke(id, scope),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_of_grants_that_breaks_a_promise_does_not_pass() {
    fn with(store: Arc<dyn GrantStore>, fault: GrantFault) -> Arc<dyn GrantStore> {
        Arc::new(WrongGrants { store, fault, first: OnceLock::new() })
    }
    let faults: [(&str, Around<dyn GrantStore>); 7] = [
        ("forgets", |it| with(it, GrantFault::Forgets)),
        ("keeps what is revoked", |it| with(it, GrantFault::KeepsRevoked)),
        ("shows everybody's", |it| with(it, GrantFault::ShowsEverybodys)),
        ("revokes anybody's", |it| with(it, GrantFault::RevokesAnybodys)),
        ("loses the owner", |it| with(it, GrantFault::LosesOwner)),
        ("a new snapshot each time", |it| with(it, GrantFault::NewSnapshotEachTime)),
        ("takes anything", |it| with(it, GrantFault::TakesAnything)),
    ];
    for (fault, around) in faults {
        assert_ne!(broken_grants(around).await, [""; 0], "{fault} passes");
    }
}

/// Apart from the others: the suite gives a late snapshot its time.
#[tokio::test(start_paused = true)]
async fn a_snapshot_that_never_follows_does_not_pass() {
    let case = grants::CASES.iter().find(|case| case.name.starts_with("the snapshot")).unwrap();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_owned();
    let make: grants::Make = Arc::new(move || {
        let (store, first) = (Arc::new(GrantsFile::new(&path)), OnceLock::new());
        Arc::new(WrongGrants { store, fault: GrantFault::OldSnapshot, first })
    });
    assert!(Owned::start((case.run)(make)).join().await.is_none());
}

/// How a decision log goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum LogFault {
    Forgets,
    TakesTheCallersNumber,
    LosesComment,
    LosesOwner,
    NewestFirst,
    ShowsEverybodys,
    CountsTheUnseen,
    FindsNothing,
}

struct WrongLog {
    log: Arc<dyn DecisionLog>,
    fault: LogFault,
}

impl DecisionLog for WrongLog {
    fn append(&self, mut entry: DecisionEntry) -> DecisionFuture<'_, u64> {
        let number = entry.seq;
        match self.fault {
            LogFault::Forgets => return Box::pin(std::future::ready(Ok(1))),
            LogFault::LosesComment => entry.comment = None,
            LogFault::LosesOwner => entry.owner = None,
            _ => {}
        }
        Box::pin(async move {
            let own = self.log.append(entry).await?;
            Ok(if self.fault == LogFault::TakesTheCallersNumber { number } else { own })
        })
    }

    fn read<'a>(
        &'a self,
        last: usize,
        scope: &'a SessionScope,
    ) -> DecisionFuture<'a, Vec<DecisionEntry>> {
        Box::pin(async move {
            match self.fault {
                LogFault::ShowsEverybodys => self.log.read(last, &SessionScope::Everyone).await,
                LogFault::CountsTheUnseen => {
                    let mut found = self.log.read(last, &SessionScope::Everyone).await?;
                    found.retain(|entry| scope.sees(entry.owner.as_ref()));
                    Ok(found)
                }
                LogFault::NewestFirst => {
                    let mut found = self.log.read(last, scope).await?;
                    found.reverse();
                    Ok(found)
                }
                _ => self.log.read(last, scope).await,
            }
        })
    }

    fn verify(&self) -> DecisionFuture<'_, DecisionCheck> {
        Box::pin(async move {
            let mut found = self.log.verify().await?;
            if self.fault == LogFault::FindsNothing {
                found.broken = None;
            }
            Ok(found)
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_decision_log_that_breaks_a_promise_does_not_pass() {
    fn with(log: Arc<dyn DecisionLog>, fault: LogFault) -> Arc<dyn DecisionLog> {
        Arc::new(WrongLog { log, fault })
    }
    let faults: [(&str, Around<dyn DecisionLog>); 8] = [
        ("forgets", |it| with(it, LogFault::Forgets)),
        ("takes the caller's number", |it| with(it, LogFault::TakesTheCallersNumber)),
        ("loses the comment", |it| with(it, LogFault::LosesComment)),
        ("loses the owner", |it| with(it, LogFault::LosesOwner)),
        ("newest first", |it| with(it, LogFault::NewestFirst)),
        ("shows everybody's", |it| with(it, LogFault::ShowsEverybodys)),
        ("counts the unseen", |it| with(it, LogFault::CountsTheUnseen)),
        ("finds nothing", |it| with(it, LogFault::FindsNothing)),
    ];
    for (fault, around) in faults {
        assert_ne!(broken_decisions(around).await, [""; 0], "{fault} passes");
    }
}
