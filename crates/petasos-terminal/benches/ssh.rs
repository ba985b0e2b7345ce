//! What a call over ssh costs beside `ssh` on a shared connection, in one run on one machine.
//!
//! Needs `scripts/services/sshd.sh start` and its `SSH_CONFIG`; says so when that is missing.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made fails")]
#![expect(clippy::print_stdout, reason = "the numbers are the result")]
#![expect(clippy::disallowed_methods, reason = "the bare ssh is what is compared with")]

use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::settings::Parts;
use petasos_contract::terminal::{Command, Ended, OnTimeout, Terminal};
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, SessionId, Settings};
use petasos_terminal::Engine;
use serde_json::json;

const ROUNDS: usize = 60;

fn main() {
    let Ok(config) = std::env::var("SSH_CONFIG") else {
        println!("nothing measured: SSH_CONFIG is not set (scripts/services/sshd.sh start)");
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async { Owned::start(measure(config)).join().await.unwrap() });
}

async fn measure(config: String) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("bare");
    let bare = |words: &[&str]| bare(&config, &socket, words);
    assert!(bare(&["-f", "-N", "-M", "-o", "ControlPersist=60", "petasos-test"]));
    let engine = Engine::new(None);
    let cx = context(folder.path(), &config);
    let begun = Instant::now();
    engine.run(command("true"), &cx).await.unwrap();
    println!("first call, connection included: {:?}", begun.elapsed());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // Alternating, so that what else the machine does falls on both alike.
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        assert!(bare(&["petasos-test", "true"]));
        theirs.push(begun.elapsed());
        let begun = Instant::now();
        let ran = engine.run(command("true"), &cx).await.unwrap();
        ours.push(begun.elapsed());
        assert_eq!(ran.ended, Ended::Exited(0));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("call over ssh: {ours:?}; multiplexed ssh directly: {theirs:?}; ratio {ratio:.2}");
    assert!(bare(&["-O", "exit", "petasos-test"]));
    assert!(engine.close_places().await.is_empty());
}

fn bare(config: &str, socket: &Path, words: &[&str]) -> bool {
    let mut ssh = Program::new("ssh");
    ssh.args(["-F", config, "-S"]).arg(socket).args(words);
    ssh.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ssh.status().unwrap().success()
}

fn context(folder: &Path, config: &str) -> CallContext {
    let terminal = json!({ "backend": "ssh", "ssh_host": "petasos-test", "ssh_config": config });
    let settings = Settings::new(Parts {
        home: folder.join("home"),
        user_home: folder.to_owned(),
        workspace: folder.to_owned(),
        temp: folder.join("tmp"),
        values: json!({ "terminal": terminal }).as_object().cloned().unwrap(),
        ..Parts::default()
    });
    CallContext::new(Arc::new(settings), Surface::Cli, SessionId::new("bench"))
}

fn command(script: &str) -> Command {
    Command {
        script: script.to_owned(),
        workdir: None,
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
