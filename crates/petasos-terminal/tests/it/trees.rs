//! Every way a tree escapes, hangs or lingers, and that none of them works.

use std::time::{Duration, Instant};

use petasos_contract::environment::{Environments, Health};
use petasos_contract::jobs::Jobs;
use petasos_contract::terminal::{Command, Ended, OnTimeout, Terminal};

use crate::stage::{Stage, command, eventually, lives, pid_in, within};

/// Runs a command that must come back well before what it leaves behind ends.
async fn promptly(stage: &Stage, script: &str) -> petasos_contract::terminal::Ran {
    let begun = Instant::now();
    let ran = stage.run_in(&stage.cx(), command(script)).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{script} took {:?}", begun.elapsed());
    ran
}

#[tokio::test]
async fn a_call_returns_though_somebody_holds_its_pipe() {
    let stage = Stage::new();
    let rows = [
        "sleep 60 & echo $! > pid; echo done",
        "true && sleep 60 & echo $! > pid; echo done",
        "nohup sleep 60 & echo $! > pid; echo done",
        "setsid sh -c 'echo $$ > pid; exec sleep 60' & WAIT; echo done",
        "( ( sleep 60 & echo $! > pid ) & ) ; WAIT; echo done",
        "( setsid bash -c 'echo $$ > pid; exec sleep 60' & ) ; WAIT; echo done",
        "bash -c 'sleep 60 & echo $! > pid; disown'; echo done",
    ];
    for script in rows {
        let written = "until [ -s pid ]; do sleep 0.01; done";
        let ran =
            promptly(&stage, &format!("rm -f pid; {}", script.replace("WAIT", written))).await;
        assert_eq!(ran.ended, Ended::Exited(0), "{script}");
        assert!(ran.output.ends_with("done\n"), "{script}: {}", ran.output);
        let pid = pid_in(&stage.path().join("pid"));
        assert!(lives(pid), "{script}: what was left running runs on");
        let job = ran.left_running.unwrap_or_else(|| panic!("{script}: nobody owns {pid}"));
        let (was_running, _) = stage.engine.jobs().kill(&job, &stage.cx()).await.unwrap().unwrap();
        assert!(was_running, "{script}");
        assert!(!lives(pid), "{script}: {pid} escaped");
    }
}

#[tokio::test]
async fn a_timeout_ends_whatever_the_command_became() {
    let stage = Stage::new();
    let rows = [
        "echo $$ > pid; sleep 60",
        "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 1; done",
        "setsid bash -c 'trap \"\" TERM; echo $$ > pid; sleep 60; sleep 60'",
        "( setsid bash -c 'echo $$ > pid; exec sleep 60' & ); sleep 60",
        "echo $$ > pid; kill -STOP $$; sleep 60",
        "bash -c 'echo $$ > pid; kill -STOP $$' & sleep 60",
        "python3 -c 'import os,time\nif os.fork(): time.sleep(60)\nos.setsid()\nif os.fork(): os._exit(0)\nopen(\"pid\",\"w\").write(str(os.getpid()))\ntime.sleep(60)'",
    ];
    for script in rows {
        let ran = stage.run_in(&stage.cx(), within(0.7, script)).await;
        assert!(matches!(ran.ended, Ended::TimedOut(_)), "{script}: {ran:?}");
        let pid = pid_in(&stage.path().join("pid"));
        assert!(!lives(pid), "{script}: {pid} escaped");
    }
}

#[tokio::test]
async fn a_storm_of_forks_is_ended() {
    let stage = Stage::new();
    let storm = "f() { echo x >> count; sleep 5 & [ $1 -lt 6 ] && { f $(($1 + 1)) & f $(($1 + 1)) & }; wait; }; f 0";
    let ran = stage.run_in(&stage.cx(), within(1.0, storm)).await;
    assert!(matches!(ran.ended, Ended::TimedOut(_)));
    let marker = stage.path().join("count");
    assert!(std::fs::read_to_string(marker).unwrap().lines().count() > 20);
    let here = stage.path().to_owned();
    eventually("the end of the storm", || working_in(&here).is_empty()).await;
}

/// The processes whose directory is this one.
fn working_in(path: &std::path::Path) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let here = |pid: &u32| {
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(path))
    };
    numbers.filter(here).collect()
}

#[tokio::test]
async fn a_tree_has_a_control_group_where_that_is_allowed() {
    let stage = Stage::new();
    let environment = stage.engine.of(&stage.cx()).await.unwrap();
    let Health::Ready { detail } = environment.health().await else { panic!("no terminal") };
    if !detail.contains("control groups") {
        println!("skipped: no control group can be made here: {detail}");
        return;
    }
    let mine = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let group =
        |text: &str| text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned);
    let script = "cat /proc/self/cgroup; setsid sh -c 'echo $$ > pid; exec sleep 60'";
    let ran = stage.run_in(&stage.cx(), within(0.7, script)).await;
    let own = group(&ran.output).unwrap();
    assert_ne!(Some(&own), group(&mine).as_ref());
    assert!(own.contains("/petasos-"), "{own}");
    assert!(!lives(pid_in(&stage.path().join("pid"))));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounted = mounts.lines().find(|line| line.contains(" - cgroup2 ")).unwrap();
    let folder = format!("{}{own}", mounted.split(' ').nth(4).unwrap());
    eventually("the end of the group", || !std::path::Path::new(&folder).exists()).await;
}

#[tokio::test]
async fn a_flood_of_orphans_leaves_no_zombies() {
    let stage = Stage::new();
    let flood = "for i in $(seq 300); do ( true & ) ; done; sleep 0.2; \
                 ps -o stat= --ppid $PPID | grep -c Z";
    let ran = promptly(&stage, flood).await;
    assert_eq!(ran.output.trim(), "0", "{}", ran.output);
}

#[tokio::test]
async fn a_cancelled_call_and_a_dropped_one_leave_nothing() {
    let stage = Stage::new();
    let cx = stage.cx();
    let pid = stage.path().join("pid");
    let script = command("echo $$ > pid; sleep 60");
    let call = stage.engine.run(script.clone(), &cx);
    let cancel = async {
        eventually("the start", || {
            pid.exists() && !std::fs::read_to_string(&pid).unwrap().is_empty()
        })
        .await;
        cx.cancel.cancel();
    };
    let (ran, ()) = tokio::join!(call, cancel);
    assert_eq!(ran.unwrap().ended, Ended::Interrupted);
    assert!(!lives(pid_in(&pid)));
    std::fs::remove_file(&pid).unwrap();
    let cx = stage.cx();
    tokio::select! {
        _ = stage.engine.run(script, &cx) => panic!("it sleeps"),
        () = eventually("the start", || pid.exists() && !std::fs::read_to_string(&pid).unwrap().is_empty()) => {}
    }
    let pid = pid_in(&pid);
    eventually("its end", || !lives(pid)).await;
}

#[tokio::test]
async fn a_call_cancelled_while_it_starts_leaves_nothing() {
    let stage = Stage::new();
    stage.output("true").await;
    for _ in 0..20 {
        let cx = stage.cx();
        cx.cancel.cancel();
        let ran = stage.engine.run(command("sleep 60"), &cx).await.unwrap();
        assert_eq!(ran.ended, Ended::Interrupted);
    }
    let here = stage.path().to_owned();
    assert!(working_in(&here).is_empty());
}

#[tokio::test]
async fn a_call_survives_the_loss_of_its_keeper_and_tells_of_its_sitter() {
    let stage = Stage::new();
    let keeper = stage.output("ps -o ppid= $PPID").await;
    let kill = format!("kill -9 {}", keeper.trim());
    stage.run(&kill).await;
    assert_eq!(stage.output("echo again").await, "again\n");
    let lost = stage.engine.run(command("kill -9 $PPID; sleep 60"), &stage.cx()).await;
    assert!(lost.unwrap_err().to_string().contains("lost"));
    let here = stage.path().to_owned();
    eventually("the end of the tree that lost its sitter", || working_in(&here).is_empty()).await;
    assert_eq!(stage.output("echo again").await, "again\n");
}

#[tokio::test]
async fn a_timeout_may_send_a_command_to_the_background() {
    let stage = Stage::new();
    let script = "echo first; sleep 1; echo second";
    let late = Command { on_timeout: OnTimeout::Background, ..within(0.3, script) };
    let ran = stage.run_in(&stage.cx(), late).await;
    let Ended::Backgrounded(job) = ran.ended else { panic!("{ran:?}") };
    let (_, view) =
        stage.engine.jobs().wait(&job, Duration::from_secs(10), &stage.cx()).await.unwrap();
    assert_eq!(view.exit_code, Some(0));
    assert_eq!(view.output_preview, "first\nsecond\n");
}

#[tokio::test]
async fn unread_output_and_input_hold_nobody_up() {
    let stage = Stage::new();
    let ran = promptly(&stage, "yes | head -c 2000000 | tail -c 4; exec 1>&-; sleep 0.1").await;
    assert_eq!(ran.ended, Ended::Exited(0));
    let unread = Command { stdin: Some(vec![b'x'; 2_000_000]), ..command("true") };
    assert_eq!(stage.run_in(&stage.cx(), unread).await.ended, Ended::Exited(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_run_side_by_side() {
    let stage = Stage::new();
    stage.output("true").await;
    let begun = Instant::now();
    let cx = stage.cx();
    let calls = (0..8).map(|_| stage.engine.run(command("sleep 0.5"), &cx));
    for ran in futures_join(calls.collect()).await {
        assert_eq!(ran.unwrap().ended, Ended::Exited(0));
    }
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
}

async fn futures_join<T>(mut futures: Vec<petasos_contract::BoxFuture<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(move |cx| {
        for (future, slot) in futures.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *slot = Some(value);
            }
        }
        if done.iter().all(Option::is_some) {
            return std::task::Poll::Ready(
                done.iter_mut().map(|slot| slot.take().unwrap()).collect(),
            );
        }
        std::task::Poll::Pending
    })
    .await
}
