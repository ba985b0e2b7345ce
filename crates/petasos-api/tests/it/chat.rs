//! `/v1/chat/completions`.

use petasos_agent::{Act, Scripted};
use petasos_contract::model::Reason;
use serde_json::{Value, json};

use crate::world::{Ask, KEY, OTHER, Told, World};

fn hello() -> Value {
    json!({ "model": "petasos", "messages": [{ "role": "user", "content": "hello" }] })
}

fn streamed(mut body: Value) -> Ask {
    body["stream"] = json!(true);
    Ask::post("/v1/chat/completions", &body)
}

/// What the pieces of a stream say together.
fn joined(told: &Told) -> String {
    let events = told.events();
    let pieces = events.iter().filter_map(|(_, _, data)| {
        data["choices"][0]["delta"]["content"].as_str().map(str::to_owned)
    });
    pieces.collect()
}

#[tokio::test]
async fn a_turn_comes_whole_or_in_pieces_and_says_the_same() {
    let acts = || {
        [Act::calls("Let me see.", &[("todo", "{}")]), Act::say("Grüße 🦀\n\nand a second line")]
    };
    let world = World::new(Scripted::new(acts().into_iter().chain(acts()))).await;
    let whole = world.post("/v1/chat/completions", &hello()).await;
    assert_eq!(whole.status, 200, "{whole:?}");
    let answer = whole.json();
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert_eq!(text, "Let me see.\n\nGrüße 🦀\n\nand a second line");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        (&answer["object"], &answer["model"]),
        (&"chat.completion".into(), &"petasos".into())
    );
    let used = &answer["usage"];
    let sum = used["prompt_tokens"].as_u64().unwrap() + used["completion_tokens"].as_u64().unwrap();
    assert_eq!(used["total_tokens"], sum);
    let mut body = hello();
    body["stream_options"] = json!({ "include_usage": true });
    let pieces = world.ask(streamed(body)).await;
    assert_eq!(pieces.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(
        (pieces.header("cache-control"), pieces.header("x-accel-buffering")),
        ("no-cache", "no")
    );
    assert_eq!(joined(&pieces), text, "{}", pieces.body);
    let events = pieces.events();
    assert_eq!(events[0].2["choices"][0]["delta"]["role"], "assistant");
    let [.., finish, usage, done] = &events[..] else { unreachable!() };
    assert_eq!(finish.2["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        (&usage.2["choices"], usage.2["usage"]["total_tokens"].is_u64()),
        (&json!([]), true)
    );
    assert_eq!(done.2, "[DONE]");
    assert!(events.iter().all(|(_, name, _)| name.is_empty()), "named events break the clients");
}

#[tokio::test]
async fn s102_tool_progress_is_told_only_when_asked_for() {
    let turn = || [Act::call("todo", "{}"), Act::say("done")];
    let world = World::new(Scripted::new([turn(), turn(), turn()].concat())).await;
    let none = world.ask(streamed(hello())).await;
    assert!(!none.body.contains("tool.started"), "{}", none.body);
    let chunk = world.ask(streamed(hello()).with("X-Hermes-Tool-Events", "chunk")).await;
    let told: Vec<Value> =
        chunk.events().into_iter().filter(|it| it.2["hermes"].is_object()).map(|it| it.2).collect();
    assert_eq!(told.len(), 2, "{}", chunk.body);
    assert_eq!(
        (&told[0]["hermes"]["event"], &told[0]["choices"][0]["delta"]),
        (&"tool.started".into(), &json!({}))
    );
    let named = world.ask(streamed(hello()).with("X-Hermes-Tool-Events", "event")).await;
    let count = named.events().iter().filter(|it| it.1 == "hermes.tool.progress").count();
    assert_eq!(count, 2, "{}", named.body);
}

#[tokio::test]
async fn s103_a_failure_has_its_status_before_the_first_byte_and_a_frame_after_it() {
    let world = World::new(Scripted::new([
        Act::Fail(Reason::Auth),
        Act::Fail(Reason::ContextOverflow),
        Act::Fail(Reason::Auth),
        Act::calls("I begin.", &[("todo", "{}")]),
        Act::After(
            std::time::Duration::from_millis(1200),
            Box::new(Act::Fail(Reason::ServerError)),
        ),
    ]))
    .await;
    let failed = world.post("/v1/chat/completions", &hello()).await;
    assert_eq!(failed.error(), (502, "provider_error".to_owned()));
    assert_eq!(failed.header("x-should-retry"), "false", "{failed:?}");
    assert_eq!(failed.json()["error"]["type"], "server_error");
    let long = world.post("/v1/chat/completions", &hello()).await;
    assert_eq!(long.error(), (400, "context_length_exceeded".to_owned()));
    let early = world.ask(streamed(hello())).await;
    assert_eq!(early.error(), (502, "provider_error".to_owned()), "{}", early.body);
    let late = world.ask(streamed(hello())).await;
    assert_eq!(late.status, 200);
    let events = late.events();
    let last = &events.last().unwrap().2;
    assert_eq!(last["error"]["code"], "provider_error", "{}", late.body);
    assert!(!late.body.contains("[DONE]"));
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_by_its_name() {
    let world = World::new(Scripted::default()).await;
    let user = json!([{ "role": "user", "content": "x" }]);
    let part = |part: Value| json!({ "messages": [{ "role": "user", "content": [part] }] });
    let long = "a".repeat(1_000_001);
    for (body, status, code) in [
        (json!({ "model": "gpt-9", "messages": user }), 404, "model_not_found"),
        (json!({ "messages": [] }), 400, "missing_messages"),
        (json!({ "messages": [{ "role": "user", "content": "  " }] }), 400, "missing_messages"),
        (json!({ "messages": [{ "role": "assistant", "content": "x" }] }), 400, "missing_messages"),
        (json!({ "messages": [{ "role": "wizard", "content": "x" }] }), 400, "invalid_value"),
        (
            json!({ "messages": user, "tools": [{ "type": "function" }] }),
            400,
            "unsupported_parameter",
        ),
        (json!({ "messages": user, "n": 2 }), 400, "unsupported_parameter"),
        (json!({ "messages": user, "logprobs": true }), 400, "unsupported_parameter"),
        (json!({ "messages": user, "modalities": ["audio"] }), 400, "unsupported_parameter"),
        (json!({ "messages": user, "stream": "perhaps" }), 400, "invalid_value"),
        (json!({ "messages": user, "reasoning_effort": "cosmic" }), 400, "invalid_value"),
        (part(json!({ "type": "file", "file": {} })), 400, "unsupported_content_type"),
        (
            part(json!({ "type": "image_url", "image_url": { "url": "http://x/y.png" } })),
            400,
            "invalid_image_url",
        ),
        (
            part(json!({ "type": "image_url", "image_url": { "url": "file:///etc/passwd" } })),
            400,
            "invalid_image_url",
        ),
        (json!({ "messages": [{ "role": "user", "content": long }] }), 400, "invalid_value"),
        (
            json!({ "messages": [{ "role": "tool", "tool_call_id": "a", "content": "x" }, { "role": "user", "content": "x" }] }),
            400,
            "invalid_value",
        ),
        (
            json!({ "messages": vec![json!({ "role": "user", "content": "x" }); 2001] }),
            400,
            "invalid_value",
        ),
        (json!([]), 400, "invalid_json"),
    ] {
        let told = world.post("/v1/chat/completions", &body).await;
        let shown: String = body.to_string().chars().take(200).collect();
        assert_eq!(told.error(), (status, code.to_owned()), "{shown} {}", told.body);
    }
    for (path, status, code) in [
        ("/v1/embeddings", 404, "unknown_path"),
        ("/v1/audio/speech", 404, "unknown_path"),
        ("/nowhere", 404, "unknown_path"),
        ("/v1/models", 405, "method_not_allowed"),
    ] {
        assert_eq!(world.post(path, &json!({})).await.error(), (status, code.to_owned()), "{path}");
    }
    assert_eq!(world.post("/v1/models", &json!({})).await.header("allow"), "GET");
    assert!(world.model.asked().is_empty(), "nothing was asked of the model");
}

#[tokio::test]
async fn what_is_dropped_is_named_and_the_rest_reaches_the_model() {
    let world = World::new(Scripted::new([Act::say("yes")])).await;
    let told = world
        .post(
            "/v1/chat/completions",
            &json!({
                "model": "hermes-agent", "temperature": 0.3, "seed": 7, "reasoning_effort": "high", "n": 1,
                "messages": [
                    { "role": "system", "content": "Speak like a pirate." },
                    { "role": "developer", "content": "Be brief." },
                    { "role": "user", "content": "first" },
                    { "role": "assistant", "content": "answer" },
                    { "role": "user", "content": [
                        { "type": "text", "text": "second" },
                        { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }
                    ] }
                ]
            }),
        )
        .await;
    assert_eq!(told.status, 200, "{told:?}");
    assert_eq!(told.header("x-petasos-ignored"), "seed", "this wire has no word for it");
    assert!(told.header("x-hermes-session-id").starts_with("api-"));
    let asked = &world.model.asked()[0].prompt;
    assert!(asked.system.contains("Speak like a pirate.\n\nBe brief."), "{}", asked.system);
    assert_eq!(asked.messages.len(), 3);
    let last = serde_json::to_value(asked.messages.last().unwrap()).unwrap();
    assert!(last.to_string().contains("data:image/png;base64,AAAA"), "{last}");
    assert_eq!(format!("{:?}", asked.effort), "Some(High)");
    assert_eq!((asked.temperature, asked.max_tokens), (Some(0.3), None));
}

#[tokio::test]
async fn s105_equal_first_messages_are_two_sessions_and_a_name_goes_on() {
    let world = World::new(Scripted::default().otherwise(|_, _| Act::say("ok"))).await;
    let ask = |key: &str| Ask::post("/v1/chat/completions", &hello()).by(key);
    let (una, ben) = (world.ask(ask(KEY)).await, world.ask(ask(OTHER)).await);
    let (one, two) = (una.header("x-hermes-session-id"), ben.header("x-hermes-session-id"));
    assert!(!one.is_empty() && one != two);
    let foreign = world.ask(ask(OTHER).with("X-Hermes-Session-Id", one)).await;
    assert_eq!(foreign.error(), (404, "session_not_found".to_owned()));
    let again = world.ask(ask(KEY).with("X-Hermes-Session-Id", one)).await;
    assert_eq!((again.status, again.header("x-hermes-session-id")), (200, one));
    let asked = world.model.asked();
    assert_eq!(asked.last().unwrap().prompt.messages.len(), 3, "the history is the session's");
    let named = world.ask(ask(KEY).with("X-Hermes-Session-Id", "mine")).await;
    assert_eq!(named.header("x-hermes-session-id"), "mine");
    for odd in ["../x", "a/b", "a\\b", ""] {
        let told = world.ask(ask(KEY).with("X-Hermes-Session-Id", odd)).await;
        assert_eq!(told.error().0, 400, "{odd}");
    }
}

#[tokio::test]
async fn a_busy_session_is_refused_or_waited_for() {
    let world =
        World::new(Scripted::new([Act::Hang("thinking".to_owned()), Act::say("second")])).await;
    let ask = || Ask::post("/v1/chat/completions", &hello()).with("X-Hermes-Session-Id", "one");
    let mut body = hello();
    body["stream"] = json!(true);
    let mut first = world
        .open(Ask::post("/v1/chat/completions", &body).with("X-Hermes-Session-Id", "one"))
        .await;
    let first = tokio::task::spawn_blocking(move || {
        first.until("thinking");
        first
    });
    let first = first.await.unwrap();
    let refused = world.ask(ask()).await;
    assert_eq!(refused.error(), (409, "session_busy".to_owned()));
    assert_eq!(refused.header("x-should-retry"), "false");
    let leaves = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        drop(first);
    };
    let (queued, ()) = tokio::join!(world.ask(ask().with("X-Petasos-Queue", "1")), leaves);
    let said = &queued.json()["choices"][0]["message"]["content"];
    assert_eq!((queued.status, said), (200, &"second".into()), "{queued:?}");
}

#[tokio::test]
async fn s111_a_client_that_goes_ends_its_turn_and_one_that_detaches_does_not() {
    let world = World::new(Scripted::new([
        Act::Hang("thinking".to_owned()),
        Act::After(std::time::Duration::from_millis(400), Box::new(Act::say("finished"))),
    ]))
    .await;
    let mut body = hello();
    body["stream"] = json!(true);
    let ask = Ask::post("/v1/chat/completions", &body).with("X-Hermes-Session-Id", "left");
    let mut wire = world.open(ask).await;
    let wire = tokio::task::spawn_blocking(move || {
        wire.until("thinking");
        wire
    });
    drop(wire.await.unwrap());
    let began = std::time::Instant::now();
    world.until("/ready", |ready| ready["runs"] == 0).await;
    assert!(
        began.elapsed() < petasos_testkit::pace::fair(std::time::Duration::from_secs(1)),
        "{:?}",
        began.elapsed()
    );
    let ask = Ask::post("/v1/chat/completions", &body).with("X-Hermes-Session-Id", "kept");
    let wire = world.open(ask.with("X-Petasos-Detach", "1")).await;
    drop(wire);
    let path = "/api/sessions/kept/messages";
    let told =
        world.until(path, |told| told["data"].as_array().is_some_and(|it| it.len() == 2)).await;
    assert_eq!(told["data"][1]["content"], "finished", "{told}");
}

#[tokio::test]
async fn s106_a_request_under_a_key_is_done_once() {
    let world = World::new(Scripted::new([
        Act::After(std::time::Duration::from_millis(300), Box::new(Act::say("once"))),
        Act::say("another"),
    ]))
    .await;
    let ask = |body: &Value| Ask::post("/v1/chat/completions", body).with("Idempotency-Key", "k1");
    let (one, two) = tokio::join!(world.ask(ask(&hello())), world.ask(ask(&hello())));
    assert_eq!((one.status, two.status), (200, 200), "{one:?} {two:?}");
    assert_eq!(one.json()["id"], two.json()["id"]);
    assert_eq!(world.model.asked().len(), 1, "one call is one turn");
    let mut other = hello();
    other["messages"][0]["content"] = json!("something else");
    assert_eq!(world.ask(ask(&other)).await.error(), (422, "idempotency_mismatch".to_owned()));
    let turned = json!({ "messages": hello()["messages"], "model": "petasos" });
    assert_eq!(world.ask(ask(&turned)).await.json()["id"], one.json()["id"], "the order of fields");
    let ben = world.ask(ask(&hello()).by(OTHER)).await;
    assert_eq!(ben.json()["choices"][0]["message"]["content"], "another", "another key's key");
    // A stream is replayed, also after a restart.
    let folder = world.end().await;
    let world = World::at(&folder, Scripted::default(), json!({})).await;
    let again = world.ask(ask(&hello())).await;
    assert_eq!(again.json()["choices"][0]["message"]["content"], "once", "{again:?}");
}

#[tokio::test]
async fn s106_a_stream_under_a_key_is_replayed_and_a_turn_that_died_is_not_made_again() {
    let world =
        World::new(Scripted::new([Act::say("in pieces"), Act::Hang("half".to_owned())])).await;
    let ask = |key: &str| streamed(hello()).with("Idempotency-Key", key);
    let first = world.ask(ask("a")).await;
    let second = world.ask(ask("a")).await;
    assert_eq!((joined(&first), joined(&second)), ("in pieces".to_owned(), "in pieces".to_owned()));
    let mut wire = world.open(ask("b")).await;
    let wire = tokio::task::spawn_blocking(move || {
        wire.until("half");
        wire
    });
    let wire = wire.await.unwrap();
    let folder = world.die().await;
    drop(wire);
    let world =
        World::at(&folder, Scripted::default().otherwise(|_, _| Act::say("again")), json!({}))
            .await;
    let told = world.ask(ask("b")).await;
    assert!(told.body.contains("agent_incomplete"), "{}", told.body);
    assert!(world.model.asked().is_empty(), "one call is one turn");
}
