//! A thousand sessions in one process: how long they take to open and to answer, and how much memory
//! each of them holds while it waits for its next message.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench that cannot start measures nothing"
)]
#![expect(clippy::print_stdout, reason = "its figures are its output")]

#[path = "../tests/it/world.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod world;

use std::time::{Duration, Instant};

use petasos_agent::{Act, Scripted};
use petasos_session::{Admission, Begin, Session, SessionLimits, WhenBusy};
use world::World;

const SESSIONS: usize = 1000;
/// Longer than all of them take to be answered.
const COLD_AFTER: Duration = Duration::from_secs(20);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let model = Scripted::new((0..4 * SESSIONS).map(|_| Act::say("an answer")));
        let limits =
            SessionLimits { cold_after: Some(COLD_AFTER), resident: 2 * SESSIONS, turns: 64 };
        let world = World::limited(model, limits);
        // The first session builds what all of them share.
        answered(&world.open().await).await;
        let before = resident_kb();
        let started = Instant::now();
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(world.open().await);
        }
        let (opened, empty) = (started.elapsed(), resident_kb());
        let started = Instant::now();
        for session in &sessions {
            answered(session).await;
        }
        let (spoken, full) = (started.elapsed(), resident_kb());
        println!("{SESSIONS} sessions opened in {opened:.1?}, {} KB each", per(before, empty));
        println!("{SESSIONS} turns in {spoken:.1?}, {} KB a session afterwards", per(before, full));
        cooled(&world, sessions, before).await;
    });
}

/// All of them go cold, and are woken one by one.
async fn cooled(world: &World, sessions: Vec<Session>, before: usize) {
    while !world.sessions.resident().is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let ids: Vec<_> = sessions.iter().map(|session| session.id().clone()).collect();
    let held = resident_kb();
    drop(sessions);
    // The next one that is opened clears away what nobody holds.
    answered(&world.open().await).await;
    println!(
        "cold: {} KB a session while a surface holds it, {} KB when none does",
        per(before, held),
        per(before, resident_kb())
    );
    let mut woken = Vec::new();
    for session in ids {
        let started = Instant::now();
        let begin = Begin::Resume { session, choice: world.choice() };
        let session = world.sessions.open(begin).await.unwrap();
        assert_eq!(session.recent(2).await.unwrap().len(), 2);
        woken.push(started.elapsed());
    }
    woken.sort();
    let at = |part: usize| woken.get(woken.len() * part / 100).copied().unwrap_or_default();
    println!("woken: median {:.1?}, p99 {:.1?}", at(50), at(99));
}

async fn answered(session: &Session) {
    let admitted = session.submit("hello".into(), WhenBusy::Refuse).await.unwrap();
    let Admission::Started(turn) = admitted else { panic!("{admitted:?}") };
    turn.end().await.unwrap().unwrap();
}

fn per(before: usize, after: usize) -> String {
    let kb = u32::try_from(after.saturating_sub(before)).unwrap_or(u32::MAX);
    format!("{:.1}", f64::from(kb) / 1000.0)
}

/// The memory of this process, in KB.
fn resident_kb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
