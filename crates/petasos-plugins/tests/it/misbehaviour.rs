//! Plugins that crash, hang, flood and leak: nothing else is disturbed, and nothing is left.

use std::time::{Duration, Instant};

use petasos_contract::call::Status;
use petasos_plugins::plugin::State;
use petasos_runtime::registry::{Entry, Intent, Origin};
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
        assert!(begun.elapsed() < petasos_testkit::pace::fair(Duration::from_secs(5)));
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
        plugins.settle().await;
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
        plugins.settle().await;
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

#[tokio::test]
async fn a_guard_that_cannot_start_stops_what_it_guards_and_says_what_to_do() {
    let manifest = "name: bad\nprovides_hooks: [pre_tool_call, post_tool_call]\n";
    for (entry, runs) in [(json!({}), false), (json!({ "on_failure": "allow" }), true)] {
        let stage = stage("import nothing_of_this_name\n", entry);
        stage.plugin("bad", &[("plugin.yaml", manifest)]);
        let plugins = stage.plugins().await;
        plugins.settle().await;
        let result = stage.call("echo", json!({})).await;
        let text = result.content.text();
        assert_eq!(result.status == Status::Ok, runs, "{text}");
        if !runs {
            assert_eq!((result.status, result.error_type), (Status::Blocked, Some("plugin_block")));
            for expected in ["plugin:bad", "nothing_of_this_name", "petasos plugins test bad"] {
                assert!(text.contains(expected), "{expected}: {text}");
            }
        }
        let trouble = plugins.troubles().join("");
        assert!(trouble.contains("plugin `bad` does not run"), "{trouble}");
        assert_eq!(trouble.contains("calls of tools wait for it"), !runs, "{trouble}");
    }
}

#[tokio::test]
async fn a_register_that_fails_leaves_nothing() {
    let source = "
def register(ctx):
    ctx.register_tool('zombie', 't', {}, lambda args: 'brains')
    ctx.register_hook('pre_tool_call', lambda **kw: {'action': 'block', 'message': 'no'})
    raise ValueError('half way')
";
    let stage = stage(source, json!({}));
    let plugins = stage.plugins().await;
    plugins.settle().await;
    assert!(stage.registry.snapshot().get("zombie").is_none());
    assert!(stage.hooks.listeners().is_empty());
    assert_eq!(stage.call("echo", json!({})).await.status, Status::Ok);
    assert!(plugins.troubles().join("").contains("half way"));
}

#[tokio::test]
async fn a_plugin_that_hangs_at_its_start_holds_up_nobody_and_is_named() {
    let stage = Stage::new(json!({ "plugins": { "enabled": ["bad", "good"] } }));
    let hangs = "import time\ndef register(ctx):\n    time.sleep(60)\n";
    stage.plugin("bad", &[("plugin.yaml", "name: bad"), ("__init__.py", hangs)]);
    let works = "def register(ctx):\n    ctx.register_tool('works', 't', {}, lambda args: 'yes')\n";
    stage.plugin("good", &[("plugin.yaml", "name: good"), ("__init__.py", works)]);
    let begun = Instant::now();
    let plugins = stage.plugins().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(
        plugins
            .troubles()
            .contains(&"plugin `bad` is still starting (`petasos plugins test bad`)".to_owned())
    );
    eventually("the other one works", || plugins.get("good").unwrap().state() == State::Ready)
        .await;
    assert_eq!(stage.text("works", json!({})).await, "yes");
}

#[tokio::test]
async fn a_hook_that_only_looks_on_and_hangs_is_passed_over_in_seconds() {
    let source = "
import time
def register(ctx):
    ctx.register_hook('post_tool_call', lambda **kw: time.sleep(60))
";
    let stage = stage(source, json!({ "hook_timeout": 1 }));
    let plugins = stage.plugins().await;
    plugins.settle().await;
    let begun = Instant::now();
    assert_eq!(stage.call("echo", json!({})).await.status, Status::Ok);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

struct Slow;

impl petasos_contract::Tool for Slow {
    fn run<'a>(
        &'a self,
        _: petasos_contract::Cleared,
        _: &'a petasos_contract::CallContext,
    ) -> petasos_contract::BoxFuture<
        'a,
        Result<petasos_contract::ToolOutput, petasos_contract::ToolError>,
    > {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(petasos_contract::ToolOutput::Text("done".to_owned()))
        })
    }
}

#[tokio::test]
async fn middleware_is_not_charged_for_the_time_of_the_tool_it_is_around() {
    let source = "
def around(args=None, next_call=None, **kw):
    return next_call(args) + ' and wrapped'
def register(ctx):
    ctx.register_middleware('tool_execution', around)
";
    let stage = stage(source, json!({ "timeout": 2 }));
    let schema = serde_json::Map::new();
    let entry = Entry::new("slow", "test", schema, std::sync::Arc::new(Slow));
    stage.registry.register(entry, &Origin::core(), Intent::Add).unwrap();
    let plugins = stage.plugins().await;
    plugins.settle().await;
    assert_eq!(stage.text("slow", json!({})).await, "done and wrapped");
}
