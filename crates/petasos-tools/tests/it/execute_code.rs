//! `execute_code` on a real interpreter: calls, limits, and what a script may not do.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use petasos_contract::approval::{Intent, Nobody, Policy, Verdict};
use petasos_contract::call::{Content, Disposition, RawArguments, Status, ToolCall, ToolResult};
use petasos_contract::context::{Grant, Principal};
use petasos_contract::ports::Door;
use petasos_contract::tool::Patch;
use petasos_contract::{BoxFuture, CallContext, ToolName};
use petasos_runtime::toolsets::CODE_TOOLS;
use petasos_runtime::{Dispatcher, Registry};
use petasos_tools::BUILTIN;
use serde_json::{Value, json};

use crate::bench::Bench;

/// Answers every call at once with what it was asked.
struct Echo;

impl Door for Echo {
    fn dispatch<'a>(&'a self, call: ToolCall, cx: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            assert_eq!(cx.principal, Principal::Code);
            let RawArguments::Object(args) = call.arguments else { panic!("text") };
            let text = json!({ "tool": call.name.as_str(), "args": args }).to_string();
            ToolResult {
                id: call.id,
                name: call.name,
                content: Content::Text(text),
                status: Status::Ok,
                disposition: Disposition::Done,
                error_type: None,
                duration_ms: 0,
                halts_turn: false,
            }
        })
    }
}

fn bench(settings: &Value) -> Bench {
    let mut bench = Bench::local(settings);
    bench.ports.door = Some(Arc::new(Echo));
    bench
}

fn run(bench: &Bench, code: &str) -> Value {
    bench.run("execute_code", &json!({ "code": code }))
}

#[test]
fn a_script_prints_and_calls_tools() {
    for bench in [bench(&json!({})), Bench::elsewhere(&json!({}))] {
        prints_and_calls(bench);
    }
}

#[test]
fn a_script_in_a_container_prints_and_calls_tools() {
    let test = "a_script_in_a_container_prints_and_calls_tools";
    let Some(bench) = Bench::docker(test) else { return };
    let told = run(&bench, "import os, sys\nprint(os.path.exists('/.dockerenv'))\nsys.exit(3)");
    assert_eq!((&told["output"], &told["exit_code"]), (&json!("True\n"), &json!(3)), "{told}");
    prints_and_calls(bench);
}

#[test]
fn a_script_over_ssh_prints_and_calls_tools() {
    let Some(bench) = Bench::ssh("a_script_over_ssh_prints_and_calls_tools") else { return };
    let told = run(&bench, "import os, sys\nprint('SSH_CONNECTION' in os.environ)\nsys.exit(3)");
    assert_eq!((&told["output"], &told["exit_code"]), (&json!("True\n"), &json!(3)), "{told}");
    prints_and_calls(bench);
}

fn prints_and_calls(mut bench: Bench) {
    bench.ports.door = Some(Arc::new(Echo));
    let told = run(
        &bench,
        "from petasos_tools import read_file, terminal, shell_quote, json_parse, retry\n\
         import hermes_tools, os\n\
         print(read_file('é.txt', limit=3))\n\
         print(terminal('ls', timeout=5)['args'])\n\
         print(hermes_tools.read_file('x')['tool'], shell_quote('a b'), json_parse('[1]'))\n\
         print(retry(lambda: 7), os.getcwd())",
    );
    let cwd = bench.cx.workspace.display();
    let expected = format!(
        "{{'tool': 'read_file', 'args': {{'path': 'é.txt', 'offset': 1, 'limit': 3}}}}\n\
         {{'command': 'ls', 'timeout': 5}}\nread_file 'a b' [1]\n7 {cwd}\n"
    );
    assert_eq!(told["output"], json!(expected), "{told}");
    assert_eq!(
        [&told["status"], &told["exit_code"], &told["tool_calls_made"], &told["stdout_truncated"]],
        [&json!("success"), &json!(0), &json!(3), &json!(false)]
    );
    let left = std::fs::read_dir(bench.cx.settings.temp()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    let is_ours = |name: &std::ffi::OsString| name.to_string_lossy().contains("petasos-code");
    assert!(!left.iter().any(is_ours), "{left:?}");
}

#[test]
fn failures_are_told_with_the_script_s_last_words() {
    let bench = bench(&json!({ "code_execution": { "timeout": 1.0, "max_tool_calls": 2 } }));
    let told = run(&bench, "print('before')\nraise ValueError('my words')");
    assert_eq!([&told["status"], &told["exit_code"]], [&json!("error"), &json!(1)]);
    let output = told["output"].as_str().unwrap();
    assert!(output.starts_with("before\n") && output.contains("my words"), "{told}");
    let told = run(&bench, "import time\nprint('on', flush=True)\ntime.sleep(60)");
    assert_eq!(told["status"], "timeout", "{told}");
    assert!(told["output"].as_str().unwrap().contains("longer than 1 s"), "{told}");
    let told = run(
        &bench,
        "from petasos_tools import read_file, ToolRefused\nfor n in range(5):\n try: read_file('f')\n \
         except ToolRefused as e: print(n, e)",
    );
    assert_eq!(told["tool_calls_made"], 2, "{told}");
    assert!(told["output"].as_str().unwrap().contains("2 this script has made its 2 tool calls"));
    let told = run(&bench, "print('x' * 200_000)");
    assert_eq!(told["stdout_bytes_total"], 200_001);
    assert_eq!(told["stdout_bytes_captured"], 50_000);
    assert_eq!(
        [&told["stdout_truncated"], &told["stdout_bytes_omitted"]],
        [&json!(true), &json!(150_001)]
    );
}

/// Speaks to the socket past the module, as a hostile script would.
const RAW: &str = "import json, os, socket, sys\n\
    path, token = os.environ['PETASOS_CODE_SOCKET'], os.environ['PETASOS_CODE_TOKEN']\n\
    def ask(request):\n\
    \x20   with socket.socket(socket.AF_UNIX) as s:\n\
    \x20       s.connect(path); s.sendall(request.encode() + b'\\n')\n\
    \x20       return s.makefile().readline()\n";

#[test]
fn a_script_cannot_reach_past_its_tools_or_with_another_token() {
    let mut bench = bench(&json!({}));
    let two = ["read_file", "execute_code", "memory"].map(ToolName::new);
    bench.cx.grant = Arc::new(Grant::Only(BTreeSet::from(two)));
    let script = format!(
        "{RAW}\
         for tool in ['terminal', 'write_file', 'execute_code', 'memory', 'nonsense']:\n    \
             print(ask(json.dumps(dict(tool=tool, args={{}}, token=token))))\n\
         for bad in ['', 'x' * len(token), token[:-1], token + 'x']:\n    \
             print(ask(json.dumps(dict(tool='read_file', args={{}}, token=bad))))\n\
         print(ask('not json'))\n\
         print(ask(json.dumps(dict(tool='read_file', args={{}}, token=token))))\n\
         print(oct(os.stat(path).st_mode)[-3:], oct(os.stat(os.path.dirname(path)).st_mode)[-3:])\n\
         open('kept', 'w').write(path + ' ' + token)"
    );
    let told = run(&bench, &script);
    let lines: Vec<&str> =
        told["output"].as_str().unwrap().lines().filter(|line| !line.is_empty()).collect();
    assert!(lines[..5].iter().all(|line| line.contains("not a tool of this script")), "{told}");
    assert!(lines[5..9].iter().all(|line| line.contains("token")), "{told}");
    assert!(lines[9].contains("not understood") && lines[10].contains("result"), "{told}");
    assert_eq!(lines[11], "600 700");
    assert_eq!(told["tool_calls_made"], 1);
    assert!(told["warning"].as_str().unwrap().contains("refused: 10"), "{told}");
    // The next run has another socket and another token.
    let told = run(&bench, &format!("{RAW}path, token = open('kept').read().split()\nask('x')"));
    assert_eq!(told["status"], "error", "{told}");
    let told = run(
        &bench,
        &format!(
            "{RAW}token = open('kept').read().split()[1]\nprint(ask(json.dumps(dict(tool='read_file', token=token))))"
        ),
    );
    assert!(told["output"].as_str().unwrap().contains("not that of this run"), "{told}");
    let told = run(&bench, "from petasos_tools import terminal");
    assert!(told["output"].as_str().unwrap().contains("cannot import name"), "{told}");
}

#[test]
fn nothing_in_common_gives_no_tools() {
    let mut bench = bench(&json!({}));
    bench.cx.grant = Arc::new(Grant::Only(BTreeSet::from([ToolName::new("execute_code")])));
    let told =
        run(&bench, &format!("{RAW}print(ask(json.dumps(dict(tool='read_file', token=token))))"));
    assert!(told["output"].as_str().unwrap().contains("it has []"), "{told}");
}

#[test]
fn what_a_script_leaves_running_ends_with_it() {
    let bench = bench(&json!({}));
    let told = run(
        &bench,
        "import subprocess, sys\n\
         p = subprocess.Popen(['setsid', 'sh', '-c', 'echo $$ > pid; exec sleep 1000'], \
         stdout=subprocess.DEVNULL)\n\
         import time, os\n\
         while not os.path.exists('pid') or not open('pid').read(): time.sleep(0.01)\n\
         print('done')",
    );
    assert_eq!(told["status"], "success", "{told}");
    assert!(told["warning"].as_str().unwrap().contains("left running were ended"), "{told}");
    let pid = std::fs::read_to_string(bench.path("pid")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(stat.is_err() || stat.unwrap().contains(") Z"), "it lives on");
}

#[test]
fn a_confined_script_cannot_write_outside() {
    let bench =
        bench(&json!({ "terminal": { "sandbox": "workspace", "sandbox_require": "preferred" } }));
    let outside = bench.root.join("home/outside");
    let code = format!(
        "open('inside', 'w').write('x')\nopen({:?}, 'w').write('x')",
        outside.display().to_string()
    );
    let told = run(&bench, &code);
    if told["sandbox"].as_str().unwrap().starts_with("off") {
        println!("skipped: no sandbox can be had here: {}", told["sandbox"]);
        return;
    }
    assert_eq!(told["status"], "error", "{told}");
    assert!(bench.path("inside").exists() && !outside.exists());
}

#[test]
fn an_inner_call_costs_less_than_a_millisecond() {
    let bench = bench(&json!({ "code_execution": { "max_tool_calls": 1000 } }));
    let told = run(
        &bench,
        "from petasos_tools import read_file\nimport time\ntimes = []\nfor _ in range(200):\n    \
         t = time.perf_counter(); read_file('f'); times.append(time.perf_counter() - t)\n\
         print(sorted(times)[100] * 1e6)",
    );
    assert_eq!(told["tool_calls_made"], 200, "{told}");
    let median: f64 = told["output"].as_str().unwrap().trim().parse().unwrap();
    println!("median of an inner call: {median:.0} µs");
    assert!(median < 1000.0, "{median} µs");
}

#[test]
fn an_interrupt_ends_the_script_at_once() {
    let bench = bench(&json!({}));
    let cancel = bench.cx.cancel.clone();
    let tool = bench.tool("execute_code");
    let code = "import time, os\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(1000)";
    let args = petasos_contract::Args::try_from(json!({ "code": code })).unwrap();
    let pid = bench.path("pid");
    let started = Instant::now();
    let told = bench.runtime.block_on(async {
        let running = petasos_testkit::call(&*tool, args, &bench.cx);
        let interrupting = async {
            while !std::fs::read_to_string(&pid).is_ok_and(|pid| !pid.is_empty()) {
                assert!(started.elapsed() < Duration::from_secs(20));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        };
        tokio::join!(running, interrupting).0.unwrap()
    });
    let petasos_contract::ToolOutput::Text(text) = told else { panic!() };
    assert!(text.contains("\"status\":\"interrupted\""), "{text}");
    let pid = std::fs::read_to_string(pid).unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn the_description_names_only_tools_that_are_there() {
    let bench = Bench::local(&json!({}));
    let patched = |tools: &[&str]| {
        let granted = tools.iter().map(|tool| ToolName::new(*tool)).collect();
        let Patch::Merge(patch) = bench.tool("execute_code").schema_patch(&granted).unwrap() else {
            panic!()
        };
        patch["description"].as_str().unwrap().to_owned()
    };
    let names = |text: &str, tool: &str| {
        text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|it| it == tool)
    };
    let some = patched(&["read_file", "terminal", "memory"]);
    for tool in CODE_TOOLS {
        let is_named = names(&some, tool);
        assert_eq!(is_named, ["read_file", "terminal"].contains(tool), "{tool}");
    }
    assert!(!some.contains("memory") && !some.contains("web"));
    assert!(patched(&[]).contains("No tools can be called"));
    assert!(CODE_TOOLS.iter().all(|tool| names(&patched(CODE_TOOLS), tool)));
}

struct Allows;

impl Policy for Allows {
    fn judge(&self, intent: &Intent<'_>, _: &CallContext) -> Verdict {
        // What a script writes meets the same judge as what a model writes.
        let text = format!("{:?}", intent.plan.effects);
        if text.contains("forbidden") && intent.tool.as_str() != "execute_code" {
            return Verdict::Block(Vec::new());
        }
        Verdict::Allow
    }
}

struct Late(OnceLock<Arc<Dispatcher>>);

impl Door for Late {
    fn dispatch<'a>(&'a self, call: ToolCall, cx: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Door::dispatch(&**self.0.get().unwrap(), call, cx)
    }
}

#[test]
fn inner_calls_pass_the_one_door() {
    passes_the_door(Bench::local(&json!({})));
}

#[test]
fn inner_calls_from_a_container_pass_the_one_door() {
    Bench::docker("inner_calls_from_a_container_pass_the_one_door")
        .into_iter()
        .for_each(passes_the_door);
}

#[test]
fn inner_calls_over_ssh_pass_the_one_door() {
    Bench::ssh("inner_calls_over_ssh_pass_the_one_door").into_iter().for_each(passes_the_door);
}

fn passes_the_door(mut bench: Bench) {
    let late = Arc::new(Late(OnceLock::new()));
    bench.ports.door = Some(Arc::clone(&late) as _);
    let registry = Arc::new(Registry::with_builtin(BUILTIN, &bench.ports));
    let dispatcher = Arc::new(Dispatcher::new(registry, Arc::new(Allows), Arc::new(Nobody)));
    assert!(late.0.set(Arc::clone(&dispatcher)).is_ok());
    let code = "from petasos_tools import *\n\
                print(write_file('made.txt', 'a\\nb\\n')['bytes_written'])\n\
                print(read_file('made.txt')['content'])\n\
                print(search_files('b')['total_count'], patch('made.txt', 'a', 'A')['success'])\n\
                print(terminal('cat made.txt')['output'])\n\
                print(write_file('forbidden', 'x')['error'])";
    let call = ToolCall::new("call", "execute_code", json!({ "code": code }).to_string());
    let result = bench.runtime.block_on(dispatcher.dispatch(call, &bench.cx));
    let told: Value = serde_json::from_str(&result.content.text()).unwrap();
    let output = told["output"].as_str().unwrap();
    assert!(output.starts_with("4\n1|a\n2|b\n1 True\nA\nb\n"), "{told}");
    assert!(output.contains("Blocked by policy"), "{told}");
    assert!(!bench.path("forbidden").exists());
    assert_eq!(told["tool_calls_made"], 6);
}
