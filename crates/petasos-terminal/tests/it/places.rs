//! Places that nobody uses are closed; those that somebody does are not.

use petasos_contract::jobs::{Jobs, Notify};
use petasos_contract::terminal::Terminal;
use serde_json::json;

use crate::ssh::server::{Machine, server};
use crate::stage::{Stage, command};

#[tokio::test]
async fn an_unused_place_is_closed_and_a_running_job_keeps_it() {
    let test = "an_unused_place_is_closed_and_a_running_job_keeps_it";
    let Some(server) = server(test, Machine::Whole) else { return };
    let mut terminal = server.terminal();
    terminal["lifetime_seconds"] = json!(0.001);
    let stage = Stage::with(&terminal);
    let cx = stage.cx();
    stage.output("export KEPT=1").await;
    let job = stage.engine.start(command("sleep 60"), Notify::Silent, &cx).await.unwrap().job;
    assert_eq!(stage.engine.close_idle().await, 0, "a job runs in it");
    stage.engine.jobs().kill(&job, &cx).await.unwrap().unwrap();
    let begun = std::time::Instant::now();
    while stage.engine.close_idle().await == 0 {
        assert!(begun.elapsed().as_secs() < 20, "it is never closed");
        tokio::task::yield_now().await;
    }
    assert!(!stage.engine.is_away());
    assert_eq!(stage.output("echo $KEPT").await, "1\n", "the session goes on in a new one");
    assert!(stage.engine.close_places().await.is_empty());
}

#[tokio::test]
async fn this_machine_is_never_closed() {
    let stage = Stage::with(&json!({ "lifetime_seconds": 0.001 }));
    stage.output("true").await;
    assert_eq!(stage.engine.close_idle().await, 0);
}
