//! Background jobs: output, input, notices, ownership, restart.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::clock::ManualClock;
use petasos_contract::environment::{Environments, Launch, Step};
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
    assert_eq!(log.output, "before\nafter\n");
    // It is over, and stays listed with its end.
    let stage = restarted(stage);
    assert_eq!(stage.engine.restore_jobs(&stage.cx().settings).await.unwrap(), 0);
    let view = stage.engine.jobs().poll(&job, &stage.cx()).unwrap();
    assert_eq!((view.exit_code, view.status), (Some(5), JobStatus::Exited));
    assert!(view.output_preview.ends_with("after\n"));
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

#[tokio::test]
async fn a_session_that_comes_back_finds_its_own_jobs_and_no_others() {
    let stage = Stage::new();
    let running = start(&stage, "echo up; sleep 60", Notify::Silent).await;
    let over = start(&stage, "exit 7", Notify::Silent).await;
    end(&stage, &over).await;
    let other = stage.session("other");
    stage.engine.start(command("sleep 60"), Notify::Silent, &other).await.unwrap();
    let stage = restarted(stage);
    let (jobs, cx) = (stage.engine.jobs(), stage.cx());
    assert!(jobs.list(&cx).is_empty());
    jobs.recall(&cx).await;
    let found: Vec<_> =
        jobs.list(&cx).into_iter().map(|view| (view.session_id, view.exit_code)).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.contains(&(running.clone(), None)), "{found:?}");
    assert!(found.contains(&(over, Some(7))), "{found:?}");
    assert_eq!(jobs.list_all().len(), 2);
    assert!(jobs.kill(&running, &cx).await.unwrap().unwrap().0);
    jobs.recall(&other).await;
    jobs.end_all(Duration::ZERO).await;
}

#[tokio::test]
async fn a_program_that_ended_before_it_was_kept_can_be_written_down() {
    let stage = Stage::new();
    let cx = stage.cx();
    let place = stage.engine.of(&cx).await.unwrap();
    let launch = Launch::shell("echo over; exit 7", place.facts().temp.clone());
    let mut process = place.spawn(launch, &cx).await.unwrap();
    while process.next(&mut Vec::new()).await.unwrap() != Step::Closed {}
    process.control().emptied().await;
    let handle = process.control().keep().await.unwrap();
    // Its supervisor ends a moment after it.
    let (handle, deadline) = (handle.unwrap(), std::time::Instant::now() + Duration::from_secs(20));
    while place.find(&handle).await.unwrap().is_some() {
        assert!(std::time::Instant::now() < deadline, "nothing of it lives");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn output_comes_once_however_often_a_job_is_taken_over() {
    let mut stage = Stage::new();
    let script = "for i in 1 2 3 4; do until [ -e go$i ]; do sleep 0.02; done; echo line $i; done; \
                  exit 4";
    let job = start(&stage, script, Notify::Silent).await;
    let mut expected = String::new();
    for round in 1..=4 {
        stage = restarted(stage);
        assert_eq!(stage.engine.restore_jobs(&stage.cx().settings).await.unwrap(), 1);
        std::fs::File::create(stage.path().join(format!("go{round}"))).unwrap();
        writeln!(expected, "line {round}").unwrap();
        let cx = stage.cx();
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        loop {
            let page = stage.engine.jobs().log(&job, Lines::Last(100), &cx).await;
            let page = page.unwrap().unwrap();
            assert!(expected.starts_with(&page.output), "{}", page.output);
            if page.output == expected {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{}", page.output);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert_eq!(end(&stage, &job).await.exit_code, Some(4));
}

#[tokio::test]
async fn a_damaged_list_of_jobs_is_made_again_and_loses_none() {
    let mut stage = Stage::new();
    let first = start(&stage, "sleep 60", Notify::Silent).await;
    let second = start(&stage, "sleep 60", Notify::Silent).await;
    let book = stage.home.path().join("petasos/processes.json");
    let whole = std::fs::read(&book).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 2] {
        std::fs::File::options().write(true).open(&book).unwrap().set_len(length as u64).unwrap();
        stage = restarted(stage);
        assert_eq!(stage.engine.restore_jobs(&stage.cx().settings).await.unwrap(), 2, "{length}");
        let listed = stage.engine.jobs().list(&stage.cx());
        let listed: Vec<_> = listed.into_iter().map(|view| view.session_id).collect();
        assert!(listed.contains(&first) && listed.contains(&second), "{listed:?}");
    }
    stage.engine.jobs().end_all(Duration::ZERO).await;
}

#[tokio::test]
async fn a_job_that_another_program_holds_is_shown_and_can_be_ended() {
    let stage = Stage::new();
    let script = "echo printed; sleep 60";
    let job = start(&stage, script, Notify::Silent).await;
    let (jobs, cx) = (stage.engine.jobs(), stage.cx());
    eventually("its output", || jobs.poll(&job, &cx).unwrap().output_preview == "printed\n").await;
    // As if process 1, which always lives, held it.
    let book = stage.home.path().join("petasos/processes.json");
    let mut records: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&book).unwrap()).unwrap();
    let init = std::fs::read_to_string("/proc/1/stat").unwrap();
    let started: u64 =
        init.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap();
    records[job.as_str()]["program"] = serde_json::json!({ "pid": 1, "started": started });
    records[job.as_str()]["started_at"] =
        (records[job.as_str()]["started_at"].as_f64().unwrap() - 100.0).into();
    std::io::Write::write_all(
        &mut std::fs::File::create(&book).unwrap(),
        records.to_string().as_bytes(),
    )
    .unwrap();
    let pid = jobs.poll(&job, &cx).unwrap().pid.unwrap();
    let other = Engine::new(None);
    assert_eq!(other.restore_jobs(&cx.settings).await.unwrap(), 1);
    let view = other.jobs().poll(&job, &cx).unwrap();
    assert_eq!((view.status, view.output_preview.as_str()), (JobStatus::Running, "printed\n"));
    assert!(view.uptime_seconds >= 100, "{}", view.uptime_seconds);
    let log = other.jobs().log(&job, Lines::Last(5), &cx).await.unwrap().unwrap();
    assert_eq!(log.output, "printed\n");
    other.jobs().kill(&job, &cx).await.unwrap();
    assert!(!lives(pid));
    assert_eq!(end(&stage, &job).await.status, JobStatus::Exited);
}

#[tokio::test]
async fn ended_jobs_hold_no_descriptors_and_leave_no_raw_output() {
    let stage = Stage::new();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    for _ in 0..100 {
        let job = start(&stage, "echo x", Notify::Silent).await;
        end(&stage, &job).await;
    }
    // Other tests of this program open some meanwhile; four for each job are more.
    eventually("their release", || open() < before + 200).await;
    let job = start(&stage, "echo secret; sleep 60", Notify::Silent).await;
    let stage = restarted(stage);
    stage.engine.restore_jobs(&stage.cx().settings).await.unwrap();
    stage.engine.jobs().kill(&job, &stage.cx()).await.unwrap();
    let raw = || {
        let files = std::fs::read_dir(stage.home.path().join("petasos/jobs")).unwrap();
        let mut files = files.map(|entry| entry.unwrap().path());
        files.any(|path| path.extension() == Some("raw".as_ref()))
    };
    eventually("the end of raw output", || !raw()).await;
}

#[tokio::test]
async fn logs_that_killed_programs_left_are_swept() {
    let stage = Stage::new();
    let job = start(&stage, "sleep 60", Notify::Silent).await;
    let folder = stage.home.path().join("petasos/jobs");
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(200);
    let known = format!("{job}.log");
    for name in ["proc_000000000001.log", &known] {
        let file = std::fs::File::options().create(true).append(true).open(folder.join(name));
        file.unwrap().set_modified(long_ago).unwrap();
    }
    drop(std::fs::File::create(folder.join("proc_000000000002.log")).unwrap());
    let stage = restarted(stage);
    stage.engine.restore_jobs(&stage.cx().settings).await.unwrap();
    assert!(!folder.join("proc_000000000001.log").exists());
    assert!(folder.join("proc_000000000002.log").exists() && folder.join(known).exists());
    stage.engine.jobs().end_all(Duration::ZERO).await;
}
