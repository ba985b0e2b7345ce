//! What a chat sees of a turn before its answer.

use petasos_agent::{Act, Scripted};
use petasos_store::CursorStore as _;

use crate::world::{Config, World, forget_owner};

const STREAMING: &str = r#"{ "streaming": { "enabled": true, "edit_interval": 0.1 } }"#;

fn lists(words: &str) -> Act {
    Act::calls(
        words,
        &[("todo", r#"{"todos": [{"id": "1", "content": "hunter2", "status": "pending"}]}"#)],
    )
}

#[tokio::test]
async fn s42_the_answer_takes_the_place_of_the_words_that_were_shown() {
    let model = Scripted::new([
        lists("I shall write a list now, one moment please."),
        Act::say("The list is written, **all** of it."),
    ]);
    let world = World::with(model, Config::allowing("una").and(STREAMING)).await;
    world.una("1", "make a list").await;
    let sent = world
        .until("words and a card", |sent| {
            sent.iter().any(|it| it.text.contains("one moment"))
                && sent.iter().any(|it| it.text.contains("needs your consent"))
        })
        .await;
    let words = sent.iter().find(|it| it.text.contains("one moment")).unwrap();
    assert!(words.text.ends_with('▉') && words.token.starts_with("preview-"), "{words:?}");
    world.una("2", "yes 1").await;
    let last = "The list is written, **all** of it.".to_owned();
    world
        .until("the answer", |_| world.server.edits().contains(&(words.name.clone(), last.clone())))
        .await;
    let finals = world.server.sent().iter().filter(|it| it.text.contains("is written")).count();
    assert_eq!(finals, 0, "it is nowhere else");
}

#[tokio::test]
async fn words_of_a_turn_that_was_stopped_say_so_and_silence_is_never_shown() {
    let story = Act::Hang("Once upon a time there was a very long story".to_owned());
    // By its words, because the second message may overtake the first before the model is asked.
    let model = Scripted::new([story]).otherwise(|prompt, _| {
        let hello = prompt.messages.iter().any(|message| {
            matches!(message, petasos_contract::message::Message::User { content } if content.text().contains("hello"))
        });
        Act::say(if hello { "after it" } else { "NO_REPLY" })
    });
    let world = World::with(model, Config::allowing("una").and(STREAMING)).await;
    world.una("1", "tell me").await;
    let shown = |text: &str| text.contains("Once upon a time");
    world.until("words", |sent| sent.iter().any(|it| shown(&it.text))).await;
    world.una("2", "/stop").await;
    world
        .until("the end of the words", |_| {
            world
                .server
                .edits()
                .iter()
                .any(|(_, text)| shown(text) && text.ends_with("(interrupted)"))
        })
        .await;
    world.una("3", "psst").await;
    world.una("4", "hello").await;
    let sent =
        world.until("the last answer", |sent| sent.iter().any(|it| it.text == "after it")).await;
    assert!(!sent.iter().any(|it| it.text.contains("NO_REPLY")), "{sent:?}");
}

#[tokio::test]
async fn s50_calls_are_shown_without_secrets_and_not_at_all_when_quiet() {
    for (values, shown) in [
        (r#"{ "display": { "platforms": { "loopback": { "tool_progress": "all" } } } }"#, true),
        (
            r#"{ "display": { "quiet": true, "platforms": { "loopback": { "tool_progress": "all" } } } }"#,
            false,
        ),
    ] {
        let model = Scripted::new([lists(""), Act::say("listed")]);
        let world = World::with(model, Config::allowing("una").and(values)).await;
        world.una("1", "make a list").await;
        world.until("a card", |sent| sent.iter().any(|it| it.text.contains("consent"))).await;
        if shown {
            let sent = world
                .until("progress", |sent| sent.iter().any(|it| it.text.contains("- todo")))
                .await;
            assert!(!sent.iter().any(|it| it.text.contains("hunter2")), "{sent:?}");
        }
        world.una("2", "yes 1").await;
        let sent =
            world.until("the answer", |sent| sent.iter().any(|it| it.text == "listed")).await;
        assert_eq!(sent.iter().any(|it| it.text.contains("- todo")), shown, "{sent:?}");
    }
}

#[tokio::test]
async fn s8_words_that_wait_together_are_one_turn_where_a_chat_collects() {
    let model = Scripted::new([Act::Hang("busy with a long, long thing".to_owned())]).otherwise(
        |prompt, _| {
            let last = prompt.messages.iter().rev().find_map(|message| match message {
                petasos_contract::message::Message::User { content } => Some(content.text()),
                _ => None,
            });
            Act::Say(format!("heard: {}", last.unwrap_or_default().replace('\n', " + ")))
        },
    );
    let config = Config::allowing("una").and(r#"{ "display": { "busy_input_mode": "collect" } }"#);
    let world = World::with(model, config).await;
    world.una("1", "begin").await;
    let running = async {
        while world.model.asked().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), running).await.unwrap();
    for (at, text) in ["one", "two", "three"].iter().enumerate() {
        world.una(&format!("w{at}"), text).await;
    }
    // Ends the turn and withdraws nothing.
    for session in world.sessions.resident() {
        world.sessions.find(&session).unwrap().interrupt();
    }
    let sent = world
        .until("one answer to three messages", |sent| {
            sent.iter().any(|it| it.text.contains("heard: one + two + three"))
        })
        .await;
    assert_eq!(sent.iter().filter(|it| it.text.contains("heard:")).count(), 1, "{sent:?}");
}

#[tokio::test]
async fn k11_words_that_a_dead_process_left_on_the_screen_become_the_answer() {
    let home = tempfile::tempdir().unwrap();
    let config = || Config::allowing("una").and(STREAMING);
    let story = "Once upon a time there was a very long story";
    let model = Scripted::new([Act::Hang(story.to_owned())]);
    let world = World::at(home.path(), std::sync::Arc::default(), model, config()).await;
    world.una("1", "tell me").await;
    let shown = |it: &petasos_gateway::LoopbackMessage| it.text.contains(story);
    let sent = world.until("words", |sent| sent.iter().any(shown)).await;
    let name = sent.into_iter().find(|it| it.text.contains(story)).unwrap().name;
    let kept = async {
        while world.store.cursor("loopback", "bot", "shown:c-una:").await.unwrap().is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), kept).await.unwrap();
    let (_, server) = world.die();
    forget_owner(home.path());
    let model = Scripted::new([Act::say("The end of it all.")]);
    let world = World::at(home.path(), server, model, config()).await;
    let end = (name, "The end of it all.".to_owned());
    world.until("the answer in its place", |_| world.server.edits().contains(&end)).await;
    let elsewhere = world.server.sent().iter().filter(|it| it.text.contains("The end")).count();
    assert_eq!(elsewhere, 0, "it is nowhere else");
}
