//! SQLite keeps the promises of every store.

use std::sync::Arc;

use petasos_contract::wait::Owned;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::Stores;
use petasos_testkit::suites::store::cases;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_keeps_every_promise_of_a_store() {
    let mut all = Vec::new();
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("petasos.db");
        let make = move || Stores::of(&Arc::new(Store::open(&OpenOptions::new(&file)).unwrap()));
        all.push(async move {
            let ran = Owned::start((case.run)(Arc::new(make))).join().await;
            drop(folder);
            (case.name, ran.is_some())
        });
    }
    let ran = futures::future::join_all(all).await;
    let broken: Vec<&str> = ran.iter().filter(|(_, kept)| !kept).map(|(name, _)| *name).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}
