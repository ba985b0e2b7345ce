//! Background jobs: output, input, notices, ownership, restart.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::clock::ManualClock;
use petasos_contract::jobs::{Completion, JobEvent, JobId, JobStatus, Jobs, Lines, Notify, Waited};
use petasos_contract::terminal::Terminal;
use petasos_terminal::Engine;

use crate::stage::{CANARY, Stage, command, eventually, lives, pid_in};

async fn start(stage: &Stage, script: &str, notify: Notify) -> JobId {
    stage.engine.start(command(script), notify, &stage.cx()).await.unwrap().job
}

async fn end(stage: &Stage, job: &JobId) -> petasos_contract::jobs::JobView {
    let waited = stage.engine.jobs().wait(job, Duration::from_secs(20), &stage.cx()).await;
    let (waited, view) = waited.unwrap();
    assert_eq!(waited, Waited::Exited);
    view
}

#[tokio::test]
async fn a_job_has_a_log_a_status_and_an_end() {
    let stage = Stage::new();
    let job =
        start(&stage, "for i in $(seq 500); do echo line $i; done; exit 3", Notify::Silent).await;
    let view = end(&stage, &job).await;
    assert_eq!((view.exit_code, view.status), (Some(3), JobStatus::Exited));
    assert_eq!(view.completion_reason, Some(Completion::Exited));
    let cx = stage.cx();
    let log = |lines| stage.engine.jobs().log(&job, lines, &cx);
    let last = log(Lines::Last(2)).await.unwrap().unwrap();
    assert_eq!((last.output.as_str(), last.total_lines), ("line 499\nline 500\n", 500));
    assert_eq!(last.showing, "499-500 of 500");
    let page = log(Lines::From { offset: 10, limit: 2 }).await.unwrap().unwrap();
    assert_eq!(page.output, "line 11\nline 12\n");
}

#[tokio::test]
async fn a_job_reads_what_is_written_until_it_is_closed() {
    let stage = Stage::new();
    let job = start(&stage, "read a; echo got $a; cat; echo end", Notify::Silent).await;
    let (jobs, cx) = (stage.engine.jobs(), stage.cx());
    assert_eq!(jobs.write(&job, b"first\n".to_vec(), &cx).await.unwrap(), Some(6));
    jobs.write(&job, b"second".to_vec(), &cx).await.unwrap();
    jobs.close_input(&job, &cx).await.unwrap();
    let view = end(&stage, &job).await;
    assert_eq!(view.output_preview, "got first\nsecondend\n");
    assert!(jobs.write(&job, b"late".to_vec(), &cx).await.is_err());
}

#[tokio::test]
async fn a_killed_job_takes_its_tree_along() {
    let stage = Stage::new();
    let script = "setsid bash -c 'trap \"\" TERM; echo $$ > pid; sleep 60; sleep 60' & sleep 60";
    let job = start(&stage, script, Notify::OnComplete).await;
    let file = stage.path().join("pid");
    eventually("the start", || std::fs::read_to_string(&file).is_ok_and(|text| !text.is_empty()))
        .await;
    let mut values = stage.cx();
    values.settings = Arc::new(stage.settings());
    let (was_running, view) = stage.engine.jobs().kill(&job, &values).await.unwrap().unwrap();
    assert!(was_running);
    assert_eq!((view.exit_code, view.completion_reason), (Some(-15), Some(Completion::Killed)));
    assert!(!lives(pid_in(&file)) && !lives(view.pid.unwrap()));
    assert_eq!(stage.engine.jobs().drain(&stage.cx().session), [], "a kill consumes the notice");
    let (again, _) = stage.engine.jobs().kill(&job, &stage.cx()).await.unwrap().unwrap();
    assert!(!again);
}

#[tokio::test]
async fn a_job_belongs_to_its_session() {
    let stage = Stage::new();
    let job = start(&stage, "sleep 60", Notify::OnComplete).await;
    let other = stage.session("two");
    assert!(stage.engine.jobs().poll(&job, &other).is_none());
    assert!(stage.engine.jobs().kill(&job, &other).await.unwrap().is_none());
    assert!(stage.engine.jobs().list(&other).is_empty());
    assert_eq!(stage.engine.jobs().list(&stage.cx()).len(), 1);
    stage.engine.jobs().kill(&job, &stage.cx()).await.unwrap();
}

#[tokio::test]
async fn an_end_is_told_once_to_its_owner() {
    let stage = Stage::new();
    let job = start(&stage, "echo bye; exit 2", Notify::OnComplete).await;
    stage.engine.jobs().changed(&stage.cx().session).await;
    assert_eq!(stage.engine.jobs().drain(&stage.session("two").session), []);
    let told = stage.engine.jobs().drain(&stage.cx().session);
    let [JobEvent::Completion { session_id, exit_code: 2, output, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((session_id, output.as_str()), (&job, "bye\n"));
    assert_eq!(stage.engine.jobs().drain(&stage.cx().session), []);
}

#[tokio::test]
async fn watched_lines_are_told_whole_and_not_after_the_end() {
    let mut stage = Stage::new();
    stage.engine = Engine::with_clock(None, Arc::new(ManualClock::new()));
    let script =
        "printf 'an er'; sleep 0.1; printf 'ror here\\nfine\\n'; sleep 0.1; echo error two";
    let job = start(&stage, script, Notify::Watch(vec!["error".to_owned()])).await;
    end(&stage, &job).await;
    let told = stage.engine.jobs().drain(&stage.cx().session);
    let [JobEvent::WatchMatch { output, pattern, suppressed: 0, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((output.as_str(), pattern.as_str()), ("an error here\n", "error"));
}

#[tokio::test]
async fn secrets_are_in_no_log_or_record() {
    let stage = Stage::new();
    let job = start(&stage, &format!("echo {CANARY}; sleep 60"), Notify::Silent).await;
    let preview = || stage.engine.jobs().poll(&job, &stage.cx()).unwrap().output_preview;
    eventually("its output", || !preview().is_empty()).await;
    assert_eq!(preview(), "[masked]\n");
    for file in files_below(&stage.home.path().join("petasos")) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(CANARY), "{} holds it", file.display());
    }
    stage.engine.jobs().kill(&job, &stage.cx()).await.unwrap();
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files_below(&path),
            path => vec![path],
        })
        .collect()
}

#[tokio::test]
async fn a_daemon_that_a_job_leaves_behind_can_still_be_ended() {
    let stage = Stage::new();
    let script = "setsid bash -c 'echo $$ > pid; exec sleep 60' > /dev/null 2>&1 & sleep 0.2";
    let job = start(&stage, script, Notify::Silent).await;
    assert_eq!(end(&stage, &job).await.exit_code, Some(0));
    let daemon = pid_in(&stage.path().join("pid"));
    assert!(lives(daemon));
    stage.engine.jobs().kill(&job, &stage.cx()).await.unwrap();
    assert!(!lives(daemon));
}

/// Another program with the same home.
fn restarted(stage: Stage) -> Stage {
    Stage { engine: Engine::new(None), ..stage }
}

#[tokio::test]
async fn a_job_survives_a_restart_with_its_output_and_its_end() {
    let stage = Stage::new();
    let script = "echo before; until [ -e go ]; do sleep 0.05; done; echo after; exit 5";
    let job = start(&stage, script, Notify::OnComplete).await;
    let stage = restarted(stage);
    assert_eq!(stage.engine.restore_jobs(&stage.cx().settings).await.unwrap(), 1);
    // A program that dies lets go of everything at once; ours takes a turn of its runtime for it.
    stage.output("true").await;
    std::fs::File::create(stage.path().join("go")).unwrap();
    let view = end(&stage, &job).await;
    assert_eq!((view.exit_code, view.detached), (Some(5), true));
    let cx = stage.cx();
    let log = stage.engine.jobs().log(&job, Lines::Last(10), &cx).await.unwrap().unwrap();
    assert!(log.output.ends_with("after\n"), "{}", log.output);
    assert_eq!(stage.engine.restore_jobs(&stage.cx().settings).await.unwrap(), 0);
}

#[tokio::test]
async fn a_job_of_an_earlier_run_can_be_ended_with_its_tree() {
    let stage = Stage::new();
    let script = "setsid sh -c 'echo $$ > pid; exec sleep 60' & echo up; sleep 60";
    let job = start(&stage, script, Notify::Silent).await;
    let file = stage.path().join("pid");
    let written = || std::fs::read_to_string(&file).is_ok_and(|text| !text.is_empty());
    eventually("the start", written).await;
    let pid = stage.engine.jobs().poll(&job, &stage.cx()).unwrap().pid.unwrap();
    let stage = restarted(stage);
    assert!(lives(pid));
    stage.engine.restore_jobs(&stage.cx().settings).await.unwrap();
    let (was_running, _) = stage.engine.jobs().kill(&job, &stage.cx()).await.unwrap().unwrap();
    assert!(was_running && !lives(pid) && !lives(pid_in(&file)));
}

#[tokio::test]
async fn a_number_that_now_means_another_process_is_left_alone() {
    let stage = Stage::new();
    let job = start(&stage, "sleep 60", Notify::Silent).await;
    let stage = restarted(stage);
    let book = stage.home.path().join("petasos/processes.json");
    let text = std::fs::read_to_string(&book).unwrap();
    let started = text.split("sitter_started\\\":").nth(1).unwrap();
    let started: String = started.chars().take_while(char::is_ascii_digit).collect();
    let forged = text.replace(&started, "1");
    std::io::Write::write_all(&mut std::fs::File::create(&book).unwrap(), forged.as_bytes())
        .unwrap();
    assert_eq!(stage.engine.restore_jobs(&stage.cx().settings).await.unwrap(), 0);
    assert!(stage.engine.jobs().poll(&job, &stage.cx()).is_none());
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let pid = record[job.as_str()]["pid"].as_u64().unwrap();
    assert!(lives(u32::try_from(pid).unwrap()), "it was not ours to end");
    std::io::Write::write_all(&mut std::fs::File::create(&book).unwrap(), text.as_bytes()).unwrap();
    stage.engine.restore_jobs(&stage.cx().settings).await.unwrap();
    stage.engine.jobs().kill(&job, &stage.cx()).await.unwrap();
    assert!(!lives(u32::try_from(pid).unwrap()));
}
