//! What breaks on the way or over there: an unknown outcome is told, nothing is run twice,
//! nothing is left, and the next call works.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use petasos_contract::environment::{EnvError, Environments, WriteMode};
use petasos_contract::jobs::{Jobs, Notify};
use petasos_contract::path::TargetPath;
use petasos_contract::terminal::{Ended, Terminal};
use petasos_contract::wait::Owned;

use super::server::{Machine, Server, server};
use crate::stage::{Stage, command, eventually, lives, pid_in, within};

/// Starts a command that notes each of its beginnings and its number, and waits until it runs.
async fn long_command(stage: &Stage, folder: &Path) -> (Owned<Result<String, EnvError>>, u32) {
    let (begun, pid) = (folder.join("begun"), folder.join("pid"));
    let script = format!(
        "echo x >>{}; echo $$ >{}.new; mv {}.new {}; sleep 300",
        begun.display(),
        pid.display(),
        pid.display(),
        pid.display()
    );
    let (engine, cx) = (stage.engine.clone(), stage.cx());
    let call = Owned::start(async move {
        engine.run(within(120.0, &script), &cx).await.map(|ran| format!("{ran:?}"))
    });
    eventually("the command begins", || pid.exists()).await;
    (call, pid_in(&pid))
}

/// The folders of control sockets that a stage has.
fn sockets(stage: &Stage) -> Vec<PathBuf> {
    let temp = stage.home.path().join("tmp");
    let entries = fs::read_dir(temp).unwrap().map(|entry| entry.unwrap().path());
    let ours = |path: &PathBuf| path.to_string_lossy().contains("petasos-ssh-");
    entries.filter(ours).collect()
}

/// Cuts the connections and waits until this side has noticed: a command in between would have an
/// unknown outcome.
async fn cut(server: &Server, stage: &Stage) {
    server.cut_connections();
    let noticed = |folder: &PathBuf| fs::read_dir(folder).unwrap().next().is_none();
    eventually("this side notices", || sockets(stage).iter().all(noticed)).await;
}

fn outcome_is_unknown(result: Option<Result<String, EnvError>>) {
    let error = result.unwrap().unwrap_err();
    assert!(matches!(error, EnvError::Lost { .. }), "{error:?}");
    assert!(error.to_string().contains("unknown"), "{error}");
}

#[tokio::test]
async fn a_server_stopped_during_a_command_leaves_its_outcome_unknown() {
    let Some(mut server) = server("a_server_stopped_during_a_command", Machine::Whole) else {
        return;
    };
    let stage = server.stage();
    let (call, pid) = long_command(&stage, server.folder.path()).await;
    let begun = Instant::now();
    server.down();
    outcome_is_unknown(call.join().await);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    // Nobody is left to tell it to end, so it notices by itself.
    eventually("the command ends with its connection", || !lives(pid)).await;
    let while_down = stage.engine.run(command("true"), &stage.cx()).await.unwrap_err();
    assert!(while_down.to_string().contains("refused"), "{while_down}");
    server.up();
    assert_eq!(stage.output("echo back").await.trim(), "back");
    assert_eq!(fs::read_to_string(server.path("begun")).unwrap(), "x\n");
}

#[tokio::test]
async fn a_cut_connection_is_replaced_by_the_next_call() {
    let Some(server) = server("a_cut_connection_is_replaced", Machine::Whole) else { return };
    let stage = server.stage();
    stage.output("export KEPT=yes").await;
    for _ in 0..3 {
        cut(&server, &stage).await;
        assert_eq!(stage.output("echo $KEPT").await.trim(), "yes");
    }
}

#[tokio::test]
async fn a_job_outlives_its_connection_and_is_really_killed() {
    let Some(server) = server("a_job_outlives_its_connection", Machine::Whole) else { return };
    let stage = server.stage();
    let (own, child) = (server.path("own"), server.path("child"));
    let script =
        format!("sleep 301 & echo $! >{}; echo $$ >{}; wait", child.display(), own.display());
    let cx = stage.cx();
    let started = stage.engine.start(command(&script), Notify::Silent, &cx).await.unwrap();
    let whole = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'));
    eventually("the job begins", || whole(&own) && whole(&child)).await;
    let pids = [pid_in(&own), pid_in(&child)];
    cut(&server, &stage).await;
    stage.output("true").await;
    assert!(pids.iter().all(|pid| lives(*pid)), "a job must not end with a connection");
    stage.engine.jobs().kill(&started.job, &cx).await.unwrap();
    assert!(!pids.iter().any(|pid| lives(*pid)), "the whole group is gone");
}

#[tokio::test]
async fn a_timeout_ends_the_group_there() {
    let Some(server) = server("a_timeout_ends_the_group_there", Machine::Whole) else { return };
    let stage = server.stage();
    stage.output("true").await;
    let child = server.path("child");
    let script = format!("sleep 302 & echo $! >{}; wait", child.display());
    let ran = stage.run_in(&stage.cx(), within(4.0, &script)).await;
    assert!(matches!(ran.ended, Ended::TimedOut(_)), "{ran:?}");
    assert!(!lives(pid_in(&child)));
}

#[tokio::test]
async fn a_full_disk_there_is_named_and_breaks_nothing_else() {
    let Some(server) = server("a_full_disk_there", Machine::Full) else { return };
    let stage = server.stage();
    let environment = stage.engine.of(&stage.cx()).await.unwrap();
    let file = TargetPath::new("/mnt/big");
    let content = vec![b'x'; 1 << 20];
    let files = environment.files();
    let error = files.write(&file, &content, WriteMode::Replace).await.unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    let left = files.list(&TargetPath::new("/mnt")).await.unwrap();
    assert!(left.is_empty(), "a broken write leaves nothing: {left:?}");
    let ran = stage.run("head -c 1M /dev/zero >/mnt/big; echo code $?").await;
    assert!(ran.output.contains("No space left") && ran.output.contains("code 1"), "{ran:?}");
    assert_eq!(stage.output("echo well").await.trim(), "well");
}

#[tokio::test]
async fn nothing_is_left_when_the_engine_goes() {
    let Some(server) = server("nothing_is_left", Machine::Whole) else { return };
    let stage = server.stage();
    stage.output("true").await;
    let (call, pid) = long_command(&stage, server.folder.path()).await;
    assert_eq!(sockets(&stage).len(), 1);
    let Stage { engine, home, workspace, values } = stage;
    drop(call);
    eventually("the dropped call ends there", || !lives(pid)).await;
    let left = Stage { engine: petasos_terminal::Engine::new(None), home, workspace, values };
    drop(engine);
    eventually("the connections end", || server.connections().is_empty()).await;
    eventually("the sockets go", || sockets(&left).is_empty()).await;
}

#[tokio::test]
async fn a_master_killed_from_outside_is_replaced() {
    let Some(server) = server("a_master_killed_from_outside", Machine::Whole) else { return };
    let stage = server.stage();
    stage.output("true").await;
    let (call, pid) = long_command(&stage, server.folder.path()).await;
    kill_masters(&stage, &server);
    outcome_is_unknown(call.join().await);
    eventually("the command ends with its connection", || !lives(pid)).await;
    assert_eq!(stage.output("echo again").await.trim(), "again");
}

/// Ends the masters of this stage alone: they hold its own socket in their command line.
fn kill_masters(stage: &Stage, _: &Server) {
    let socket = sockets(stage).pop().unwrap();
    let socket = socket.to_str().unwrap();
    let mut killed = 0;
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        if words.contains(socket) && words.contains("ControlMaster=yes") {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            killed += 1;
        }
    }
    assert_eq!(killed, 1);
}
