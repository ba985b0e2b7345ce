//! What a container is made with, and which one a call gets.

use std::io::Write as _;

use petasos_contract::TaskId;
use petasos_contract::environment::{EnvError, Environments, Isolation};
use petasos_contract::terminal::Terminal;
use petasos_terminal::Own;
use serde_json::{Value, json};

use super::{BUSYBOX, engine};
use crate::stage::{CANARY, command};

fn inspected(engine: &super::Engine, id: &str) -> Value {
    let told = engine.ask(&["inspect", id]);
    serde_json::from_str::<Value>(&told).unwrap()[0].clone()
}

#[tokio::test]
async fn a_container_is_limited_and_stripped_of_rights() {
    let Some(engine) = engine("a_container_is_limited") else { return };
    let stage = engine.stage(&json!({
        "container_persistent": false, "container_memory": 256, "container_cpu": 0.5,
        "docker_network": false, "docker_read_only": true,
    }));
    let output = stage.output("ls /sys/class/net; touch /usr/x 2>&1 || echo fixed; id -u").await;
    assert_eq!(output.lines().next(), Some("lo"), "{output}");
    assert!(output.contains("fixed"), "{output}");
    let containers = engine.containers(&stage);
    let known = inspected(&engine, &containers[0]);
    let host = &known["HostConfig"];
    assert_eq!(host["Memory"], 256 * 1024 * 1024);
    assert_eq!(host["NanoCpus"], 500_000_000);
    assert_eq!(host["PidsLimit"], 256);
    assert_eq!(host["CapDrop"], json!(["ALL"]));
    assert_eq!(host["SecurityOpt"], json!(["no-new-privileges"]));
    assert_eq!((&host["ReadonlyRootfs"], &host["NetworkMode"]), (&json!(true), &json!("none")));
    assert!(stage.engine.close_places().await.is_empty());
    assert!(engine.containers(&stage).is_empty(), "a throw-away container is thrown away");
}

#[tokio::test]
async fn variables_are_handed_in_by_name_and_never_shown() {
    let Some(engine) = engine("variables_are_handed_in") else { return };
    let mut stage = engine.stage(&json!({
        "container_persistent": false, "docker_env": { "PLAIN": "here" },
        "docker_forward_env": ["FORWARDED", "OPENAI_API_KEY", "ABSENT"],
    }));
    stage.variable("FORWARDED", "by-name-7c1d");
    let script = "echo ${PLAIN-no} ${FORWARDED-no} ${OPENAI_API_KEY-no} ${SERVICE_TOKEN-no}";
    assert_eq!(stage.output(script).await, "here by-name-7c1d no no\n");
    let containers = engine.containers(&stage);
    let known = inspected(&engine, &containers[0]).to_string();
    assert!(!known.contains("by-name-7c1d") && !known.contains(CANARY));
    // What runs there shows no value in its arguments either.
    let seen = stage.output("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").await;
    assert!(!seen.contains("by-name-7c1d"), "{seen}");
    stage.engine.close_places().await;
}

#[tokio::test]
async fn a_kept_container_is_used_again_and_keeps_its_files() {
    let Some(engine) = engine("a_kept_container") else { return };
    let mut stage = engine.stage(&json!({ "docker_image": BUSYBOX }));
    stage.output("echo kept >/root/note; echo here >/opt-note").await;
    let first = engine.containers(&stage);
    stage.engine.close_places().await;
    stage.engine = petasos_terminal::Engine::new(None);
    assert_eq!(stage.output("cat /root/note /opt-note").await, "kept\nhere\n");
    assert_eq!(engine.containers(&stage), first);
    // A stopped one is started; with other settings it is another container, with the same home.
    engine.ask(&["stop", "-t", "0", &first[0]]);
    stage.engine = petasos_terminal::Engine::new(None);
    assert_eq!(stage.output("cat /root/note").await, "kept\n");
    stage.values["terminal"]["docker_network"] = json!(false);
    stage.engine = petasos_terminal::Engine::new(None);
    let output = stage.output("cat /root/note; ls /opt-note 2>&1 || echo new").await;
    assert!(output.starts_with("kept\n") && output.ends_with("new\n"), "{output}");
    for id in engine.containers(&stage) {
        engine.ask(&["rm", "-f", &id]);
    }
}

#[tokio::test]
async fn a_container_whose_program_died_is_cleared_away() {
    let Some(engine) = engine("a_container_whose_program_died") else { return };
    let mut stage =
        engine.stage(&json!({ "docker_image": BUSYBOX, "container_persistent": false }));
    stage.output("true").await;
    let first = engine.containers(&stage);
    // The same container, as a program that no longer lives would have left it.
    let labels = inspected(&engine, &first[0])["Config"]["Labels"].clone();
    let profile = format!("hermes-profile={}", labels["hermes-profile"].as_str().unwrap());
    let orphan = engine.ask(&[
        "run",
        "-d",
        "--label",
        "hermes-agent=1",
        "--label",
        &profile,
        "--label",
        "petasos-kind=throw-away",
        "--label",
        "petasos-owner=4194304-1",
        BUSYBOX,
        "sleep",
        "600",
    ]);
    let before = std::mem::replace(&mut stage.engine, petasos_terminal::Engine::new(None));
    stage.output("true").await;
    let left = engine.containers(&stage);
    assert!(!left.contains(&orphan), "the orphan is gone");
    assert!(left.contains(&first[0]), "one whose program lives stays");
    before.close_places().await;
    stage.engine.close_places().await;
    assert!(engine.containers(&stage).is_empty());
}

#[tokio::test]
async fn a_mounted_folder_is_shared_and_said() {
    let Some(engine) = engine("a_mounted_folder") else { return };
    let stage = engine.stage(&json!({
        "docker_image": BUSYBOX, "container_persistent": false,
        "docker_mount_cwd_to_workspace": true,
    }));
    let mut seen = std::fs::File::create(stage.path().join("seen")).unwrap();
    seen.write_all(b"from here").unwrap();
    assert_eq!(stage.output("pwd; cat seen; echo back >answer").await, "/workspace\nfrom here");
    assert_eq!(std::fs::read_to_string(stage.path().join("answer")).unwrap(), "back\n");
    let place = stage.engine.of(&stage.cx()).await.unwrap();
    assert_eq!(place.facts().isolation, Isolation::Mounted);
    stage.engine.close_places().await;
    let apart = engine.stage(&json!({ "docker_image": BUSYBOX, "container_persistent": false }));
    let place = apart.engine.of(&apart.cx()).await.unwrap();
    assert_eq!(place.facts().isolation, Isolation::Apart);
    apart.engine.close_places().await;
}

#[tokio::test]
async fn a_task_can_have_a_place_of_its_own() {
    let Some(engine) = engine("a_task_can_have") else { return };
    let mut stage =
        engine.stage(&json!({ "docker_image": BUSYBOX, "container_persistent": false }));
    stage.values["terminal"]["backend"] = json!("local");
    let task = TaskId::new("apart");
    let own = Own { backend: Some("docker".to_owned()), ..Own::default() };
    stage.engine.give_place(task.clone(), own);
    let mut cx = stage.session("own");
    assert_eq!(stage.run_in(&cx, command("true")).await.target, "local");
    cx.task = task;
    let ran = stage.run_in(&cx, command("ls -l /bin/ls")).await;
    assert!(ran.target.starts_with("docker:") && ran.output.contains("busybox"), "{ran:?}");
    stage.engine.close_places().await;
}

#[tokio::test]
async fn a_backend_that_cannot_start_never_becomes_local() {
    let Some(engine) = engine("a_backend_that_cannot_start") else { return };
    let absent = json!({ "docker_image": "petasos-no-such-image:1" });
    let mut nobody = engine.stage(&absent);
    nobody.variable("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    let mut missing = engine.stage(&json!({}));
    missing.variable("PETASOS_DOCKER_BINARY", "no-such-engine");
    for (stage, told) in [
        (&engine.stage(&absent), "terminal.docker_image"),
        (&nobody, "no container engine answers"),
        (&missing, "PETASOS_DOCKER_BINARY"),
    ] {
        let begun = std::time::Instant::now();
        let marker = stage.path().join("never");
        let script = format!("touch {}", marker.display());
        let error = stage.engine.run(command(&script), &stage.cx()).await.unwrap_err();
        assert!(matches!(error, EnvError::NotStarted { .. }), "{error:?}");
        assert!(error.to_string().contains(told), "{error}");
        assert!(!marker.exists() && begun.elapsed().as_secs() < 60);
        assert!(engine.containers(stage).is_empty());
    }
    assert!(missing.engine.usable(&missing.settings()).unwrap_err().contains("no-such-engine"));
}
