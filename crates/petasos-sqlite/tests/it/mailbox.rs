//! What a gateway keeps: every message once, in order, whoever races and whoever dies.

use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{
    Answer, DeliveryState, InboundMessage, InboxState, InboxStore, OutboxStore, Receipt, Row,
    StoreError,
};
use petasos_testkit::suites::mailbox::{CASES, delivery, inbound};

use super::Place;

/// One promise of the suite, over a fresh file.
async fn keeps(name: &str) {
    let case = CASES.iter().find(|case| case.name == name).unwrap();
    let file = Place::new();
    let path = file.file();
    let make = move || Arc::new(Store::open(&OpenOptions::new(&path)).unwrap()) as _;
    (case.run)(Arc::new(make)).await;
}

/// Every case of the suite is one of the tests here.
#[test]
fn every_promise_of_the_suite_is_asked_for() {
    let own = include_str!("mailbox.rs");
    let missing = CASES.iter().filter(|case| !own.contains(&format!("keeps(\"{}\")", case.name)));
    assert_eq!(missing.map(|case| case.name).collect::<Vec<_>>(), [""; 0]);
}

async fn accepted(store: &Store, message: &InboundMessage) -> String {
    let receipt = store.accept(message).await.unwrap();
    let Receipt::New(id) = receipt else { unreachable!("known already: {message:?}") };
    id
}

async fn due(store: &Store) -> Vec<String> {
    let rows = store.take_due("loopback", "bot", i64::MAX, 100).await.unwrap();
    rows.into_iter().map(|row| row.delivery.token).collect()
}

async fn id_of(store: &Store, token: &str) -> i64 {
    let rows = store.deliveries(&DeliveryState::ALL, 1000).await.unwrap();
    rows.into_iter().find(|row| row.delivery.token == token).unwrap().id
}

/// Whoever worked on rows is gone, as far as anybody can tell.
fn kill(place: &Place) {
    let direct = rusqlite::Connection::open(place.file()).unwrap();
    for table in ["inbox", "outbox"] {
        let sql = format!(
            "UPDATE {table} SET owner = replace(owner, char(10) || '{}' || char(10), \
             char(10) || '99999999' || char(10))",
            std::process::id()
        );
        direct.execute(&sql, []).unwrap();
    }
}

#[tokio::test]
async fn s16_a_message_is_stored_once_however_often_and_by_whomever_it_comes() {
    keeps("a message is stored once, however often and by whomever it comes").await;
}

#[tokio::test]
async fn s10_the_queue_is_ordered_bounded_and_durable() {
    keeps("the queue of a session is ordered, bounded and durable").await;
}

#[tokio::test]
async fn s5_two_processes_never_run_one_session_at_once() {
    keeps("two processes never run one session at once").await;
}

#[tokio::test]
async fn s18_an_answer_and_its_message_are_one_step() {
    keeps("an answer and its message are one step").await;
}

#[tokio::test]
async fn s20_a_lane_is_ordered_and_questions_overtake() {
    keeps("a lane is ordered, and questions overtake").await;
}

#[tokio::test]
async fn s18_what_was_on_its_way_when_a_process_died_is_uncertain() {
    let place = Place::new();
    let (dead, heir) = (place.open(), place.open());
    let session = SessionId::new("s");
    let running = accepted(&dead, &inbound("c", "1", "x")).await;
    dead.queue(&running, &session, 32).await.unwrap();
    dead.claim(&session).await.unwrap().unwrap();
    let undecided = accepted(&dead, &inbound("c", "2", "y")).await;
    dead.plan(vec![delivery("c", "a", None)]).await.unwrap();
    assert_eq!(due(&dead).await, ["a"]);
    let a = id_of(&dead, "a").await;
    dead.set_parts(a, vec!["x".into(), "y".into()]).await.unwrap();
    dead.part_sent(a, "id-1").await.unwrap();
    assert_eq!(heir.orphans().await.unwrap(), [], "its process lives");
    assert_eq!(heir.recover_sending().await.unwrap(), 0);
    kill(&place);
    let orphans = heir.orphans().await.unwrap();
    let ids: Vec<&str> = orphans.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, [running.as_str(), undecided.as_str()]);
    assert_eq!(heir.orphans().await.unwrap(), [], "they have an owner again");
    assert!(!dead.finish(&running, InboxState::Answered, "", vec![]).await.unwrap(), "too late");
    assert_eq!(heir.recover_sending().await.unwrap(), 1);
    let row = heir.delivery(a).await.unwrap().unwrap();
    assert!(row.uncertain && row.state == DeliveryState::Ambiguous);
    assert_eq!((row.parts.len(), row.sent), (2, vec!["id-1".to_owned()]), "the rest is sent");
    assert!(heir.requeue(&running).await.unwrap());
    let again = heir.claim(&session).await.unwrap().unwrap();
    assert_eq!((again.id, again.attempts), (running, 2));
}

#[tokio::test]
async fn s1_routes_that_print_alike_are_two_and_an_identity_can_change() {
    keeps("routes that print alike are two, and an identity can change").await;
}

#[tokio::test]
async fn s39_pairing_has_limits_and_the_first_one_owns() {
    keeps("pairing has limits, and the first one owns").await;
}

#[tokio::test]
async fn places_and_cursors_are_remembered() {
    keeps("places and cursors are remembered").await;
}

#[tokio::test]
async fn a_reply_and_the_answer_to_a_message_are_stored_together_or_not_at_all() {
    let place = Place::new();
    let store = place.open();
    let session = super::begin(&store).await;
    let id = accepted(&store, &inbound("c", "1", "hello")).await;
    store.queue(&id, &session, 32).await.unwrap();
    store.claim(&session).await.unwrap().unwrap();
    let answer = |inbox: &str| {
        Row::Answers(Box::new(Answer {
            inbox: inbox.to_owned(),
            to: InboxState::Answered,
            reason: String::new(),
            deliveries: vec![delivery("c", "t", Some(inbox))],
        }))
    };
    // Somebody else went on: neither is there.
    let late = vec![Row::Expect(Some(99)), super::assistant("hi"), answer(&id)];
    assert!(matches!(
        petasos_store::SessionStore::append(&store, &session, late).await,
        Err(StoreError::Conflict { .. })
    ));
    assert_eq!(store.message(&id).await.unwrap().unwrap().state, InboxState::Running);
    assert!(due(&store).await.is_empty());
    let rows = vec![Row::Expect(None), super::assistant("hi"), answer(&id)];
    assert_eq!(petasos_store::SessionStore::append(&store, &session, rows).await.unwrap().len(), 1);
    assert_eq!(store.message(&id).await.unwrap().unwrap().state, InboxState::Answered);
    assert_eq!(due(&store).await, ["t"]);
    // A message that is no longer ours is left alone.
    let again = accepted(&store, &inbound("c", "2", "hello")).await;
    kill(&place);
    let rows = vec![super::assistant("again"), answer(&again)];
    petasos_store::SessionStore::append(&store, &session, rows).await.unwrap();
    assert_eq!(store.message(&again).await.unwrap().unwrap().state, InboxState::Accepted);
}

#[tokio::test]
async fn what_is_our_own_waits_behind_what_people_said() {
    keeps("what is our own waits behind what people said").await;
}
