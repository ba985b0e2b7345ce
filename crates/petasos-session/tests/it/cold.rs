//! Sessions that nobody uses leave the memory, and come back as if nothing had been.

use std::time::{Duration, Instant};

use petasos_agent::{Act, Scripted};
use petasos_contract::approval::Scope;
use petasos_session::{
    Admission, Answerer, Begin, QuestionReply, Session, SessionError, SessionEvent, SessionLimits,
    WhenBusy,
};
use petasos_store::QuestionStore as _;

use crate::world::{Watch, World, is_delta, is_question, is_turn_end};

const SOON: SessionLimits =
    SessionLimits { cold_after: Some(Duration::from_millis(20)), resident: 256, turns: 64 };

fn talkative(limits: SessionLimits) -> World {
    World::limited(Scripted::new([]).otherwise(|_, _| Act::say("an answer")), limits)
}

async fn said(session: &Session, text: &str) {
    let admitted = session.submit(text.into(), WhenBusy::Queue).await.unwrap();
    let (Admission::Started(turn) | Admission::Queued { turn, .. }) = admitted else {
        panic!("{admitted:?}")
    };
    turn.end().await.unwrap().unwrap();
}

/// Waits until so many conversations are in memory.
async fn resident(world: &World, count: usize) {
    let late = Instant::now() + Duration::from_mins(2);
    while world.sessions.resident().len() != count {
        assert!(Instant::now() < late, "{:?}", world.sessions.resident());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_session_goes_cold_and_its_handle_and_its_watchers_notice_nothing() {
    let world = talkative(SOON);
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    for round in 0..3 {
        said(&session, &format!("round {round}")).await;
        watch.until("the end of the turn", is_turn_end).await;
        resident(&world, 0).await;
    }
    assert_eq!(session.recent(10).await.unwrap().len(), 6, "it remembers");
    let prompt = world.model.asked().pop().unwrap().prompt.messages;
    assert_eq!(prompt.len(), 5, "the model reads everything that was said");
    let ends: Vec<String> =
        watch.words().into_iter().filter(|word| word.starts_with("replied")).collect();
    assert_eq!(ends, ["replied 1", "replied 2", "replied 3"], "numbers go on");
    assert!(world.ends.0.lock().is_empty(), "a cold session has not ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_that_meet_a_session_on_its_way_out_are_served() {
    let limits = SessionLimits { cold_after: Some(Duration::from_millis(1)), ..SOON };
    let world = talkative(limits);
    let session = world.begun().await;
    for round in 0..200_u64 {
        tokio::time::sleep(Duration::from_micros(700 + 10 * (round % 60))).await;
        let view = session.view().await.unwrap();
        assert_eq!(view.head.unwrap().messages, 2);
    }
}

#[tokio::test]
async fn the_least_recently_used_sessions_make_room() {
    let limits = SessionLimits { cold_after: Some(Duration::from_mins(5)), resident: 3, turns: 64 };
    let world = talkative(limits);
    let mut sessions = Vec::new();
    for number in 0..6 {
        let session = world.open().await;
        said(&session, &format!("hello {number}")).await;
        sessions.push(session);
    }
    resident(&world, 3).await;
    let mut last: Vec<_> = sessions.iter().skip(3).map(|session| session.id().clone()).collect();
    let mut here = world.sessions.resident();
    here.sort();
    last.sort();
    assert_eq!(here, last);
    for session in &sessions {
        assert_eq!(session.recent(10).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn turns_beyond_the_limit_wait_their_time_and_none_is_lost() {
    let limits = SessionLimits { turns: 1, ..SessionLimits::default() };
    let script = [Act::Hang("hm".to_owned()), Act::say("two"), Act::say("three")];
    let world = World::limited(Scripted::new(script), limits);
    let (one, two, three) = (world.open().await, world.open().await, world.open().await);
    let mut watch = Watch::of(&one);
    one.submit("one".into(), WhenBusy::Queue).await.unwrap();
    watch.until("the model speaks", is_delta).await;
    let mut ends = Vec::new();
    for (session, text) in [(&two, "two"), (&three, "three")] {
        let Admission::Started(turn) = session.submit(text.into(), WhenBusy::Queue).await.unwrap()
        else {
            panic!("{text}")
        };
        ends.push(turn);
        // The next one stands behind it.
        tokio::task::yield_now().await;
    }
    assert_eq!(world.model.asked().len(), 1, "one at a time");
    assert!(one.interrupt());
    for (turn, text) in ends.into_iter().zip(["two", "three"]) {
        assert_eq!(turn.end().await.unwrap().unwrap().text, text);
    }
}

#[tokio::test]
async fn a_drained_program_keeps_its_questions_and_the_next_one_recovers_them() {
    let folder = tempfile::tempdir().unwrap();
    let script = [Act::call("touch", "{}"), Act::Hang("hm".to_owned())];
    let old = World::over(folder.path(), Scripted::new(script));
    let (asks, hangs) = (old.open().await, old.open().await);
    let (mut asking, mut hanging) = (Watch::of(&asks), Watch::of(&hangs));
    asks.submit("touch it".into(), WhenBusy::Queue).await.unwrap();
    let SessionEvent::QuestionAsked(asked) = asking.until("the question", is_question).await else {
        panic!("no question")
    };
    hangs.submit("think".into(), WhenBusy::Queue).await.unwrap();
    hanging.until("the model speaks", is_delta).await;
    let report = old.sessions.drain(Instant::now() + Duration::from_millis(50)).await;
    assert_eq!(report.waiting, [asks.id().clone()]);
    assert_eq!(report.interrupted, [hangs.id().clone()]);
    let refused = old.sessions.open(Begin::New { choice: old.choice(), after: None }).await;
    assert!(matches!(refused, Err(SessionError::Draining)), "{refused:?}");
    let id = asks.id().clone();
    drop((asks, hangs, asking, hanging, old));
    let new = World::over(folder.path(), Scripted::new([Act::say("done")]));
    let open = new.store.open(Some(&id)).await.unwrap();
    assert_eq!(open.len(), 1, "the question is still open");
    // The old program is gone when its lease is.
    let late = Instant::now() + Duration::from_mins(1);
    let recovered = loop {
        let recovered = new.sessions.recover(|_| Some(new.choice())).await.unwrap();
        if !recovered.is_empty() {
            break recovered;
        }
        assert!(Instant::now() < late, "nothing was recovered");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(recovered.iter().map(|one| one.id().clone()).collect::<Vec<_>>(), [id]);
    let mut watch = Watch::of_all(&recovered[0]);
    let SessionEvent::QuestionAsked(same) = watch.until("the same question", is_question).await
    else {
        panic!("no question")
    };
    assert_eq!(same.id, asked.id);
    let yes = QuestionReply::Allow(Scope::Once);
    recovered[0].answer(&same.id, yes, &Answerer::here()).await.unwrap();
    watch.until("the end of the turn", is_turn_end).await;
    let touched = std::fs::read_to_string(folder.path().join("touched")).unwrap();
    assert_eq!(touched.lines().count(), 1);
}
