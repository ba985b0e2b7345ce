//! Replies that break off, say nothing, are filtered, cut or endless.

use petasos_contract::model::{DeltaSink, Finish, Model as _, Prompt, Role};
use petasos_contract::{CallContext, TurnId};

use super::scene::{Scene, Setup, alone, pair, told};
use super::server::{Act, events, stream};

fn ended(reason: &str) -> Act {
    events(&[&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)])
}

#[tokio::test]
async fn a_broken_stream_that_nobody_saw_is_asked_again_and_then_elsewhere() {
    let silent = async |setup: Setup| {
        let scene = Scene::new(setup).await;
        let prompt = Prompt { deltas: DeltaSink::silent(), ..scene.prompt() };
        told(&scene.client.ask(&prompt, Role::Main, &scene.context()).await)
    };
    let again = alone(vec![Act::ResetAfterText, stream("ok")]);
    assert_eq!(silent(again).await, "main, timeout, wait 2000, main, = ok");
    let always = pair(vec![Act::ResetAfterText; 3]);
    let path = silent(always).await;
    assert!(path.ends_with("skip absent, > spare, spare, = spare"), "{path}");
}

#[tokio::test]
async fn who_breaks_off_twice_in_a_turn_does_not_get_the_rest_of_it() {
    let scene = Scene::new(pair(vec![Act::ResetAfterText; 4])).await;
    let cx = scene.context();
    let ask =
        async |cx: &CallContext| scene.client.ask(&scene.prompt(), Role::Main, cx).await.unwrap();
    for _ in 0..2 {
        let reply = ask(&cx).await;
        assert!(reply.broken.is_some());
        assert_eq!(reply.message.text(), "half an ans");
    }
    assert_eq!(ask(&cx).await.message.text(), "spare");
    let notices = scene.heard.notices.lock().unwrap().clone();
    assert!(notices[0].contains("broke off its reply 2 times"), "{notices:?}");
    let next = CallContext { turn: TurnId::from("turn-1"), ..cx };
    assert!(ask(&next).await.broken.is_some(), "the next turn starts at the first again");
}

#[tokio::test]
async fn a_filtered_reply_falls_back_and_stays_what_it_is_without_a_fallback() {
    let scene = Scene::new(pair(vec![ended("content_filter")])).await;
    assert_eq!(
        told(&scene.ask().await),
        "main, content_policy, skip absent, > spare, spare, = spare"
    );
    let notices = scene.heard.notices.lock().unwrap().clone();
    let expected = "switched to `model-2` at `spare` for this turn: `main` refused the content";
    assert_eq!(notices, [expected]);
    let alone = Scene::new(alone(vec![ended("content_filter")])).await;
    assert_eq!(alone.ask().await.unwrap().finish, Finish::ContentFilter);
}

#[tokio::test]
async fn the_third_empty_reply_of_a_turn_falls_back() {
    let scene = Scene::new(pair(vec![ended("stop"), ended("stop"), ended("stop")])).await;
    for _ in 0..2 {
        assert!(scene.ask().await.unwrap().message.is_silent());
    }
    assert_eq!(
        told(&scene.ask().await),
        "main, invalid_response, skip absent, > spare, spare, = spare"
    );
}

#[tokio::test]
async fn a_call_that_the_limit_cut_is_neither_lost_nor_whole() {
    for arguments in ["", r#"{\"path\": \"/etc/pas"#] {
        let call = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"c1",
            "function":{{"name":"todo","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
        .replace('\n', "");
        let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
        let scene = Scene::new(alone(vec![events(&[&call, end])])).await;
        let reply = scene.ask().await.unwrap();
        assert_eq!(reply.finish, Finish::Length);
        let [call] = reply.message.tool_calls.as_slice() else { panic!("{reply:?}") };
        let whole = serde_json::from_str::<serde_json::Value>(&call.arguments);
        assert!(whole.is_err(), "`{}` could run", call.arguments);
    }
}

#[tokio::test]
async fn an_endless_reply_is_given_up_once_and_falls_back() {
    let piece = "x".repeat(1_000_000);
    let text = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{piece}"}}}}]}}"#);
    let scene = Scene::new(pair(vec![events(&[text.as_str(); 20])])).await;
    assert_eq!(
        told(&scene.ask().await),
        "main, invalid_response, skip absent, > spare, spare, = spare"
    );
    let notices = scene.heard.notices.lock().unwrap().clone();
    assert!(notices[0].ends_with("gave an answer without an end"), "{notices:?}");
}

#[tokio::test]
async fn thinking_that_is_only_closed_is_thinking() {
    let text =
        |piece: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{piece}"}}}}]}}"#);
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let thought = [text("let me see\\n</thi"), text("nk>\\n\\nforty-two")];
    let scene = Scene::new(alone(vec![events(&[&thought[0], &thought[1], end])])).await;
    let reply = scene.ask().await.unwrap();
    assert_eq!(reply.message.text(), "forty-two");
    assert_eq!(reply.message.reasoning.as_deref(), Some("let me see"));
    let quoted = text("the tag `</think>` ends it");
    let scene = Scene::new(alone(vec![events(&[&quoted, end])])).await;
    assert_eq!(scene.ask().await.unwrap().message.text(), "the tag `</think>` ends it");
}

#[tokio::test]
async fn pieces_of_a_call_without_a_place_are_joined_by_its_identity() {
    let piece = |id: &str, text: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"id":"{id}","function":{{"name":"t","arguments":"{text}"}}}}]}}}}]}}"#
        )
    };
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    let pieces = [piece("a", r#"{\"x\""#), piece("a", ":1}"), piece("b", "{}")];
    let said = events(&[&pieces[0], &pieces[1], &pieces[2], end]);
    let reply = Scene::new(alone(vec![said])).await.ask().await.unwrap();
    let calls: Vec<_> =
        reply.message.tool_calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(calls, [r#"{"x":1}"#, "{}"]);
}
