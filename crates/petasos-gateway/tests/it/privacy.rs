//! Nobody reads another chat: two people try, by the model's search and by commands.

use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_gateway::platform::Arrival;
use petasos_session::SessionLimits;
use petasos_store::{ChatKind, Filter, RouteStore as _, SessionScope, SessionStore as _};
use serde_json::json;

use crate::world::{Config, World};

/// Searches for what it is told to search, and says what it found; notes everything else.
fn searcher() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let result = match prompt.messages.last() {
            Some(Message::Tool(result)) => Some(result.content.text()),
            _ => None,
        };
        if let Some(found) = result {
            return Act::Say(format!("found: {found}"));
        }
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        let said = said.unwrap_or_default();
        match said.rsplit_once("search ") {
            Some((_, words)) => {
                let args = match words.strip_prefix("id:") {
                    Some(id) => json!({ "session_id": id }),
                    None => json!({ "query": words }),
                };
                Act::Call(String::new(), vec![("session_search".to_owned(), args.to_string())])
            }
            None => Act::Say(format!("noted: {said}")),
        }
    })
}

async fn session_of(world: &World, chat: &str) -> String {
    let routes = world.store.routes_of("loopback", 10).await.unwrap();
    routes.iter().find(|route| route.key.chat == chat).unwrap().session.to_string()
}

async fn ben(world: &World, dedup: &str, text: &str) {
    assert!(world.server.give(Arrival::text("c-ben", "ben", dedup, text)).await);
}

#[tokio::test]
async fn t12_two_people_cannot_read_each_other() {
    let world = World::new(searcher()).await;
    world.una("1", "my code word is heliotrope").await;
    world.texts("c-una", 1).await;
    let unas = session_of(&world, "c-una").await;
    let tries = [
        "search heliotrope".to_owned(),
        format!("search id:{unas}"),
        format!("/resume {unas}"),
        "/sessions".to_owned(),
        "/sessions heliotrope".to_owned(),
        "/sessions --all".to_owned(),
        format!("/resume --all {unas}"),
    ];
    for (at, text) in tries.iter().enumerate() {
        ben(&world, &format!("b{at}"), text).await;
        let said = world.texts("c-ben", at + 1).await;
        let last = said.last().unwrap();
        let echoed = last.replace(text.trim_start_matches("search "), "");
        assert!(!echoed.contains("code word") && !echoed.contains("noted: my"), "{text}: {last}");
        assert_ne!(session_of(&world, "c-ben").await, unas, "{text}");
    }
    // Una finds her own from a new conversation.
    world.una("2", "/new now").await;
    world.texts("c-una", 2).await;
    world.una("3", "search heliotrope").await;
    let found = world.texts("c-una", 3).await;
    assert!(found[2].contains("code word"), "{found:?}");
    world.una("4", &format!("/resume {unas}")).await;
    world.texts("c-una", 4).await;
    assert_eq!(session_of(&world, "c-una").await, unas);
}

#[tokio::test]
async fn a_listed_administrator_may_say_all() {
    let config = Config::allowing("una,ben")
        .and(r#"{ "platforms": { "loopback": { "extra": { "allow_admin_from": ["una"] } } } }"#);
    let world = World::with(searcher(), config).await;
    ben(&world, "b1", "hello").await;
    world.texts("c-ben", 1).await;
    let bens = session_of(&world, "c-ben").await;
    world.una("1", "/sessions --all").await;
    let listed = world.texts("c-una", 1).await;
    assert!(listed[0].contains(&bens) && listed[0].contains("loopback:c-ben"), "{listed:?}");
    ben(&world, "b2", "/sessions --all").await;
    let refused = world.texts("c-ben", 2).await;
    assert!(refused[1].contains("administrators"), "{refused:?}");
}

#[tokio::test]
async fn a_shared_thread_belongs_to_everybody_in_it_and_a_groups_member_to_one() {
    let world = World::new(searcher()).await;
    let say = |sender: &str, dedup: &str, thread: Option<&str>| Arrival {
        chat_kind: ChatKind::Group,
        thread: thread.map(str::to_owned),
        addressed: true,
        ..Arrival::text("g1", sender, dedup, "hello")
    };
    for arrival in [say("una", "1", Some("t")), say("ben", "2", None), say("una", "3", None)] {
        assert!(world.server.give(arrival).await);
    }
    world.texts("g1", 3).await;
    let filter = Filter { scope: SessionScope::Everyone, ..Filter::default() };
    let heads = world.store.list(&filter).await.unwrap();
    let mut owners: Vec<Option<String>> = heads
        .iter()
        .map(|head| head.owner.as_ref().unwrap().user.as_ref().map(ToString::to_string))
        .collect();
    owners.sort();
    assert_eq!(owners, [None, Some("ben".to_owned()), Some("una".to_owned())]);
}

#[tokio::test]
async fn a_chat_that_went_cold_goes_on_where_it_was() {
    let limits =
        SessionLimits { cold_after: Some(Duration::from_millis(20)), resident: 4, turns: 4 };
    let config = Config { limits, ..Config::allowing("una") };
    let model = Scripted::default().otherwise(|prompt, _| {
        let users = prompt.messages.iter().filter(|it| matches!(it, Message::User { .. })).count();
        Act::Say(format!("turn {users}"))
    });
    let world = World::with(model, config).await;
    for turn in 1..=3 {
        world.una(&turn.to_string(), "hello").await;
        assert_eq!(world.texts("c-una", turn).await[turn - 1], format!("turn {turn}"));
        let cold = async {
            while !world.sessions.resident().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let cold = tokio::time::timeout(Duration::from_mins(1), cold).await;
        assert!(cold.is_ok(), "it does not go cold");
    }
}

/// Remembers what it is told to remember, and says what its prompt knows.
fn rememberer() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let system = prompt.system.clone();
        if matches!(prompt.messages.last(), Some(Message::Tool(_))) {
            return Act::say("remembered");
        }
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        match said.unwrap_or_default().strip_prefix("remember ") {
            Some(words) => {
                let args = json!({ "action": "add", "target": "user", "content": words });
                Act::Call(String::new(), vec![("memory".to_owned(), args.to_string())])
            }
            None => Act::Say(format!("I know heliotrope: {}", system.contains("heliotrope"))),
        }
    })
}

#[tokio::test]
async fn notes_are_their_chats_own_and_the_owners_are_the_homes() {
    let config =
        Config::allowing("una,ben,ada").and(r#"{ "gateway": { "owner": "loopback:ada" } }"#);
    let world = World::with(rememberer(), config).await;
    world.una("1", "remember my code word is heliotrope").await;
    world.texts("c-una", 1).await;
    let knows = |chat: &'static str, user: &'static str, id: &'static str| {
        let world = &world;
        async move {
            let before = world.texts(chat, 0).await.len();
            let new = Arrival::text(chat, user, &format!("{id}n"), "/new now");
            assert!(world.server.give(new).await);
            world.texts(chat, before + 1).await;
            assert!(world.server.give(Arrival::text(chat, user, id, "what do you know?")).await);
            world.texts(chat, before + 2).await[before + 1].contains("true")
        }
    };
    assert!(knows("c-una", "una", "2").await, "her own");
    assert!(!knows("c-ben", "ben", "3").await, "not another's");
    assert!(!knows("c-ada", "ada", "4").await, "nor the home's");
    let ada = Arrival::text("c-ada", "ada", "5", "remember the home has a heliotrope");
    assert!(world.server.give(ada).await);
    world
        .until("kept", |sent| {
            sent.iter().any(|it| it.lane.chat == "c-ada" && it.text == "remembered")
        })
        .await;
    let home = world.home().join("memories/USER.md");
    assert!(
        std::fs::read_to_string(home).unwrap().contains("heliotrope"),
        "the owner's is the home's"
    );
    assert!(!knows("c-ben", "ben", "6").await);
    // In a group nobody's own notes are read, not even the owner's.
    let group = |id: &str, user: &str, text: &str| Arrival {
        chat_kind: ChatKind::Group,
        addressed: true,
        ..Arrival::text("g", user, id, text)
    };
    assert!(world.server.give(group("7", "ada", "what do you know?")).await);
    assert!(world.texts("g", 1).await[0].contains("false"));
}
