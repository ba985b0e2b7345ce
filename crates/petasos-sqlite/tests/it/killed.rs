//! `kill -9` at twenty moments: what was answered for is there, in every table.
//!
//! The test starts itself again as the victim, which writes rows, questions, answers and claims, and notes
//! each after the store has answered for it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use petasos_contract::SessionId;
use petasos_contract::address::Address;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{
    BoardStore as _, ClaimAsk, NewQuestion, NewTask, Patience, QuestionAnswer, QuestionId,
    QuestionState, QuestionStore as _, SessionStore as _, Slice,
};
use serde_json::json;

use super::{begin, user};

const KILLS: u64 = 20;

fn question(id: &str, session: &SessionId) -> NewQuestion {
    NewQuestion {
        id: QuestionId::new(id),
        session: session.clone(),
        turn: "turn".into(),
        call: id.into(),
        kind: "approval".to_owned(),
        digest: "d".to_owned(),
        body: json!({}),
        address: Address::chat("telegram", "1"),
        opened_ms: 0,
        expires_ms: 1000,
    }
}

/// Not a test of its own: what the test below starts and kills.
#[test]
#[ignore = "helper process: started and killed by the test below, in a folder that it made"]
fn victim() {
    let folder = std::env::current_dir().unwrap();
    if !folder.join("victim").exists() {
        return;
    }
    let list = std::fs::File::options().create(true).append(true).open(folder.join("noted"));
    let mut list = list.unwrap();
    // One write a line: a kill leaves it whole or not at all.
    let mut note = |line: String| list.write_all((line + "\n").as_bytes()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&OpenOptions::new(folder.join("petasos.db"))).unwrap();
        let session = begin(&store).await;
        for number in 0_u64.. {
            let seqs = store.append(&session, vec![user("one"), user("two")]).await.unwrap();
            note(format!("row {session} {} {}", seqs[0], seqs[1]));
            let id = format!("{session}-{number}");
            let asked = store.ask(question(&id, &session)).await.unwrap();
            note(format!("asked {id}"));
            let yes = QuestionAnswer { reply: json!(true), by: None, at_ms: 1 };
            store.answer(&asked.asked.id, yes).await.unwrap();
            note(format!("answered {id}"));
            store.take(&asked.asked.id).await.unwrap().unwrap();
            note(format!("taken {id}"));
            let task = NewTask { board: "default".to_owned(), ..NewTask::default() };
            let made = store.create_task(task).await.unwrap();
            let ask = ClaimAsk {
                board: "default".to_owned(),
                task: Some(made.task.id.clone()),
                ..ClaimAsk::default()
            };
            store.claim_task(ask).await.unwrap().unwrap();
            note(format!("claimed {}", made.task.id));
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "the test starts and kills its own program")]
fn kill_one(folder: &Path, seen: usize, after: Duration) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "killed::victim", "--test-threads", "1", "--nocapture"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let lines =
        || std::fs::read_to_string(folder.join("noted")).unwrap_or_default().lines().count();
    let late = Instant::now() + Duration::from_mins(1);
    while lines() <= seen {
        assert!(Instant::now() < late && child.try_wait().unwrap().is_none(), "it does not work");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    lines()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_for_survives_twenty_kills() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::File::create(folder.path().join("victim")).unwrap();
    let mut seen = 0;
    for kill in 0..KILLS {
        let path = folder.path().to_owned();
        // Each at another point of the circle.
        let after = Duration::from_micros(kill * 611);
        seen = tokio::task::spawn_blocking(move || kill_one(&path, seen, after)).await.unwrap();
    }
    let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
    let noted = std::fs::read_to_string(folder.path().join("noted")).unwrap();
    assert!(noted.lines().count() >= 20);
    let patience = Patience { stale: Duration::from_hours(4), failure_limit: 2 };
    let taken = store.reclaim("default", patience, 30_001).await.unwrap();
    for line in noted.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["row", session, first, second] = words[..] {
            let (first, second): (i64, i64) = (first.parse().unwrap(), second.parse().unwrap());
            let after = Slice::After(first - 1);
            let rows = store.read(&SessionId::new(session), after).await.unwrap();
            let there = |seq: i64| rows.iter().any(|row| row.seq == seq);
            assert!(there(first) && there(second), "{line}");
        } else if let ["claimed", id] = words[..] {
            let freed = taken.iter().find(|it| it.task == id).unwrap();
            assert_eq!(freed.why, "its process is gone", "{line}");
        } else if let [state, id] = words[..] {
            let record = store.get(&QuestionId::new(id)).await.unwrap().unwrap();
            let as_noted = match state {
                "answered" => !matches!(record.state, QuestionState::Open),
                "taken" => matches!(record.state, QuestionState::Taken(_)),
                _ => true,
            };
            assert!(as_noted, "{line}: {record:?}");
        }
    }
    assert!(store.verify(None, |_| ()).await.unwrap().findings.is_empty());
}
