//! What the waist costs: the list of definitions, a call that does nothing, and coercion.

use std::collections::BTreeSet;
use std::sync::Arc;

use divan::{Bencher, black_box};
use petasos_contract::approval::{Intent, Nobody, Policy, Verdict};
use petasos_contract::bridging::{Blocking, Inline, SyncTool};
use petasos_contract::call::ToolCall;
use petasos_contract::check::{Availability, Check, CheckScope};
use petasos_contract::context::{CheckContext, Surface};
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment};
use petasos_contract::ports::Ports;
use petasos_contract::tool::{Tool, ToolError};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, SessionId, Settings, ToolName, ToolOutput,
};
use petasos_runtime::availability::Checks;
use petasos_runtime::definitions::{Catalogue, Wanted};
use petasos_runtime::dispatch::coerce;
use petasos_runtime::hooks::HookBus;
use petasos_runtime::registry::{Entry, Intent as Registering, Origin};
use petasos_runtime::toolsets::{CORE, Selection};
use petasos_runtime::{Dispatcher, Registry};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

/// Does nothing, in whichever way it is wrapped.
struct Noop;

impl SyncTool for Noop {
    fn call(&self, _: Args, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::Text("{\"ok\":true}".to_owned()))
    }
}

/// Does nothing, asynchronously.
struct AsyncNoop;

impl Tool for AsyncNoop {
    fn run<'a>(
        &'a self,
        _: Cleared,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::Text("{\"ok\":true}".to_owned())) })
    }

    fn schema_patch(
        &self,
        granted: &BTreeSet<ToolName>,
    ) -> Result<petasos_contract::tool::Patch, ToolError> {
        black_box(granted.len());
        Ok(petasos_contract::tool::Patch::Keep)
    }
}

struct AllowAll;

impl Policy for AllowAll {
    fn judge(&self, _: &Intent<'_>, _: &CallContext) -> Verdict {
        Verdict::Allow
    }
}

struct Watcher;

impl Hook for Watcher {
    fn name(&self) -> &'static str {
        "watcher"
    }

    fn wants(&self) -> HookSet {
        HookSet::of(&[HookKind::PreToolCall, HookKind::PostToolCall])
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        black_box(moment.kind());
        Box::pin(async { Ok(Directive::Pass) })
    }
}

/// A function schema of the usual size: five parameters with a sentence each.
fn schema(name: &str) -> Map<String, Value> {
    let parameter = |kind: &str| {
        let words = "What it is for, in one sentence that a model can follow without guessing.";
        json!({ "type": kind, "description": words })
    };
    let whole = json!({
        "description": format!(
            "{name} does what its name says. It takes a path and a few options, gives JSON back, \
             and says in its error text what to do next. Prefer it over the shell for this."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "path": parameter("string"),
                "offset": parameter("integer"),
                "limit": { "type": ["integer", "null"], "default": 500 },
                "mode": { "anyOf": [{ "type": "string", "enum": ["a", "b"] }, { "type": "null" }] },
                "patterns": { "type": "array", "items": parameter("string") },
            },
            "required": ["path"],
        },
    });
    whole.as_object().cloned().unwrap_or_default()
}

/// Every core tool, a third of them behind one of six checks.
fn core_registry() -> Arc<Registry> {
    let registry = Arc::new(Registry::new());
    for (n, name) in CORE.iter().enumerate() {
        let mut entry = Entry::new(*name, "core", schema(name), Arc::new(AsyncNoop));
        if n % 3 == 0 {
            let scope = [CheckScope::Process, CheckScope::Profile, CheckScope::Session][n / 3 % 3];
            entry.check = Some(Check::new(format!("check-{}", n / 3 % 6), scope, |_| {
                Box::pin(async { Availability::Ready })
            }));
        }
        register(&registry, entry);
    }
    registry
}

fn register(registry: &Registry, entry: Entry) {
    if let Err(collision) = registry.register(entry, &Origin::core(), Registering::Add) {
        eprint_and_stop(&collision.to_string());
    }
}

#[expect(clippy::print_stderr, reason = "a benchmark that cannot start says why")]
fn eprint_and_stop(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(1)
}

fn settings() -> Arc<Settings> {
    Arc::new(Settings::from_values(Map::new()))
}

fn check_context() -> CheckContext {
    CheckContext {
        surface: Surface::Cli,
        attended: true,
        session: SessionId::new("bench"),
        settings: settings(),
        ports: Arc::new(Ports::default()),
    }
}

fn hermes_cli() -> Wanted {
    let enabled = Some(vec!["hermes-cli".to_owned()]);
    Wanted { selection: Selection { enabled, ..Selection::default() }, ..Wanted::default() }
}

fn runtime() -> Runtime {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => eprint_and_stop(&error.to_string()),
    }
}

#[divan::bench]
fn definitions_cold(bencher: Bencher) {
    let (runtime, registry, cx, wanted) =
        (runtime(), core_registry(), check_context(), hermes_cli());
    bencher
        .with_inputs(|| Catalogue::new(Arc::clone(&registry), Arc::new(Checks::default())))
        .bench_refs(|catalogue| runtime.block_on(catalogue.define(&wanted, &cx)).json());
}

#[divan::bench]
fn definitions_warm(bencher: Bencher) {
    let (runtime, cx, wanted) = (runtime(), check_context(), hermes_cli());
    let catalogue = Catalogue::new(core_registry(), Arc::new(Checks::default()));
    runtime.block_on(catalogue.define(&wanted, &cx));
    bencher.bench(|| runtime.block_on(catalogue.define(&wanted, &cx)).json());
}

/// One dispatch of a no-op tool, with the runtime entered for each.
fn dispatch(bencher: Bencher, tool: Arc<dyn Tool>, hooked: bool) {
    let runtime = runtime();
    let registry = Arc::new(Registry::new());
    register(&registry, Entry::new("noop", "test", schema("noop"), tool));
    let hooks = Arc::new(HookBus::new());
    if hooked {
        hooks.register(&(Arc::new(Watcher) as Arc<dyn Hook>));
    }
    let dispatcher =
        Dispatcher::new(registry, Arc::new(AllowAll), Arc::new(Nobody)).with_hooks(hooks);
    let cx = CallContext::new(settings(), Surface::Cli, SessionId::new("bench"));
    let cx = cx.for_call("call-1".into());
    let arguments = r#"{"path": "src/main.rs", "offset": "10", "limit": 200}"#;
    let call = ToolCall::new("call-1", "noop", arguments);
    bencher.bench_local(|| runtime.block_on(dispatcher.dispatch(black_box(call.clone()), &cx)));
}

#[divan::bench(args = [false, true])]
fn dispatch_inline(bencher: Bencher, hooks: bool) {
    dispatch(bencher, Arc::new(Inline::new(Noop)), hooks);
}

#[divan::bench(args = [false, true])]
fn dispatch_async(bencher: Bencher, hooks: bool) {
    dispatch(bencher, Arc::new(AsyncNoop), hooks);
}

#[divan::bench(args = [false, true])]
fn dispatch_blocking(bencher: Bencher, hooks: bool) {
    dispatch(bencher, Arc::new(Blocking::new(Noop)), hooks);
}

#[divan::bench]
fn coercion(bencher: Bencher) {
    let schema = schema("noop");
    let given = json!({
        "path": "src/main.rs", "offset": "10", "limit": "200", "mode": "null",
        "patterns": "[\"a\", \"b\"]", "unknown": "1",
    });
    let given = given.as_object().cloned().unwrap_or_default();
    bencher.with_inputs(|| given.clone()).bench_refs(|args| coerce(args, schema.get("parameters")));
}
