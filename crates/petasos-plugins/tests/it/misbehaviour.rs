//! Plugins that crash, hang, flood and leak: nothing else is disturbed, and nothing is left.

use std::time::{Duration, Instant};

use petasos_contract::call::Status;
use petasos_plugins::plugin::State;
use serde_json::{Value, json};

use crate::stage::Stage;

fn stage(source: &str, entry: Value) -> Stage {
    let stage =
        Stage::new(json!({ "plugins": { "enabled": ["bad"], "entries": { "bad": entry } } }));
    stage.plugin("bad", &[("plugin.yaml", "name: bad"), ("__init__.py", source)]);
    stage
}

fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < until, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_crash_is_told_and_the_plugin_comes_back() {
    let source = "
import os
def crash(args):
    os._exit(3)
def register(ctx):
    ctx.register_tool('crash', 't', {}, crash)
    ctx.register_tool('pid', 't', {}, lambda args: str(os.getpid()))
";
    let stage = stage(source, json!({}));
    let plugins = stage.plugins().await;
    let first = stage.text("pid", json!({})).await;
    let crashed = stage.text("crash", json!({})).await;
    assert!(crashed.contains("PluginDown") && crashed.contains("exit code 3"), "{crashed}");
    assert_eq!(stage.call("echo", json!({})).await.status, Status::Ok, "others go on");
    let soon = stage.text("pid", json!({})).await;
    assert!(soon.contains("is started again in"), "{soon}");
    assert!(matches!(plugins.get("bad").unwrap().state(), State::Down { .. }));
    tokio::time::sleep(Duration::from_millis(700)).await;
    let second = stage.text("pid", json!({})).await;
    assert!(second.parse::<u32>().is_ok() && second != first, "{second}");
}

#[tokio::test]
async fn a_hang_ends_at_its_deadline_and_a_plugin_that_keeps_hanging_is_ended() {
    let source = "
import os, time
def register(ctx):
    ctx.register_tool('hang', 't', {}, lambda args: time.sleep(60))
    ctx.register_tool('pid', 't', {}, lambda args: str(os.getpid()))
";
    let stage = stage(source, json!({ "timeout": 0.3 }));
    let plugins = stage.plugins().await;
    let pid: u32 = stage.text("pid", json!({})).await.parse().unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        let hung = stage.text("hang", json!({})).await;
        assert!(hung.contains("did not answer in time"), "{hung}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    eventually("the end of the one that hangs", || !lives(pid)).await;
    assert!(matches!(plugins.get("bad").unwrap().state(), State::Down { .. }));
}

#[tokio::test]
async fn a_plugin_that_does_not_start_is_named_and_nobody_waits_for_it() {
    let rows = [
        ("def register(ctx):\n    raise ValueError('no luck')\n", "no luck"),
        ("import nothing_of_this_name\n", "nothing_of_this_name"),
        ("x = 1\n", "no register(ctx)"),
        ("import time\ntime.sleep(60)\n", "did not answer `initialize` in time"),
        ("import os\nos._exit(9)\n", "exit code 9"),
    ];
    for (source, why) in rows {
        let stage = stage(source, json!({ "start_timeout": 2 }));
        let begun = Instant::now();
        let plugins = stage.plugins().await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{why}");
        let state = plugins.get("bad").unwrap().state();
        assert!(matches!(&state, State::Down { reason } if reason.contains(why)), "{state:?}");
        assert_eq!(stage.call("echo", json!({})).await.status, Status::Ok);
    }
}

#[tokio::test]
async fn nonsense_on_the_pipe_and_floods_end_the_plugin_only() {
    let raw = |body: &str| {
        let stage = Stage::new(
            json!({ "plugins": { "enabled": ["bad"], "entries": { "bad": { "start_timeout": 5 } } } }),
        );
        stage.plugin(
            "bad",
            &[("plugin.yaml", "name: bad\ncommand: [python3, p.py]"), ("p.py", body)],
        );
        stage
    };
    let rows = [
        ("print('hello, I am no message')", "no message"),
        ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "longer than"),
        ("import sys\nwhile True: sys.stderr.write('noise ' * 1000 + chr(10))", "in time"),
    ];
    for (body, why) in rows {
        let stage = raw(body);
        let plugins = stage.plugins().await;
        let state = plugins.get("bad").unwrap().state();
        assert!(
            matches!(&state, State::Down { reason } if reason.contains(why)),
            "{why}: {state:?}"
        );
        let log = stage.home.path().join("petasos/logs/plugins/bad.log");
        let size = log.metadata().map_or(0, |known| known.len());
        assert!(size < 2 * 1024 * 1024, "the log is bounded: {size}");
    }
}

#[tokio::test]
async fn a_leak_is_ended_before_it_hurts() {
    let source = "
import os, threading, time
HELD = []
def leak():
    while True:
        HELD.append(bytearray(4 * 1024 * 1024)); time.sleep(0.01)
def begin(args):
    threading.Thread(target=leak, daemon=True).start()
    return str(os.getpid())
def register(ctx):
    ctx.register_tool('leak', 't', {}, begin)
";
    let stage = stage(source, json!({ "memory_max_mb": 150 }));
    let plugins = stage.plugins().await;
    let pid: u32 = stage.text("leak", json!({})).await.parse().unwrap();
    eventually("the end of the leak", || !lives(pid)).await;
    let state = plugins.get("bad").unwrap().state();
    assert!(matches!(&state, State::Down { reason } if reason.contains("memory")), "{state:?}");
}

#[tokio::test]
async fn a_guard_that_is_gone_stops_calls_and_a_dropped_host_leaves_nobody() {
    let source = "
import os, subprocess
CHILD = subprocess.Popen(['sleep', '60'])
def register(ctx):
    ctx.register_hook('pre_tool_call', lambda **k: None)
    ctx.register_tool('pids', 't', {}, lambda args: f'{os.getpid()} {CHILD.pid}')
    ctx.register_tool('crash', 't', {}, lambda args: os._exit(1))
";
    let stage = stage(source, json!({}));
    let plugins = stage.plugins().await;
    stage.call("crash", json!({})).await;
    let refused = stage.text("echo", json!({})).await;
    assert!(refused.contains("policy hook `plugin:bad` failed"), "{refused}");
    tokio::time::sleep(Duration::from_millis(700)).await;
    let pids = stage.text("pids", json!({})).await;
    let pids: Vec<u32> = pids.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| lives(*pid)));
    drop(plugins);
    eventually("the end of all of it", || pids.iter().all(|pid| !lives(*pid))).await;
}
