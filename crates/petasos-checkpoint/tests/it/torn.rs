//! Checkpoints that are cut short, at whatever moment: what is listed afterwards restores exactly
//! what was there, and what was not finished is not listed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use petasos_checkpoint::Checkpoints;
use serde_json::json;

use crate::project::{Project, install_git, snapshot, within, write};

/// More than a small workspace has, and enough to be written as a pack.
const FILES: usize = 600;

/// Brings the workspace into a state that its name describes.
fn become_state(workspace: &Path, state: usize) {
    for number in 0..FILES {
        // Later states differ in some files, have new ones and lack old ones.
        let path = workspace.join(format!("{}/{number}", number % 7));
        match number % 100 {
            0 => write(&path, &format!("{state}")),
            1 if number / 100 == state % 6 => fs::remove_file(&path).unwrap_or_default(),
            _ if !path.exists() => write(&path, &format!("{number}")),
            _ => {}
        }
    }
    write(&workspace.join(format!("of/{state}")), "new");
}

/// What every state looks like.
fn states(most: usize) -> Vec<BTreeMap<PathBuf, String>> {
    let folder = tempfile::tempdir().unwrap();
    let states = (0..most).map(|state| {
        become_state(folder.path(), state);
        let inside = |path: PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
        snapshot(folder.path()).into_iter().map(|(path, text)| (inside(path), text)).collect()
    });
    states.collect()
}

/// Every checkpoint restores the state that it says.
async fn assert_whole(checkpoints: &Checkpoints, project: &Project, about: &str) {
    let states = states(STATES);
    let listed = checkpoints.list(&project.cx).await.unwrap();
    let mut names: Vec<_> = listed.iter().map(|checkpoint| checkpoint.id.clone()).collect();
    names.dedup();
    assert_eq!(names.len(), listed.len(), "{about}: {listed:?}");
    for checkpoint in &listed {
        let state: usize = checkpoint.why.parse().unwrap();
        checkpoints.restore(&checkpoint.id, &[], &project.cx).await.unwrap();
        let workspace = &*project.cx.workspace;
        let found: BTreeMap<_, _> = snapshot(workspace)
            .into_iter()
            .map(|(path, text)| (path.strip_prefix(workspace).unwrap().to_owned(), text))
            .collect();
        assert!(
            found == states[state],
            "{about}: checkpoint {} of state {state} has {} files instead of {}",
            checkpoint.id,
            found.len(),
            states[state].len()
        );
    }
}

const STATES: usize = 6;

#[tokio::test]
async fn a_checkpoint_that_is_cancelled_anywhere_is_whole_or_not_there() {
    for earlier in [0, 1] {
        for command in ["ls-files", "update-index", "commit"] {
            for moment in ["before", "after"] {
                let about = format!("{moment} {command}, {earlier} earlier");
                let project = Project::new(&json!({}));
                let root = project.folder.path().canonicalize().unwrap();
                install_git(&root);
                for state in 0..earlier {
                    become_state(&project.cx.workspace, state);
                    project.checkpoints.take(&state.to_string(), &project.cx).await.unwrap();
                }
                become_state(&project.cx.workspace, earlier);
                write(&root.join("fault"), &format!("{command} {moment}\n"));
                let reached = async {
                    while !root.join("reached").exists() {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                };
                let why = earlier.to_string();
                tokio::select! {
                    taken = project.checkpoints.take(&why, &project.cx) => {
                        panic!("{about}: {taken:?}")
                    }
                    () = reached => {}
                }
                fs::remove_file(root.join("fault")).unwrap();
                // The next program finds another state than the one that was being copied.
                become_state(&project.cx.workspace, earlier + 1);
                let again = Checkpoints::new(Arc::clone(&project.environments));
                again.take(&(earlier + 1).to_string(), &project.cx).await.unwrap();
                let listed = again.list(&project.cx).await.unwrap();
                let is_safe = command == "commit";
                assert_eq!(listed.len(), earlier + 1 + usize::from(is_safe), "{about}: {listed:?}");
                assert_whole(&again, &project, &about).await;
            }
        }
    }
}

/// Not a test of its own: goes through the states and makes a checkpoint of each, in the folder
/// that it reads from its standard input.
#[tokio::test]
#[ignore = "helper process: started and killed by the test below"]
async fn worker() {
    let root = std::io::stdin().lines().next().unwrap().unwrap();
    let (cx, environments) = within(Path::new(&root), &json!({}));
    let checkpoints = Checkpoints::new(environments);
    println!("\nready");
    for state in 0..STATES {
        become_state(&cx.workspace, state);
        checkpoints.take(&state.to_string(), &cx).await.unwrap();
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test is about a process that is killed")]
async fn a_killed_process_leaves_whole_checkpoints() {
    // Spread over what a worker takes, in steps that no phase of it is a multiple of.
    for round in 0..10_u64 {
        let project = Project::new(&json!({}));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "torn::worker", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let root = project.folder.path().canonicalize().unwrap();
        writeln!(child.stdin.take().unwrap(), "{}", root.display()).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
        tokio::time::sleep(Duration::from_millis(17 * round + round * round)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        assert_whole(&project.checkpoints, &project, &format!("round {round}")).await;
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test's own file needs no atomic writer")]
async fn a_store_that_another_process_is_in_is_reported_as_that() {
    let project = Project::new(&json!({}));
    become_state(&project.cx.workspace, 0);
    project.take().await;
    let lock = fs::File::options().write(true).open(project.store().join("lock")).unwrap();
    lock.lock().unwrap();
    fs::write(project.store().join("lock"), "1").unwrap();
    let mut cx = project.cx.clone();
    cx.deadline = std::time::Instant::now() + Duration::from_millis(50);
    let refused = project.checkpoints.take("x", &cx).await.unwrap_err().to_string();
    assert!(refused.contains("another petasos process (pid 1) is making"), "{refused}");
}
