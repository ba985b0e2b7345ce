//! What other people's code costs: a tool call over the pipe, and a hook that is a program beside
//! the bare start of that program.
#![expect(clippy::expect_used, reason = "a measurement that cannot be made fails")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use petasos_contract::Args;
use petasos_contract::approval::{Intent, Nobody, Policy, Verdict};
use petasos_contract::bridging::{Inline, SyncTool};
use petasos_contract::call::ToolCall;
use petasos_contract::context::Surface;
use petasos_contract::hook::{HookKind, Moment, RunMoment};
use petasos_contract::processes::{HelperSpec, Processes};
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{CallContext, Secret, SessionId, Settings, ToolError, ToolOutput};
use petasos_plugins::{Plugins, ShellHooks, Surroundings};
use petasos_runtime::hooks::HookBus;
use petasos_runtime::middleware::Middleware;
use petasos_runtime::registry::{Entry, Intent as Registering, Origin};
use petasos_runtime::{Dispatcher, Registry};
use petasos_terminal::Helpers;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;

/// Counts allocations: a moment that nobody wants must make none.
#[global_allocator]
static COUNTED: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
    side_by_side();
}

/// Rounds in which everything that starts a program takes its turn, so that a busy machine is busy
/// for all of them alike.
const ROUNDS: usize = 300;

/// Medians of interleaved rounds: the standard library's start of a program, ours of the same
/// program with an owned tree, a call with that program as its hook, and a call without.
fn side_by_side() {
    let stage = Stage::new(&json!({}));
    let hooked = with_hook();
    let mut took: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let ways: [&dyn Fn(); 4] =
            [&spawn, &|| start(&stage), &|| hooked.call("noop"), &|| stage.call("noop")];
        for (way, took) in ways.iter().zip(&mut took) {
            let begun = Instant::now();
            way();
            took.push(begun.elapsed());
        }
    }
    let [bare, ours, hook, none] = took.map(|mut took| {
        took.sort();
        took.get(ROUNDS / 2).copied().unwrap_or_default().as_secs_f64() * 1e6
    });
    let text = format!(
        "medians of {ROUNDS} interleaved rounds, in us: bare spawn {bare:.0}, owned start {ours:.0} \
         ({:.2}), call with a hook {hook:.0} ({:.2} of bare, {:.2} of owned), call without {none:.1}\n",
        ours / bare,
        hook / bare,
        hook / ours,
    );
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes()).expect("printed");
}

/// The bare start of a program that reads its input and says nothing, by the standard library.
#[expect(clippy::disallowed_methods, reason = "what ours is compared with")]
fn spawn() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let mut child = Command::new("cat")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a start");
    child.stdin.take().expect("a pipe").write_all(b"{}").expect("written");
    child.wait_with_output().expect("an end");
}

/// The same by us: its tree is owned, and ends with us however we end.
fn start(stage: &Stage) {
    stage.runtime.block_on(async {
        let argv = ["cat".to_owned(), "-".to_owned()].to_vec();
        let spec = HelperSpec::new("bare", argv, &stage.settings);
        let mut helper = stage.processes.start(spec).await.expect("a start");
        helper.stdin.write_all(b"{}").await.expect("written");
        helper.stdin = Box::new(tokio::io::sink());
        let mut text = Vec::new();
        helper.stdout.read_to_end(&mut text).await.expect("read");
        helper.hand.exited().await.expect("an end")
    });
}

/// A stage on which that program is a hook after every call.
fn with_hook() -> Stage {
    let hook = json!([{ "command": "cat -" }]);
    let values = json!({ "hooks_auto_accept": true, "hooks": { "post_tool_call": hook } });
    let stage = Stage::new(&values);
    let processes: Arc<dyn Processes> = Arc::clone(&stage.processes) as _;
    ShellHooks::of(&stage.settings).register(&stage.hooks, &processes);
    stage
}

/// Moments of a call and of a turn without hooks.
#[divan::bench(min_time = 1)]
fn a_moment_that_nobody_wants(bencher: Bencher<'_, '_>) {
    let stage = Stage::new(&json!({}));
    let cx = CallContext::new(Arc::clone(&stage.settings), Surface::Cli, SessionId::new("bench"));
    let about =
        RunMoment { cx: &cx, model: "m", completed: true, interrupted: false, reason: None };
    bencher.bench_local(|| {
        let moment = Moment::OnSessionEnd(&about);
        let told = std::pin::pin!(stage.hooks.observe(&moment));
        let mut waker = std::task::Context::from_waker(std::task::Waker::noop());
        (stage.hooks.wants(HookKind::PreToolCall), told.poll(&mut waker).is_ready())
    });
}

struct Everything;

impl Policy for Everything {
    fn judge(&self, _: &Intent<'_>, _: &CallContext) -> Verdict {
        Verdict::Allow
    }
}

struct Noop;

impl SyncTool for Noop {
    fn call(&self, _: Args, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::Text("{}".to_owned()))
    }
}

struct Stage {
    runtime: Runtime,
    home: tempfile::TempDir,
    settings: Arc<Settings>,
    registry: Arc<Registry>,
    hooks: Arc<HookBus>,
    door: Arc<Dispatcher>,
    processes: Arc<Helpers>,
}

impl Stage {
    fn new(values: &Value) -> Self {
        let home = tempfile::tempdir().expect("a temp folder");
        let source = Source::Environment { variable: "PATH".to_owned() };
        let path = Variable { value: Secret::new(env!("PATH")), source };
        let settings = Arc::new(Settings::new(Parts {
            home: home.path().to_owned(),
            user_home: home.path().to_owned(),
            workspace: home.path().to_owned(),
            temp: home.path().to_owned(),
            values: values.as_object().cloned().unwrap_or_default(),
            variables: [("PATH".to_owned(), path)].into(),
            ..Parts::default()
        }));
        let registry = Arc::new(Registry::new());
        let noop = Entry::new("noop", "bench", Map::new(), Arc::new(Inline::new(Noop)));
        registry.register(noop, &Origin::core(), Registering::Add).expect("a free name");
        let hooks = Arc::new(HookBus::new());
        let door = Dispatcher::new(Arc::clone(&registry), Arc::new(Everything), Arc::new(Nobody));
        let door = Arc::new(door.with_hooks(Arc::clone(&hooks)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (runtime, processes) = (runtime.expect("a runtime"), Helpers::new());
        Self { runtime, home, settings, registry, hooks, door, processes }
    }

    fn plugins(&self) -> Plugins {
        self.runtime.block_on(Plugins::start(Surroundings {
            settings: Arc::clone(&self.settings),
            processes: Arc::clone(&self.processes) as _,
            registry: Arc::clone(&self.registry),
            hooks: Arc::clone(&self.hooks),
            middleware: Arc::new(Middleware::new()),
            skills: None,
            door: None,
            model: None,
            reserved_commands: Vec::new(),
            injector: arc_swap::ArcSwapOption::default(),
        }))
    }

    fn call(&self, tool: &str) {
        let cx =
            CallContext::new(Arc::clone(&self.settings), Surface::Cli, SessionId::new("bench"));
        let call = ToolCall::new("c", tool, r#"{"text":"one two three"}"#);
        let result = self.runtime.block_on(self.door.dispatch(call, &cx));
        assert!(result.error_type.is_none(), "{}", result.content.text());
        black_box(result);
    }
}

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name)
}

fn install(stage: &Stage, name: &str, from: &str) {
    let folder = stage.home.path().join("plugins").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    for entry in std::fs::read_dir(example(from)).expect("the examples").flatten() {
        std::fs::copy(entry.path(), folder.join(entry.file_name())).expect("a copy");
    }
}

/// A tool of a plugin in Rust, through the one door. Build the example first.
#[divan::bench(min_time = 1)]
fn a_call_to_a_plugin_in_rust(bencher: Bencher<'_, '_>) {
    let stage = Stage::new(&json!({ "plugins": { "enabled": ["words"] } }));
    install(&stage, "words", "rust");
    let program = std::env::current_exe().expect("this program");
    let target = program.ancestors().nth(3).expect("the target folder");
    let built = ["release", "debug"].map(|kind| target.join(kind).join("examples/plugin_words"));
    let built = built.iter().find(|built| built.exists()).expect("the example is built");
    std::fs::copy(built, stage.home.path().join("plugins/words/plugin_words")).expect("a copy");
    let _plugins = stage.plugins();
    bencher.bench_local(|| stage.call("word_count"));
}

/// A tool of a plugin in Python, under the bundled host.
#[divan::bench(min_time = 1)]
fn a_call_to_a_plugin_in_python(bencher: Bencher<'_, '_>) {
    let stage = Stage::new(&json!({ "plugins": { "enabled": ["notes"] } }));
    let folder = stage.home.path().join("plugins/notes");
    install(&stage, "notes", "python");
    let quiet =
        "def register(ctx):\n    ctx.register_tool('word_count', 't', {}, lambda args: '3')\n";
    let mut file = std::fs::File::create(folder.join("__init__.py")).expect("a file");
    std::io::Write::write_all(&mut file, quiet.as_bytes()).expect("written");
    let _plugins = stage.plugins();
    bencher.bench_local(|| stage.call("word_count"));
}

/// A call without hooks, to compare.
#[divan::bench(min_time = 1)]
fn a_call_without_hooks(bencher: Bencher<'_, '_>) {
    let stage = Stage::new(&json!({}));
    bencher.bench_local(|| stage.call("noop"));
}

/// The bare spawn of a program by the standard library.
#[divan::bench(min_time = 1)]
fn the_bare_spawn_of_a_program() {
    spawn();
}

/// The start of the same program by us.
#[divan::bench(min_time = 1)]
fn the_owned_start_of_a_program(bencher: Bencher<'_, '_>) {
    let stage = Stage::new(&json!({}));
    bencher.bench_local(|| start(&stage));
}

/// The same program as a hook around a call.
#[divan::bench(min_time = 1)]
fn a_call_with_a_hook_that_is_a_program(bencher: Bencher<'_, '_>) {
    let stage = with_hook();
    bencher.bench_local(|| stage.call("noop"));
}
