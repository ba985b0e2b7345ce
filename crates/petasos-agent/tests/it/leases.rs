//! Two programs on one conversation: who runs a turn keeps it, the other one is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use petasos_agent::{Act, Agent, Scripted, TurnError};
use petasos_contract::context::Surface;
use petasos_contract::event::Event;
use petasos_contract::model::Role;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{NewSession, SessionScope, StoreError};
use serde_json::json;

use crate::tapped::Tapped;
use crate::world::{World, told, when};

/// A window of its own: another opened store over the same file.
fn window(model: Scripted, folder: &std::path::Path) -> World {
    let store = Store::open(&OpenOptions::new(folder.join("petasos.db"))).unwrap();
    let mut world = World::over(model, &json!({}), folder, Arc::new(store));
    world.surface = Surface::Cli;
    world
}

fn is_leased<T: std::fmt::Debug>(result: &Result<T, TurnError>) -> bool {
    matches!(result, Err(TurnError::Store(StoreError::Leased { .. })))
}

#[tokio::test]
async fn a_second_window_cannot_touch_a_running_turn() {
    let folder = tempfile::TempDir::new().unwrap();
    let first = window(
        Scripted::new([
            Act::call("act", r#"{"do":"work","until":"on"}"#),
            Act::say("done"),
            Act::say("here"),
        ]),
        folder.path(),
    );
    let second = window(Scripted::new([Act::say("mine now")]), folder.path());
    let mut agent = first.agent().await;
    let session = agent.session().clone();
    let cx = first.cx();
    let turn = agent.turn("go".into(), &cx);
    let meddle = async {
        when("the tool runs", || first.ran.lock().contains(&"work".to_owned())).await;
        let (engine, choice) = (Arc::clone(&second.engine), second.choice());
        assert!(is_leased(&Agent::resume(engine, choice, &session).await));
        let fork = second.engine.store.fork(&session, None, NewSession::default()).await.unwrap();
        let (copy, repairs) = second.resume(&fork.session()).await;
        assert!(repairs.is_empty(), "the copy is whole: {repairs:?}");
        assert_eq!(told(&copy).len(), 3);
        first.ran.lock().push("on".to_owned());
    };
    let (ended, ()) = tokio::join!(turn, meddle);
    assert_eq!(ended.unwrap().text, "done");
    first.check(&agent).await;
    assert!(told(&agent)[2].contains("work"), "the real result: {:?}", told(&agent));
    // Now it is free, and the first window takes over what the second one adds.
    let (mut other, _) = second.resume(&session).await;
    other.turn("and me".into(), &second.cx()).await.unwrap();
    agent.turn("still there?".into(), &cx).await.unwrap();
    assert!(told(&agent).contains(&"assistant: mine now".to_owned()), "{:?}", told(&agent));
    first.check(&agent).await;
}

#[tokio::test]
async fn work_in_the_background_is_left_to_the_window_it_runs_in() {
    let folder = tempfile::TempDir::new().unwrap();
    let give = r#"{"goal":"slow","background":true}"#;
    let first = window(
        Scripted::new([
            Act::call("delegate_task", give),
            Act::say("on its way"),
            Act::say("it came"),
        ])
        .with(
            Role::Subagent,
            [Act::call("act", r#"{"do":"slow","until":"on"}"#), Act::say("found it")],
        ),
        folder.path(),
    );
    let second = window(Scripted::new([Act::say("hello")]), folder.path());
    let mut agent = first.agent().await;
    agent.turn("go".into(), &first.cx()).await.unwrap();
    when("the child works", || first.ran.lock().contains(&"slow".to_owned())).await;
    let (mut other, _) = second.resume(agent.session()).await;
    other.turn("what is going on?".into(), &second.cx()).await.unwrap();
    assert!(second.saw(|event| {
        matches!(event, Event::Notice { text } if text.contains("is left alone"))
    }));
    assert!(!second.saw(|event| matches!(event, Event::SubagentStarted { .. })));
    first.ran.lock().push("on".to_owned());
    let inbox = agent.inbox();
    tokio::time::timeout(Duration::from_secs(20), inbox.arrival()).await.unwrap();
    agent.turn("any news?".into(), &first.cx()).await.unwrap();
    let asked = first.model.asked();
    let heard = format!("{:?}", asked.last().unwrap().prompt.messages);
    assert!(heard.contains("found it") && heard.contains("what is going on?"), "{heard}");
    first.check(&agent).await;
}

#[tokio::test]
async fn a_write_that_came_late_breaks_nothing() {
    let folder = tempfile::TempDir::new().unwrap();
    let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
    // The third answer is lost, though the rows are stored: a disk that was too slow.
    let count = AtomicUsize::new(0);
    let store = Tapped::new(store, move |_, seqs| {
        match count.fetch_add(usize::from(!seqs.is_empty()), Ordering::Relaxed) {
            1 if !seqs.is_empty() => Err(StoreError::Slow { what: "a test" }),
            _ => Ok(seqs),
        }
    });
    let model = Scripted::new([Act::say("one"), Act::say("two")]);
    let world = World::over(model, &json!({}), folder.path(), Arc::new(store));
    let mut agent = world.agent().await;
    let slow = agent.turn("first".into(), &world.cx()).await;
    assert!(matches!(slow, Err(TurnError::Store(StoreError::Slow { .. }))), "{slow:?}");
    agent.turn("second".into(), &world.cx()).await.unwrap();
    let all = ["user: first", "assistant: one", "user: second", "assistant: two"];
    assert_eq!(told(&agent), all);
    world.check(&agent).await;
    let head =
        world.engine.store.find(agent.session().as_str(), &SessionScope::Local).await.unwrap();
    assert_eq!(head.usage.requests, 2, "nothing is counted twice: {head:?}");
}
