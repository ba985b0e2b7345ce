//! What a session does unasked reaches its chat: jobs that end, tasks beside it, late guidance.

use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::SessionId;
use petasos_contract::message::Message;
use petasos_gateway::LoopbackMessage;
use petasos_store::{InboxState, InboxStore as _, RouteStore as _};

use crate::world::{Config, World};

/// Says what it was told last, in a few words.
fn echo() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        let said = said.unwrap_or_default();
        Act::Say(if said.contains("News from background work") {
            format!("it built: {}", said.contains("all green"))
        } else {
            format!("heard: {said}")
        })
    })
}

async fn session(world: &World) -> SessionId {
    world.store.routes_of("loopback", 1).await.unwrap()[0].session.clone()
}

fn has(text: &'static str) -> impl Fn(&[LoopbackMessage]) -> bool {
    move |sent| sent.iter().any(|it| it.text.contains(text))
}

async fn until_working(world: &World) {
    let working = async {
        while world.model.asked().len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_mins(1), working).await.is_ok());
}

#[tokio::test]
async fn s12_a_job_that_ends_is_answered_in_its_chat_once() {
    let world = World::new(echo()).await;
    world.una("1", "build it").await;
    world.texts("c-una", 1).await;
    world.errands.ended(&session(&world).await, "all green");
    assert_eq!(world.texts("c-una", 2).await[1], "it built: true");
    world.una("2", "thanks").await;
    assert_eq!(world.texts("c-una", 3).await[2], "heard: thanks");
    let settled = async {
        while world.store.depths().await.unwrap() != [(InboxState::Delivered, 3)] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_mins(1), settled).await;
    assert!(settled.is_ok(), "{:?}", world.store.depths().await.unwrap());
    assert_eq!(world.server.sent().len(), 3);
}

#[tokio::test]
async fn s12_a_job_that_ends_neither_interrupts_nor_joins_and_waits_behind_people() {
    let acts = [Act::say("first"), Act::Hang("working".to_owned())];
    let model = Scripted::new(acts).otherwise(|prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        let said = said.unwrap_or_default();
        Act::Say(if said.contains("News") { "it built".to_owned() } else { said })
    });
    let config = Config::allowing("una").and(r#"{ "display": { "busy_input_mode": "queue" } }"#);
    let world = World::with(model, config).await;
    world.una("1", "one").await;
    world.texts("c-una", 1).await;
    world.una("2", "two").await;
    until_working(&world).await;
    world.errands.ended(&session(&world).await, "all green");
    let waits = async {
        while world.store.waiting(&session(&world).await).await.unwrap() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_mins(1), waits).await.is_ok(), "it is a message");
    world.una("3", "three").await;
    world.until("a word that it waits", has("Queued behind")).await;
    assert_eq!(world.model.asked().len(), 2, "the running turn knows nothing of it");
    // The turn is stopped without what waits being taken back.
    assert!(world.sessions.find(&session(&world).await).unwrap().interrupt());
    let sent = world.until("both answers", has("it built")).await;
    let place = |text: &str| sent.iter().position(|it| it.text == text);
    assert!(place("three").unwrap() < place("it built").unwrap(), "people go first: {sent:#?}");
}

#[tokio::test]
async fn s12_after_a_reset_the_chat_is_told_and_the_new_conversation_is_not() {
    let world = World::new(echo()).await;
    world.una("1", "build it").await;
    world.texts("c-una", 1).await;
    let old = session(&world).await;
    // Another conversation takes the chat, as a reset by time does.
    let key = world.store.routes_of("loopback", 1).await.unwrap()[0].key.clone();
    world.store.bind(&key, &petasos_sqlite::new_session_id()).await.unwrap();
    world.errands.ended(&old, "all green");
    let told = world.texts("c-una", 2).await;
    assert!(told[1].contains("From an earlier conversation") && told[1].contains("all green"));
    world.una("2", "hello").await;
    assert_eq!(world.texts("c-una", 3).await[2], "heard: hello");
    assert_eq!(world.model.asked().len(), 2, "no turn for it");
}

#[tokio::test]
async fn s12_what_a_background_task_says_comes_to_its_chat() {
    let world = World::new(echo()).await;
    world.una("1", "/background count the stars").await;
    let sent = world.until("its result", has("heard: count the stars")).await;
    assert!(sent.iter().all(|it| it.lane.chat == "c-una"), "{sent:?}");
    assert!(sent.iter().any(|it| it.text.contains("/resume ")), "{sent:?}");
}

#[tokio::test]
async fn guidance_that_its_turn_never_read_is_answered_all_the_same() {
    let acts = [Act::say("first"), Act::Hang("working".to_owned())];
    let model = Scripted::new(acts).otherwise(|prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        Act::Say(format!("heard: {}", said.unwrap_or_default()))
    });
    let config = Config::allowing("una").and(r#"{ "display": { "busy_input_mode": "steer" } }"#);
    let world = World::with(model, config).await;
    world.una("1", "one").await;
    world.texts("c-una", 1).await;
    world.una("2", "two").await;
    until_working(&world).await;
    world.una("3", "and be brief").await;
    world.until("a receipt", has("The running turn gets this")).await;
    assert!(world.sessions.find(&session(&world).await).unwrap().interrupt());
    let sent = world.until("an answer to it", has("and be brief")).await;
    assert_eq!(sent.iter().filter(|it| it.text.contains("and be brief")).count(), 1, "{sent:#?}");
}
