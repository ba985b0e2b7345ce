//! A program that is killed without a word takes its foreground commands along, and only them.

use std::process::{Command, Stdio};
use std::time::Duration;

use petasos_contract::environment::{EnvError, Environments, Launch};
use petasos_contract::jobs::Notify;
use petasos_contract::terminal::Terminal;

use crate::stage::{Stage, command, eventually, lives, pid_in};

/// Runs as a process of its own: a foreground command that sleeps, and a job that does.
#[tokio::test]
#[ignore = "helper process: started and killed by the test below"]
async fn a_program_that_is_about_to_die() {
    let stage = Stage::new();
    let here = std::env::current_dir().unwrap();
    let here = here.display();
    let job = format!("echo $$ > {here}/job; exec sleep 60");
    stage.engine.start(command(&job), Notify::Silent, &stage.cx()).await.unwrap();
    let script = format!(
        "setsid bash -c 'echo $$ > {here}/escaped; exec sleep 60' & echo $$ > {here}/call; \
         echo {} > {here}/home; sleep 60",
        stage.home.path().display()
    );
    stage.run(&script).await;
}

#[tokio::test]
async fn a_killed_program_leaves_its_jobs_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = program(folder.path());
    let written = |name: &str| {
        std::fs::read_to_string(folder.path().join(name)).is_ok_and(|text| text.ends_with('\n'))
    };
    eventually("the start", || ["job", "call", "escaped", "home"].iter().all(|name| written(name)))
        .await;
    program.kill().unwrap();
    program.wait().unwrap();
    let pid = |name: &str| pid_in(&folder.path().join(name));
    let (call, escaped, job) = (pid("call"), pid("escaped"), pid("job"));
    eventually("the end of the command", || !lives(call) && !lives(escaped)).await;
    assert!(lives(job), "a job outlives its program");
    let mut stage = Stage::new();
    let home = std::fs::read_to_string(folder.path().join("home")).unwrap();
    stage.home = tempfile::TempDir::with_prefix("kept").unwrap();
    std::fs::remove_dir(stage.home.path()).unwrap();
    std::fs::rename(home.trim(), stage.home.path()).unwrap();
    std::os::unix::fs::symlink(stage.home.path(), home.trim()).unwrap();
    assert_eq!(stage.engine.restore_jobs(&stage.cx().settings).await.unwrap(), 1);
    stage.engine.jobs().end_all(Duration::from_secs(1)).await;
    assert!(!lives(job));
    std::fs::remove_file(home.trim()).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a second program is what this test is about")]
fn program(folder: &std::path::Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "death::a_program_that_is_about_to_die"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs as a process of its own that may open few files.
#[tokio::test]
#[ignore = "helper process: started by the test below with a low limit"]
async fn a_program_that_may_open_few_files() {
    let stage = Stage::new();
    stage.output("cd /; export FEW=1").await;
    assert_eq!(stage.output("echo $FEW; pwd").await, "1\n/\n");
    let long = "x".repeat(150_000);
    assert_eq!(stage.output(&format!("printf %s {long} | wc -c")).await.trim(), "150000");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the limit is a property of a process")]
fn commands_run_where_few_files_may_be_open() {
    for limit in [64, 200, 202] {
        let name = "death::a_program_that_may_open_few_files";
        let line = format!("ulimit -n {limit}; exec \"$0\" --ignored --exact {name}");
        let ran = Command::new("sh")
            .args(["-c", &line])
            .arg(std::env::current_exe().unwrap())
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{limit}: {output}");
    }
}

/// Runs as a process of its own: a command with a child, in the folder it is started in.
#[tokio::test]
#[ignore = "helper process: started and killed by the test below"]
async fn a_program_that_dies_with_its_sitters() {
    let stage = Stage::new();
    let here = std::env::current_dir().unwrap();
    stage.run(&format!("sleep 600 & echo $! > {}/left; wait", here.display())).await;
}

/// The processes below one, by their names.
fn below(pid: u32) -> Vec<(u32, String)> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let rows: Vec<(u32, String, u32)> = stats
        .filter_map(|stat| {
            let (number, rest) = stat.split_once(" (")?;
            let (name, rest) = rest.rsplit_once(") ")?;
            let parent = rest.split(' ').nth(1)?.parse().ok()?;
            Some((number.parse().ok()?, name.to_owned(), parent))
        })
        .collect();
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for (number, name, _) in rows.iter().filter(|(_, _, above)| *above == parent) {
            found.push((*number, name.clone()));
            parents.push(*number);
        }
    }
    found
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap_or_default();
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a second program is what this test is about")]
async fn what_is_left_when_all_are_killed_at_once_is_ended_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "death::a_program_that_dies_with_its_sitters"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let file = folder.path().join("left");
    let written = || std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'));
    eventually("the start", written).await;
    let left = pid_in(&file);
    let has_group = std::fs::read_to_string(format!("/proc/{left}/cgroup"))
        .is_ok_and(|groups| groups.contains(&format!("petasos-{}", program.id())));
    let ours: Vec<u32> = below(program.id())
        .into_iter()
        .filter_map(|(pid, name)| name.starts_with("petasos-").then_some(pid))
        .collect();
    assert!(ours.len() >= 2, "a keeper and a sitter: {ours:?}");
    // None of them may see another one die.
    for pid in &ours {
        signal(*pid, rustix::process::Signal::STOP);
    }
    program.kill().unwrap();
    program.wait().unwrap();
    for pid in &ours {
        signal(*pid, rustix::process::Signal::KILL);
    }
    eventually("the end of the sitters", || ours.iter().all(|pid| !lives(*pid))).await;
    if has_group {
        Stage::new().output("true").await;
        eventually("the end of what was left", || !lives(left)).await;
    } else {
        // Without control groups nobody can tell whose it was.
        signal(left, rustix::process::Signal::KILL);
    }
}

/// A program that ends clears its places away with another runtime than the one that started them.
/// What was started before says so at once; it spun for ever, and no deadline could interrupt it.
#[test]
fn a_process_whose_runtime_has_ended_is_lost_and_never_spins() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let stage = Stage::new();
    let mut process = first.block_on(async {
        let cx = stage.cx();
        let place = stage.engine.of(&cx).await.unwrap();
        let launch = Launch::shell("sleep 60", place.facts().temp.clone());
        place.spawn(launch, &cx).await.unwrap()
    });
    drop(first);
    let next = runtime().block_on(async {
        let mut output = Vec::new();
        let next = process.next(&mut output);
        tokio::time::timeout(Duration::from_secs(30), next).await
    });
    let error = next.unwrap().unwrap_err();
    assert!(matches!(error, EnvError::Lost { .. }), "{error}");
}
