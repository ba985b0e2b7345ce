//! Containers and engines that fail: said in time, nothing run twice, nothing left behind.

use std::time::{Duration, Instant};

use petasos_contract::environment::EnvError;
use petasos_contract::terminal::{Ended, Terminal};
use petasos_contract::wait::Owned;
use serde_json::json;

use super::{BUSYBOX, engine};
use crate::stage::{Stage, command};

/// Runs a command that says when it began, does `harm` then, and gives what the call said.
async fn harmed(stage: &Stage, script: &str, harm: impl FnOnce()) -> Result<Ended, EnvError> {
    let runner = std::sync::Arc::clone(&stage.engine);
    let (cx, script) = (stage.session("victim"), format!("echo x >>/workspace/ran; {script}"));
    let task = Owned::start(async move { runner.run(command(&script), &cx).await });
    let begun = Instant::now();
    while stage.run("test -s /workspace/ran").await.ended != Ended::Exited(0) {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
    harm();
    let harmed = Instant::now();
    let ended = task.join().await.unwrap().map(|ran| ran.ended);
    assert!(harmed.elapsed() < Duration::from_secs(20), "it took {:?}", harmed.elapsed());
    ended
}

#[tokio::test]
async fn a_killed_container_is_an_unknown_outcome_and_the_next_call_works() {
    let Some(engine) = engine("a_killed_container") else { return };
    for harm in ["kill", "rm"] {
        let stage = engine.stage(&json!({ "docker_image": BUSYBOX }));
        stage.output("true").await;
        let id = engine.containers(&stage)[0].clone();
        let ended = harmed(&stage, "sleep 60", || {
            let words: &[&str] = if harm == "rm" { &["rm", "-f", &id] } else { &["kill", &id] };
            engine.ask(words);
        })
        .await;
        let error = ended.unwrap_err();
        assert!(matches!(error, EnvError::Lost { .. }), "{error:?}");
        assert!(error.to_string().contains("outcome is unknown"), "{error}");
        // The folder outlives the container: the command ran once, and the next one runs.
        assert_eq!(stage.output("cat /workspace/ran").await, "x\n", "{harm}");
        for id in engine.containers(&stage) {
            engine.ask(&["rm", "-f", &id]);
        }
    }
}

#[tokio::test]
async fn a_command_that_needs_too_much_memory_is_told_so() {
    let Some(engine) = engine("too_much_memory") else { return };
    let stage = engine.stage(&json!({ "container_persistent": false, "container_memory": 64 }));
    let ran = stage.run("python3 -c \"x = bytearray(512 * 1024 * 1024); print(len(x))\"").await;
    assert_eq!(ran.ended, Ended::Exited(137), "{}", ran.output);
    assert!(ran.output.contains("memory limit of 64 MB"), "{}", ran.output);
    let ran = stage.run("sh -c 'kill -9 $$'").await;
    assert!(!ran.output.contains("memory"), "another kill is not blamed on memory: {}", ran.output);
    stage.engine.close_places().await;
}

#[tokio::test]
async fn a_full_disk_is_said_and_commands_go_on() {
    use petasos_contract::environment::{Environments, WriteMode};
    use petasos_contract::path::TargetPath;
    let Some(engine) = engine("a_full_disk") else { return };
    let stage = engine.stage(&json!({
        "container_persistent": false,
        "docker_extra_args": ["--tmpfs=/small:rw,size=1m"],
    }));
    let ran = stage.run("echo old >/small/file; head -c 3000000 /dev/zero >/small/fill").await;
    assert!(ran.output.contains("No space left"), "{}", ran.output);
    let place = stage.engine.of(&stage.cx()).await.unwrap();
    let path = TargetPath::new("/small/file");
    let error =
        place.files().write(&path, &vec![7; 100_000], WriteMode::Replace).await.unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert_eq!(place.files().read(&path, 0, 10).await.unwrap(), b"old\n");
    assert_eq!(stage.output("ls -A /small").await, "file\nfill\n");
    // Even with nowhere to keep a temporary file a command runs and keeps its session.
    stage.run("head -c 600000000 /dev/zero >/tmp/fill").await;
    assert_eq!(stage.output("cd /usr 2>/dev/null || cd /bin; echo on").await, "on\n");
    stage.engine.close_places().await;
}

/// An engine that vanishes in the middle: a command line that loses its engine on order.
#[tokio::test]
async fn an_engine_that_stops_in_the_middle_is_an_unknown_outcome() {
    let Some(engine) = engine("an_engine_that_stops") else { return };
    let mut stage = engine.stage(&json!({ "docker_image": BUSYBOX }));
    let relay = Relay::before(&engine.host);
    stage.variable("DOCKER_HOST", &relay.host());
    stage.output("true").await;
    let ended = harmed(&stage, "sleep 60", || relay.cut()).await;
    let error = ended.unwrap_err();
    assert!(matches!(error, EnvError::Lost { .. }), "{error:?}");
    assert!(error.to_string().contains("outcome is unknown"), "{error}");
    let error = stage.engine.run(command("true"), &stage.cx()).await.unwrap_err();
    assert!(error.to_string().contains("no container engine answers"), "{error}");
    relay.mend();
    assert_eq!(stage.output("cat /workspace/ran").await, "x\n");
    for id in engine.containers(&stage) {
        engine.ask(&["rm", "-f", &id]);
    }
}

/// A socket in front of the engine's, which can be cut.
struct Relay {
    folder: tempfile::TempDir,
    is_cut: std::sync::Arc<std::sync::atomic::AtomicBool>,
    ends: std::sync::Arc<std::sync::Mutex<Vec<std::os::unix::net::UnixStream>>>,
}

impl Relay {
    fn before(host: &str) -> Self {
        use std::os::unix::net::{UnixListener, UnixStream};
        let folder = tempfile::TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join("sock")).unwrap();
        let is_cut = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let ends = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let (cut, all, far) = (is_cut.clone(), ends.clone(), host.replace("unix://", ""));
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let Ok(near) = near else { return };
                if cut.load(std::sync::atomic::Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = UnixStream::connect(&far) else { continue };
                for stream in [&near, &far] {
                    all.lock().unwrap().push(stream.try_clone().unwrap());
                }
                for (mut from, mut to) in
                    [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
                {
                    std::thread::spawn(move || {
                        let copied = std::io::copy(&mut from, &mut to);
                        drop(copied);
                        drop(to.shutdown(std::net::Shutdown::Write));
                    });
                }
            }
        });
        Self { folder, is_cut, ends }
    }

    fn host(&self) -> String {
        format!("unix://{}", self.folder.path().join("sock").display())
    }

    fn cut(&self) {
        self.is_cut.store(true, std::sync::atomic::Ordering::SeqCst);
        for stream in self.ends.lock().unwrap().drain(..) {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
        std::fs::rename(self.folder.path().join("sock"), self.folder.path().join("gone")).unwrap();
    }

    fn mend(&self) {
        self.is_cut.store(false, std::sync::atomic::Ordering::SeqCst);
        std::fs::rename(self.folder.path().join("gone"), self.folder.path().join("sock")).unwrap();
    }
}
