//! What a call costs beside `bash -c true` started directly, in one run on one machine.
//!
//! Prints the numbers that the design promises: overhead, parallel calls, flat memory, idle jobs.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made fails")]
#![expect(clippy::print_stdout, reason = "the numbers are the result")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::jobs::Notify;
use petasos_contract::settings::Parts;
use petasos_contract::terminal::{Command, Ended, OnTimeout, Terminal};
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, SessionId, Settings};
use petasos_terminal::Engine;
use serde_json::json;

const ROUNDS: usize = 400;
const PARENT_BYTES: usize = 100 << 20;

fn main() {
    // A program of ordinary size: forking it is what makes careless spawning slow.
    let ballast = vec![1_u8; PARENT_BYTES];
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // On a worker, where calls run in a program.
    runtime.block_on(async { Owned::start(measure()).join().await.unwrap() });
    assert_eq!(ballast.last(), Some(&1));
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::new(None);
    let cx = context(folder.path(), "off");
    overhead(&engine, &cx, "off").await;
    overhead(&engine, &context(folder.path(), "workspace"), "workspace").await;
    parallel(&engine, &cx).await;
    memory(&engine, &cx).await;
    idle(&engine, &cx).await;
}

fn context(folder: &std::path::Path, sandbox: &str) -> CallContext {
    let terminal = json!({ "auto_source_bashrc": false, "sandbox": sandbox });
    let settings = Settings::new(Parts {
        home: folder.join("home"),
        user_home: folder.to_owned(),
        workspace: folder.to_owned(),
        temp: folder.join("tmp"),
        values: json!({ "terminal": terminal }).as_object().cloned().unwrap(),
        ..Parts::default()
    });
    CallContext::new(Arc::new(settings), Surface::Cli, SessionId::new("bench"))
}

fn command(script: &str) -> Command {
    Command {
        script: script.to_owned(),
        workdir: None,
        at: None,
        directory: None,
        timeout: Some(Duration::from_mins(5)),
        pty: false,
        on_timeout: OnTimeout::Kill,
        unconfined: false,
        stdin: None,
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "this is the thing that is compared with")]
fn direct() -> Duration {
    let begun = Instant::now();
    let status = std::process::Command::new("/bin/bash").args(["-c", "true"]).status().unwrap();
    assert!(status.success());
    begun.elapsed()
}

async fn overhead(engine: &Engine, cx: &CallContext, sandbox: &str) {
    engine.run(command("true"), cx).await.unwrap();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // Alternating, so that what else the machine does falls on both alike.
    for _ in 0..ROUNDS {
        theirs.push(direct());
        let begun = Instant::now();
        let ran = engine.run(command("true"), cx).await.unwrap();
        ours.push(begun.elapsed());
        assert_eq!(ran.ended, Ended::Exited(0));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "call, sandbox {sandbox}: {ours:?}; bash -c true directly: {theirs:?}; ratio {ratio:.2}"
    );
}

async fn parallel(engine: &Arc<Engine>, cx: &CallContext) {
    let begun = Instant::now();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (engine, cx) = (Arc::clone(engine), cx.clone());
            Owned::start(async move { engine.run(command("sleep 0.5"), &cx).await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.join().await.unwrap().ended, Ended::Exited(0));
    }
    println!("8 calls of sleep 0.5 side by side: {:?}", begun.elapsed());
}

async fn memory(engine: &Engine, cx: &CallContext) {
    let before = status("VmHWM:");
    let begun = Instant::now();
    let ran = engine.run(command("yes 'a line of output' | head -c 1G"), cx).await.unwrap();
    let grown = status("VmHWM:").saturating_sub(before);
    let whole = ran.whole.unwrap();
    let kept = std::fs::metadata(whole.as_path()).unwrap().len();
    std::fs::remove_file(whole.as_path()).unwrap();
    println!(
        "1 GB of output in {:?}: {} MB kept on disk, {} characters shown, memory grew {} kB",
        begun.elapsed(),
        kept >> 20,
        ran.output.chars().count(),
        grown
    );
}

async fn idle(engine: &Engine, cx: &CallContext) {
    let begun = Instant::now();
    for _ in 0..200 {
        engine.start(command("sleep 600"), Notify::OnComplete, cx).await.unwrap();
    }
    println!("200 jobs started in {:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (before, begun) = (cpu_ticks(), Instant::now());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let used = cpu_ticks() - before;
    println!(
        "200 idle jobs for {:?}: {} ms of processor time, {} MB of memory in helpers",
        begun.elapsed(),
        used * 10,
        helper_pages() * 4 / 1024
    );
    engine.jobs().end_all(Duration::from_millis(100)).await;
}

fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Every process of ours: this program, its keeper, its sitters and their shells.
fn ours() -> impl Iterator<Item = (String, Vec<String>)> {
    let me = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let pid = entry.file_name().into_string().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (head, tail) = stat.rsplit_once(") ")?;
        let name = head.split_once('(')?.1.to_owned();
        let fields = tail.split(' ').map(str::to_owned).collect();
        Some((pid, name, fields))
    });
    let mine = move |pid: &str, name: &str| pid == me || name.starts_with("petasos-");
    stats.filter(move |(pid, name, _)| mine(pid, name)).map(|(_, name, fields)| (name, fields))
}

fn cpu_ticks() -> u64 {
    let ticks = |fields: &[String]| -> u64 {
        [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum()
    };
    ours().map(|(_, fields)| ticks(&fields)).sum()
}

fn helper_pages() -> u64 {
    ours()
        .filter(|(name, _)| name.starts_with("petasos-"))
        .filter_map(|(_, fields)| fields.get(21)?.parse::<u64>().ok())
        .sum()
}
