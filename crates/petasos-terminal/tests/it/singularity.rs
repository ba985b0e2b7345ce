//! Containers of a real apptainer: what is kept, what is shared, what is closed off, and what is
//! left after a fault.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use petasos_contract::environment::{EnvError, Environments, Health};
use petasos_contract::terminal::{Ended, Terminal};
use petasos_contract::wait::Owned;
use petasos_terminal::Engine;
use serde_json::{Value, json};

use crate::stage::{Stage, command, eventually, within};

/// The program and its images, as `scripts/services/apptainer.sh` tells.
pub(crate) struct Apptainer {
    program: String,
    pub(crate) image: String,
    pub(crate) busybox: String,
}

/// The program, or a word on why the test does not run.
#[expect(clippy::disallowed_methods, reason = "the service tells its places by variables")]
pub(crate) fn apptainer(test: &str) -> Option<Apptainer> {
    let told = |key: &str| {
        let own = std::env::var(format!("PETASOS_TEST_APPTAINER_{key}")).ok();
        own.or_else(|| std::env::var(key).ok()).filter(|value| !value.is_empty())
    };
    let found = told("APPTAINER").zip(told("APPTAINER_IMAGE")).zip(told("APPTAINER_BUSYBOX_IMAGE"));
    let Some(((program, image), busybox)) = found else {
        let reason = "no program: start scripts/services/apptainer.sh";
        petasos_testkit::skip(test, "apptainer", reason);
        return None;
    };
    Some(Apptainer { program, image, busybox })
}

impl Apptainer {
    /// A stage whose commands run in a container whose files are thrown away.
    pub(crate) fn stage(&self, terminal: &Value) -> Stage {
        let mut whole = json!({
            "backend": "singularity",
            "singularity_image": self.busybox,
            "container_persistent": false,
            "container_memory": 512,
        });
        for (key, value) in terminal.as_object().unwrap() {
            whole[key] = value.clone();
        }
        let mut stage = Stage::with(&whole);
        let folder = Path::new(&self.program).parent().unwrap().display();
        stage.variable("PATH", &format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
        stage
    }

    /// The names of the containers that a stage has, and their first processes.
    #[expect(clippy::disallowed_methods, reason = "what is compared with")]
    fn containers(&self, stage: &Stage) -> Vec<(String, i32)> {
        let mut command = Command::new(&self.program);
        command.args(["instance", "list", "--json"]).env("HOME", stage.home.path());
        let output = command.output().unwrap().stdout;
        let listed: Value = serde_json::from_slice(&output).unwrap();
        let one = |one: &Value| {
            let pid = i32::try_from(one["pid"].as_i64().unwrap()).unwrap();
            (one["instance"].as_str().unwrap().to_owned(), pid)
        };
        listed["instances"].as_array().into_iter().flatten().map(one).collect()
    }
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Everything below a stage's home that apptainer or we left.
fn left(stage: &Stage) -> Vec<String> {
    let look = |folder: &str| walk(&stage.home.path().join(folder));
    let mut left = look(".apptainer/instances");
    left.extend(look("petasos/sandboxes/singularity"));
    left
}

fn walk(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if path.is_dir() { walk(&path) } else { vec![path.display().to_string()] }
        })
        .collect()
}

#[tokio::test]
async fn a_thrown_away_container_leaves_nothing() {
    let Some(apptainer) = apptainer("a_thrown_away_container") else { return };
    let stage = apptainer.stage(&json!({}));
    assert_eq!(stage.output("echo $HOME; touch /root/x; echo hi").await.lines().last(), Some("hi"));
    let listed = apptainer.containers(&stage);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(stage.engine.close_places().await.is_empty());
    assert!(apptainer.containers(&stage).is_empty());
    assert_eq!(left(&stage), [""; 0]);
    // The next call begins anew.
    assert_eq!(stage.output("ls /root").await.trim(), "");
    let Stage { engine, home, workspace, values } = stage;
    drop(engine);
    let stage = Stage { engine: Engine::new(None), home, workspace, values };
    let gone = || apptainer.containers(&stage).is_empty();
    eventually("an engine that goes takes it along", gone).await;
    assert_eq!(left(&stage), [""; 0]);
}

#[tokio::test]
async fn kept_files_are_there_again_and_shared() {
    let Some(apptainer) = apptainer("kept_files_are_there_again") else { return };
    let stage = apptainer.stage(&json!({ "container_persistent": true }));
    stage.output("echo kept >/root/note").await;
    let other = Engine::new(None);
    let seen = other.run(command("cat /root/note"), &stage.cx()).await.unwrap();
    assert_eq!(seen.output.trim(), "kept");
    assert_eq!(apptainer.containers(&stage).len(), 1, "programs share one container");
    assert!(stage.engine.close_places().await.is_empty());
    assert_eq!(apptainer.containers(&stage).len(), 1, "the other one still uses it");
    let seen = other.run(command("cat /root/note"), &stage.cx()).await.unwrap();
    assert_eq!(seen.output.trim(), "kept");
    assert!(other.close_places().await.is_empty());
    assert!(apptainer.containers(&stage).is_empty());
    assert_eq!(stage.output("cat /root/note").await.trim(), "kept");
    assert!(stage.engine.close_places().await.is_empty());
}

#[tokio::test]
async fn only_named_folders_of_the_host_are_there() {
    let Some(apptainer) = apptainer("only_named_folders") else { return };
    let shared = tempfile::tempdir().unwrap();
    let mut file = fs::File::create(shared.path().join("in")).unwrap();
    file.write_all(b"from the host").unwrap();
    let here = shared.path().display();
    let binds = json!([format!("{here}:/data"), format!("{here}:/fixed:ro")]);
    let stage = apptainer.stage(&json!({ "singularity_binds": binds }));
    assert_eq!(stage.output("cat /data/in").await, "from the host");
    stage.output("echo back >/data/out").await;
    assert_eq!(fs::read_to_string(shared.path().join("out")).unwrap(), "back\n");
    let fixed = stage.run("echo x >/fixed/in").await;
    assert!(fixed.output.contains("Read-only"), "{fixed:?}");
    let home = stage.home.path().display();
    let hidden = stage.run(&format!("ls -d {home} {here}")).await;
    assert_ne!(hidden.ended, Ended::Exited(0), "{hidden:?}");
    let environment = stage.engine.of(&stage.cx()).await.unwrap();
    let Health::Ready { detail } = environment.health().await else { panic!("it is ready") };
    assert!(detail.contains("/data (writable)"), "{detail}");
    assert!(stage.engine.close_places().await.is_empty());
}

#[tokio::test]
async fn each_refusal_says_why() {
    let Some(apptainer) = apptainer("each_refusal_says_why") else { return };
    let rows = [
        (json!({ "singularity_image": "/nonexistent.sif" }), "there is no image"),
        (json!({ "singularity_image": "docker://127.0.0.1:1/x" }), "registry cannot be reached"),
        (json!({ "singularity_image": "/etc/hostname" }), "image"),
    ];
    for (terminal, part) in rows {
        let stage = apptainer.stage(&terminal);
        let error = stage.engine.run(command("true"), &stage.cx()).await.unwrap_err();
        assert!(matches!(error, EnvError::NotStarted { .. }), "{error:?}");
        assert!(error.to_string().contains(part), "{terminal}: {error}");
    }
    let mut stage = apptainer.stage(&json!({}));
    stage.variable("PATH", "/usr/bin:/bin");
    let unusable = Terminal::usable(&*stage.engine, &stage.settings()).unwrap_err();
    assert!(unusable.contains("apptainer"), "{unusable}");
}

#[tokio::test]
async fn a_killed_container_leaves_the_outcome_unknown_and_the_next_call_works() {
    let Some(apptainer) = apptainer("a_killed_container") else { return };
    let stage = apptainer.stage(&json!({}));
    stage.output("true").await;
    let [(_, pid)] = *apptainer.containers(&stage) else { panic!("there is one container") };
    let (engine, cx) = (Arc::clone(&stage.engine), stage.cx());
    let call =
        Owned::start(async move { engine.run(within(60.0, "echo on; sleep 304"), &cx).await });
    eventually("the command runs", || {
        let children = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        children.filter(|words| words.starts_with(b"sleep\x00304")).count() > 0
    })
    .await;
    kill(pid);
    let error = call.join().await.unwrap().unwrap_err();
    assert!(matches!(error, EnvError::Lost { .. }), "{error:?}");
    assert!(error.to_string().contains("unknown"), "{error}");
    assert_eq!(stage.output("echo again").await.trim(), "again");
    assert!(stage.engine.close_places().await.is_empty());
    assert_eq!(left(&stage), [""; 0]);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the crashed program is the test")]
async fn a_container_left_by_a_crash_is_stopped_by_the_next_program() {
    let Some(apptainer) = apptainer("a_container_left_by_a_crash") else { return };
    let stage = apptainer.stage(&json!({}));
    let folder = stage.home.path().join("petasos/sandboxes/singularity/petasos-t-00");
    fs::create_dir_all(&folder).unwrap();
    let mut start = Command::new(&apptainer.program);
    start.args([
        "instance",
        "start",
        "--containall",
        "--no-home",
        &apptainer.busybox,
        "petasos-t-00",
    ]);
    assert!(start.env("HOME", stage.home.path()).status().unwrap().success());
    stage.output("true").await;
    let names: Vec<String> =
        apptainer.containers(&stage).into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&"petasos-t-00".to_owned()) && names.len() == 1, "{names:?}");
    assert!(!folder.exists());
    assert!(stage.engine.close_places().await.is_empty());
    assert_eq!(left(&stage), [""; 0]);
}

#[tokio::test]
async fn a_command_killed_for_memory_says_so() {
    let Some(apptainer) = apptainer("a_command_killed_for_memory") else { return };
    let stage = apptainer.stage(&json!({ "container_memory": 64 }));
    let environment = stage.engine.of(&stage.cx()).await.unwrap();
    if let Health::Degraded { reason } = environment.health().await {
        petasos_testkit::skip("a_command_killed_for_memory", "apptainer", &reason);
        return;
    }
    let ran = stage.run("dd if=/dev/zero of=/dev/null bs=200M count=1").await;
    assert!(matches!(ran.ended, Ended::Exited(code) if code != 0), "{ran:?}");
    let ran = stage.run("sh -c 'dd if=/dev/zero of=/dev/null bs=200M count=1; exit $?'").await;
    assert!(ran.output.contains("memory limit") || ran.output.contains("memory"), "{ran:?}");
    assert!(stage.engine.close_places().await.is_empty());
}
