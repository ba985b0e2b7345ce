//! `kill -9` at any moment: nothing that was acknowledged is lost, the transcript is always whole.
//!
//! The test starts itself again as the victim, lets it work on turns over the real store, and
//! kills it. The victim writes down what the store answered for, after it did.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_agent::{Act, Agent, Scripted};
use petasos_contract::model::Role;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{Filter, LeaseStore as _, SessionScope, SessionStore, Slice, WaitingCalls};
use serde_json::json;

use crate::tapped::Tapped;
use crate::world::{World, valid};

const KILLS: usize = 500;
const LANES: usize = 4;

/// A model that always has something to do: reads together, acts in a row, children, a word.
fn restless() -> Scripted {
    Scripted::new([]).otherwise(|prompt, role| {
        let results = prompt.messages.iter().rev();
        let since = results
            .take_while(|message| {
                !matches!(message, petasos_contract::message::Message::User { .. })
            })
            .filter(|message| matches!(message, petasos_contract::message::Message::Assistant(_)))
            .count();
        match (role, since) {
            (Role::Compression, _) => Act::say("summary"),
            (_, 0) => Act::calls(
                "reading",
                &[("look", r#"{"do":"a","sleep_ms":1}"#), ("look", "{}"), ("look", "{}")],
            ),
            (_, 1) => Act::calls(
                "acting",
                &[("act", r#"{"do":"b","sleep_ms":1}"#), ("act", "{}"), ("todo", "{}")],
            ),
            (Role::Main, 2) => Act::call("delegate_task", r#"{"goal":"help"}"#),
            _ => Act::say("done"),
        }
    })
}

/// Not a test of its own: what the test below starts and kills.
#[test]
#[ignore = "helper process: started by the kill test, in a folder that it made"]
fn victim() {
    let folder = std::env::current_dir().unwrap();
    if !folder.join("victim").exists() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&OpenOptions::new(folder.join("petasos.db"))).unwrap();
        let list = std::fs::File::options()
            .create(true)
            .append(true)
            .open(folder.join("acknowledged"))
            .unwrap();
        let list = Mutex::new(list);
        let store = Arc::new(Tapped::new(store, move |session, seqs| {
            let line = |all: String, seq: &i64| all + &format!("{session} {seq}\n");
            let lines = seqs.iter().fold(String::new(), line);
            list.lock().write_all(lines.as_bytes()).unwrap();
            Ok(seqs)
        }));
        let world = World::over(restless(), &json!({}), &folder, Arc::clone(&store) as _);
        let mut agent = match store.find("latest", &SessionScope::Local).await {
            Ok(head) if head.messages < 120 => world.resume(&head.session()).await.0,
            _ => Agent::begin(Arc::clone(&world.engine), world.choice()).await.unwrap(),
        };
        loop {
            agent.turn("go on".into(), &world.cx()).await.unwrap();
            valid(&agent.transcript().outgoing());
        }
    });
}

/// Lets one victim work for a while and kills it.
#[expect(clippy::disallowed_methods, reason = "the test starts and kills its own program")]
fn kill_one(folder: &Path, after: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "kill::victim", "--test-threads", "1"])
        .current_dir(folder)
        .arg("--nocapture")
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let said = || std::fs::read_to_string(folder.join("stderr")).unwrap_or_default();
    assert!(child.try_wait().unwrap().is_none(), "the victim ended by itself: {}", said());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Everything that was acknowledged is there, and every conversation is whole after its load.
async fn check(folder: &Path) -> usize {
    let store = Store::open(&OpenOptions::new(folder.join("petasos.db"))).unwrap();
    let acknowledged = std::fs::read_to_string(folder.join("acknowledged")).unwrap_or_default();
    let mut repaired = 0;
    let all = Filter { all_sources: true, limit: 10_000, ..Filter::default() };
    let mut present = std::collections::BTreeSet::new();
    for head in store.list(&all).await.unwrap() {
        // The victim is dead, and so is its lease.
        let lease = store.claim(&head.session(), "a check").await.unwrap();
        repaired +=
            usize::from(!store.close_turn(&lease, WaitingCalls::Close).await.unwrap().is_empty());
        store.release(&lease);
        let loaded = store.load(&head.session()).await.unwrap();
        let messages = petasos_agent::history::outgoing(loaded.rows.iter().map(|row| &row.stored));
        if !messages.is_empty() {
            valid(&messages);
        }
        let rows = store.read(&head.session(), Slice::Whole).await.unwrap();
        present.extend(rows.iter().map(|row| format!("{} {}", head.id, row.seq)));
    }
    for line in acknowledged.lines().filter(|line| !line.is_empty()) {
        assert!(present.contains(line), "`{line}` was acknowledged and is lost");
    }
    let verified = store.verify(None, |_| ()).await.unwrap();
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    repaired
}

#[test]
fn five_hundred_kills_lose_nothing() {
    let lane = |lane: usize| {
        move || {
            let folder = tempfile::TempDir::new().unwrap();
            std::fs::File::create(folder.path().join("victim")).unwrap();
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let (mut seed, mut repaired) = (lane as u64 + 1, 0);
            for kill in 0..KILLS / LANES {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
                kill_one(folder.path(), Duration::from_micros(15_000 + (seed >> 33) % 90_000));
                if kill % 5 == 4 {
                    repaired += runtime.block_on(check(folder.path()));
                }
            }
            repaired += runtime.block_on(check(folder.path()));
            let lines = std::fs::read_to_string(folder.path().join("acknowledged")).unwrap();
            (repaired, lines.lines().count())
        }
    };
    let lanes: Vec<_> = (0..LANES).map(|at| std::thread::spawn(lane(at))).collect();
    let mut sum = (0, 0);
    for lane in lanes {
        let (repaired, acknowledged) = lane.join().unwrap();
        sum = (sum.0 + repaired, sum.1 + acknowledged);
    }
    eprintln!("{KILLS} kills: {} messages acknowledged, {} torn turns repaired", sum.1, sum.0);
    assert!(sum.0 > 0, "no kill hit a running call: the test shows nothing");
}
