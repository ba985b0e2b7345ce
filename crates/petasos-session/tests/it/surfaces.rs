//! Several surfaces on one session, and several sessions in one program.

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_session::{
    Admission, Begin, EndReason, Outcome, Session, SessionError, SessionEvent, WhenBusy,
};
use petasos_store::SessionStore as _;

use crate::world::{Watch, World, is_delta, is_turn_end};

async fn submit_all(session: Session, name: &str, count: usize) {
    for number in 0..count {
        let text = format!("{name}{number}");
        session.submit(text.as_str().into(), WhenBusy::Queue).await.unwrap();
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_surfaces_see_every_event_one_turn_runs_at_a_time_and_nothing_is_lost() {
    const EACH: usize = 10;
    let world = World::new(Scripted::new((0..2 * EACH).map(|_| Act::say("an answer"))));
    let session = world.open().await;
    let (mut one, mut two) = (Watch::of(&session), Watch::of(&session));
    tokio::join!(submit_all(session.clone(), "a", EACH), submit_all(session.clone(), "b", EACH),);
    for watch in [&mut one, &mut two] {
        for _ in 0..2 * EACH {
            watch.until("the end of every turn", is_turn_end).await;
        }
    }
    assert_eq!(format!("{:?}", one.seen), format!("{:?}", two.seen));
    let words = one.words();
    let turns: Vec<&String> = words.iter().filter(|word| !word.starts_with("submitted")).collect();
    let expected: Vec<String> = (1..=2 * EACH)
        .flat_map(|number| [format!("started {number}"), format!("replied {number}")])
        .collect();
    assert_eq!(turns, expected.iter().collect::<Vec<_>>(), "one after the other");
    let rows = world.store.load(session.id()).await.unwrap().rows;
    let stored = |message: &Message| match message {
        Message::User { content } => Some(content.text()),
        _ => None,
    };
    let stored: Vec<String> = rows.iter().filter_map(|row| stored(&row.stored.message)).collect();
    let submitted = |word: &String| {
        word.strip_prefix("submitted ")?.split_once(' ').map(|(_, text)| text.to_owned())
    };
    let submitted: Vec<String> = words.iter().filter_map(submitted).collect();
    assert_eq!(stored, submitted, "every message, in the order in which it was taken");
    for name in ["a", "b"] {
        let own: Vec<&String> = stored.iter().filter(|text| text.starts_with(name)).collect();
        let sent: Vec<String> = (0..EACH).map(|number| format!("{name}{number}")).collect();
        assert_eq!(own, sent.iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_session_that_is_open_is_not_opened_twice() {
    let world = World::new(Scripted::new([Act::say("hello"), Act::say("again")]));
    let first = world.begun().await;
    let resume = || Begin::Resume { session: first.id().clone(), choice: world.choice() };
    let second = world.sessions.open(resume()).await.unwrap();
    let mut watch = Watch::of(&first);
    second.submit("more".into(), WhenBusy::Refuse).await.unwrap();
    watch.until("the turn of the other surface", is_turn_end).await;
    assert_eq!(watch.words(), ["submitted 2 more", "started 2", "replied 2"]);
    assert_eq!(world.sessions.resident().len(), 1);
}

#[tokio::test]
async fn what_a_message_does_during_a_turn_is_up_to_its_sender() {
    let hang = || Act::Hang("wait".to_owned());
    let world = World::new(Scripted::new([hang(), hang(), Act::say("at last")]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    let first = session.submit("one".into(), WhenBusy::Refuse).await.unwrap();
    let Admission::Started(first) = first else { panic!("{first:?}") };
    let refused = session.submit("no".into(), WhenBusy::Refuse).await;
    assert!(matches!(refused, Err(SessionError::Busy)), "{refused:?}");
    let queued = session.submit("three".into(), WhenBusy::Queue).await.unwrap();
    assert!(matches!(queued, Admission::Queued { ahead: 1, .. }), "{queued:?}");
    let view = session.view().await.unwrap();
    assert!(view.busy && view.waiting == 1, "the owner answers while a turn runs");
    watch.until("the first turn", is_delta).await;
    let next = session.submit("two".into(), WhenBusy::Interrupt).await.unwrap();
    assert!(matches!(next, Admission::Queued { ahead: 1, .. }), "{next:?}");
    assert_eq!(first.end().await.unwrap().unwrap().outcome, Outcome::Interrupted);
    watch.until("the second turn", is_delta).await;
    assert!(session.interrupt());
    for _ in 0..2 {
        watch.until("every turn", is_turn_end).await;
    }
    let turns: Vec<String> =
        watch.words().into_iter().filter(|word| !word.starts_with("submitted")).collect();
    let expected =
        ["started 1", "interrupted 1", "started 3", "interrupted 3", "started 2", "replied 2"];
    assert_eq!(turns, expected, "the interrupting message goes first");
    assert!(!session.interrupt(), "nothing runs");
}

#[tokio::test]
async fn the_end_of_a_session_reaches_its_engines_and_its_watchers() {
    let world = World::new(Scripted::new([Act::say("hello"), Act::Hang("wait".to_owned())]));
    let session = world.begun().await;
    let mut watch = Watch::of(&session);
    session.submit("hang".into(), WhenBusy::Queue).await.unwrap();
    session.end(EndReason::Shutdown).await.unwrap();
    watch.until("the end", |event| matches!(event, SessionEvent::Ended { .. })).await;
    let expected = ["submitted 2 hang", "started 2", "interrupted 2", "ended: shutdown"];
    assert_eq!(watch.words(), expected);
    assert_eq!(*world.ends.0.lock(), [session.id().clone()]);
    assert!(world.sessions.resident().is_empty());
    let late = session.submit("late".into(), WhenBusy::Queue).await;
    assert!(matches!(late, Err(SessionError::Ended(_))), "{late:?}");
}

#[tokio::test]
async fn a_turn_that_fails_leaves_a_session_that_goes_on() {
    let fail = Act::Fail(petasos_contract::model::Reason::Auth);
    let world = World::new(Scripted::new([fail, Act::say("better")]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    for text in ["one", "two"] {
        session.submit(text.into(), WhenBusy::Queue).await.unwrap();
        watch.until("its end", is_turn_end).await;
    }
    let expected =
        ["submitted 1 one", "started 1", "failed 1", "submitted 2 two", "started 2", "replied 2"];
    assert_eq!(watch.words(), expected);
}
