//! Sessions as resources, the document of all endpoints, and numbers.

use petasos_agent::{Act, Scripted};
use serde_json::{Value, json};

use crate::world::{Ask, OTHER, World};

fn delete(path: &str) -> Ask {
    Ask::new("DELETE", path, Vec::new())
}

fn patch(path: &str, body: &Value) -> Ask {
    Ask::new("PATCH", path, body.to_string().into_bytes())
}

#[tokio::test]
async fn s105_sessions_are_listed_changed_copied_and_removed_by_their_key_alone() {
    let world = World::new(Scripted::default().otherwise(|prompt, _| {
        if prompt.messages.len() > 4 { Act::Hang("busy".to_owned()) } else { Act::say("ok") }
    }))
    .await;
    let made = world.post("/api/sessions", &json!({ "id": "mine", "title": "First" })).await;
    assert_eq!((made.status, &made.json()["title"]), (201, &"First".into()), "{made:?}");
    assert_eq!(world.post("/api/sessions", &json!({ "id": "mine" })).await.status, 409);
    let said = world.post("/api/sessions/mine/chat", &json!({ "message": "hello" })).await;
    assert_eq!((said.status, &said.json()["output"]), (200, &"ok".into()), "{said:?}");
    for path in ["/api/sessions/mine", "/api/sessions/mine/messages"] {
        assert_eq!(
            world.ask(Ask::get(path).by(OTHER)).await.error(),
            (404, "session_not_found".to_owned())
        );
    }
    assert_eq!(world.ask(delete("/api/sessions/mine").by(OTHER)).await.status, 404);
    let told = world.ask(patch("/api/sessions/mine", &json!({ "title": "Renamed" }))).await;
    assert_eq!(told.json()["title"], "Renamed");
    assert_eq!(
        world.ask(patch("/api/sessions/mine", &json!({ "owner": "ben" }))).await.status,
        400
    );
    let copy = world.post("/api/sessions/mine/fork", &json!({ "title": "Copy" })).await;
    assert_eq!((copy.status, &copy.json()["parent_id"]), (201, &"mine".into()), "{copy:?}");
    let copied = copy.json()["id"].as_str().unwrap().to_owned();
    let messages = world.get(&format!("/api/sessions/{copied}/messages")).await.json();
    assert_eq!(messages["data"].as_array().unwrap().len(), 2);
    let first = world.get("/api/sessions?limit=1").await.json();
    assert_eq!((first["data"].as_array().unwrap().len(), &first["has_more"]), (1, &true.into()));
    let second = world.get("/api/sessions?limit=1&offset=1").await.json();
    assert_ne!(first["data"][0]["id"], second["data"][0]["id"]);
    assert_eq!(second["has_more"], false);
    let none = world.ask(Ask::get("/api/sessions").by(OTHER)).await.json();
    assert_eq!(none["data"], json!([]));
    // While a turn runs it stays.
    world.post("/api/sessions/mine/chat", &json!({ "message": "more" })).await;
    let mut wire = world
        .open(Ask::post("/api/sessions/mine/chat/stream", &json!({ "message": "hang" })))
        .await;
    let wire = tokio::task::spawn_blocking(move || {
        wire.until("busy");
        wire
    });
    let wire = wire.await.unwrap();
    assert_eq!(
        world.ask(delete("/api/sessions/mine")).await.error(),
        (409, "session_busy".to_owned())
    );
    drop(wire);
    world.until("/ready", |ready| ready["runs"] == 0).await;
    let gone = world.ask(delete("/api/sessions/mine")).await;
    assert_eq!(gone.status, 200, "{gone:?}");
    assert_eq!(world.get("/api/sessions/mine").await.status, 404);
}

#[tokio::test]
async fn s113_the_document_names_every_endpoint_and_the_numbers_can_be_read() {
    let world = World::new(Scripted::new([Act::say("x")])).await;
    let document = world.ask(Ask::get("/openapi.json").without("Authorization")).await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let real = path.replace(['{', '}'], "");
            let ask =
                Ask::new(&method.to_uppercase(), &real, b"{}".to_vec()).without("Authorization");
            let told = world.ask(ask).await;
            assert!(!matches!(told.status, 404 | 405), "{method} {path}: {told:?}");
            let open = methods[method]["security"].is_null();
            assert_eq!(open, told.status == 200, "{method} {path}: {told:?}");
        }
    }
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
    world
        .post("/v1/chat/completions", &json!({ "messages": [{ "role": "user", "content": "x" }] }))
        .await;
    let numbers = world.get("/metrics").await;
    assert!(numbers.header("content-type").starts_with("text/plain; version=0.0.4"));
    let mut known = Vec::new();
    for line in numbers.body.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            known.push(kind.split(' ').next().unwrap().to_owned());
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split('{').next().unwrap();
            assert!(known.contains(&family.to_owned()) && value.parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(
        numbers.body.contains("petasos_api_runs_ended_total{end=\"completed\"} 1"),
        "{}",
        numbers.body
    );
}
