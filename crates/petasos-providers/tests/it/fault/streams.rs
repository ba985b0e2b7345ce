//! Connections that break or fall silent, and a person who has had enough.

use std::time::{Duration, Instant};

use petasos_contract::model::{Finish, Model as _, Reason, Role};
use petasos_providers::runtime::Overrides;

use super::scene::{Scene, Setup, alone, check};
use super::server::{Act, answer, stream};

#[tokio::test]
async fn broken_connections_are_tried_again_until_text_was_shown() {
    let ok = || stream("ok");
    for act in [
        Act::ResetAtOnce,
        Act::CloseAtOnce,
        Act::ResetInHeaders,
        Act::ResetAfterHeaders,
        Act::CloseAfterHeaders,
    ] {
        check(&format!("{act:?}"), alone(vec![act, ok()]), "main, timeout, wait 2000, main, = ok")
            .await;
    }
    for act in [Act::ResetAfterText, Act::HalfClosed] {
        let name = format!("{act:?}");
        let scene = Scene::new(alone(vec![act, ok()])).await;
        let reply = scene.ask().await.unwrap();
        assert_eq!((reply.message.text(), reply.finish), ("half an ans", Finish::Length), "{name}");
        assert!(reply.broken.is_some(), "{name}");
        assert_eq!(*scene.heard.text.lock().unwrap(), "half an ans", "{name}");
        assert_eq!(scene.main.keys().len(), 1, "{name}: asked twice");
    }
    check("reset after the end", alone(vec![Act::ResetAfterEnd]), "main, = whole").await;
}

#[tokio::test]
async fn silence_ends_at_its_deadline() {
    let overrides = Overrides { stale_timeout_s: Some(0.4), ..Overrides::default() };
    let silent = |act| Setup {
        main: vec![act, stream("ok")],
        overrides: overrides.clone(),
        ..Setup::default()
    };
    check("no headers", silent(Act::Silent), "main, timeout, wait 2000, main, = ok").await;
    check("no body", silent(Act::SilentAfterHeaders), "main, timeout, wait 2000, main, = ok").await;
    let scene = Scene::new(silent(Act::SilentAfterText)).await;
    assert_eq!(scene.ask().await.unwrap().message.text(), "half an ans");
    check("no end mark", silent(Act::SilentAfterEnd), "main, = whole").await;
    let whole = Overrides { request_timeout_s: Some(0.6), ..Overrides::default() };
    let endless = Setup {
        main: vec![Act::KeepAliveForEver, stream("ok")],
        overrides: whole,
        ..Setup::default()
    };
    check("comments for ever", endless, "main, timeout, wait 2000, main, = ok").await;
}

#[tokio::test]
async fn an_interrupt_ends_a_wait_and_a_stream_at_once() {
    let patient =
        answer(429, &[("retry-after", "600")], "{\"error\":{\"message\":\"Rate limit\"}}");
    for act in [patient, Act::SilentAfterText, Act::Silent] {
        let mut scene = Scene::new(alone(vec![act])).await;
        scene.client = scene.client.with_pace(1.0);
        let (prompt, cx) = (scene.prompt(), scene.context());
        let asked = scene.client.ask(&prompt, Role::Main, &cx);
        let interrupt = async {
            scene.main.served_one().await;
            cx.cancel.cancel();
            Instant::now()
        };
        let (outcome, at) = tokio::join!(asked, interrupt);
        assert_eq!(outcome.unwrap_err().reason, Reason::Cancelled);
        assert!(at.elapsed() < petasos_testkit::pace::fair(Duration::from_millis(250)));
    }
}
