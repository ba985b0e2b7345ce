//! What every store must do. A database runs all [`CASES`], each over a fresh one.
//!
//! [`Make`] opens the same database as often as it is asked, each time as another process would, so
//! that races between handles are races between processes. Times are the caller's, so that expiry
//! needs no waiting.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a promise that is not kept fails the test that runs it"
)]

mod boards;
mod leases;
mod log;
mod questions;
mod schedules;
mod usage;

use std::future::Future;
use std::sync::Arc;

use petasos_contract::address::Address;
use petasos_contract::{BoxFuture, SessionId};
use petasos_store::{NewSession, Stores};

pub use leases::LEASE_CASES;
pub use usage::USAGE_CASES;

/// Opens the database of one case once more.
pub type Make = Arc<dyn Fn() -> Stores + Send + Sync>;

/// One promise.
#[derive(Debug)]
pub struct Case {
    /// What is promised.
    pub name: &'static str,
    /// Panics when it is not kept.
    pub run: fn(Make) -> BoxFuture<'static, ()>,
}

/// Every promise.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    let core = LEASE_CASES.iter().chain(log::CASES).chain(questions::CASES);
    core.chain(schedules::CASES).chain(boards::CASES).chain(USAGE_CASES)
}

/// How many handles race.
const RACERS: usize = 8;

/// A conversation that has begun.
async fn begun(stores: &Stores) -> SessionId {
    let new = NewSession { source: "cli".to_owned(), ..NewSession::default() };
    stores.sessions.create(new).await.expect("a conversation").session()
}

fn chat(number: &str) -> Address {
    Address::chat("telegram", number)
}

/// Does the same with several handles at once; gives what each got.
async fn race<T, F>(make: &Make, work: impl Fn(Stores, usize) -> F) -> Vec<T>
where
    F: Future<Output = T>,
{
    let racers = (0..RACERS).map(|number| work(make(), number));
    futures::future::join_all(racers).await
}
