//! A database with 100,000 messages: how long a search, an append and a resume take.
#![expect(clippy::unwrap_used, reason = "a bench that cannot start has nothing to measure")]

use std::sync::LazyLock;

use divan::Bencher;
use petasos_contract::SessionId;
use petasos_contract::message::Message;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{NewSession, Query, Row, SessionStore};
use tempfile::TempDir;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

const WORDS: &[&str] = &[
    "lamp", "timer", "the", "and", "deploy", "database", "index", "error", "retry", "socket",
    "window", "branch", "merge", "commit", "green", "tests", "failed", "because", "of", "a",
    "missing", "header", "in", "request", "from", "server", "please", "check", "again", "now",
];

struct World {
    runtime: Runtime,
    store: Store,
    session: SessionId,
    long: SessionId,
    _folder: TempDir,
}

/// Text of about so many words; every hundredth has a rare one.
fn prose(seed: usize, words: usize) -> String {
    let word = |at: usize| WORDS[(seed * 7 + at * at * 13 + at * seed) % WORDS.len()];
    let mut text = (0..words).map(word).collect::<Vec<_>>().join(" ");
    if seed.is_multiple_of(100) {
        text.push_str(" quetzalcoatl");
    }
    text
}

fn message(seed: usize, words: usize) -> Row {
    let text = prose(seed, words);
    Row::message(if seed.is_multiple_of(2) {
        Message::user(text)
    } else {
        Message::assistant(text)
    })
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let runtime = Runtime::new().unwrap();
    let folder = TempDir::new().unwrap();
    let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
    let (session, long) = runtime.block_on(async {
        let new = || NewSession { source: "cli".to_owned(), ..NewSession::default() };
        let mut last = None;
        for session in 0..200 {
            let id = store.create(new()).await.unwrap().session();
            let rows = (0..500).map(|at| message(session * 500 + at, 40)).collect();
            store.append(&id, rows).await.unwrap();
            last = Some(id);
        }
        // 1,000,000 tokens are about 4,000,000 characters.
        let long = store.create(new()).await.unwrap().session();
        let rows = (0..2000).map(|at| message(at, 330)).collect();
        store.append(&long, rows).await.unwrap();
        (last.unwrap(), long)
    });
    World { runtime, store, session, long, _folder: folder }
});

#[divan::bench(args = ["quetzalcoatl", "lamp", "\"missing header\"", "lamp deploy", "timer OR socket", "quetzal*", "zalco"])]
fn search(bencher: Bencher<'_, '_>, text: &str) {
    let world = &*WORLD;
    let query = Query { text: text.to_owned(), limit: 10, ..Query::default() };
    bencher.bench(|| world.runtime.block_on(world.store.search(&query)).unwrap().len());
}

#[divan::bench]
fn append_one(bencher: Bencher<'_, '_>) {
    let world = &*WORLD;
    bencher.with_inputs(|| vec![message(3, 40)]).bench_values(|rows| {
        world.runtime.block_on(world.store.append(&world.session, rows)).unwrap()
    });
}

#[divan::bench]
fn append_to_an_empty_database(bencher: Bencher<'_, '_>) {
    let runtime = Runtime::new().unwrap();
    let folder = TempDir::new().unwrap();
    let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
    let new = NewSession { source: "cli".to_owned(), ..NewSession::default() };
    let session = runtime.block_on(store.create(new)).unwrap().session();
    bencher
        .with_inputs(|| vec![message(3, 40)])
        .bench_values(|rows| runtime.block_on(store.append(&session, rows)).unwrap());
}

#[divan::bench]
fn resume_a_million_tokens(bencher: Bencher<'_, '_>) {
    let world = &*WORLD;
    bencher.bench(|| world.runtime.block_on(world.store.load(&world.long)).unwrap().rows.len());
}
