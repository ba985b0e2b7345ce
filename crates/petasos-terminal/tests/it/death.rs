//! A program that is killed without a word takes its foreground commands along, and only them.

use std::process::{Command, Stdio};
use std::time::Duration;

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
