//! The way between: a proxy that misbehaves, and a network that is cut and comes back.
#![expect(clippy::disallowed_methods, reason = "the proxy and the network are the test's tools")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use petasos_contract::environment::EnvError;
use petasos_contract::terminal::Terminal;
use petasos_contract::wait::Owned;
use serde_json::json;

use super::server::{Machine, Server, server};
use crate::stage::{Stage, command, within};

/// The misbehaving proxy of the services, in front of one server.
struct Proxy {
    process: Child,
    port: u16,
    control: u16,
}

impl Proxy {
    fn start(server: &Server) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = program.join("../../scripts/services/fault/proxy.py");
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, control] = free.map(|listener| listener.local_addr().unwrap().port());
        let mut command = Command::new("python3");
        command.arg(program).args(["--listen", &port.to_string()]);
        command.args(["--to", &format!("127.0.0.1:{}", server.port)]);
        command.args(["--control", &control.to_string()]).stdout(Stdio::null());
        let proxy = Self { process: command.spawn().unwrap(), port, control };
        let until = Instant::now() + Duration::from_secs(20);
        for port in [control, port] {
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                assert!(Instant::now() < until, "the proxy does not answer");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        proxy
    }

    fn set(&self, faults: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.control)).unwrap();
        write!(stream, "GET /?{faults} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("200"), "{answer}");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test]
async fn whatever_the_way_does_the_outcome_is_told_and_the_next_call_works() {
    let Some(server) = server("whatever_the_way_does", Machine::Whole) else { return };
    let proxy = Proxy::start(&server);
    let mut terminal = server.reached("StrictHostKeyChecking no", "client");
    terminal["ssh_port"] = json!(proxy.port);
    let stage = Stage::with(&terminal);
    stage.output("true").await;
    for fault in ["reset=now", "corrupt=0.05", "close_after=3000"] {
        let (engine, cx) = (stage.engine.clone(), stage.cx());
        let (begun, script) = (server.path("begun"), server.path("begun"));
        let script = format!("echo x >>{}; sleep 1; seq 2000; sleep 60", script.display());
        let call = Owned::start(async move { engine.run(within(90.0, &script), &cx).await });
        crate::stage::eventually("the command begins", || begun.exists()).await;
        let at = Instant::now();
        proxy.set(fault);
        let error = call.join().await.unwrap().unwrap_err();
        assert!(matches!(error, EnvError::Lost { .. }), "{fault}: {error:?}");
        assert!(at.elapsed() < Duration::from_secs(40), "{fault}: {:?}", at.elapsed());
        proxy.set("clear=1");
        assert_eq!(stage.output("echo back").await.trim(), "back", "{fault}");
        assert_eq!(std::fs::read_to_string(&begun).unwrap(), "x\n", "{fault}: run once");
        std::fs::remove_file(&begun).unwrap();
    }
    proxy.set("refuse=1&reset=now");
    let refused = stage.engine.run(command("true"), &stage.cx()).await.unwrap_err();
    // A shell that waited ahead may have had its orders before the way was gone.
    let is_told = matches!(refused, EnvError::NotStarted { .. } | EnvError::Lost { .. });
    assert!(is_told, "{refused:?}");
    proxy.set("clear=1");
    proxy.set("latency=0.05&slice=100");
    assert_eq!(stage.output("seq 500 | tail -n 1").await.trim(), "500");
}

/// What `scripts/test` tells about the server behind a network of its own.
fn told(key: &str) -> Option<String> {
    std::env::var(format!("PETASOS_TEST_SSHD_{key}")).ok()
}

fn network(word: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services/sshd.sh");
    let done = Command::new(script).arg(word).stdout(Stdio::null()).status();
    assert!(done.unwrap().success(), "sshd.sh {word}");
}

/// Mends the network however the test ends.
struct Mended;

impl Drop for Mended {
    fn drop(&mut self) {
        network("heal");
    }
}

#[tokio::test]
async fn a_network_that_is_cut_and_comes_back_is_survived() {
    let test = "a_network_that_is_cut";
    let (Some(config), Some("netns")) = (told("SSH_CONFIG"), told("SSH_MODE").as_deref()) else {
        petasos_testkit::skip(test, "sshd", "the server has no network of its own");
        return;
    };
    let terminal = json!({ "backend": "ssh", "ssh_host": "petasos-test", "ssh_config": config });
    let stage = Stage::with(&terminal);
    stage.output("true").await;
    let pid = stage.path().join("pid");
    let script = format!("echo $$ >{0}.new; mv {0}.new {0}; sleep 303", pid.display());
    let (engine, cx) = (stage.engine.clone(), stage.cx());
    let call = Owned::start(async move { engine.run(within(90.0, &script), &cx).await });
    crate::stage::eventually("the command begins", || pid.exists()).await;
    let mended = Mended;
    let at = Instant::now();
    network("cut");
    let error = call.join().await.unwrap().unwrap_err();
    assert!(matches!(error, EnvError::Lost { .. }), "{error:?}");
    assert!(at.elapsed() < Duration::from_secs(45), "{:?}", at.elapsed());
    let at = Instant::now();
    let during = stage.engine.run(command("true"), &stage.cx()).await.unwrap_err();
    assert!(matches!(during, EnvError::NotStarted { .. }), "{during:?}");
    assert!(at.elapsed() < Duration::from_secs(20), "{:?}", at.elapsed());
    drop(mended);
    assert_eq!(stage.output("echo back").await.trim(), "back");
    // The other side has not noticed the cut; what ran there is ended by its number.
    let left = crate::stage::pid_in(&pid);
    stage.run(&format!("kill -9 {left}")).await;
}
