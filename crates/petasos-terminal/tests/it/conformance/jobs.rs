//! What goes on after the call that started it.

use std::time::{Duration, Instant};

use petasos_contract::environment::{Capability, Launch, Lifetime, Stdin};
use petasos_contract::jobs::{Completion, JobId, JobView, Jobs, Notify, Waited};
use petasos_contract::terminal::{Ended, Terminal};

use super::streams::drain;
use crate::conformance::{Bed, cases};
use crate::stage::{at, command};

async fn start(bed: &Bed, script: &str) -> JobId {
    let command = at(&bed.folder, script);
    bed.stage.engine.start(command, Notify::Silent, &bed.stage.cx()).await.unwrap().job
}

async fn end(bed: &Bed, job: &JobId) -> JobView {
    let waited = bed.stage.engine.jobs().wait(job, Duration::from_secs(30), &bed.stage.cx()).await;
    let (waited, view) = waited.unwrap();
    assert_eq!(waited, Waited::Exited, "{view:?}");
    view
}

async fn says(bed: &Bed, job: &JobId, text: &str) {
    let begun = Instant::now();
    while !bed.stage.engine.jobs().poll(job, &bed.stage.cx()).unwrap().output_preview.contains(text)
    {
        assert!(begun.elapsed() < Duration::from_secs(20), "{text} never came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

cases! { CASES;
    "a job tells its output and its code" => |bed| {
        let job = start(bed, "echo begun; sleep 0.3; echo done; exit 3").await;
        says(bed, &job, "begun").await;
        let view = end(bed, &job).await;
        assert_eq!((view.output_preview.as_str(), view.exit_code), ("begun\ndone\n", Some(3)));
        assert_eq!(view.completion_reason, Some(Completion::Exited));
    }
    "a job runs where it was told to" => |bed| {
        let job = start(bed, "pwd").await;
        assert_eq!(end(bed, &job).await.output_preview.trim(), bed.folder);
    }
    "a job reads what is typed until its input ends" => |bed| {
        let job = start(bed, "read a; echo got $a; cat; echo end").await;
        let (jobs, cx) = (bed.stage.engine.jobs(), bed.stage.cx());
        jobs.write(&job, b"first\n".to_vec(), &cx).await.unwrap();
        jobs.write(&job, b"second\n".to_vec(), &cx).await.unwrap();
        says(bed, &job, "second").await;
        jobs.close_input(&job, &cx).await.unwrap();
        assert_eq!(end(bed, &job).await.output_preview, "got first\nsecond\nend\n");
    }
    "a killed job takes its children along" => |bed| {
        let job = start(bed, "sh -c 'trap \"\" TERM; echo begun; while :; do sleep 7201; done' & sleep 7201").await;
        says(bed, &job, "begun").await;
        let killed = bed.stage.engine.jobs().kill(&job, &bed.stage.cx()).await.unwrap().unwrap();
        assert!(killed.0);
        assert_eq!(bed.running("sleep.7201").await, 0);
    }
    "what a command left running becomes a job" => |bed| {
        let ran = bed.stage.run("sleep 7202 >/dev/null 2>&1 & echo started").await;
        assert_eq!((ran.output.as_str(), ran.ended), ("started\n", Ended::Exited(0)));
        let job = ran.left_running.expect("a job");
        bed.stage.engine.jobs().kill(&job, &bed.stage.cx()).await.unwrap().unwrap();
        assert_eq!(bed.running("sleep.7202").await, 0);
    }
    "a daemon that let go of everything becomes a job too" => |bed| {
        let ran = bed.stage.run("(sleep 7203 >/dev/null 2>&1 </dev/null &); echo started").await;
        let job = ran.left_running.expect("a job");
        bed.stage.engine.jobs().kill(&job, &bed.stage.cx()).await.unwrap().unwrap();
        assert_eq!(bed.running("sleep.7203").await, 0);
    }
    "a job is found again by its handle" => |bed| {
        let place = bed.place().await;
        assert!(place.facts().capabilities.contains(&Capability::Detach));
        let launch = Launch {
            lifetime: Lifetime::Job,
            stdin: Stdin::Open,
            ..Launch::shell("echo first; sleep 1; echo second; exit 4", bed.path(""))
        };
        let process = place.spawn(launch, &bed.stage.cx()).await.unwrap();
        let handle = process.control().keep().await.unwrap().expect("a handle");
        drop(process);
        let mut found = place.find(&handle).await.unwrap().expect("the job");
        let (output, _, code) = drain(&mut *found).await;
        let output = String::from_utf8_lossy(&output).into_owned();
        assert!(output.ends_with("second\n") && code == 4, "{code}: {output}");
        drop(found);
        assert!(place.find(&handle).await.unwrap().is_none());
    }
    "five jobs at once keep their output apart" => |bed| {
        let mut jobs = Vec::new();
        for number in 0..5 {
            jobs.push(start(bed, &format!("for i in 1 2 3; do echo {number}; done; exit {number}")).await);
        }
        for (number, job) in (0..5).zip(jobs) {
            let view = end(bed, &job).await;
            assert_eq!((view.exit_code, view.output_preview), (Some(number), format!("{number}\n").repeat(3)));
        }
    }
    "a job at a terminal can be typed to" => |bed| {
        let wanted = petasos_contract::terminal::Command { pty: true, ..command("read a; echo got $a; test -t 0") };
        let job = bed.stage.engine.start(wanted, Notify::Silent, &bed.stage.cx()).await.unwrap().job;
        bed.stage.engine.jobs().write(&job, b"typed\r".to_vec(), &bed.stage.cx()).await.unwrap();
        let view = end(bed, &job).await;
        assert!(view.output_preview.contains("got typed"), "{view:?}");
        assert_eq!(view.exit_code, Some(0));
    }
}
