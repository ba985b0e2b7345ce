//! Twenty servers of which five are broken: the start budget holds, the others are usable.

use std::time::{Duration, Instant};

use petasos_mcp::client::{START_BUDGET, Servers, State};
use serde_json::{Value, json};

use crate::kit::{Kit, eventually, lives, view};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_turn_waits_no_longer_than_the_budget() {
    let kit = Kit::new();
    let mut entries: Vec<(String, Value)> = Vec::new();
    for number in 0..15 {
        let mut entry = kit.hostile("good");
        entry["args"].as_array_mut().unwrap().push(json!(number));
        entry["connect_timeout"] = json!(60);
        entries.push((format!("good{number}"), entry));
    }
    for (number, mode) in ["silent", "exit", "slowstart", "silent", "exit"].iter().enumerate() {
        let mut entry = kit.hostile(mode);
        entry["args"].as_array_mut().unwrap().push(json!(number));
        entries.push((format!("bad{number}"), entry));
    }
    let specs = entries.iter().map(|(name, entry)| kit.spec(name, entry)).collect();
    let begun = Instant::now();
    let servers = Servers::of(specs, &kit.around);
    servers.settle(START_BUDGET).await;
    let waited = begun.elapsed();
    assert!(
        waited < START_BUDGET + petasos_testkit::pace::fair(Duration::from_millis(500)),
        "{waited:?}"
    );
    assert!(servers.notice().is_some(), "those that are not ready are named");
    let good = |number: usize| view(&servers, &format!("good{number}")).state == State::Ready;
    eventually("all good ones are ready", || (0..15).all(good)).await;
    for number in 0..15 {
        let server = format!("good{number}");
        assert!(kit.echo(&server, "hello").await.contains("hello"), "{server}");
    }
}

#[tokio::test]
async fn a_reload_touches_only_what_changed() {
    let mut kit = Kit::new();
    let mut other = kit.hostile("good");
    other["args"].as_array_mut().unwrap().push(json!("other"));
    kit.around.settings = kit.configured(json!({ "same": kit.hostile("good"), "gone": other }));
    let running = Servers::start(&kit.around);
    running.settle(Duration::from_secs(20)).await;
    let before = kit.pids();
    assert!(kit.echo("gone", "x").await.contains('x'));

    other["timeout"] = json!(7);
    let entries = json!({
        "same": kit.hostile("good"), "new": other, "off": { "command": "x", "enabled": false },
        "bad": {},
    });
    kit.around.settings = kit.configured(entries);
    let done = running.reload(&kit.around);
    assert_eq!(done.to_string(), "started: new; stopped: gone; unchanged: same; unusable: bad");
    running.settle(Duration::from_secs(20)).await;
    assert!(
        kit.echo("new", "hi").await.contains("hi") && kit.echo("same", "hi").await.contains("hi")
    );
    assert!(kit.around.registry.snapshot().get("mcp__gone__echo").is_none());
    assert!(running.reload(&kit.around).is_nothing());
    eventually("the old process is gone", || before.iter().filter(|pid| lives(**pid)).count() == 1)
        .await;
}

#[tokio::test]
async fn a_required_server_stops_the_run_and_says_which() {
    let kit = Kit::new();
    let mut entry = kit.hostile("exit");
    entry["required"] = json!(true);
    let servers = kit.start(&[("needed", entry), ("good", kit.hostile("good"))]).await;
    let missing = servers.missing().unwrap().to_string();
    assert!(missing.contains("`needed` is required"), "{missing}");
}
