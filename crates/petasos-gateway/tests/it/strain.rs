//! Much at once, and a store that cannot be written: nothing is lost, nothing is doubled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_gateway::platform::Arrival;
use petasos_store::{
    ChatKey, ChatKind, DeliveryClass, InboundKind, InboundMessage, InboxState, InboxStore as _,
    Lane, MAIN_PROFILE, NewDelivery, OutboxStore as _, Receipt,
};

use crate::world::{Config, World, holds};

fn echo() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        Act::Say(format!("heard: {}", said.unwrap_or_default()))
    })
}

#[tokio::test]
async fn s28_a_backlog_of_5000_drains_without_a_restart_and_in_order() {
    const ALL: usize = 5000;
    let world = World::new(echo()).await;
    let lane = |chat: usize| Lane {
        platform: "loopback".to_owned(),
        account: "bot".to_owned(),
        chat: format!("c{chat}"),
        thread: None,
    };
    let planned = (0..ALL).map(|at| NewDelivery {
        lane: lane(at % 50),
        class: DeliveryClass::Final,
        token: format!("backlog-{at}"),
        body: format!("{at}"),
        media: Vec::new(),
        buttons: Vec::new(),
        reply_to: None,
        inbox: None,
    });
    world.store.plan(planned.collect()).await.unwrap();
    let begun = Instant::now();
    let drained = world.server.until(|sent| sent.len() >= ALL);
    let sent = tokio::time::timeout(Duration::from_mins(5), drained).await.unwrap();
    assert_eq!(sent.len(), ALL);
    let mut last: BTreeMap<String, usize> = BTreeMap::new();
    for message in sent {
        let number: usize = message.text.parse().unwrap();
        let before = last.insert(message.lane.chat.clone(), number);
        assert!(before.is_none_or(|before| before < number), "out of order in {message:?}");
    }
    println!("{ALL} deliveries in {:?}", begun.elapsed());
}

/// What every write to the inbox meets while the disk is full or the file is read-only.
fn refuse(world: &World, refused: bool) {
    let direct = rusqlite::Connection::open(world.home().join("petasos.db")).unwrap();
    direct.busy_timeout(Duration::from_secs(30)).unwrap();
    let sql = if refused {
        "CREATE TRIGGER refuse BEFORE INSERT ON inbox BEGIN SELECT RAISE(ABORT, 'disk full'); END"
    } else {
        "DROP TRIGGER refuse"
    };
    direct.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn s30_what_cannot_be_stored_is_not_acknowledged_and_comes_again() {
    let world = World::new(echo()).await;
    world.una("1", "before").await;
    world.texts("c-una", 1).await;
    refuse(&world, true);
    let lost = Arrival::text("c-una", "una", "2", "meanwhile");
    assert!(!world.server.give(lost.clone()).await, "not acknowledged");
    let told = async {
        loop {
            let status = world.gateway.status().await.unwrap();
            if status
                .accounts
                .iter()
                .any(|it| it.notice.as_deref().unwrap_or("").contains("stored"))
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_mins(1), told).await;
    assert!(told.is_ok(), "{:?}", world.gateway.status().await.unwrap().accounts);
    assert!(world.gateway.status().await.unwrap().is_degraded(), "it needs a person");
    refuse(&world, false);
    assert!(world.server.give(lost).await, "the platform gives it again");
    assert_eq!(world.texts("c-una", 2).await[1], "heard: meanwhile");
    let status = world.gateway.status().await.unwrap();
    assert!(status.accounts.iter().all(|it| it.notice.is_none()), "{:?}", status.accounts);
}

#[tokio::test]
async fn s30_a_disk_that_is_nearly_full_stops_the_reading_and_nothing_else() {
    let world = World::new(echo()).await;
    world.una("1", "before").await;
    world.texts("c-una", 1).await;
    *world.around.free.lock() = Some(100_000_000);
    let given = world.server.give(Arrival::text("c-una", "una", "2", "meanwhile"));
    let told = holds("a word in the status", async || {
        let status = world.gateway.status().await.unwrap();
        status.unstored.as_deref().is_some_and(|why| why.contains("free on the disk"))
            && status.is_degraded()
    });
    let rests = async {
        told.await;
        assert_eq!(world.model.asked().len(), 1, "nothing more was read");
        *world.around.free.lock() = Some(10_000_000_000);
    };
    let (taken, ()) = tokio::join!(given, rests);
    assert!(taken, "it is acknowledged once there is room, without a restart");
    assert_eq!(world.texts("c-una", 2).await[1], "heard: meanwhile");
    let status = world.gateway.status().await.unwrap();
    assert!(status.unstored.is_none() && !status.is_degraded(), "{status:?}");
}

#[tokio::test]
async fn s153_what_came_long_ago_costs_nothing() {
    const OLD: usize = 100_000;
    let world = World::with(echo(), Config::allowing("una")).await;
    let mut direct = rusqlite::Connection::open(world.home().join("petasos.db")).unwrap();
    direct.busy_timeout(Duration::from_secs(30)).unwrap();
    let filling = direct.transaction().unwrap();
    {
        let sql = "INSERT INTO inbox(id, profile, platform, account, kind, chat, thread, user, \
                   sender, sender_name, dedup, message, sent_ms, received_ms, event, body, media, \
                   state, session, changed_ms) VALUES (?1, 'main', 'loopback', 'bot', 'dm', 'c', \
                   '', '', 'u', 'U', ?1, ?1, 1, 1, 'text', 'words words words', '[]', \
                   'delivered', 's', 1)";
        let mut insert = filling.prepare(sql).unwrap();
        for at in 0..OLD {
            insert.execute([format!("0000-{at:09}")]).unwrap();
        }
    }
    filling.commit().unwrap();
    let session = petasos_sqlite::new_session_id();
    let mut took = Vec::new();
    for at in 0..50 {
        let message = InboundMessage {
            key: ChatKey {
                profile: MAIN_PROFILE.to_owned(),
                platform: "loopback".to_owned(),
                account: "bot".to_owned(),
                kind: ChatKind::Dm,
                chat: "c-x".to_owned(),
                thread: None,
                user: None,
            },
            sender: "una".to_owned(),
            sender_name: String::new(),
            dedup: format!("new-{at}"),
            message: String::new(),
            sent_ms: 1,
            kind: InboundKind::Text,
            text: "hello".to_owned(),
            media: Vec::new(),
        };
        let begun = Instant::now();
        assert!(world.store.undone().await.unwrap() < 10);
        let receipt = world.store.accept(&message).await.unwrap();
        let Receipt::New(id) = receipt else { unreachable!("{receipt:?}") };
        world.store.queue(&id, &session, 32).await.unwrap();
        let row = world.store.claim(&session).await.unwrap().unwrap();
        assert_eq!(world.store.waiting(&session).await.unwrap(), 1);
        world.store.finish(&row.id, InboxState::Answered, "", Vec::new()).await.unwrap();
        took.push(begun.elapsed());
    }
    took.sort();
    // A look at every stored message costs more than this in each of the six steps.
    assert!(took[25] < Duration::from_millis(60), "{took:?}");
    println!("a message beside {OLD} old ones: {:?} in the middle", took[25]);
}
