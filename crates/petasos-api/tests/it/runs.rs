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

#[tokio::test]
async fn s107_a_run_is_kept_for_an_hour_after_its_end_also_over_a_restart() {
    let world = World::new(Scripted::default().otherwise(|_, _| Act::say("kept"))).await;
    let now = i64::try_from(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis(),
    );
    let (now, minute) = (now.unwrap(), 60_000);
    let young = now - 58 * minute;
    for (id, ended) in [("run_new", young), ("run_odd", young), ("run_old", now - 61 * minute)] {
        let row = petasos_store::RunRow {
            id: id.to_owned(),
            owner: "default".to_owned(),
            session: petasos_contract::SessionId::new("s"),
            status: "completed".to_owned(),
            about: json!({}),
            created_ms: ended - minute,
            ended_ms: None,
        };
        world.store.put_run(row).await.unwrap();
        let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
            "cached_tokens": 0, "reasoning_tokens": 0 });
        let mut end = json!({ "event": "run.completed", "output": id, "usage": usage,
            "finish_reason": "stop" });
        if id == "run_odd" {
            end["event"] = json!("run.of_another_version");
        }
        world.store.add_run_events(id, vec![(1, end)], "completed", Some(ended)).await.unwrap();
    }
    let folder = world.end().await;
    let world = World::at(&folder, Scripted::default(), json!({})).await;
    let until = std::time::Instant::now() + crate::world::PATIENCE;
    while world.get("/v1/runs/run_old").await.status != 404 {
        assert!(std::time::Instant::now() < until, "it is not forgotten");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let kept = world.get("/v1/runs/run_new").await;
    assert_eq!(kept.status, 200, "{kept:?}");
    let events = world.get("/v1/runs/run_new/events").await;
    assert_eq!(names(&events.events()), ["run.completed"], "{}", events.body);
    let odd = world.get("/v1/runs/run_odd/events").await;
    assert_eq!(names(&odd.events()), ["run.cancelled"], "nobody waits for more: {}", odd.body);
}

/// A run that waits for consent, with whoever reads it.
async fn waiting(world: &World) -> (String, crate::world::Wire) {
    let run = begun(world, &json!({ "input": "go" })).await;
    let mut wire = world.open(Ask::get(&format!("/v1/runs/{run}/events"))).await;
    let wire = tokio::task::spawn_blocking(move || {
        wire.until("approval.request");
        wire
    });
    let wire = wire.await.unwrap();
    world.until(&format!("/v1/runs/{run}"), |view| view["status"] == "waiting_for_approval").await;
    (run, wire)
}

fn asks_late() -> Act {
    Act::After(std::time::Duration::from_millis(300), Box::new(Act::call("todo", "{}")))
}

#[tokio::test]
async fn s108_a_bare_answer_counts_only_while_one_request_is_open() {
    use petasos_store::{NewQuestion, QuestionId, QuestionStore as _};
    let world = World::new(Scripted::new([asks_late(), Act::say("done")])).await;
    let (run, _wire) = waiting(&world).await;
    // Another call of the same conversation asks as well, as those of two processes do.
    let first = world.store.open(None).await.unwrap().remove(0).asked;
    let (call, id) = ("another".into(), QuestionId::new("another-question"));
    let second = NewQuestion { id: id.clone(), call, ..first.clone() };
    world.store.ask(second).await.unwrap();
    let path = format!("/v1/runs/{run}/approval");
    let bare = json!({ "choice": "once" });
    assert_eq!(world.post(&path, &bare).await.error(), (409, "approval_ambiguous".to_owned()));
    let listed = world.get("/v1/approvals").await.json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(2), "{listed}");
    let named = json!({ "choice": "deny", "approval_id": id.as_str(), "comment": "not now" });
    let told = world.post(&path, &named).await;
    assert_eq!((told.status, &told.json()["decided"]), (200, &json!([id.as_str()])), "{told:?}");
    let told = world.post(&path, &bare).await;
    assert_eq!((told.status, &told.json()["decided"]), (200, &json!([first.id.as_str()])));
    world.until(&format!("/v1/runs/{run}"), |view| view["status"] == "completed").await;
}

#[tokio::test]
async fn a_run_of_another_process_is_read_and_answered_and_not_pretended_to_be_stopped() {
    let world = World::new(Scripted::new([asks_late(), Act::say("went on")])).await;
    let (run, _wire) = waiting(&world).await;
    let folder = std::sync::Arc::clone(world.folder());
    let other = World::at(&folder, Scripted::default(), json!({})).await;
    let mut wire = other.open(Ask::get(&format!("/v1/runs/{run}/events"))).await;
    assert_eq!(wire.status, 200);
    let read = tokio::task::spawn_blocking(move || (wire.until("approval.request"), wire));
    let (_, mut wire) = read.await.unwrap();
    let stopped = other.post(&format!("/v1/runs/{run}/stop"), &json!({})).await;
    assert_eq!(stopped.error(), (409, "run_elsewhere".to_owned()));
    let listed = other.get("/v1/approvals").await.json();
    assert_eq!(listed["data"][0]["run_id"], run.as_str(), "{listed}");
    let path = format!("/v1/runs/{run}/approval");
    assert_eq!(other.post(&path, &json!({ "choice": "once" })).await.status, 200);
    let rest = tokio::task::spawn_blocking(move || wire.until("run.completed")).await.unwrap();
    assert!(rest.contains("went on"), "{rest}");
    assert!(other.model.asked().is_empty(), "its turn is worked on where it was begun");
}
