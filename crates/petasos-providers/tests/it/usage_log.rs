//! The usage log of a home keeps the promises of every store of usage.

use std::sync::Arc;

use petasos_contract::wait::Owned;
use petasos_providers::ledger::usage_log::UsageLog;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::Stores;
use petasos_testkit::suites::store::USAGE_CASES;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_usage_log_keeps_every_promise_of_a_store_of_usage() {
    for case in USAGE_CASES {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_owned();
        let make = move || {
            // Conversations are in a database; what is asked about here is the log.
            let options = OpenOptions::new(path.join("petasos.db"));
            let stores = Stores::of(&Arc::new(Store::open(&options).unwrap()));
            Stores { usage: Arc::new(UsageLog::new(&path)), ..stores }
        };
        let ran = Owned::start((case.run)(Arc::new(make))).join().await;
        assert!(ran.is_some(), "{}", case.name);
    }
}
