//! Moments in which a message is more or less than one: albums, long texts, old ones, floods,
//! commands that are messages, turns in which nothing happens.

use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::message::{Content, Message};
use petasos_gateway::platform::{Arrival, ArrivalKind};
use petasos_store::{InboxState, InboxStore as _, MediaFile};

use crate::world::{Config, World};

/// Says how many characters and files the last message has.
fn counter() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.clone()),
            _ => None,
        });
        let text = said.as_ref().map(Content::text).unwrap_or_default();
        let files = text.matches("[file ").count();
        let x = text.chars().filter(|c| *c == 'x').count();
        Act::Say(format!("{x} x, {files} files"))
    })
}

fn echo() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        Act::Say(format!("heard: {}", said.unwrap_or_default()))
    })
}

fn hours_ago(hours: i64) -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap() - hours * 3_600_000
}

async fn states(world: &World) -> Vec<(InboxState, u64)> {
    world.store.depths().await.unwrap()
}

async fn until_counted(world: &World, state: InboxState, count: u64) {
    let wait = async {
        while !states(world).await.contains(&(state, count)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let seen = tokio::time::timeout(Duration::from_mins(1), wait).await;
    assert!(seen.is_ok(), "{:?}", states(world).await);
}

#[tokio::test]
async fn s11_an_album_of_ten_is_one_turn() {
    let world = World::new(counter()).await;
    for at in 0..10 {
        let file = MediaFile {
            path: format!("/nowhere/{at}.bin"),
            mime: "application/octet-stream".to_owned(),
            name: format!("{at}.bin"),
        };
        let arrival = Arrival {
            media: vec![file],
            album: Some("g".to_owned()),
            ..Arrival::text("c-una", "una", &format!("p{at}"), if at < 2 { "xx" } else { "" })
        };
        assert!(world.server.give(arrival).await);
    }
    assert_eq!(world.texts("c-una", 1).await, ["2 x, 10 files"], "captions are not repeated");
    until_counted(&world, InboxState::Merged, 9).await;
    assert_eq!(world.server.sent().len(), 1);
}

#[tokio::test]
async fn s11_a_long_paste_is_one_turn_and_two_texts_are_two() {
    let config = Config::allowing("una").and(r#"{ "display": { "busy_input_mode": "queue" } }"#);
    let world = World::with(counter(), config).await;
    // The platform cuts at 2,000: four and a half messages, two of them alike.
    for at in 0..4 {
        world.una(&format!("l{at}"), &"x".repeat(2000)).await;
    }
    world.una("l4", &"x".repeat(1000)).await;
    assert_eq!(world.texts("c-una", 1).await, ["9000 x, 0 files"]);
    world.una("a", "x").await;
    world.una("b", "xx").await;
    let answers = |sent: &[petasos_gateway::LoopbackMessage]| -> Vec<String> {
        sent.iter().map(|it| it.text.clone()).filter(|it| it.contains("files")).collect()
    };
    let sent = world.until("two answers more", |sent| answers(sent).len() == 3).await;
    assert_eq!(answers(&sent)[1..], ["1 x, 0 files", "2 x, 0 files"]);
}

#[tokio::test]
async fn s32_an_old_message_is_asked_about_and_survives_a_restart() {
    let world = World::new(echo()).await;
    for (id, text) in [("1", "one"), ("2", "two")] {
        let old = Arrival { sent_ms: hours_ago(7), ..Arrival::text("c-una", "una", id, text) };
        assert!(world.server.give(old).await);
    }
    let asked = world.until("two questions", |sent| sent.len() == 2).await;
    assert!(asked.iter().all(|it| it.text.contains("still wanted?")), "{asked:?}");
    let press = |data: &str, by: &str, id: &str| Arrival {
        kind: ArrivalKind::Button(data.to_owned()),
        ..Arrival::text("c-una", by, id, "")
    };
    let run = asked[0].buttons[0].data.clone();
    let drop = asked[1].buttons[1].data.clone();
    assert!(world.server.give(press(&run, "ben", "p0")).await);
    assert_eq!(world.server.words(), ["This is not yours to answer."]);
    let (folder, server) = world.die();
    let folder = folder.unwrap();
    crate::world::forget_owner(folder.path());
    let world = World::at(folder.path(), server, echo(), Config::allowing("una,ben")).await;
    assert!(world.server.give(press(&run, "una", "p1")).await);
    assert!(world.server.give(press(&drop, "una", "p2")).await);
    assert!(world.server.give(press(&run, "una", "p3")).await);
    world.until("an answer", |sent| sent.iter().any(|it| it.text == "heard: one")).await;
    let words = world.server.words();
    assert_eq!(words[1..], ["It runs now.", "Dropped.", "This is decided already."]);
    assert!(!world.server.sent().iter().any(|it| it.text == "heard: two"));
}

#[tokio::test]
async fn s32_words_answer_where_there_are_no_buttons_and_skip_says_so() {
    let world = World::new(echo()).await;
    let old = |id: &str, text: &str| Arrival {
        sent_ms: hours_ago(7),
        ..Arrival::text("c-una", "una", id, text)
    };
    assert!(world.server.give(old("1", "old one")).await);
    world.texts("c-una", 1).await;
    world.una("2", "run").await;
    world.until("an answer", |sent| sent.iter().any(|it| it.text == "heard: old one")).await;
    let config = Config::allowing("una").and(r#"{ "gateway": { "stale_policy": "skip" } }"#);
    let world = World::with(echo(), config).await;
    assert!(world.server.give(old("1", "old one")).await);
    assert!(world.texts("c-una", 1).await[0].contains("did not act on it"));
}

#[tokio::test]
async fn queue_and_retry_are_answered_like_messages() {
    let world = World::new(echo()).await;
    world.una("1", "first").await;
    world.texts("c-una", 1).await;
    world.una("2", "/queue second").await;
    world.until("the queued answer", |sent| sent.iter().any(|it| it.text == "heard: second")).await;
    world.una("3", "/retry").await;
    let twice = |sent: &[petasos_gateway::LoopbackMessage]| {
        sent.iter().filter(|it| it.text == "heard: second").count() == 2
    };
    let sent = world.until("the answer once more", twice).await;
    assert!(sent.iter().any(|it| it.text.contains("Retrying")), "{sent:?}");
    until_counted(&world, InboxState::Delivered, 3).await;
}

#[tokio::test]
async fn a_turn_in_which_nothing_happens_is_warned_about_and_ends() {
    let config = Config::allowing("una")
        .and(r#"{ "agent": { "gateway_timeout": 2, "gateway_timeout_warning": 1 } }"#);
    let world =
        World::with(Scripted::default().otherwise(|_, _| Act::Hang(String::new())), config).await;
    world.una("1", "hello").await;
    let said = world.texts("c-una", 2).await;
    assert!(said[0].contains("Nothing has happened"), "{said:?}");
    assert!(said[1].contains("so I stopped"), "{said:?}");
    until_counted(&world, InboxState::Interrupted, 1).await;
}

#[tokio::test]
async fn t24_what_a_removed_person_left_in_the_queue_does_not_run() {
    let config = Config::allowing("una,ben").and(
        r#"{ "display": { "busy_input_mode": "queue" }, "gateway": { "max_concurrent_sessions": 1 } }"#,
    );
    let model = Scripted::default().otherwise(|_, _| Act::Hang("working".to_owned()));
    let world = World::with(model, config).await;
    world.una("1", "hello").await;
    until_counted(&world, InboxState::Running, 1).await;
    assert!(world.server.give(Arrival::text("c-ben", "ben", "2", "me too")).await);
    let fewer = crate::world::settings(std::path::Path::new("/nowhere"), &Config::allowing("una"));
    world.gateway.reload(&fewer).await.unwrap();
    world.una("3", "/stop").await;
    until_counted(&world, InboxState::Ignored, 1).await;
    assert!(world.server.sent().iter().all(|it| it.lane.chat == "c-una"));
}

#[tokio::test]
async fn t13_a_command_in_a_quote_is_somebodys_words() {
    let world = World::new(echo()).await;
    let quoting = Arrival {
        quoted: Some("/stop all".to_owned()),
        ..Arrival::text("c-una", "una", "1", "what does this do?")
    };
    assert!(world.server.give(quoting).await);
    let said = world.texts("c-una", 1).await;
    assert!(
        said[0].contains("what does this do?") && said[0].contains("somebody's words"),
        "{said:?}"
    );
    let first_line = Arrival {
        quoted: Some("/new".to_owned()),
        ..Arrival::text("c-una", "una", "2", "> /new now\nplease explain")
    };
    assert!(world.server.give(first_line).await);
    assert!(world.texts("c-una", 2).await[1].starts_with("heard: >"));
}

#[tokio::test]
async fn t23_a_flood_is_refused_with_one_word_and_others_are_served() {
    let world = World::new(echo()).await;
    for at in 0..125 {
        world.una(&at.to_string(), "/whoami").await;
    }
    let told = |sent: &[petasos_gateway::LoopbackMessage]| {
        sent.iter().filter(|it| it.text.contains("Too many messages")).count()
    };
    world.until("one word about it", |sent| told(sent) == 1).await;
    assert!(world.server.give(Arrival::text("c-ben", "ben", "b", "hello")).await);
    world.texts("c-ben", 1).await;
    assert_eq!(told(&world.server.sent()), 1);
    let depths = world.store.depths().await.unwrap();
    assert_eq!(depths.iter().map(|it| it.1).sum::<u64>(), 121, "120 of hers and one of his");
}
