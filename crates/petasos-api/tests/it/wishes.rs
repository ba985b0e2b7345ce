//! What a request may wish for besides its words: a model, the length and freedom of the reply, whose
//! notes are read, and what a lenient server takes.

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Assistant;
use petasos_contract::model::{Finish, Prompt, Reply};
use serde_json::{Value, json};

use crate::world::{Ask, OTHER, World};

fn chat(more: &Value) -> Ask {
    let mut body = json!({ "messages": [{ "role": "user", "content": "x" }] });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    Ask::post("/v1/chat/completions", &body)
}

fn sampled(prompt: &Prompt) -> (Option<&str>, Option<u32>, Option<f32>) {
    (prompt.model.as_deref(), prompt.max_tokens, prompt.temperature)
}

#[tokio::test]
async fn a_session_that_is_open_answers_as_each_request_wishes() {
    let extra = json!({ "model_routes": { "fast": { "model": "quick" } } });
    let world = World::with(Scripted::default().otherwise(|_, _| Act::say("ok")), extra).await;
    let ask = |more: Value| chat(&more).with("X-Hermes-Session-Id", "mine");
    let fast = json!({ "model": "fast", "max_tokens": 7, "temperature": 0.5 });
    for more in [json!({}), fast, json!({ "max_completion_tokens": 9 }), json!({})] {
        assert_eq!(world.ask(ask(more.clone())).await.status, 200, "{more}");
    }
    let run = json!({ "input": "x", "session_id": "mine", "model": "fast", "temperature": 0 });
    let run = world.post("/v1/runs", &run).await;
    assert_eq!(run.status, 202, "{run:?}");
    world.until("/ready", |ready| ready["runs"] == 0).await;
    let asked = world.model.asked();
    let wished: Vec<_> = asked.iter().map(|it| sampled(&it.prompt)).collect();
    assert_eq!(
        wished,
        [
            (None, None, None),
            (Some("quick"), Some(7), Some(0.5)),
            (None, Some(9), None),
            (None, None, None),
            (Some("quick"), None, Some(0.0)),
        ]
    );
    assert_eq!(asked[4].prompt.messages.len(), 9, "one conversation");
    for odd in
        [json!({ "max_tokens": 0 }), json!({ "max_tokens": "many" }), json!({ "temperature": 3 })]
    {
        assert_eq!(world.ask(ask(odd.clone())).await.error().0, 400, "{odd}");
    }
    assert_eq!(world.model.asked().len(), 5);
}

#[tokio::test]
async fn what_the_wire_has_a_word_for_reaches_the_model_and_the_rest_is_named() {
    let world = World::new(Scripted::default().otherwise(|_, _| Act::say("ok"))).await;
    world.around.takes.lock().extend(["top_p", "stop", "response_format"]);
    let shape = json!({ "name": "hat", "schema": { "type": "object" }, "strict": true });
    let told = world
        .ask(chat(&json!({
            "top_p": 0.5, "stop": ["END"], "seed": 7, "user": "una",
            "response_format": { "type": "json_schema", "json_schema": shape },
        })))
        .await;
    let mut ignored: Vec<_> = told.header("x-petasos-ignored").split(", ").collect();
    ignored.sort_unstable();
    assert_eq!((told.status, ignored), (200, vec!["seed", "user"]), "{told:?}");
    let mut flat = shape.clone();
    flat["type"] = json!("json_schema");
    let body = json!({ "input": "x", "top_p": 1, "text": { "format": flat } });
    let told = world.post("/v1/responses", &body).await;
    assert_eq!((told.status, told.header("x-petasos-ignored")), (200, ""), "{told:?}");
    assert_eq!(told.json()["text"]["format"]["name"], "hat");
    let asked = world.model.asked();
    let extra = |at: usize, key: &str| asked[at].prompt.extra[key].clone();
    assert_eq!((extra(0, "top_p"), extra(0, "stop")), (json!(0.5), json!(["END"])));
    let nested = json!({ "type": "json_schema", "json_schema": shape });
    assert_eq!(
        (extra(0, "response_format"), extra(1, "response_format")),
        (nested.clone(), nested)
    );
    for odd in [
        json!({ "top_p": 2 }),
        json!({ "stop": [1] }),
        json!({ "seed": "x" }),
        json!({ "response_format": { "type": "xml" } }),
    ] {
        assert_eq!(world.ask(chat(&odd)).await.error().0, 400, "{odd}");
    }
}

#[tokio::test]
async fn a_reply_that_its_limit_cut_is_given_as_it_is() {
    let cut = || {
        let message = Assistant { content: Some("once upon".to_owned()), ..Assistant::default() };
        Act::Give(Box::new(Reply { message, finish: Finish::Length, ..Reply::default() }))
    };
    let world = World::new(Scripted::new([cut(), cut()])).await;
    let told = world.ask(chat(&json!({ "max_tokens": 2 }))).await.json();
    let choice = &told["choices"][0];
    assert_eq!(
        (&choice["message"]["content"], &choice["finish_reason"]),
        (&json!("once upon"), &json!("length")),
        "{told}"
    );
    let body = json!({ "input": "x", "max_output_tokens": 2 });
    let told = world.post("/v1/responses", &body).await.json();
    assert_eq!(
        (&told["status"], &told["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens")),
        "{told}"
    );
    assert_eq!(world.model.asked().len(), 2, "nobody let it go on");
}

#[tokio::test]
async fn a_session_key_names_notes_of_its_own_for_its_api_key_alone() {
    let world = World::new(Scripted::default().otherwise(|_, _| Act::say("ok"))).await;
    let ask = |key: &str| chat(&json!({})).with("X-Hermes-Session-Key", key);
    let told = world.ask(ask("una@home")).await;
    assert_eq!(told.header("x-hermes-session-key"), "una@home");
    assert_eq!(told.header("x-petasos-ignored"), "", "it is obeyed");
    world.ask(ask("una@home").by(OTHER)).await;
    world.ask(chat(&json!({}))).await;
    let wishes = world.around.wishes.lock();
    let memory = |at: usize| wishes[at].memory.clone();
    assert_eq!(memory(0).unwrap().user.unwrap().as_str(), "una@home");
    assert_ne!(memory(0), memory(1), "the same word of another key is another's");
    assert_eq!(memory(2), None, "the home's own");
}

#[tokio::test]
async fn a_lenient_server_drops_what_a_strict_one_refuses_and_says_so() {
    let extra = json!({ "ignore_client_tools": true, "accept_any_model": true });
    let world = World::with(Scripted::default().otherwise(|_, _| Act::say("ok")), extra).await;
    let tools = json!({ "model": "gpt-9", "tools": [{ "type": "function" }] });
    let told = world.ask(chat(&tools)).await;
    assert_eq!((told.status, told.header("x-petasos-ignored")), (200, "tools"), "{told:?}");
    assert_eq!(told.json()["model"], "gpt-9");
    let about = world.get("/v1/capabilities").await.json();
    assert_eq!(about["features"]["client_tools"], false, "{about}");
    assert_eq!(about["limits"]["body_bytes"], 10_000_000);
    assert_eq!(world.get("/v1/toolsets").await.json()["data"][0]["name"], "todo");
    let (ready, detailed) =
        (world.get("/ready").await.json(), world.get("/health/detailed").await.json());
    for key in ["status", "store", "model", "closed"] {
        assert_eq!(ready[key], detailed[key], "{key}");
    }
    assert_eq!(world.ask(Ask::get("/health/detailed").by(OTHER)).await.status, 403);
}

#[tokio::test]
async fn a_turn_in_which_nothing_happens_ends_with_its_own_error() {
    let extra = json!({ "agent": { "gateway_timeout": 1 } });
    let world =
        World::with(Scripted::default().otherwise(|_, _| Act::Hang(String::new())), extra).await;
    let told = world.ask(chat(&json!({}))).await;
    assert_eq!(told.error(), (504, "run_timeout".to_owned()));
    assert_eq!(told.header("x-should-retry"), "false", "a turn had begun");
    world.until("/ready", |ready| ready["runs"] == 0).await;
}

#[tokio::test]
async fn a_listed_page_may_read_streams_too() {
    let origin = "https://page.example";
    let model = Scripted::new([Act::say("here")]);
    let world = World::with(model, json!({ "cors_origins": [origin] })).await;
    let told = world.ask(chat(&json!({ "stream": true })).with("Origin", origin)).await;
    assert_eq!((told.status, told.header("access-control-allow-origin")), (200, origin));
    assert!(told.body.contains("[DONE]"), "{}", told.body);
}
