//! A chat that goes on under another identity: its session, its queue and its open cards go along.

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_gateway::LoopbackMessage;
use petasos_gateway::platform::{Arrival, ArrivalKind};
use petasos_store::{ChatKind, RouteStore as _};
use serde_json::json;

use crate::telegram::{BotApi, config};
use crate::world::{Config, World};

/// Asks before it writes a list, and says how many words of people it knows.
fn model() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let users = prompt.messages.iter().filter(|it| matches!(it, Message::User { .. })).count();
        match prompt.messages.last() {
            Some(Message::Tool(_)) => Act::say("listed"),
            _ if users == 1 => Act::call(
                "todo",
                r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#,
            ),
            _ => Act::Say(format!("turn {users}")),
        }
    })
}

fn group(chat: &str, dedup: &str, text: &str) -> Arrival {
    Arrival { chat_kind: ChatKind::Group, ..Arrival::text(chat, "una", dedup, text) }
}

fn has(chat: &'static str, text: &'static str) -> impl Fn(&[LoopbackMessage]) -> bool {
    move |sent| sent.iter().any(|it| it.lane.chat == chat && it.text.contains(text))
}

#[tokio::test]
async fn s4_a_chat_with_another_identity_keeps_session_queue_and_cards() {
    let world = World::with(model(), Config::allowing("una")).await;
    assert!(world.server.give(group("old", "1", "make a list")).await);
    let sent = world.until("a card", has("old", "needs your consent")).await;
    let data = sent.iter().find(|it| !it.buttons.is_empty()).unwrap().buttons[0].data.clone();
    assert!(world.server.give(group("old", "2", "and then")).await);
    world.until("a word that it waits", has("old", "is queued")).await;
    let before = world.store.routes_of("loopback", 10).await.unwrap();
    let moved = Arrival { kind: ArrivalKind::Migrated("old".to_owned()), ..group("new", "m", "") };
    assert!(world.server.give(moved).await);
    // A press under the old name is none of this chat any more; under the new one it counts.
    let press = |chat: &str, dedup: &str| Arrival {
        kind: ArrivalKind::Button(data.clone()),
        ..group(chat, dedup, "")
    };
    assert!(world.server.give(press("old", "p0")).await);
    assert!(world.server.give(press("new", "p1")).await);
    let words = world.server.words();
    assert!(words[0].contains("No such request") && words[1].contains("allowed once"), "{words:?}");
    world.until("the answer, under the new name", has("new", "listed")).await;
    world.until("what waited", has("new", "turn 2")).await;
    assert!(world.server.give(group("new", "3", "are you there?")).await);
    world.until("the same conversation", has("new", "turn 3")).await;
    let after = world.store.routes_of("loopback", 10).await.unwrap();
    assert_eq!((before.len(), after.len()), (1, 1), "{after:?}");
    assert_eq!(before[0].session, after[0].session);
    assert_eq!(after[0].key.chat, "new");
}

#[tokio::test]
async fn s4_a_telegram_group_that_becomes_a_supergroup_goes_on() {
    let api = BotApi::new().await;
    let echo = Scripted::default().otherwise(|prompt, _| {
        let users = prompt.messages.iter().filter(|it| matches!(it, Message::User { .. })).count();
        Act::Say(format!("turn {users}"))
    });
    let _world = World::with(echo, config(&api.url)).await;
    let from = json!({ "id": 7, "is_bot": false, "first_name": "Una" });
    let said = |id: i64, chat: i64, kind: &str| {
        json!({ "message": {
            "message_id": id, "date": crate::double::now(), "from": from, "text": "hello",
            "chat": { "id": chat, "type": kind, "title": "us" },
        }})
    };
    api.update(1, &said(1, -5, "group"));
    api.until("an answer in the group", |sent| sent.iter().any(|it| it["chat_id"] == "-5")).await;
    api.update(
        2,
        &json!({ "message": {
            "message_id": 2, "date": crate::double::now(), "from": from,
            "chat": { "id": -1005, "type": "supergroup", "title": "us" }, "migrate_from_chat_id": -5,
        }}),
    );
    api.update(3, &said(3, -1005, "supergroup"));
    let sent = api.until("the next turn", |sent| sent.len() == 2).await;
    assert_eq!((&sent[1]["chat_id"], &sent[1]["text"]), (&json!("-1005"), &json!("turn 2")));
}
