//! What everything that a gateway keeps must do: inbox, outbox, routes, who was let in. A database
//! runs all [`CASES`], each over a fresh one.
//!
//! [`Make`] opens the same database as often as it is asked, each time as another process would.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a promise that is not kept fails the test that runs it"
)]

use std::sync::Arc;

use petasos_contract::{BoxFuture, SessionId};
use petasos_store::{
    Attempt, ChatKey, ChatKind, DeliveryClass, DeliveryState, GatewayStore, InboundKind,
    InboundMessage, InboxState, MAIN_PROFILE, NewDelivery, PairingLimits, PairingReceipt,
    PairingRequest, Placing, Receipt,
};

/// Opens the database of one case once more.
pub type Make = Arc<dyn Fn() -> Arc<dyn GatewayStore> + Send + Sync>;

/// One promise.
#[derive(Debug)]
pub struct MailboxCase {
    /// What is promised.
    pub name: &'static str,
    /// Panics when it is not kept.
    pub run: fn(Make) -> BoxFuture<'static, ()>,
}

/// Every promise.
pub static CASES: &[MailboxCase] = &[
    MailboxCase {
        name: "a message is stored once, however often and by whomever it comes",
        run: |make| Box::pin(stored_once(make)),
    },
    MailboxCase {
        name: "the queue of a session is ordered, bounded and durable",
        run: |make| Box::pin(queue(make)),
    },
    MailboxCase {
        name: "two processes never run one session at once",
        run: |make| Box::pin(one_at_once(make)),
    },
    MailboxCase {
        name: "an answer and its message are one step",
        run: |make| Box::pin(one_step(make)),
    },
    MailboxCase {
        name: "a lane is ordered, and questions overtake",
        run: |make| Box::pin(lane(make)),
    },
    MailboxCase {
        name: "routes that print alike are two, and an identity can change",
        run: |make| Box::pin(routes(make)),
    },
    MailboxCase {
        name: "pairing has limits, and the first one owns",
        run: |make| Box::pin(pairing(make)),
    },
    MailboxCase { name: "places and cursors are remembered", run: |make| Box::pin(places(make)) },
    MailboxCase {
        name: "what is our own waits behind what people said",
        run: |make| Box::pin(own_waits(make)),
    },
];

/// A direct chat of the loopback platform.
pub fn key(chat: &str) -> ChatKey {
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

/// A message that came in there.
pub fn inbound(chat: &str, dedup: &str, text: &str) -> InboundMessage {
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

/// Something that goes out there.
pub fn delivery(chat: &str, token: &str, inbox: Option<&str>) -> NewDelivery {
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

type Gateway = Arc<dyn GatewayStore>;

async fn accepted(store: &Gateway, message: &InboundMessage) -> String {
    let receipt = store.accept(message).await.expect("a receipt");
    let Receipt::New(id) = receipt else { panic!("known already: {message:?}") };
    id
}

async fn due(store: &Gateway) -> Vec<String> {
    let rows = store.take_due("loopback", "bot", i64::MAX, 100).await.expect("rows");
    rows.into_iter().map(|row| row.delivery.token).collect()
}

async fn id_of(store: &Gateway, token: &str) -> i64 {
    let rows = store.deliveries(&DeliveryState::ALL, 1000).await.expect("rows");
    rows.into_iter().find(|row| row.delivery.token == token).expect("it").id
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

async fn stored_once(make: Make) {
    let (one, two) = (make(), make());
    let events: Vec<InboundMessage> =
        (0..50).map(|number| inbound("c", &format!("e{number}"), "hello")).collect();
    let all = async |store: &Gateway| {
        let mut new = 0;
        for event in &events {
            let receipt = store.accept(event).await.expect("a receipt");
            new += usize::from(matches!(receipt, Receipt::New(_)));
        }
        new
    };
    let (first, second) = tokio::join!(all(&one), all(&two));
    assert_eq!(first + second, 50, "each of 50 events, delivered twice at once");
    for event in events.iter().rev() {
        assert!(matches!(
            one.accept(event).await.expect("an answer"),
            Receipt::Known(_, InboxState::Accepted)
        ));
    }
    let other = InboundMessage {
        key: ChatKey { account: "b2".into(), ..key("c") },
        ..inbound("c", "e1", "x")
    };
    assert!(
        matches!(one.accept(&other).await.expect("an answer"), Receipt::New(_)),
        "another account"
    );
}

async fn queue(make: Make) {
    let session = SessionId::new("s");
    let mut ids = Vec::new();
    {
        let store = make();
        for number in 0..33 {
            let id = accepted(&store, &inbound("c", &number.to_string(), "x")).await;
            let placed = store.queue(&id, &session, 32).await.expect("an answer");
            let expected = if number < 32 {
                Placing::Queued { ahead: number }
            } else {
                Placing::Full { waiting: 32 }
            };
            assert_eq!(placed, expected);
            assert_eq!(store.queue(&id, &session, 32).await.expect("an answer"), Placing::Settled);
            ids.push(id);
        }
        let full = store.message(&ids[32]).await.expect("an answer").expect("one");
        assert_eq!(full.state, InboxState::RefusedFull);
    }
    let store = make();
    assert_eq!(store.waiting_sessions().await.expect("an answer"), std::slice::from_ref(&session));
    for id in &ids[..32] {
        let row = store.claim(&session).await.expect("an answer").expect("one");
        assert_eq!((&row.id, row.state, row.attempts), (id, InboxState::Running, 1));
        assert_eq!(
            store.claim(&session).await.expect("an answer"),
            None,
            "one of a session at a time"
        );
        assert!(store.finish(id, InboxState::Answered, "", Vec::new()).await.expect("an answer"));
    }
    assert_eq!(store.claim(&session).await.expect("an answer"), None);
    assert_eq!(store.waiting(&session).await.expect("an answer"), 0);
}

async fn one_at_once(make: Make) {
    let (one, two) = (make(), make());
    let session = SessionId::new("shared");
    for number in 0..40 {
        let id = accepted(&one, &inbound("c", &number.to_string(), "x")).await;
        one.queue(&id, &session, 99).await.expect("an answer");
    }
    let mut seen = Vec::new();
    while seen.len() < 40 {
        let (first, second) = tokio::join!(one.claim(&session), two.claim(&session));
        let claimed: Vec<_> =
            [(&one, first.expect("an answer")), (&two, second.expect("an answer"))]
                .into_iter()
                .filter_map(|(store, row)| Some((store, row?)))
                .collect();
        assert_eq!(claimed.len(), 1, "one of two callers gets the next message");
        for (store, row) in claimed {
            let other = if Arc::ptr_eq(store, &one) { &two } else { &one };
            assert!(
                !other.finish(&row.id, InboxState::Answered, "", vec![]).await.expect("an answer")
            );
            assert!(
                store.finish(&row.id, InboxState::Answered, "", vec![]).await.expect("an answer")
            );
            seen.push(row.id);
        }
    }
    assert!(seen.is_sorted(), "in the order of arrival");
}

async fn one_step(make: Make) {
    let store = make();
    let session = SessionId::new("s");
    let id = accepted(&store, &inbound("c", "1", "x")).await;
    store.queue(&id, &session, 32).await.expect("an answer");
    store.claim(&session).await.expect("an answer").expect("one");
    let answers = vec![delivery("c", "a", Some(&id)), delivery("c", "b", Some(&id))];
    assert!(store.finish(&id, InboxState::Answered, "", answers.clone()).await.expect("an answer"));
    assert!(
        !store.finish(&id, InboxState::Answered, "", answers).await.expect("an answer"),
        "once"
    );
    let state = async || store.message(&id).await.expect("an answer").expect("one").state;
    assert_eq!(due(&store).await, ["a"], "a lane has one on its way");
    assert_eq!(due(&store).await, [""; 0]);
    let (a, b) = (id_of(&store, "a").await, id_of(&store, "b").await);
    store.end_attempt(a, Attempt::Sent).await.expect("an answer");
    assert_eq!(state().await, InboxState::Answered, "one part is not the answer");
    assert_eq!(due(&store).await, ["b"]);
    store.end_attempt(b, Attempt::Sent).await.expect("an answer");
    assert_eq!(state().await, InboxState::Delivered);
    let depths = store.delivery_depths().await.expect("an answer");
    assert_eq!(depths, [(DeliveryState::Sent, 2)]);
}

async fn lane(make: Make) {
    let store = make();
    let urgent = NewDelivery { class: DeliveryClass::Question, ..delivery("c", "card", None) };
    let planned = vec![delivery("c", "1", None), delivery("c", "2", None), urgent];
    assert_eq!(store.plan(planned.clone()).await.expect("an answer"), 3);
    assert_eq!(store.plan(planned).await.expect("an answer"), 0, "a token is planned once");
    store.plan(vec![delivery("d", "other", None)]).await.expect("an answer");
    assert_eq!(due(&store).await, ["card", "1", "other"], "each lane has its own head");
    let again = Attempt::Again { at_ms: i64::MAX, error: "429".into(), counted: false };
    store.end_attempt(id_of(&store, "1").await, again).await.expect("an answer");
    let now = store.take_due("loopback", "bot", 1, 100).await.expect("an answer");
    assert_eq!(now.len(), 0, "what waits keeps its lane");
    assert!(store.next_due("loopback", "bot").await.expect("an answer").is_some());
    assert_eq!(due(&store).await, ["1"]);
    store
        .end_attempt(id_of(&store, "1").await, Attempt::Dead { error: "gone".into() })
        .await
        .expect("an answer");
    assert_eq!(due(&store).await, ["2"], "a dead one leaves its lane");
    assert!(store.retry(id_of(&store, "1").await).await.expect("an answer"));
    assert!(!store.retry(id_of(&store, "2").await).await.expect("an answer"), "it is on its way");
    assert!(store.drop_delivery(id_of(&store, "1").await).await.expect("an answer"));
}

async fn routes(make: Make) {
    let store = make();
    let colon = ChatKey { thread: Some("b".into()), ..key("a") };
    let plain = ChatKey { chat: "a:b".into(), ..key("a") };
    assert_eq!(colon.to_string(), plain.to_string());
    let (one, two) = (SessionId::new("one"), SessionId::new("two"));
    assert_eq!(store.bind_first(&colon, &one).await.expect("an answer"), one);
    assert_eq!(store.bind_first(&plain, &two).await.expect("an answer"), two);
    assert_eq!(
        store.bind_first(&plain, &one).await.expect("an answer"),
        two,
        "the first binding holds"
    );
    store.choose(&plain, "busy", Some("queue".into())).await.expect("an answer");
    store.bind(&plain, &one).await.expect("an answer");
    let route = store.route(&plain).await.expect("an answer").expect("one");
    assert_eq!(
        (route.session, route.choices.get("busy").expect("an answer")),
        (one.clone(), &"queue".into())
    );
    assert_eq!(store.routes_to(&one).await.expect("an answer").len(), 2);
    let id = accepted(&store, &inbound("a:b", "1", "x")).await;
    store.plan(vec![delivery("a:b", "t", None)]).await.expect("an answer");
    assert_eq!(store.rekey("loopback", "bot", "a:b", "new").await.expect("an answer"), 3);
    assert_eq!(store.route(&plain).await.expect("an answer"), None);
    assert!(
        store.route(&ChatKey { chat: "new".into(), ..plain }).await.expect("an answer").is_some()
    );
    assert_eq!(store.message(&id).await.expect("an answer").expect("one").message.key.chat, "new");
    assert_eq!(store.forget_routes(i64::MAX).await.expect("an answer"), 2);
}

async fn pairing(make: Make) {
    let store = make();
    let ask = async |user: &str, at| {
        store.ask_pairing(&asking(user, at), LIMITS).await.expect("an answer")
    };
    assert_eq!(ask("a", 0).await, PairingReceipt::Asked);
    assert_eq!(ask("a", 599).await, PairingReceipt::TooSoon);
    assert_eq!(ask("b", 1).await, PairingReceipt::Asked);
    assert_eq!(ask("c", 2).await, PairingReceipt::Asked);
    assert_eq!(ask("d", 3).await, PairingReceipt::TooMany);
    assert_eq!(ask("d", 1001).await, PairingReceipt::Asked, "old ones have lapsed");
    let open = store.open_pairings("loopback", 1001, LIMITS).await.expect("an answer");
    assert_eq!(open.iter().map(|it| it.user.as_str()).collect::<Vec<_>>(), ["c", "d"]);
    let first = store.admit("loopback", "d", 1002).await.expect("an answer").expect("one");
    assert!(first.owner && first.name == "D");
    assert!(!store.admit("loopback", "c", 1003).await.expect("an answer").expect("one").owner);
    assert_eq!(
        store.admit("loopback", "c", 1004).await.expect("an answer"),
        None,
        "a code works once"
    );
    for wrong in 1..=5 {
        let locked = store.wrong_code("loopback", 2000, LIMITS).await.expect("an answer");
        assert_eq!(locked, (wrong == 5).then_some(3000));
    }
    assert_eq!(ask("e", 2500).await, PairingReceipt::Locked);
    assert_eq!(ask("e", 3001).await, PairingReceipt::Asked);
    assert!(store.unpair("loopback", "d").await.expect("an answer"));
    assert_eq!(store.paired(Some("loopback")).await.expect("an answer").len(), 1);
}

async fn places(make: Make) {
    let store = make();
    let lane = key("c").lane();
    store.know_target(&lane, "Una").await.expect("an answer");
    store.know_target(&lane, "").await.expect("an answer");
    store.set_unreachable(&lane, Some("blocked")).await.expect("an answer");
    let known = store.targets(Some("loopback")).await.expect("an answer");
    assert_eq!((known[0].name.as_str(), known[0].unreachable.as_deref()), ("Una", Some("blocked")));
    store.set_home(&key("d").lane(), "home").await.expect("an answer");
    store.set_home(&lane, "Una").await.expect("an answer");
    store.know_target(&lane, "").await.expect("an answer");
    let known = store.targets(None).await.expect("an answer");
    assert_eq!(known.iter().filter(|it| it.home).count(), 1);
    assert!(known[0].home && known[0].unreachable.is_none(), "an arrival heals it");
    assert_eq!(store.cursor("loopback", "bot", "offset").await.expect("an answer"), None);
    store.set_cursor("loopback", "bot", "offset", "7").await.expect("an answer");
    store.set_cursor("loopback", "bot", "offset", "8").await.expect("an answer");
    assert_eq!(
        make().cursor("loopback", "bot", "offset").await.expect("an answer").expect("one"),
        "8"
    );
}

async fn own_waits(make: Make) {
    let store = make();
    let session = SessionId::new("s");
    let own = InboundMessage { kind: InboundKind::Internal, ..inbound("c", "1", "a job ended") };
    for message in [own, inbound("c", "2", "hello")] {
        let id = accepted(&store, &message).await;
        store.queue(&id, &session, 32).await.expect("an answer");
    }
    for text in ["hello", "a job ended"] {
        let row = store.claim(&session).await.expect("an answer").expect("one");
        assert_eq!(row.message.text, text);
        store.finish(&row.id, InboxState::Answered, "", Vec::new()).await.expect("an answer");
    }
}
