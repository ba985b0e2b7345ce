//! Runs, their events, and answers to what they ask.

use petasos_agent::{Act, Scripted};
use petasos_store::ApiStore as _;
use serde_json::{Value, json};

use crate::world::{Ask, OTHER, World, events};

async fn begun(world: &World, body: &Value) -> String {
    let told = world.post("/v1/runs", body).await;
    assert_eq!(told.status, 202, "{told:?}");
    told.json()["id"].as_str().unwrap().to_owned()
}

fn names(told: &[(Option<i64>, String, Value)]) -> Vec<&str> {
    told.iter().map(|(_, name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn s107_any_number_of_readers_see_the_same_and_a_cut_one_goes_on() {
    let world = World::new(Scripted::new([Act::call("todo", "{}"), Act::say("all done")])).await;
    // The list is asked about, and nobody reads yet: it is denied at once.
    let run = begun(&world, &json!({ "input": "go" })).await;
    world.until(&format!("/v1/runs/{run}"), |view| view["status"] == "completed").await;
    let path = format!("/v1/runs/{run}/events");
    let (one, two) = tokio::join!(world.get(&path), world.get(&path));
    assert_eq!(one.events(), two.events());
    let all = one.events();
    assert_eq!(
        names(&all),
        [
            "run.started",
            "tool.started",
            "approval.request",
            "tool.completed",
            "message.delta",
            "run.completed"
        ],
        "{}",
        one.body
    );
    assert_eq!(all[2].2["state"], "denied");
    assert_eq!(all.last().unwrap().2["output"], "all done");
    let third = all[2].0.unwrap();
    let rest = world.ask(Ask::get(&path).with("Last-Event-ID", &third.to_string())).await;
    assert_eq!(rest.events(), all[3..]);
    assert_eq!(world.get(&format!("{path}?after={third}")).await.events(), all[3..]);
    let view = world.get(&format!("/v1/runs/{run}")).await.json();
    assert_eq!((&view["status"], &view["output"]), (&"completed".into(), &"all done".into()));
    let foreign = world.ask(Ask::get(&path).by(OTHER)).await;
    assert_eq!(foreign.error(), (404, "run_not_found".to_owned()));
    // What ended is kept over a restart.
    let folder = world.end().await;
    let world = World::at(&folder, Scripted::default(), json!({})).await;
    assert_eq!(world.get(&path).await.events(), all);
}

#[tokio::test]
async fn s107_a_run_that_died_with_its_process_says_so_behind_everything_that_was_shown() {
    let world = World::new(Scripted::new([Act::Hang("half an ans".to_owned())])).await;
    let run = begun(&world, &json!({ "input": "go" })).await;
    let path = format!("/v1/runs/{run}/events");
    let mut wire = world.open(Ask::get(&path)).await;
    let seen = tokio::task::spawn_blocking(move || (wire.until("half an ans"), wire));
    let (seen, wire) = seen.await.unwrap();
    let last = events(&seen).last().unwrap().0.unwrap();
    let folder = world.die().await;
    drop(wire);
    let world = World::at(&folder, Scripted::default(), json!({})).await;
    let rest = world.ask(Ask::get(&path).with("Last-Event-ID", &last.to_string())).await;
    let rest = rest.events();
    assert_eq!(names(&rest), ["run.cancelled"], "{rest:?}");
    assert_eq!(rest[0].2["status"], "interrupted");
    let view = world.get(&format!("/v1/runs/{run}")).await.json();
    assert_eq!(view["status"], "interrupted");
}

#[tokio::test]
async fn s108_an_approval_is_answered_by_its_key_and_once() {
    let world = World::new(Scripted::new([
        Act::After(std::time::Duration::from_millis(300), Box::new(Act::call("todo", "{}"))),
        Act::say("done"),
    ]))
    .await;
    let run = begun(&world, &json!({ "input": "go" })).await;
    let path = format!("/v1/runs/{run}/events");
    let mut wire = world.open(Ask::get(&path)).await;
    let asked = tokio::task::spawn_blocking(move || (wire.until("approval.request"), wire));
    let (asked, mut wire) = asked.await.unwrap();
    let asked = events(&asked).pop().unwrap().2;
    assert_eq!(
        (&asked["state"], &asked["choices"]),
        (&"open".into(), &json!(["once", "session", "deny"]))
    );
    let status = world.get(&format!("/v1/runs/{run}")).await.json()["status"].clone();
    assert_eq!(status, "waiting_for_approval");
    let listed = world.get("/v1/approvals").await.json();
    assert_eq!(listed["data"][0]["run_id"], run.as_str(), "{listed}");
    let path = format!("/v1/runs/{run}/approval");
    let ask = |choice: &str| Ask::post(&path, &json!({ "choice": choice }));
    assert_eq!(world.ask(ask("once").by(OTHER)).await.error().0, 403, "no scope");
    assert_eq!(world.ask(ask("perhaps")).await.error().0, 400);
    assert_eq!(world.ask(ask("always")).await.error().0, 400, "not offered");
    let other = Ask::post(&path, &json!({ "choice": "once", "approval_id": "nobody" }));
    assert_eq!(world.ask(other).await.error(), (409, "approval_not_pending".to_owned()));
    let told = world.ask(ask("approve")).await;
    assert_eq!((told.status, &told.json()["decided"][0]), (200, &asked["approval_id"]), "{told:?}");
    assert_eq!(world.ask(ask("once")).await.error(), (409, "approval_not_pending".to_owned()));
    let rest = tokio::task::spawn_blocking(move || wire.until("run.completed")).await.unwrap();
    assert_eq!(names(&events(&rest))[..2], ["approval.responded", "tool.completed"], "{rest}");
    assert_eq!(world.ask(ask("once")).await.error().0, 409, "after the end");
}

#[tokio::test]
async fn s108_an_approval_outlives_its_process() {
    let world = World::new(Scripted::new([Act::After(
        std::time::Duration::from_millis(300),
        Box::new(Act::call("todo", "{}")),
    )]))
    .await;
    let run = begun(&world, &json!({ "input": "go" })).await;
    let events_at = format!("/v1/runs/{run}/events");
    let mut wire = world.open(Ask::get(&events_at)).await;
    let asked = tokio::task::spawn_blocking(move || (wire.until("approval.request"), wire));
    let (asked, wire) = asked.await.unwrap();
    let id = events(&asked).pop().unwrap().2["approval_id"].clone();
    world.until(&format!("/v1/runs/{run}"), |view| view["status"] == "waiting_for_approval").await;
    // The log is stored a moment later.
    let until = std::time::Instant::now() + crate::world::PATIENCE;
    while !format!("{:?}", world.store.run_events(&run, 0).await).contains("approval.request") {
        assert!(std::time::Instant::now() < until, "the question is not stored");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let folder = world.die().await;
    drop(wire);
    let world = World::at(&folder, Scripted::new([Act::say("went on")]), json!({})).await;
    let path = format!("/v1/runs/{run}/approval");
    let told = world.post(&path, &json!({ "choice": "once", "approval_id": id })).await;
    assert_eq!(told.status, 200, "{told:?}");
    let view = world.until(&format!("/v1/runs/{run}"), |view| view["status"] == "completed").await;
    assert_eq!(view["output"], "went on", "{view}");
}

#[tokio::test]
async fn a_question_is_answered_in_words_and_a_run_is_stopped() {
    let question = r#"{"question":"Which colour?","choices":["red","blue"]}"#;
    let world = World::new(Scripted::new([
        Act::After(std::time::Duration::from_millis(300), Box::new(Act::call("clarify", question))),
        Act::say("blue it is"),
        Act::Hang("thinking".to_owned()),
    ]))
    .await;
    let run = begun(&world, &json!({ "input": "go" })).await;
    let mut wire = world.open(Ask::get(&format!("/v1/runs/{run}/events"))).await;
    let asked = tokio::task::spawn_blocking(move || (wire.until("input.request"), wire));
    let (asked, mut wire) = asked.await.unwrap();
    assert!(asked.contains("Which colour?"), "{asked}");
    let told = world.post(&format!("/v1/runs/{run}/answer"), &json!({ "text": "blue" })).await;
    assert_eq!(told.status, 200, "{told:?}");
    let rest = tokio::task::spawn_blocking(move || wire.until("run.completed")).await.unwrap();
    assert!(rest.contains("blue it is"), "{rest}");
    let run = begun(&world, &json!({ "input": "again" })).await;
    let mut wire = world.open(Ask::get(&format!("/v1/runs/{run}/events"))).await;
    let wire = tokio::task::spawn_blocking(move || {
        wire.until("thinking");
        wire
    });
    let mut wire = wire.await.unwrap();
    let told = world.post(&format!("/v1/runs/{run}/stop"), &json!({})).await;
    assert_eq!(told.status, 200);
    let rest = tokio::task::spawn_blocking(move || wire.until("run.cancelled")).await.unwrap();
    assert_eq!(events(&rest).last().unwrap().2["status"], "cancelled");
}

#[tokio::test]
async fn s110_more_runs_than_may_are_refused() {
    let world = World::with(
        Scripted::default().otherwise(|_, _| Act::Hang("busy".to_owned())),
        json!({ "max_concurrent_runs": 2 }),
    )
    .await;
    let body = json!({ "input": "go" });
    let (one, _two) = (begun(&world, &body).await, begun(&world, &body).await);
    let told = world.post("/v1/runs", &body).await;
    assert_eq!(told.error(), (429, "too_many_runs".to_owned()));
    assert!(!told.header("retry-after").is_empty());
    world.post(&format!("/v1/runs/{one}/stop"), &json!({})).await;
    world.until("/ready", |ready| ready["runs"] == 1).await;
    begun(&world, &body).await;
}
