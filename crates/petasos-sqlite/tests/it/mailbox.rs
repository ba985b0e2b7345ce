//! What a gateway keeps: every message once, in order, whoever races and whoever dies.

use petasos_contract::SessionId;
use petasos_sqlite::Store;
use petasos_store::{
    AccessStore, Answer, Attempt, ChatKey, ChatKind, CursorStore, DeliveryClass, DeliveryState,
    InboundKind, InboundMessage, InboxState, InboxStore, MAIN_PROFILE, NewDelivery, OutboxStore,
    PairingLimits, PairingReceipt, PairingRequest, Placing, Receipt, RouteStore, Row, StoreError,
};

use super::Place;

fn key(chat: &str) -> ChatKey {
    ChatKey {
        profile: MAIN_PROFILE.to_owned(),
        platform: "loopback".to_owned(),
        account: "bot".to_owned(),
        kind: ChatKind::Dm,
        chat: chat.to_owned(),
        thread: None,
        user: None,
    }
}

fn inbound(chat: &str, dedup: &str, text: &str) -> InboundMessage {
    InboundMessage {
        key: key(chat),
        sender: "u1".to_owned(),
        sender_name: "Una".to_owned(),
        dedup: dedup.to_owned(),
        message: format!("m-{dedup}"),
        sent_ms: 1,
        kind: InboundKind::Text,
        text: text.to_owned(),
        media: Vec::new(),
    }
}

fn delivery(chat: &str, token: &str, inbox: Option<&str>) -> NewDelivery {
    NewDelivery {
        lane: key(chat).lane(),
        class: DeliveryClass::Final,
        token: token.to_owned(),
        body: format!("answer {token}"),
        media: Vec::new(),
        buttons: Vec::new(),
        reply_to: None,
        inbox: inbox.map(str::to_owned),
    }
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
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    let events: Vec<InboundMessage> =
        (0..50).map(|number| inbound("c", &format!("e{number}"), "hello")).collect();
    let all = |store| async move {
        let mut new = 0;
        for event in &events_of(50) {
            let receipt = Store::accept(store, event).await.unwrap();
            new += usize::from(matches!(receipt, Receipt::New(_)));
        }
        new
    };
    let (first, second) = tokio::join!(all(&one), all(&two));
    assert_eq!(first + second, 50, "each of 50 events, delivered twice at once");
    for event in events.iter().rev() {
        assert!(matches!(
            one.accept(event).await.unwrap(),
            Receipt::Known(_, InboxState::Accepted)
        ));
    }
    let other = InboundMessage {
        key: ChatKey { account: "b2".into(), ..key("c") },
        ..inbound("c", "e1", "x")
    };
    assert!(matches!(one.accept(&other).await.unwrap(), Receipt::New(_)), "another account");
}

fn events_of(count: usize) -> Vec<InboundMessage> {
    (0..count).map(|number| inbound("c", &format!("e{number}"), "hello")).collect()
}

#[tokio::test]
async fn s10_the_queue_is_ordered_bounded_and_durable() {
    let place = Place::new();
    let session = SessionId::new("s");
    let mut ids = Vec::new();
    {
        let store = place.open();
        for number in 0..33 {
            let id = accepted(&store, &inbound("c", &number.to_string(), "x")).await;
            let placed = store.queue(&id, &session, 32).await.unwrap();
            let expected = if number < 32 {
                Placing::Queued { ahead: number }
            } else {
                Placing::Full { waiting: 32 }
            };
            assert_eq!(placed, expected);
            assert_eq!(store.queue(&id, &session, 32).await.unwrap(), Placing::Settled);
            ids.push(id);
        }
        let full = store.message(&ids[32]).await.unwrap().unwrap();
        assert_eq!(full.state, InboxState::RefusedFull);
    }
    let store = place.open();
    assert_eq!(store.waiting_sessions().await.unwrap(), std::slice::from_ref(&session));
    for id in &ids[..32] {
        let row = store.claim(&session).await.unwrap().unwrap();
        assert_eq!((&row.id, row.state, row.attempts), (id, InboxState::Running, 1));
        assert_eq!(store.claim(&session).await.unwrap(), None, "one of a session at a time");
        assert!(store.finish(id, InboxState::Answered, "", Vec::new()).await.unwrap());
    }
    assert_eq!(store.claim(&session).await.unwrap(), None);
    assert_eq!(store.waiting(&session).await.unwrap(), 0);
}

#[tokio::test]
async fn s5_two_processes_never_run_one_session_at_once() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    let session = SessionId::new("shared");
    for number in 0..40 {
        let id = accepted(&one, &inbound("c", &number.to_string(), "x")).await;
        one.queue(&id, &session, 99).await.unwrap();
    }
    let mut seen = Vec::new();
    while seen.len() < 40 {
        let (first, second) = tokio::join!(one.claim(&session), two.claim(&session));
        let claimed: Vec<_> = [(&one, first.unwrap()), (&two, second.unwrap())]
            .into_iter()
            .filter_map(|(store, row)| Some((store, row?)))
            .collect();
        assert_eq!(claimed.len(), 1, "one of two callers gets the next message");
        for (store, row) in claimed {
            let other = if std::ptr::eq(store, &raw const one) { &two } else { &one };
            assert!(!other.finish(&row.id, InboxState::Answered, "", vec![]).await.unwrap());
            assert!(store.finish(&row.id, InboxState::Answered, "", vec![]).await.unwrap());
            seen.push(row.id);
        }
    }
    assert!(seen.is_sorted(), "in the order of arrival");
}

#[tokio::test]
async fn s18_an_answer_and_its_message_are_one_step() {
    let place = Place::new();
    let store = place.open();
    let session = SessionId::new("s");
    let id = accepted(&store, &inbound("c", "1", "x")).await;
    store.queue(&id, &session, 32).await.unwrap();
    store.claim(&session).await.unwrap().unwrap();
    let answers = vec![delivery("c", "a", Some(&id)), delivery("c", "b", Some(&id))];
    assert!(store.finish(&id, InboxState::Answered, "", answers.clone()).await.unwrap());
    assert!(!store.finish(&id, InboxState::Answered, "", answers).await.unwrap(), "once");
    let state = async || store.message(&id).await.unwrap().unwrap().state;
    assert_eq!(due(&store).await, ["a"], "a lane has one on its way");
    assert_eq!(due(&store).await, [""; 0]);
    let (a, b) = (id_of(&store, "a").await, id_of(&store, "b").await);
    store.end_attempt(a, Attempt::Sent).await.unwrap();
    assert_eq!(state().await, InboxState::Answered, "one part is not the answer");
    assert_eq!(due(&store).await, ["b"]);
    store.end_attempt(b, Attempt::Sent).await.unwrap();
    assert_eq!(state().await, InboxState::Delivered);
    let depths = store.delivery_depths().await.unwrap();
    assert_eq!(depths, [(DeliveryState::Sent, 2)]);
}

#[tokio::test]
async fn s20_a_lane_is_ordered_and_questions_overtake() {
    let place = Place::new();
    let store = place.open();
    let urgent = NewDelivery { class: DeliveryClass::Question, ..delivery("c", "card", None) };
    let planned = vec![delivery("c", "1", None), delivery("c", "2", None), urgent];
    assert_eq!(store.plan(planned.clone()).await.unwrap(), 3);
    assert_eq!(store.plan(planned).await.unwrap(), 0, "a token is planned once");
    store.plan(vec![delivery("d", "other", None)]).await.unwrap();
    assert_eq!(due(&store).await, ["card", "1", "other"], "each lane has its own head");
    let again = Attempt::Again { at_ms: i64::MAX, error: "429".into(), counted: false };
    store.end_attempt(id_of(&store, "1").await, again).await.unwrap();
    let now = store.take_due("loopback", "bot", 1, 100).await.unwrap();
    assert_eq!(now.len(), 0, "what waits keeps its lane");
    assert!(store.next_due("loopback", "bot").await.unwrap().is_some());
    assert_eq!(due(&store).await, ["1"]);
    store
        .end_attempt(id_of(&store, "1").await, Attempt::Dead { error: "gone".into() })
        .await
        .unwrap();
    assert_eq!(due(&store).await, ["2"], "a dead one leaves its lane");
    assert!(store.retry(id_of(&store, "1").await).await.unwrap());
    assert!(!store.retry(id_of(&store, "2").await).await.unwrap(), "it is on its way");
    assert!(store.drop_delivery(id_of(&store, "1").await).await.unwrap());
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
    let place = Place::new();
    let store = place.open();
    let colon = ChatKey { thread: Some("b".into()), ..key("a") };
    let plain = ChatKey { chat: "a:b".into(), ..key("a") };
    assert_eq!(colon.to_string(), plain.to_string());
    let (one, two) = (SessionId::new("one"), SessionId::new("two"));
    assert_eq!(store.bind_first(&colon, &one).await.unwrap(), one);
    assert_eq!(store.bind_first(&plain, &two).await.unwrap(), two);
    assert_eq!(store.bind_first(&plain, &one).await.unwrap(), two, "the first binding holds");
    store.choose(&plain, "busy", Some("queue".into())).await.unwrap();
    store.bind(&plain, &one).await.unwrap();
    let route = store.route(&plain).await.unwrap().unwrap();
    assert_eq!((route.session, route.choices.get("busy").unwrap()), (one.clone(), &"queue".into()));
    assert_eq!(store.routes_to(&one).await.unwrap().len(), 2);
    let id = accepted(&store, &inbound("a:b", "1", "x")).await;
    store.plan(vec![delivery("a:b", "t", None)]).await.unwrap();
    assert_eq!(store.rekey("loopback", "bot", "a:b", "new").await.unwrap(), 3);
    assert_eq!(store.route(&plain).await.unwrap(), None);
    assert!(store.route(&ChatKey { chat: "new".into(), ..plain }).await.unwrap().is_some());
    assert_eq!(store.message(&id).await.unwrap().unwrap().message.key.chat, "new");
    assert_eq!(store.forget_routes(i64::MAX).await.unwrap(), 2);
}

const LIMITS: PairingLimits =
    PairingLimits { life_ms: 1000, open_max: 3, pause_ms: 600, wrong_max: 5, lock_ms: 1000 };

fn asking(user: &str, at: i64) -> PairingRequest {
    PairingRequest {
        platform: "loopback".into(),
        user: user.into(),
        name: user.to_uppercase(),
        salt: [1; 16],
        digest: [2; 32],
        asked_ms: at,
    }
}

#[tokio::test]
async fn s39_pairing_has_limits_and_the_first_one_owns() {
    let place = Place::new();
    let store = place.open();
    let ask = async |user: &str, at| store.ask_pairing(&asking(user, at), LIMITS).await.unwrap();
    assert_eq!(ask("a", 0).await, PairingReceipt::Asked);
    assert_eq!(ask("a", 599).await, PairingReceipt::TooSoon);
    assert_eq!(ask("b", 1).await, PairingReceipt::Asked);
    assert_eq!(ask("c", 2).await, PairingReceipt::Asked);
    assert_eq!(ask("d", 3).await, PairingReceipt::TooMany);
    assert_eq!(ask("d", 1001).await, PairingReceipt::Asked, "old ones have lapsed");
    let open = store.open_pairings("loopback", 1001, LIMITS).await.unwrap();
    assert_eq!(open.iter().map(|it| it.user.as_str()).collect::<Vec<_>>(), ["c", "d"]);
    let first = store.admit("loopback", "d", 1002).await.unwrap().unwrap();
    assert!(first.owner && first.name == "D");
    assert!(!store.admit("loopback", "c", 1003).await.unwrap().unwrap().owner);
    assert_eq!(store.admit("loopback", "c", 1004).await.unwrap(), None, "a code works once");
    for wrong in 1..=5 {
        let locked = store.wrong_code("loopback", 2000, LIMITS).await.unwrap();
        assert_eq!(locked, (wrong == 5).then_some(3000));
    }
    assert_eq!(ask("e", 2500).await, PairingReceipt::Locked);
    assert_eq!(ask("e", 3001).await, PairingReceipt::Asked);
    assert!(store.unpair("loopback", "d").await.unwrap());
    assert_eq!(store.paired(Some("loopback")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn places_and_cursors_are_remembered() {
    let place = Place::new();
    let store = place.open();
    let lane = key("c").lane();
    store.know_target(&lane, "Una").await.unwrap();
    store.know_target(&lane, "").await.unwrap();
    store.set_unreachable(&lane, Some("blocked")).await.unwrap();
    let known = store.targets(Some("loopback")).await.unwrap();
    assert_eq!((known[0].name.as_str(), known[0].unreachable.as_deref()), ("Una", Some("blocked")));
    store.set_home(&key("d").lane(), "home").await.unwrap();
    store.set_home(&lane, "Una").await.unwrap();
    store.know_target(&lane, "").await.unwrap();
    let known = store.targets(None).await.unwrap();
    assert_eq!(known.iter().filter(|it| it.home).count(), 1);
    assert!(known[0].home && known[0].unreachable.is_none(), "an arrival heals it");
    assert_eq!(store.cursor("loopback", "bot", "offset").await.unwrap(), None);
    store.set_cursor("loopback", "bot", "offset", "7").await.unwrap();
    store.set_cursor("loopback", "bot", "offset", "8").await.unwrap();
    assert_eq!(place.open().cursor("loopback", "bot", "offset").await.unwrap().unwrap(), "8");
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
    let place = Place::new();
    let store = place.open();
    let session = SessionId::new("s");
    let own = InboundMessage { kind: InboundKind::Internal, ..inbound("c", "1", "a job ended") };
    for message in [own, inbound("c", "2", "hello")] {
        let id = accepted(&store, &message).await;
        store.queue(&id, &session, 32).await.unwrap();
    }
    for text in ["hello", "a job ended"] {
        let row = store.claim(&session).await.unwrap().unwrap();
        assert_eq!(row.message.text, text);
        store.finish(&row.id, InboxState::Answered, "", Vec::new()).await.unwrap();
    }
}
