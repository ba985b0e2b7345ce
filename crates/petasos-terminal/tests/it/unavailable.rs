//! Places that cannot be: each says why before it is used and when it is, and nothing ever runs on
//! this machine instead.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::terminal::Terminal as _;
use serde_json::{Value, json};

use crate::stage::{Stage, command};

/// A port of this machine where nobody listens.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn with(terminal: &Value) -> Stage {
    let mut stage = Stage::with(terminal);
    stage.variable("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    stage
}

/// The settings, and a word of the reason.
fn cases() -> Vec<(Value, &'static str)> {
    let ssh = json!({ "backend": "ssh", "ssh_host": "127.0.0.1", "ssh_port": closed_port() });
    let mut cases = vec![
        (json!({ "backend": "docker" }), "docker"),
        (json!({ "backend": "modal" }), "MODAL_TOKEN_ID"),
        (json!({ "backend": "daytona" }), "DAYTONA_API_KEY"),
        (json!({ "backend": "vercel_sandbox" }), "vercel_"),
        (json!({ "backend": "no-such-place" }), "one of"),
        (json!({ "backend": "docker", "docker_volumes": ["/etc"], "container_memory": "x" }), "x"),
    ];
    if std::path::Path::new("/usr/bin/ssh").exists() {
        cases.extend([
            (ssh, "refused"),
            (json!({ "backend": "ssh" }), "ssh_host"),
            (json!({ "backend": "ssh", "ssh_host": "no-such-host.invalid" }), "resolve"),
        ]);
    }
    cases
}

#[tokio::test]
async fn what_cannot_start_says_why_in_time_and_nothing_runs_here() {
    for (terminal, word) in cases() {
        let stage = with(&terminal);
        let marker = stage.path().join("ran");
        let script = format!("touch '{}'", marker.display());
        let error = stage.engine.run(command(&script), &stage.cx()).await.unwrap_err().to_string();
        assert!(!marker.exists(), "{terminal} ran here");
        assert!(error.to_lowercase().contains(&word.to_lowercase()), "{terminal}: {error}");
    }
}

#[tokio::test]
async fn what_cannot_be_reached_is_known_before_it_is_used() {
    for (terminal, word) in cases() {
        let stage = with(&terminal);
        let begun = Instant::now();
        let why = stage.engine.reachable(&Arc::new(stage.settings())).await.unwrap_err();
        assert!(why.to_lowercase().contains(&word.to_lowercase()), "{terminal}: {why}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{terminal}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn this_machine_is_always_within_reach() {
    let stage = Stage::new();
    assert_eq!(stage.engine.reachable(&Arc::new(stage.settings())).await, Ok(()));
}
