//! Plugins of our own that together use every verb, under the Python host.

use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_contract::hook::{Moment, TurnMoment};
use petasos_contract::message::Message;
use petasos_contract::model::{Model, Prompt, Role};
use petasos_plugins::plugin::State;
use petasos_runtime::middleware::Attended;
use serde_json::{Value, json};

use crate::stage::{CANARY, Parrot, Stage};

const EVERYTHING: &str = r#"
import json, os
from pathlib import Path

SEEN = []

async def greet(args, **context):
    return json.dumps({"hello": args.get("name"), "session": context["session_id"],
                       "secret": os.environ.get("OPENAI_API_KEY"),
                       "token": os.environ.get("WEATHER_TOKEN")})

def register(ctx):
    print("this goes to the log")
    params = {"type": "object", "properties": {"name": {"type": "string"}}}
    ctx.register_tool("greet", "greeting", {"name": "greet", "description": "Greets", "parameters": params},
                      greet, check_fn=lambda: True, requires_env=["WEATHER_TOKEN"], is_async=True, emoji="x")
    ctx.register_tool("relay", "greeting", params,
                      lambda args, **k: ctx.dispatch_tool("echo", {"text": "from " + ctx.plugin_id}))
    ctx.register_tool("think", "greeting", params, lambda args, **k: think(ctx, args))
    ctx.register_tool("hidden", "greeting", params, lambda args: "never", check_fn=lambda: False)
    ctx.register_tool("seen", "greeting", params, lambda args: json.dumps(SEEN))
    ctx.register_tool("fails", "greeting", params, lambda args: 1 / 0)
    ctx.register_hook("pre_tool_call", guard)
    ctx.register_hook("pre_tool_call", lambda **k: 1 / 0)
    ctx.register_hook("post_tool_call", lambda tool_name, status, **k: SEEN.append([tool_name, status]))
    ctx.register_hook("pre_llm_call", lambda user_message, **k: {"context": "recalled for " + user_message})
    ctx.register_hook("no_such_hook", lambda **k: None)
    ctx.register_middleware("tool_request", rewrite)
    ctx.register_middleware("tool_execution", around)
    ctx.register_middleware("llm_request", lambda request, **k: {"request": {"system": request["system"] + " calmly"}})
    ctx.register_middleware("llm_execution", ask)
    ctx.register_command("/Say Hello", lambda raw: "hello " + raw, description="Says hello", args_hint="NAME")
    try:
        ctx.register_command("help", lambda raw: "mine")
    except Exception as error:
        SEEN.append(["help", str(error)])
    ctx.register_cli_command("weather", help="Weather", setup_fn=lambda p: p.add_argument("place"),
                             handler_fn=lambda args: print("sunny in " + args.place) or 3)
    ctx.register_skill("how", Path(__file__).parent / "SKILL.md", "How to")
    ctx.register_web_search_provider(type("P", (), {"name": "mysearch"})())
    ctx.register_platform(name="pigeon", label="Pigeon", adapter_factory=lambda config: None)
    for kind in ("image_gen_provider", "video_gen_provider", "browser_provider", "tts_provider",
                 "transcription_provider", "dashboard_auth_provider", "secret_source",
                 "context_engine"):
        getattr(ctx, "register_" + kind)(type("P", (), {"name": "mine"})())
    ctx.register_slack_action_handler("button", lambda *a: None)
    ctx.register_auxiliary_task("tidy", lambda: None)
    try:
        ctx.no_such_verb()
    except AttributeError as error:
        SEEN.append(["no verb", str(error)])
    from hermes_cli.config import get_env_value, load_config
    from hermes_constants import get_hermes_home
    own = load_config()["plugins"]["entries"]["everything"]["settings"]["a"]["b"]
    SEEN.append(["modules", own, get_env_value("WEATHER_TOKEN"), get_hermes_home().name])
    SEEN.append(["profile", ctx.profile_name])
    SEEN.append(["config", ctx.get_config("a.b", "none")])
    SEEN.append(["inject", ctx.inject_message("hi")])

def think(ctx, args):
    done = ctx.llm.complete([{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}])
    try:
        ctx.llm.complete("x", model="other")
    except Exception as error:
        return json.dumps({"text": done.text, "refused": str(error)})

def guard(tool_name, args, **k):
    if args.get("text") == "stop":
        return {"action": "block", "message": "stopped by guard"}

def rewrite(tool_name, args, **k):
    if tool_name == "echo" and args.get("text") == "old":
        return {"args": {"text": "new"}, "reason": "test"}

def around(tool_name, args, next_call, **k):
    if tool_name == "echo" and args.get("text") == "wrap":
        first = next_call({"args": {"text": "inner"}})
        try:
            next_call()
        except RuntimeError as error:
            return json.dumps({"first": json.loads(first), "second": str(error)})
    return next_call(args)

def ask(request, next_call, **k):
    reply = next_call(request)
    reply["message"]["content"] = "[framed] " + reply["message"]["content"]
    return reply
"#;

fn stage() -> Stage {
    let stage = Stage::new(json!({ "plugins": {
        "enabled": ["everything"],
        "entries": { "everything": { "settings": { "a": { "b": "configured" } } } },
    }}));
    let manifest = "name: everything\nversion: 1.0\nrequires_env: [WEATHER_TOKEN]\n";
    stage.plugin(
        "everything",
        &[("plugin.yaml", manifest), ("__init__.py", EVERYTHING), ("SKILL.md", "x")],
    );
    stage
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn one_plugin_uses_every_verb() {
    let stage = stage();
    let plugins = stage.plugins().await;
    let plugin = plugins.get("everything").unwrap();
    assert_eq!(plugin.state(), State::Ready, "{:?}", plugin.registered());
    let registered = plugin.registered();
    assert_eq!(registered.tools.len(), 6, "{registered:?}");
    assert_eq!(registered.middleware.len(), 4);
    assert_eq!(registered.skills[0].name, "everything:how");
    assert_eq!(stage.skills.0.lock()[0].name, "everything:how");
    // What nothing here can use is accepted, and named.
    let unserved = [
        "web_search_provider mysearch",
        "platform pigeon",
        "image_gen_provider mine",
        "video_gen_provider mine",
        "browser_provider mine",
        "tts_provider mine",
        "transcription_provider mine",
        "dashboard_auth_provider mine",
        "secret_source mine",
        "context_engine mine",
        "slack_action_handler button",
        "auxiliary_task tidy",
    ];
    assert_eq!(registered.unserved, unserved);
    assert!(registered.warnings.iter().any(|text| text.contains("no_such_hook")));

    let greeted = parsed(&stage.text("greet", json!({ "name": "Ada" })).await);
    assert_eq!((&greeted["hello"], &greeted["session"]), (&json!("Ada"), &json!("one")));
    assert_eq!(greeted["secret"], Value::Null, "{CANARY} stays here");
    assert_eq!(greeted["token"], "granted-token");
    let relayed = parsed(&stage.text("relay", json!({})).await);
    assert_eq!(relayed["echo"]["text"], "from everything");
    let failed = stage.text("fails", json!({})).await;
    assert_eq!(failed, r#"{"error":"Tool execution failed: ZeroDivisionError: division by zero"}"#);

    let blocked = stage.call("echo", json!({ "text": "stop" })).await;
    assert_eq!(blocked.content.text(), r#"{"error":"stopped by guard"}"#);
    let rewritten = parsed(&stage.text("echo", json!({ "text": "old" })).await);
    assert_eq!(rewritten["echo"]["text"], "new");
    let wrapped = parsed(&stage.text("echo", json!({ "text": "wrap" })).await);
    assert_eq!(wrapped["first"]["echo"]["text"], "inner");
    assert!(wrapped["second"].as_str().unwrap().contains("once"), "{wrapped}");

    let seen = parsed(&stage.text("seen", json!({})).await);
    let has = |row: Value| seen.as_array().unwrap().contains(&row);
    assert!(has(json!(["profile", "default"])) && has(json!(["config", "configured"])), "{seen}");
    assert!(has(json!(["inject", false])) && has(json!(["echo", "blocked"])), "{seen}");
    assert!(seen.to_string().contains("`/help` is a command of the program"), "{seen}");
    assert!(has(json!(["no verb", "no_such_verb"])), "{seen}");
    assert!(has(json!(["modules", "configured", "granted-token", "petasos"])), "{seen}");
    plugins.stop().await;
    let left = stage.registry.snapshot();
    assert!(left.get("greet").is_none(), "what it brought is gone with it");
    assert!(stage.skills.0.lock().is_empty(), "its skills, too");
}

#[tokio::test]
async fn commands_and_models_reach_a_plugin_and_back() {
    let stage = stage();
    let plugins = stage.plugins().await;
    let cx = stage.cx();
    assert_eq!(plugins.commands()[0].name, "say-hello");
    let said = plugins.run_command("say-hello", "you", &cx).await.unwrap().unwrap();
    assert_eq!(said, "hello you");
    assert!(plugins.run_command("unknown", "", &cx).await.is_none());
    let ran = plugins.run_cli("weather", &["Oslo".to_owned()], &cx).await.unwrap().unwrap();
    assert_eq!(ran, ("sunny in Oslo\n".to_owned(), 3));
    let wrong = plugins.run_cli("weather", &[], &cx).await.unwrap().unwrap();
    assert_eq!(wrong.1, 2, "{}", wrong.0);

    let thought = parsed(&stage.text("think", json!({})).await);
    assert_eq!(thought["text"], "S heard \"Q\"");
    assert!(thought["refused"].as_str().unwrap().contains("allow_model_override"), "{thought}");

    let model =
        Attended::new(Arc::new(Parrot), Arc::clone(&stage.hooks), Arc::clone(&stage.middleware));
    let prompt = Prompt {
        system: "Answer".into(),
        messages: vec![Message::user("hi")],
        ..Prompt::default()
    };
    let reply = model.ask(&prompt, Role::Main, &cx).await.unwrap();
    assert_eq!(reply.message.text(), "[framed] Answer calmly heard \"hi\"");

    let about = TurnMoment {
        cx: &cx,
        model: "m",
        user_message: "tea",
        history: &[],
        is_first_turn: true,
        sender: None,
    };
    assert_eq!(stage.hooks.additions(&Moment::PreLlmCall(&about)).await, ["recalled for tea"]);

    let injected = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let kept = Arc::clone(&injected);
    plugins.set_injector(Box::new(move |text, role| {
        kept.lock().push(format!("{role}: {text}"));
        true
    }));
    plugins.get("everything").unwrap().reload().await.unwrap();
    assert_eq!(*injected.lock(), ["user: hi"]);
}

#[tokio::test]
async fn a_name_of_higher_trust_is_taken_only_with_consent() {
    let source = r#"
def register(ctx):
    try:
        ctx.register_tool("echo", "mine", {}, lambda args: "mine", override=True)
    except PermissionError as error:
        text = str(error)
        ctx.register_tool("told", "mine", {}, lambda args: text)
"#;
    let stage = |consent: bool| {
        let entries = json!({ "grabby": { "allow_tool_override": consent } });
        let stage = Stage::new(json!({ "plugins": { "enabled": ["grabby"], "entries": entries } }));
        stage.plugin("grabby", &[("plugin.yaml", "name: grabby"), ("__init__.py", source)]);
        stage
    };
    let without = stage(false);
    let _plugins = without.plugins().await;
    assert_eq!(without.text("echo", json!({})).await, r#"{"echo":{}}"#);
    assert!(without.text("told", json!({})).await.contains("allow_tool_override"));
    let with = stage(true);
    let _plugins = with.plugins().await;
    assert_eq!(with.text("echo", json!({})).await, "mine");
}

#[tokio::test]
async fn a_reload_removes_what_the_new_one_does_not_have() {
    let source = |tool: &str| {
        format!(
            "def register(ctx):\n    ctx.register_tool('{tool}', 't', {{}}, lambda args: '{tool}')\n"
        )
    };
    let stage = Stage::new(json!({ "plugins": { "enabled": ["p"] } }));
    stage.plugin("p", &[("plugin.yaml", "name: p"), ("__init__.py", &source("first"))]);
    let plugins = stage.plugins().await;
    assert_eq!(stage.text("first", json!({})).await, "first");
    stage.plugin("p", &[("__init__.py", &source("second"))]);
    plugins.get("p").unwrap().reload().await.unwrap();
    assert_eq!(stage.text("second", json!({})).await, "second");
    assert_eq!(stage.call("first", json!({})).await.error_type, Some("unknown_tool"));
}

#[tokio::test]
async fn only_what_is_enabled_runs_and_disabled_wins() {
    let stage = Stage::new(json!({ "plugins": {
        "enabled": ["a", "b", "tools/c", "nowhere"], "disabled": ["b"],
    }}));
    let source = "def register(ctx):\n    pass\n";
    for name in ["a", "b", "d", "tools/c"] {
        let own = name.rsplit('/').next().unwrap();
        stage.plugin(name, &[("plugin.yml", &format!("name: {own}")), ("__init__.py", source)]);
    }
    stage.plugin("broken", &[("plugin.yaml", "name: [")]);
    let plugins = stage.plugins().await;
    let running: Vec<&str> =
        plugins.running().iter().map(|one| one.manifest().key.as_str()).collect();
    assert_eq!(running, ["a", "tools/c"]);
    assert_eq!(plugins.discovered().errors.len(), 1);
    assert_eq!(plugins.discovered().missing, ["nowhere"]);
    let session = SessionId::new("x");
    assert_eq!(session.as_str(), "x");
}

#[tokio::test]
async fn an_installed_package_is_found_by_its_entry_point_with_the_configured_interpreter() {
    let stage = Stage::new(json!({}));
    let site = stage.workspace.path().join("site");
    stage.file(
        "site/weather_plugin.py",
        "def register(ctx):\n    ctx.register_tool('sky', 't', {}, lambda args: 'blue')\n",
    );
    let info = "site/weather_plugin-1.0.dist-info";
    stage.file(
        &format!("{info}/METADATA"),
        "Metadata-Version: 2.1\nName: weather-plugin\nVersion: 1.0\n",
    );
    stage.file(
        &format!("{info}/entry_points.txt"),
        "[hermes_agent.plugins]\nweather = weather_plugin\n",
    );
    // An environment of its own, as far as the program can tell.
    let wrapper = format!("#!/bin/sh\nPYTHONPATH={} exec python3 \"$@\"\n", site.display());
    let python = stage.file("python", &wrapper);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&python, mode).unwrap();
    let mut stage = stage;
    stage.values = json!({ "plugins": { "enabled": ["weather"], "python": python } });
    let plugins = stage.plugins().await;
    assert_eq!(plugins.get("weather").unwrap().state(), State::Ready);
    assert_eq!(stage.text("sky", json!({})).await, "blue");
}

const WRITER: &str = r#"
def write(args, **context):
    try:
        open(args["path"], "w").write("x")
        return "written"
    except OSError as error:
        return "refused: " + str(error)

def register(ctx):
    params = {"type": "object", "properties": {"path": {"type": "string"}}}
    ctx.register_tool("put", "test", {"name": "put", "description": "Puts", "parameters": params}, write)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_confined_like_commands_unless_its_entry_says_otherwise() {
    let chosen = |own: Value| {
        json!({
            "terminal": {"sandbox": "workspace"},
            "plugins": {"enabled": ["writer"], "entries": {"writer": own}},
        })
    };
    for (values, outside) in [(chosen(json!({})), false), (chosen(json!({"sandbox": "off"})), true)]
    {
        let stage = Stage::new(values);
        std::fs::create_dir_all(stage.home.path().join("tmp")).unwrap();
        stage.plugin("writer", &[("plugin.yaml", "name: writer\n"), ("__init__.py", WRITER)]);
        let plugins = stage.plugins().await;
        let out = stage.home.path().join("out.txt");
        let inside = stage.workspace.path().join("in.txt");
        let put = |path: &std::path::Path| json!({ "path": path });
        assert_eq!(stage.text("put", put(&inside)).await, "written");
        let told = stage.text("put", put(&out)).await;
        assert_eq!(told == "written", outside, "{told}");
        assert_eq!(out.exists(), outside);
        drop(plugins);
    }
}
