//! Helper programs: pipes, a safe environment, and trees that end with their owner.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::environment::{Ending, EnvError, Sandbox, SandboxLevel};
use petasos_contract::path::TargetPath;
use petasos_contract::processes::{Helper, HelperSandbox, HelperSpec, Processes};
use petasos_terminal::Helpers;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::stage::{CANARY, Stage, eventually, lives, pid_in};

fn spec(stage: &Stage, argv: &[&str]) -> HelperSpec {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    HelperSpec::new("a helper", argv, &Arc::new(stage.settings()))
}

async fn start(spec: HelperSpec) -> Helper {
    Helpers::new().start(spec).await.unwrap()
}

async fn output(helper: &mut Helper) -> String {
    let mut text = String::new();
    helper.stdout.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn a_helper_reads_writes_and_ends() {
    let stage = Stage::new();
    let mut helper = start(spec(&stage, &["sh", "-c", "cat; echo problem >&2; exit 3"])).await;
    helper.stdin.write_all(b"hello").await.unwrap();
    helper.stdin = Box::new(tokio::io::sink());
    assert_eq!(output(&mut helper).await, "hello");
    let mut errors = String::new();
    helper.stderr.read_to_string(&mut errors).await.unwrap();
    assert_eq!(errors, "problem\n");
    assert_eq!(helper.hand.exited().await.unwrap(), Ending::Code(3));
}

#[tokio::test]
async fn a_helper_sees_no_secret_that_was_not_granted() {
    let stage = Stage::with(&serde_json::json!({ "env_passthrough": ["SERVICE_TOKEN"] }));
    let mut helper = start(spec(&stage, &["env"])).await;
    let seen = output(&mut helper).await;
    assert!(!seen.contains(CANARY), "{seen}");
    assert!(seen.contains("LANG=C.UTF-8") && seen.contains("PATH="), "{seen}");
    let mut granted = spec(&stage, &["env"]);
    granted.grants = vec!["SERVICE_TOKEN".to_owned(), "NOT_THERE".to_owned()];
    granted.env.insert("GIVEN".to_owned(), "by value".to_owned());
    let seen = output(&mut start(granted).await).await;
    assert!(seen.contains(&format!("SERVICE_TOKEN={CANARY}")), "{seen}");
    assert!(seen.contains("GIVEN=by value") && !seen.contains("OPENAI_API_KEY"), "{seen}");
}

#[tokio::test]
async fn a_killed_helper_leaves_nothing_even_what_escaped() {
    let stage = Stage::new();
    let script = "setsid sh -c 'echo $$ > escaped; exec sleep 60' & trap '' TERM; \
                  echo $$ > own; while :; do sleep 1; done";
    let helper = start(spec(&stage, &["sh", "-c", script])).await;
    let at = |name: &str| stage.path().join(name);
    let written = |name| std::fs::read_to_string(at(name)).is_ok_and(|text| text.ends_with('\n'));
    eventually("the start", || written("own") && written("escaped")).await;
    assert!(helper.hand.pids().len() >= 2);
    helper.hand.kill(Duration::from_millis(50)).await.unwrap();
    assert!(!lives(pid_in(&at("own"))) && !lives(pid_in(&at("escaped"))));
    assert!(helper.hand.pids().is_empty());
}

#[tokio::test]
async fn a_dropped_hand_ends_the_tree() {
    let stage = Stage::new();
    let script = "sleep 60 & echo $! > child; echo $$ > own; wait";
    let helper = start(spec(&stage, &["sh", "-c", script])).await;
    let own = stage.path().join("own");
    eventually("the start", || std::fs::read_to_string(&own).is_ok_and(|t| t.ends_with('\n')))
        .await;
    let (own, child) = (pid_in(&own), pid_in(&stage.path().join("child")));
    drop(helper);
    eventually("the end", || !lives(own) && !lives(child)).await;
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let stage = Stage::new();
    let start = |spec| async move { Helpers::new().start(spec).await.unwrap_err().to_string() };
    let missing = start(spec(&stage, &["no-such-program-here"])).await;
    assert!(missing.contains("a helper was not started"), "{missing}");
    assert!(missing.contains("`no-such-program-here` in the search path"), "{missing}");
    let mut elsewhere = spec(&stage, &["true"]);
    elsewhere.cwd = "/no/such/folder".into();
    assert!(start(elsewhere).await.contains("/no/such/folder"));
    let empty = start(spec(&stage, &[])).await;
    assert!(empty.contains("no program is named"), "{empty}");
}

#[tokio::test]
async fn a_confined_helper_cannot_write_elsewhere() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home.path().join("tmp")).unwrap();
    let elsewhere = stage.home.path().join("elsewhere");
    let script = format!("echo x > inside; echo x > {}", elsewhere.display());
    let mut confined = spec(&stage, &["sh", "-c", &script]);
    confined.sandbox = HelperSandbox::Given(Sandbox {
        level: SandboxLevel::Workspace,
        network: true,
        writable: vec![TargetPath::new(stage.path())],
        ..Sandbox::default()
    });
    let helper = match Helpers::new().start(confined).await {
        Ok(helper) => helper,
        Err(EnvError::Sandbox { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    helper.hand.exited().await.unwrap();
    if !helper.hand.confinement().starts_with("off") {
        assert!(stage.path().join("inside").exists() && !elsewhere.exists());
    }
}

/// Runs as a process of its own and is killed.
#[tokio::test]
#[ignore = "helper process: started and killed by the test below"]
async fn an_owner_that_is_about_to_die() {
    let stage = Stage::new();
    let here = std::env::current_dir().unwrap();
    let script = format!(
        "setsid sh -c 'echo $$ > {0}/escaped; exec sleep 60' & echo $$ > {0}/own; sleep 60",
        here.display()
    );
    let helper = start(spec(&stage, &["sh", "-c", &script])).await;
    helper.hand.exited().await.unwrap();
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a second program is what this test is about")]
async fn a_killed_owner_takes_its_helpers_along() {
    let folder = tempfile::tempdir().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "processes::an_owner_that_is_about_to_die"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let at = |name: &str| folder.path().join(name);
    let written = |name| std::fs::read_to_string(at(name)).is_ok_and(|text| text.ends_with('\n'));
    eventually("the start", || written("own") && written("escaped")).await;
    let (own, escaped) = (pid_in(&at("own")), pid_in(&at("escaped")));
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("the end", || !lives(own) && !lives(escaped)).await;
}
