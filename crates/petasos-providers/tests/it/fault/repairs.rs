//! Requests that a provider refuses in part: changed, asked again, and learnt.

use std::sync::Arc;

use petasos_contract::model::{Model as _, Prompt, Role};
use serde_json::json;

use super::scene::{Scene, alone, check, pair, told};
use super::server::{answer, stream};

#[tokio::test]
async fn requests_are_repaired_when_the_provider_says_how() {
    let ok = || stream("ok");
    let said =
        |message: &str| answer(400, &[], &json!({"error": {"message": message}}).to_string());
    check(
        "parameter",
        alone(vec![said("Unsupported parameter: 'stream_options'"), ok()]),
        "main, unsupported_parameter/400, [drop `stream_options`], main, = ok",
    )
    .await;
    check("stream", alone(vec![said("streaming is not supported"), answer(200, &[("content-type", "application/json")],
        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}")]),
        "main, stream_refused/400, [ask without streaming], main, = whole").await;
    check(
        "overflow",
        pair(vec![said("maximum context length is 8192 tokens")]),
        "main, context_overflow/400, gave up",
    )
    .await;
    let scene =
        Scene::new(alone(vec![said("Invalid schema for function 'bad': nope"), ok()])).await;
    let tool = |name: &str| petasos_contract::model::Definition {
        name: name.into(),
        description: "d".to_owned(),
        parameters: json!({}),
    };
    let prompt = Prompt { tools: Arc::from([tool("good"), tool("bad")]), ..scene.prompt() };
    let outcome = scene.client.ask(&prompt, Role::Main, &scene.context()).await;
    assert_eq!(told(&outcome), "main, tool_schema/400, [leave out the tool `bad`], main, = ok");
    assert!(scene.heard.notices.lock().unwrap()[0].contains("`bad`"));
    assert!(
        !scene.main.bodies()[1].contains("\"bad\"") && scene.main.bodies()[1].contains("\"good\"")
    );
}

#[tokio::test]
async fn the_tool_at_the_refused_place_of_the_list_that_was_sent_is_left_out() {
    let at = |place: usize| {
        let words = format!("Invalid 'tools[{place}].function.parameters': bad schema");
        answer(400, &[], &json!({"error": {"message": words}}).to_string())
    };
    let scene = Scene::new(alone(vec![at(1), at(2), stream("ok")])).await;
    let names = ["fine", "patch", "search", "terminal", "todo"];
    let tools = names.map(|name| petasos_contract::model::Definition {
        name: name.into(),
        description: "d".to_owned(),
        parameters: json!({}),
    });
    let prompt = Prompt { tools: Arc::from(tools), ..scene.prompt() };
    let outcome = scene.client.ask(&prompt, Role::Main, &scene.context()).await;
    assert_eq!(
        told(&outcome),
        "main, tool_schema/400, [leave out the tool `patch`], \
         main, tool_schema/400, [leave out the tool `terminal`], main, = ok"
    );
}

#[tokio::test]
async fn a_repair_is_learnt_once_and_told_once() {
    let refused =
        answer(400, &[], "{\"error\":{\"message\":\"Unsupported parameter: 'stream_options'\"}}");
    let scene = Scene::new(alone(vec![refused, stream("one"), stream("two")])).await;
    assert_eq!(scene.ask().await.unwrap().message.text(), "one");
    assert_eq!(told(&scene.ask().await), "main, = two");
    assert!(!scene.main.bodies()[2].contains("stream_options"));
    assert_eq!(scene.heard.notices.lock().unwrap().len(), 1);
}
