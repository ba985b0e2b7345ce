//! What a chat sees, and in which order: turns that are not interrupted, words that are replaced,
//! texts that are too long, lanes that are blocked.

use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_contract::model::Role;
use petasos_gateway::LoopbackMessage;
use petasos_gateway::platform::{Arrival, SendError};
use petasos_store::{DeliveryState, InboxState, InboxStore as _, OutboxStore as _};

use crate::world::{Config, World, holds};

const STREAMING: &str = r#"{ "streaming": { "enabled": true, "edit_interval": 0.1 } }"#;

fn has(text: &'static str) -> impl Fn(&[LoopbackMessage]) -> bool {
    move |sent| sent.iter().any(|it| it.text.contains(text))
}

/// What the last word of a person was.
fn said(messages: &[Message]) -> String {
    let last = messages.iter().rev().find_map(|message| match message {
        Message::User { content } => Some(content.text()),
        _ => None,
    });
    last.unwrap_or_default()
}

#[tokio::test]
async fn s9_a_turn_is_not_interrupted_while_somebody_works_for_it_or_is_asked() {
    // A subagent works for the turn.
    let model =
        Scripted::default().otherwise(|prompt, role| match (role, prompt.messages.last()) {
            (Role::Subagent, _) => {
                Act::After(Duration::from_secs(2), Box::new(Act::say("twelve hats")))
            }
            (_, Some(Message::Tool(_))) => Act::say("counted"),
            _ if said(&prompt.messages) == "count" => {
                Act::call("delegate_task", r#"{"goal": "count the hats", "background": false}"#)
            }
            _ => Act::Say(format!("heard: {}", said(&prompt.messages))),
        });
    let world = World::new(model).await;
    world.una("1", "count").await;
    let working = |role| world.model.asked().iter().any(|asked| asked.role == role);
    holds("a subagent", async || working(Role::Subagent)).await;
    world.una("2", "and now").await;
    let sent = world.until("both answers", has("heard: and now")).await;
    let texts: Vec<&str> = sent.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["Queued behind 1.", "counted", "heard: and now"]);
    // A person is asked.
    let list = r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#;
    let model = Scripted::default().otherwise(move |prompt, _| match prompt.messages.last() {
        Some(Message::Tool(_)) => Act::say("listed"),
        _ if said(&prompt.messages) == "list" => Act::call("todo", list),
        _ => Act::say("second"),
    });
    let world = World::new(model).await;
    world.una("1", "list").await;
    world.until("a card", has("needs your consent")).await;
    world.una("2", "something else").await;
    world.until("a word that it waits", has("Your message is queued")).await;
    world.una("3", "yes 1").await;
    let sent = world.until("both answers", has("second")).await;
    let at = |text: &str| sent.iter().position(|it| it.text == text);
    assert!(at("listed").is_some() && at("listed") < at("second"), "{sent:?}");
    let depths = world.store.depths().await.unwrap();
    assert!(!depths.iter().any(|it| it.0 == InboxState::Interrupted), "{depths:?}");
}

#[tokio::test]
async fn s9_a_turn_is_not_interrupted_while_its_conversation_is_shortened() {
    const SMALL: &str = r#"{
        "model": { "context_length": 64000 },
        "compression": { "protect_last_n": 2, "target_ratio": 0.05, "protect_first_n": 1 }
    }"#;
    let long = "word ".repeat(30_000);
    let model = Scripted::default().otherwise(move |prompt, role| match role {
        Role::Compression => {
            Act::After(Duration::from_secs(2), Box::new(Act::say("They talked a lot.")))
        }
        // What follows a summary is told together with it.
        _ => match said(&prompt.messages).lines().next_back() {
            Some("talk" | "talk more") => Act::say(&long),
            last => Act::Say(format!("heard: {}", last.unwrap_or_default())),
        },
    });
    let world = World::with(model, Config::allowing("una").and(SMALL)).await;
    for (number, words) in ["talk", "talk more"].iter().enumerate() {
        world.una(&format!("t{number}"), words).await;
        holds("a long answer", async || {
            let depths = world.store.depths().await.unwrap();
            let done = |state| depths.iter().find(|it| it.0 == state).map_or(0, |it| it.1);
            done(InboxState::Answered) + done(InboxState::Delivered) > number as u64
        })
        .await;
    }
    let summaries =
        || world.model.asked().iter().filter(|asked| asked.role == Role::Compression).count();
    let before = summaries();
    world.una("1", "the third").await;
    holds("a summary", async || summaries() > before).await;
    world.una("2", "the fourth").await;
    let sent = world.until("both answers", has("heard: the fourth")).await;
    let texts: Vec<String> =
        sent.iter().map(|it| it.text.chars().take(80).collect::<String>()).collect();
    assert!(texts.iter().any(|it| it == "heard: the third"), "not interrupted: {texts:?}");
    let depths = world.store.depths().await.unwrap();
    assert!(!depths.iter().any(|it| it.0 == InboxState::Interrupted), "{depths:?}");
}

#[tokio::test]
async fn s21_words_of_an_interrupted_turn_never_come_after_the_next_one_began() {
    for values in ["{}", STREAMING] {
        let story = "Once upon a time there was a very long story that nobody wanted";
        let model = Scripted::new([Act::Hang(story.to_owned()), Act::say("the second answer")]);
        let world = World::with(model, Config::allowing("una").and(values)).await;
        world.una("1", "tell me").await;
        holds("the first turn", async || !world.model.asked().is_empty()).await;
        if values == STREAMING {
            world.until("words", has("Once upon")).await;
        }
        world.una("2", "no, this").await;
        let sent = world.until("the second answer", has("the second answer")).await;
        let after = sent.iter().skip_while(|it| !it.text.contains("the second answer"));
        assert_eq!(after.filter(|it| it.text.contains("Once upon")).count(), 0, "{sent:?}");
        holds("everything is sent", async || {
            let waiting = [DeliveryState::Planned, DeliveryState::Sending];
            world.store.deliveries(&waiting, 1).await.unwrap().is_empty()
        })
        .await;
        let finals = world.server.sent().into_iter().filter(|it| it.token.starts_with("turn-"));
        let finals: Vec<String> = finals.map(|it| it.text).collect();
        assert_eq!(finals, ["the second answer"]);
        let depths = world.store.depths().await.unwrap();
        assert!(depths.contains(&(InboxState::Interrupted, 1)), "{depths:?}");
    }
}

#[tokio::test]
async fn s27_a_message_that_blocks_its_lane_leaves_it_and_can_be_retried_or_dropped() {
    let model = Scripted::default()
        .otherwise(|prompt, _| Act::Say(format!("heard: {}", said(&prompt.messages))));
    let world = World::new(model).await;
    let broken = || SendError::Transient("the server is away".to_owned());
    // Una's answer fails at once; it has been tried for eleven minutes, as far as anybody can tell.
    world.server.fail([broken()]);
    world.una("1", "poison").await;
    let failed = async |state: DeliveryState| {
        let rows = world.store.deliveries(&[state], 10).await.unwrap();
        rows.into_iter().find(|row| row.delivery.body.contains("poison"))
    };
    holds("a failed try", async || {
        failed(DeliveryState::Planned).await.is_some_and(|row| row.attempts > 0)
    })
    .await;
    world.server.fail([broken()]);
    let direct = rusqlite::Connection::open(world.home().join("petasos.db")).unwrap();
    direct.busy_timeout(Duration::from_secs(30)).unwrap();
    let age = "UPDATE outbox SET created_ms = created_ms - 660000, attempts = 9, next_ms = 0";
    direct.execute(age, []).unwrap();
    world.una("2", "the next one").await;
    let texts = world.texts("c-una", 2).await;
    assert!(texts.contains(&"heard: the next one".to_owned()), "the lane moves on: {texts:?}");
    assert!(texts.iter().any(|it| it.contains("could not be delivered")), "{texts:?}");
    let dead = failed(DeliveryState::Dead).await.unwrap();
    assert_eq!(world.gateway.status().await.unwrap().outbox["dead"], 1);
    // A person tries it again, and another one is dropped.
    assert!(world.store.retry(dead.id).await.unwrap());
    world.until("the retried one", has("heard: poison")).await;
    assert!(!world.store.retry(dead.id).await.unwrap(), "what has arrived is not sent again");
    assert!(!world.store.drop_delivery(dead.id).await.unwrap());
}

#[tokio::test]
async fn s46_more_than_twelve_parts_are_a_file_and_its_beginning() {
    let line = "a line of some length that is said again and again\n\n";
    let long = format!("# Title\n\n{}the very end", line.repeat(700));
    let whole = long.clone();
    let world = World::new(Scripted::new([Act::Say(long)])).await;
    world.una("1", "tell me everything").await;
    let sent = world.until("a file", |sent| sent.iter().any(|it| it.media.is_some())).await;
    assert_eq!(sent.len(), 2, "the beginning and the file: {}", sent.len());
    assert!(sent[0].text.contains("a line of some length"), "{}", sent[0].text);
    assert!(sent[0].text.contains("in the file") && !sent[0].text.contains("very end"));
    assert_eq!(sent[1].media.as_deref(), Some("answer.md"));
    let kept = std::fs::read_dir(world.home().join("cache/documents")).unwrap();
    let kept: Vec<_> = kept.map(|file| file.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(std::fs::read_to_string(&kept[0]).unwrap(), whole, "all of it");
    // Up to twelve parts are messages.
    let world = World::new(Scripted::new([Act::Say(line.repeat(300))])).await;
    world.una("1", "tell me much").await;
    holds("all parts", async || {
        let sent = world.server.sent();
        sent.iter().map(|it| it.text.matches("a line").count()).sum::<usize>() == 300
    })
    .await;
    assert!(world.server.sent().iter().all(|it| it.media.is_none()));
}

#[tokio::test]
async fn s48_where_the_last_edit_fails_only_what_is_missing_is_sent() {
    let list = r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#;
    let model = Scripted::new([
        Act::calls("I shall write a list now, one moment please.", &[("todo", list)]),
        Act::say("I shall write a list now, one moment please. It is done, all of it."),
    ]);
    let world = World::with(model, Config::allowing("una").and(STREAMING)).await;
    world.una("1", "make a list").await;
    world.until("words", has("one moment")).await;
    world.until("a card", has("needs your consent")).await;
    // Previews of the second answer are refused as well: what was shown first stays.
    let gone = || SendError::Unreachable("the message is gone".to_owned());
    world.server.fail_edits((0..50).map(|_| gone()));
    world.una("2", "/approve 1").await;
    world.until("the tail", has("It is done, all of it.")).await;
    let sent = world.server.sent();
    let finals: Vec<_> = sent.iter().filter(|it| it.token.starts_with("turn-")).collect();
    let texts: Vec<&str> = finals.iter().map(|it| it.text.trim()).collect();
    assert_eq!(texts, ["It is done, all of it."], "and never the whole again: {sent:?}");
}

#[tokio::test]
async fn s51_the_sign_of_writing_pauses_for_a_card_ends_with_the_answer_and_survives_errors() {
    let list = r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#;
    let slowly = |act| Act::After(Duration::from_secs(1), Box::new(act));
    let model =
        Scripted::new([slowly(Act::call("todo", list)), slowly(Act::say("listed")), Act::say("x")]);
    let world = World::new(model).await;
    world.una("1", "make a list").await;
    holds("signs of writing", async || world.server.typed() > 2).await;
    world.until("a card", has("needs your consent")).await;
    // One may be on its way when the question is put.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = world.server.typed();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(world.server.typed(), before, "nobody writes while a person is asked");
    world.una("2", "/approve 1").await;
    holds("signs again", async || world.server.typed() > before).await;
    world.until("the answer", has("listed")).await;
    let after = world.server.typed();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(world.server.typed(), after, "nobody writes after the answer");
    // A platform that refuses the sign is answered all the same.
    world.server.fail_typing(1);
    assert!(world.server.give(Arrival::text("c-una", "una", "3", "again")).await);
    world.until("an answer", |sent| sent.iter().any(|it| it.text == "x")).await;
}
