//! Messages that wait and are taken back, and words that came too late for their turn.

use petasos_agent::scripted::{Act, Scripted};
use petasos_session::{Admission, Outcome, SessionEvent, WhenBusy};

use crate::world::{Watch, World, is_delta, is_turn_end};

#[tokio::test]
async fn whoever_waits_for_a_message_that_is_taken_back_hears_its_end() {
    let script = [Act::Hang("hm".to_owned()), Act::say("the third")];
    let world = World::new(Scripted::new(script));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    session.submit("first".into(), WhenBusy::Queue).await.unwrap();
    watch.until("the model speaks", is_delta).await;
    let mut waiting = Vec::new();
    for text in ["second", "third"] {
        let admitted = session.submit(text.into(), WhenBusy::Queue).await.unwrap();
        let Admission::Queued { turn, .. } = admitted else { panic!("{admitted:?}") };
        waiting.push(turn);
    }
    let (third, second) = (waiting.pop().unwrap(), waiting.pop().unwrap());
    let id = second.id;
    // Two surfaces take it back at once: one of them gets it.
    let (one, other) = tokio::join!(session.take_back(id), session.take_back(id));
    let mut taken = [one.unwrap(), other.unwrap()];
    taken.sort();
    assert_eq!(taken, [None, Some("second".to_owned())]);
    let end = second.end().await.unwrap().unwrap();
    assert_eq!((end.outcome, end.requests), (Outcome::Interrupted, 0));
    assert!(session.interrupt());
    assert_eq!(third.end().await.unwrap().unwrap().text, "the third");
    assert_eq!(world.model.asked().len(), 2, "what was taken back is not said");
}

#[tokio::test]
async fn words_for_a_stopped_turn_are_handed_back_and_begin_no_turn() {
    let script = [Act::Hang("hm".to_owned()), Act::say("heard")];
    let world = World::new(Scripted::new(script));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    session.submit("first".into(), WhenBusy::Queue).await.unwrap();
    watch.until("the model speaks", is_delta).await;
    assert!(session.guide("mind the gap"));
    assert!(session.interrupt());
    let unsaid = |event: &SessionEvent| match event {
        SessionEvent::Unsaid { text } => text == "mind the gap",
        SessionEvent::Page(page) => page.text().contains("mind the gap"),
        _ => false,
    };
    watch.until("the words", unsaid).await;
    watch.until("the end", is_turn_end).await;
    let Admission::Started(turn) = session.submit("next".into(), WhenBusy::Refuse).await.unwrap()
    else {
        panic!("nothing runs by itself")
    };
    assert_eq!(turn.end().await.unwrap().unwrap().text, "heard");
    assert_eq!(world.model.asked().len(), 2);
}
