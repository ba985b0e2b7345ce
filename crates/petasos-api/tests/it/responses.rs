//! `/v1/responses`.

use petasos_agent::{Act, Scripted};
use serde_json::{Value, json};

use crate::world::{Ask, OTHER, World};

fn text(response: &Value) -> String {
    let output = response["output"].as_array().cloned().unwrap_or_default();
    let parts = output.iter().filter(|item| item["type"] == "message");
    parts.filter_map(|item| item["content"][0]["text"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_response_has_its_items_in_order_whole_and_as_events() {
    let acts = || [Act::calls("Let me see.", &[("todo", "{}")]), Act::say("Done.")];
    let world = World::new(Scripted::new(acts().into_iter().chain(acts()))).await;
    let body = json!({ "input": "hello", "instructions": "Be kind.", "metadata": { "a": "b" } });
    let whole = world.post("/v1/responses", &body).await;
    assert_eq!(whole.status, 200, "{whole:?}");
    let whole = whole.json();
    let kinds = |response: &Value| -> Vec<String> {
        let output = response["output"].as_array().unwrap();
        output.iter().map(|item| item["type"].as_str().unwrap().to_owned()).collect()
    };
    let order = ["message", "function_call", "function_call_output", "message"];
    assert_eq!(kinds(&whole), order);
    assert_eq!((&whole["status"], &whole["metadata"]["a"]), (&"completed".into(), &"b".into()));
    assert!(world.model.asked()[0].prompt.system.contains("Be kind."));
    let mut body = body;
    body["stream"] = json!(true);
    let told = world.post("/v1/responses", &body).await;
    let events = told.events();
    let numbers: Vec<u64> =
        events.iter().map(|it| it.2["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..u64::try_from(events.len()).unwrap()).collect::<Vec<_>>());
    assert!(events.iter().all(|(_, name, data)| data["type"] == *name));
    let names: Vec<&str> = events.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(names[..2], ["response.created", "response.in_progress"]);
    let first = names.iter().position(|name| *name == "response.output_text.delta").unwrap();
    assert_eq!(
        names[first - 2..first],
        ["response.output_item.added", "response.content_part.added"]
    );
    let last = events.last().unwrap();
    assert_eq!(last.1, "response.completed");
    assert_eq!(kinds(&last.2["response"]), order);
    let joined: String = events
        .iter()
        .filter(|it| it.1 == "response.output_text.delta")
        .filter_map(|it| it.2["delta"].as_str())
        .collect();
    assert_eq!((joined, text(&last.2["response"])), (text(&whole), text(&whole)));
}

#[tokio::test]
async fn s104_a_chain_goes_on_after_a_restart_and_branches_where_it_is_asked_to() {
    let counting = || {
        Scripted::default()
            .otherwise(|prompt, _| Act::say(&format!("seen {}", prompt.messages.len())))
    };
    let world = World::new(counting()).await;
    let first = world.post("/v1/responses", &json!({ "input": "one" })).await.json();
    let id = first["id"].as_str().unwrap().to_owned();
    let next = |id: &str| json!({ "input": "next", "previous_response_id": id });
    let second = world.post("/v1/responses", &next(&id)).await.json();
    assert_eq!((text(&first), text(&second)), ("seen 1".to_owned(), "seen 3".to_owned()));
    assert_eq!(second["previous_response_id"], id.as_str());
    let folder = world.end().await;
    let world = World::at(&folder, counting(), json!({})).await;
    let third = world.post("/v1/responses", &next(second["id"].as_str().unwrap())).await.json();
    assert_eq!(text(&third), "seen 5");
    let branch = world.post("/v1/responses", &next(&id)).await.json();
    assert_eq!(text(&branch), "seen 3", "the first one, without what came behind it");
    assert_ne!(branch["conversation"]["id"], third["conversation"]["id"]);
    let got = world.get(&format!("/v1/responses/{id}")).await;
    assert_eq!(got.json()["output"], first["output"]);
    let foreign = world.ask(Ask::get(&format!("/v1/responses/{id}")).by(OTHER)).await;
    assert_eq!(foreign.error(), (404, "response_not_found".to_owned()));
    let gone = world.ask(Ask::new("DELETE", &format!("/v1/responses/{id}"), Vec::new())).await;
    assert_eq!((gone.status, &gone.json()["deleted"]), (200, &true.into()));
    assert_eq!(
        world.post("/v1/responses", &next(&id)).await.error(),
        (404, "response_not_found".to_owned())
    );
    let unkept = world.post("/v1/responses", &json!({ "input": "x", "store": false })).await.json();
    let path = format!("/v1/responses/{}", unkept["id"].as_str().unwrap());
    assert_eq!(world.get(&path).await.status, 404);
}

#[tokio::test]
async fn s104_the_thousand_and_first_takes_the_place_of_the_least_used() {
    use petasos_store::{ApiStore as _, ResponseRow};
    let world = World::new(Scripted::default()).await;
    let row = |number: i64| ResponseRow {
        id: format!("resp_{number:04}"),
        owner: "default".to_owned(),
        session: petasos_contract::SessionId::new("s"),
        seq: None,
        body: json!({ "id": number }),
    };
    let rows = (1..=1000).map(|number| world.store.put_response(row(number), 1000, number));
    for kept in futures::future::join_all(rows).await {
        kept.unwrap();
    }
    // The oldest is used once more, so the second oldest leaves.
    assert_eq!(world.get("/v1/responses/resp_0001").await.status, 200);
    world.store.put_response(row(1001), 1000, 2000).await.unwrap();
    for (number, status) in [(1, 200), (2, 404), (3, 200), (1001, 200)] {
        assert_eq!(
            world.get(&format!("/v1/responses/resp_{number:04}")).await.status,
            status,
            "{number}"
        );
    }
}

#[tokio::test]
async fn a_conversation_goes_on_by_its_name() {
    let world = World::new(
        Scripted::default()
            .otherwise(|prompt, _| Act::say(&format!("seen {}", prompt.messages.len()))),
    )
    .await;
    let body = json!({ "input": [{ "role": "user", "content": "x" }], "conversation": "talk" });
    assert_eq!(text(&world.post("/v1/responses", &body).await.json()), "seen 1");
    let body = json!({ "input": "y", "conversation": { "id": "talk" } });
    assert_eq!(text(&world.post("/v1/responses", &body).await.json()), "seen 3");
    let both = json!({ "input": "y", "conversation": "talk", "previous_response_id": "r" });
    assert_eq!(world.post("/v1/responses", &both).await.status, 400);
}
