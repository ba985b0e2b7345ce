//! The ssh place against real servers: who is let in, what is said when not, and what a broken
//! connection means.

mod faults;
mod network;
pub(crate) mod server;

use std::fs;
use std::time::{Duration, Instant};

use petasos_contract::environment::{EnvError, Environments, Health};
use petasos_contract::terminal::{Ended, Terminal};
use serde_json::json;

use crate::stage::{Stage, command};
use server::{Machine, Server, server};

/// Why nothing could be run.
async fn refused(stage: &Stage) -> String {
    let begun = Instant::now();
    let error = stage.engine.run(command("touch /tmp/never"), &stage.cx()).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    assert!(matches!(error, EnvError::NotStarted { .. }), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn a_command_runs_there_and_keeps_its_session() {
    let Some(server) = server("a_command_runs_there", Machine::Whole) else { return };
    let stage = server.stage();
    assert_eq!(stage.output("export A=1; cd /usr; echo hello").await.trim(), "hello");
    assert_eq!(stage.output("echo $A $PWD").await.trim(), "1 /usr");
    let ran = stage.run("exit 255").await;
    assert_eq!((ran.ended, ran.target.as_str()), (Ended::Exited(255), "ssh:box"));
}

#[tokio::test]
async fn each_refusal_says_why() {
    let Some(mut server) = server("each_refusal_says_why", Machine::Whole) else { return };
    let with = |server: &Server, line: &str, key: &str| Stage::with(&server.reached(line, key));
    let stranger = refused(&with(&server, "", "stranger")).await;
    assert!(stranger.contains("authentication failed"), "{stranger}");
    server::write(&server.path("known_hosts"), "");
    let unknown = refused(&with(&server, "StrictHostKeyChecking yes", "client")).await;
    assert!(unknown.contains("host key is unknown"), "{unknown}");
    server.knows("other-host");
    for line in ["", "StrictHostKeyChecking no", "StrictHostKeyChecking yes"] {
        let changed = refused(&with(&server, line, "client")).await;
        assert!(changed.contains("host key has changed"), "{line}: {changed}");
    }
    server.knows("host");
    let terminal = server.terminal();
    server.down();
    let down = refused(&Stage::with(&terminal)).await;
    assert!(down.contains("connection was refused"), "{down}");
    let nobody = json!({ "backend": "ssh", "ssh_host": "no-such-host.invalid" });
    let nobody = refused(&Stage::with(&nobody)).await;
    assert!(nobody.contains("cannot be resolved"), "{nobody}");
}

#[tokio::test]
async fn a_new_key_is_remembered_and_said() {
    let Some(server) = server("a_new_key_is_remembered", Machine::Whole) else { return };
    server::write(&server.path("known_hosts"), "");
    let stage = Stage::with(&server.reached("", "client"));
    assert_eq!(stage.output("echo in").await.trim(), "in");
    let known = fs::read_to_string(server.path("known_hosts")).unwrap();
    assert!(known.contains("ssh-ed25519"), "{known}");
    let environment = stage.engine.of(&stage.cx()).await.unwrap();
    let Health::Ready { detail } = environment.health().await else { panic!("it is ready") };
    assert!(detail.contains("Permanently added"), "{detail}");
}

#[tokio::test]
async fn a_configuration_that_forgets_keys_does_not_turn_the_check_off() {
    let Some(mut server) = server("a_configuration_that_forgets_keys", Machine::Whole) else {
        return;
    };
    let mut terminal = server.reached("StrictHostKeyChecking no", "client");
    let config = fs::read_to_string(server.path("ssh_config")).unwrap();
    let own = server.path("known_hosts").display().to_string();
    server::write(&server.path("forgetful"), &config.replace(&own, "/dev/null"));
    terminal["ssh_config"] = json!(server.path("forgetful"));
    let stage = Stage::with(&terminal);
    stage.output("true").await;
    let environment = stage.engine.of(&stage.cx()).await.unwrap();
    let health = environment.health().await;
    assert!(matches!(health, Health::Degraded { .. }), "{health:?}");
    // The same home, the same host, another key.
    server.down();
    server.configure("other-host", 10);
    server.up();
    let again = Stage { engine: petasos_terminal::Engine::new(None), ..stage };
    let changed = refused(&again).await;
    assert!(changed.contains("host key has changed"), "{changed}");
}

#[tokio::test]
async fn a_jump_host_of_the_configuration_is_used() {
    let Some(server) = server("a_jump_host", Machine::Whole) else { return };
    let terminal = server.terminal();
    let config = fs::read_to_string(server.path("ssh_config")).unwrap();
    let jumped =
        config.replace("Host box", "Host far").replace("  HostName", "  ProxyJump box\n  HostName");
    server::write(&server.path("ssh_config"), &format!("{config}{jumped}"));
    let mut terminal = terminal;
    terminal["ssh_host"] = json!("far");
    let stage = Stage::with(&terminal);
    assert_eq!(
        stage.output("echo $SSH_CONNECTION | cut -d' ' -f4").await.trim(),
        server.port.to_string()
    );
}

#[tokio::test]
async fn an_agent_may_hold_the_key() {
    let Some(server) = server("an_agent_may_hold_the_key", Machine::Whole) else { return };
    let terminal = server.terminal();
    let config = fs::read_to_string(server.path("ssh_config")).unwrap();
    let mut keyless: Vec<&str> = config.lines().filter(|line| !line.contains("Identit")).collect();
    keyless.push("  IdentityFile none\n");
    server::write(&server.path("ssh_config"), &keyless.join("\n"));
    let mut stage = Stage::with(&terminal);
    let agent = agent(&server);
    stage.variable("SSH_AUTH_SOCK", &agent.socket);
    assert_eq!(stage.output("echo in").await.trim(), "in");
    drop(agent);
}

struct Agent {
    process: std::process::Child,
    socket: String,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "the agent is the test's own")]
fn agent(server: &Server) -> Agent {
    use std::process::Command;
    let socket = server.path("agent").display().to_string();
    let process = Command::new("ssh-agent")
        .args(["-D", "-a", &socket])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let agent = Agent { process, socket };
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let mut add = Command::new("ssh-add");
        let added = add
            .arg("-q")
            .arg(server.path("client"))
            .env("SSH_AUTH_SOCK", &agent.socket)
            .stderr(std::process::Stdio::null())
            .status();
        if added.unwrap().success() {
            return agent;
        }
        assert!(Instant::now() < until, "the agent does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn machines_without_bash_work() {
    for machine in [Machine::Dash, Machine::Busybox] {
        let Some(server) = server("machines_without_bash_work", machine) else { return };
        let stage = server.stage();
        let said = stage.output("export A='x y'; cd /usr; command -v bash; echo hello").await;
        assert_eq!(said.trim(), "hello", "{machine:?}");
        assert_eq!(stage.output("echo \"$A\" $PWD").await.trim(), "x y /usr", "{machine:?}");
    }
}

#[tokio::test]
async fn a_server_that_allows_few_sessions_gets_more_connections() {
    let Some(mut server) = server("a_server_that_allows_few_sessions", Machine::Whole) else {
        return;
    };
    server.down();
    server.configure("host", 4);
    server.up();
    let stage = server.stage();
    stage.output("true").await;
    let calls = (0..7).map(|_| stage.run("sleep 0.3; echo done"));
    let mut calls: Vec<_> = calls.map(Box::pin).collect();
    let begun = Instant::now();
    let ran = join(&mut calls).await;
    assert!(ran.iter().all(|ran| ran.output.trim() == "done"), "{ran:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

async fn join<F: Future + Unpin>(futures: &mut [F]) -> Vec<F::Output> {
    let mut done: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, slot) in futures.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(output) = std::pin::Pin::new(future).poll(cx)
            {
                *slot = Some(output);
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
