//! What a command in a reused place costs beside the bare tool that carries it, in one run:
//! `docker exec` in the same container, `ssh` over its own multiplexed connection.
//!
//! `DOCKER_HOST` names an engine with the image `petasos-test:latest`; `SSH_CONFIG` and
//! `SSH_HOST` name a server, as `scripts/services/sshd.sh start` prints them. What is not there
//! is left out and said.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made fails")]
#![expect(clippy::print_stdout, reason = "the numbers are the result")]
#![expect(clippy::disallowed_methods, reason = "it starts what it compares with")]

use std::process::{Command as Direct, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::environment::Environments;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::terminal::{Command, Ended, OnTimeout, Terminal};
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, Secret, SessionId, Settings};
use petasos_terminal::Engine;
use serde_json::{Value, json};

const ROUNDS: usize = 40;
const BLOCKS: usize = 5;
const BLOCK: u32 = 20;
const PAUSE: Duration = Duration::from_millis(300);
const SCRIPT: &str = "echo hello";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async { Owned::start(measure()).join().await.unwrap() });
}

async fn measure() {
    let told = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match told("DOCKER_HOST") {
        Some(host) => docker(&host).await,
        None => println!("docker: no DOCKER_HOST, not measured"),
    }
    match (told("SSH_CONFIG"), told("SSH_HOST")) {
        (Some(config), Some(host)) => ssh(&config, &host).await,
        _ => println!("ssh: no SSH_CONFIG and SSH_HOST, not measured"),
    }
}

fn context(folder: &std::path::Path, terminal: &Value, variables: &[(&str, &str)]) -> CallContext {
    let variables = variables.iter().map(|(name, value)| {
        let source = Source::Environment { variable: (*name).to_owned() };
        ((*name).to_owned(), Variable { value: Secret::new(*value), source })
    });
    let settings = Settings::new(Parts {
        home: folder.join("home"),
        user_home: folder.to_owned(),
        workspace: folder.to_owned(),
        temp: folder.join("tmp"),
        values: json!({ "terminal": terminal }).as_object().cloned().unwrap(),
        variables: variables.collect(),
        ..Parts::default()
    });
    CallContext::new(Arc::new(settings), Surface::Cli, SessionId::new("bench"))
}

fn command() -> Command {
    Command {
        script: SCRIPT.to_owned(),
        workdir: None,
        at: None,
        directory: None,
        timeout: Some(Duration::from_mins(1)),
        pty: false,
        on_timeout: OnTimeout::Kill,
        unconfined: false,
        stdin: None,
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap()
}

fn direct(words: &[String]) -> Duration {
    let begun = Instant::now();
    let (program, rest) = words.split_first().unwrap();
    let output = Direct::new(program).args(rest).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.stdout, b"hello\n", "{}", String::from_utf8_lossy(&output.stderr));
    begun.elapsed()
}

async fn ours(engine: &Engine, cx: &CallContext) -> Duration {
    let begun = Instant::now();
    let ran = engine.run(command(), cx).await.unwrap();
    let took = begun.elapsed();
    assert_eq!((ran.output.as_str(), ran.ended), ("hello\n", Ended::Exited(0)));
    took
}

/// With a pause before each, as between the calls of a model; and one right after another, where
/// what is prepared for the next call is paid by this one.
async fn compare(name: &str, engine: &Engine, cx: &CallContext, words: &[String]) {
    ours(engine, cx).await;
    direct(words);
    let (mut calls, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        tokio::time::sleep(PAUSE).await;
        bare.push(direct(words));
        tokio::time::sleep(PAUSE).await;
        calls.push(ours(engine, cx).await);
    }
    tell(name, "after a pause", median(calls), median(bare));
    let (mut calls, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS {
        tokio::time::sleep(PAUSE).await;
        let begun = Instant::now();
        for _ in 0..BLOCK {
            direct(words);
        }
        bare.push(begun.elapsed() / BLOCK);
        tokio::time::sleep(PAUSE).await;
        let begun = Instant::now();
        for _ in 0..BLOCK {
            ours(engine, cx).await;
        }
        calls.push(begun.elapsed() / BLOCK);
    }
    tell(name, "one after another", median(calls), median(bare));
}

fn tell(name: &str, how: &str, ours: Duration, theirs: Duration) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{name}, {how}: a call {ours:.1?}; the bare tool {theirs:.1?}; ratio {ratio:.2}");
}

async fn docker(host: &str) {
    let folder = tempfile::tempdir().unwrap();
    let terminal = json!({
        "backend": "docker", "docker_image": "petasos-test:latest", "container_persistent": false,
    });
    let variables = [("DOCKER_HOST", host), ("PATH", "/usr/local/bin:/usr/bin:/bin")];
    let cx = context(folder.path(), &terminal, &variables);
    let engine = Engine::new(None);
    let place = engine.of(&cx).await.unwrap();
    let container = place.facts().target.replace("docker:", "");
    let words = ["docker", "-H", host, "exec", &container, "bash", "-c", SCRIPT];
    compare("docker", &engine, &cx, &words.map(str::to_owned)).await;
    engine.close_places().await;
}

async fn ssh(config: &str, host: &str) {
    let folder = tempfile::tempdir().unwrap();
    let key = std::env::var("SSH_KEY").unwrap_or_default();
    let terminal =
        json!({ "backend": "ssh", "ssh_host": host, "ssh_config": config, "ssh_key": key });
    let cx = context(folder.path(), &terminal, &[("PATH", "/usr/local/bin:/usr/bin:/bin")]);
    let engine = Engine::new(None);
    engine.of(&cx).await.unwrap();
    let socket = folder.path().join("direct");
    let path = format!("ControlPath={}", socket.display());
    let shared = ["-F", config, "-i", &key, "-o", &path];
    // The shared connection must not hold the pipes of the first command.
    let quiet = Direct::new("ssh")
        .args(shared)
        .args(["-M", "-N", "-f", host])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(quiet.unwrap().success());
    let mut words = vec!["ssh".to_owned()];
    words.extend(shared.map(str::to_owned));
    words.extend([host.to_owned(), format!("bash -c '{SCRIPT}'")]);
    compare("ssh", &engine, &cx, &words).await;
    engine.close_places().await;
    let left = Direct::new("ssh").args(["-F", config, "-o", &path, "-O", "exit", host]).output();
    drop(left);
}
