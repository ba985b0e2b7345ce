//! The tool against a real shell: checks, results and what it tells the policy.

use std::sync::Arc;

use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::context::Surface;
use petasos_contract::effect::Effect;
use petasos_contract::ports::Ports;
use petasos_contract::settings::Parts;
use petasos_contract::{Args, CallContext, SessionId, Settings, Tool, ToolOutput};
use petasos_terminal::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::TOOL;

pub(crate) struct Room {
    pub(crate) ports: Ports,
    pub(crate) cx: CallContext,
    folder: TempDir,
}

impl Room {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let values = json!({ "terminal": { "auto_source_bashrc": false, "timeout": 20 } });
        let settings = Settings::new(Parts {
            home: folder.path().join("home/.petasos"),
            user_home: folder.path().join("home"),
            workspace: folder.path().to_owned(),
            temp: folder.path().join("tmp"),
            values: values.as_object().cloned().unwrap(),
            ..Parts::default()
        });
        let mut ports = Ports::default();
        Engine::new(None).fill(&mut ports);
        let cx = CallContext::new(Arc::new(settings), Surface::Cli, SessionId::new("room"));
        Self { ports, cx, folder }
    }

    pub(crate) async fn call(&self, tool: &dyn Tool, args: Value) -> Value {
        let args = Args::try_from(args).unwrap();
        let told = petasos_testkit::call(tool, args, &self.cx).await.unwrap();
        let ToolOutput::Text(text) = told else { panic!() };
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) async fn terminal(&self, args: Value) -> Value {
        self.call(&*(TOOL.build)(&self.ports), args).await
    }
}

#[tokio::test]
async fn a_command_gives_its_output_and_code() {
    let room = Room::new();
    let told = room.terminal(json!({ "command": "echo hi; exit 3" })).await;
    assert_eq!(told, json!({ "output": "hi\n", "exit_code": 3, "error": null }));
    let told = room.terminal(json!({ "command": "echo x | grep y" })).await;
    assert_eq!(told["exit_code"], 1);
    assert!(told["exit_code_meaning"].as_str().unwrap().contains("no line matched"));
}

#[tokio::test]
async fn what_cannot_run_says_why_and_has_no_effects() {
    let room = Room::new();
    let tool = (TOOL.build)(&room.ports);
    let rows = [
        (json!({}), "`command` must be a text"),
        (json!({ "command": 5 }), "`command` must be a text"),
        (json!({ "command": "true", "timeout": 601 }), "background=true"),
        (json!({ "command": "npm run dev" }), "background=true"),
        (json!({ "command": "touch ran &" }), "background=true"),
        (json!({ "command": "touch ran", "workdir": "x$(y)" }), "workdir"),
    ];
    for (args, expected) in rows {
        let plan = tool.plan(Args::try_from(args.clone()).unwrap(), &room.cx).await.unwrap();
        assert!(plan.effects.is_empty(), "{args}");
        let told = room.terminal(args.clone()).await;
        assert_eq!((&told["output"], &told["exit_code"]), (&json!(""), &json!(-1)), "{args}");
        assert_eq!(told["status"], "error");
        assert!(told["error"].as_str().unwrap().contains(expected), "{told}");
    }
    assert!(!room.folder.path().join("ran").exists());
}

#[tokio::test]
async fn a_command_is_judged_where_it_would_run() {
    let room = Room::new();
    room.terminal(json!({ "command": "mkdir sub && cd sub" })).await;
    let tool = (TOOL.build)(&room.ports);
    let args = Args::try_from(json!({ "command": "ls", "workdir": "x" })).unwrap();
    let plan = tool.plan(args, &room.cx).await.unwrap();
    let effects: Vec<Effect> = plan.effects.iter().cloned().collect();
    let cwd = room.folder.path().join("sub/x");
    assert_eq!(effects, [Effect::Command { script: "ls".to_owned(), cwd }]);
}

#[tokio::test]
async fn a_timeout_and_a_missing_directory_have_codes_of_their_own() {
    let room = Room::new();
    let told = room.terminal(json!({ "command": "echo a; sleep 60", "timeout": 1 })).await;
    assert_eq!(told["exit_code"], 124);
    assert_eq!(told["output"], "a\n[Command timed out after 1s]");
    let told = room.terminal(json!({ "command": "ls", "workdir": "/none" })).await;
    assert_eq!(told["exit_code"], 126);
    assert!(told["error"].as_str().unwrap().contains("/none"));
}

#[tokio::test]
async fn a_background_start_says_what_will_be_told() {
    let mut room = Room::new();
    let rows = [
        (Surface::Cli, json!({}), "hint"),
        (Surface::Cli, json!({ "notify_on_complete": true }), "notify_on_complete"),
        (Surface::Cli, json!({ "watch_patterns": ["x"] }), "watch_patterns"),
        (
            Surface::Cli,
            json!({ "notify_on_complete": true, "watch_patterns": ["x"] }),
            "watch_patterns_ignored",
        ),
        (Surface::OneShot, json!({ "notify_on_complete": true }), "notify_unsupported"),
    ];
    for (surface, mut args, key) in rows {
        room.cx.surface = surface;
        args["command"] = json!("true");
        args["background"] = json!(true);
        let told = room.terminal(args).await;
        assert_eq!(told["exit_code"], 0, "{told}");
        let name = told["session_id"].as_str().unwrap();
        assert!(name.starts_with("proc_") && name.len() == 17, "{name}");
        assert!(told.get(key).is_some(), "{key}: {told}");
    }
}

#[test]
fn a_refusal_has_the_shape_of_a_result() {
    let tool = (TOOL.build)(&Ports::default());
    let refusal = Refusal::new(RefusalKind::Denied, "no").with("pattern_key", "rm");
    let expected = json!({
        "output": "", "exit_code": -1, "error": "no", "status": "blocked", "pattern_key": "rm"
    });
    assert_eq!(tool.refused(&refusal), ToolOutput::json(&expected));
}
