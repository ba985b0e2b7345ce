//! Providers that are programs, against doubles that follow the published protocols: the Agent
//! Client Protocol, version 1, and the schema that `codex app-server generate-json-schema` prints.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use petasos_contract::context::Surface;
use petasos_contract::environment::{Ending, EnvError};
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::message::Message;
use petasos_contract::model::{Model as _, ModelError, Prompt, Reason, Reply, Role};
use petasos_contract::processes::{Helper, HelperHand, HelperSpec, Processes};
use petasos_contract::wait::Owned;
use petasos_contract::{BoxFuture, CallContext, Settings};
use petasos_net::client::{Net, NetOptions};
use petasos_providers::client::Client;
use petasos_providers::mode::Wire;
use petasos_providers::route::VaultRoutes;
use petasos_providers::table::Table;
use petasos_providers::transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use crate::golden::{golden, weather};

/// What a double says to a message; it ends where it should say nothing at all (`null`).
type Script = fn(&Value) -> Vec<Value>;

/// Starts doubles on pipes inside this process.
struct Double {
    script: Script,
    specs: Mutex<Vec<HelperSpec>>,
    heard: Arc<Mutex<Vec<Value>>>,
}

struct Hand(#[expect(dead_code, reason = "its life is the double's")] Owned<()>);

impl HelperHand for Hand {
    fn pid(&self) -> u32 {
        0
    }
    fn exited(&self) -> BoxFuture<'_, Result<Ending, EnvError>> {
        Box::pin(std::future::pending())
    }
    fn kill(&self, _: Duration) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async { Ok(()) })
    }
    fn pids(&self) -> Vec<u32> {
        Vec::new()
    }
    fn confinement(&self) -> &'static str {
        "none"
    }
}

impl Processes for Double {
    fn start(&self, spec: HelperSpec) -> BoxFuture<'_, Result<Helper, EnvError>> {
        let missing = spec.argv[0] == "nowhere";
        self.specs.lock().unwrap().push(spec);
        Box::pin(async move {
            if missing {
                let (what, why) = ("provider copilot-acp".to_owned(), "no such file".to_owned());
                return Err(EnvError::NotStarted { what, why });
            }
            let (ours_in, theirs_in) = tokio::io::duplex(1 << 16);
            let (theirs_out, ours_out) = tokio::io::duplex(1 << 16);
            let (mut theirs_err, ours_err) = tokio::io::duplex(1 << 10);
            theirs_err.write_all(b"a last word\n").await.unwrap();
            let talk = play(self.script, theirs_in, theirs_out, Arc::clone(&self.heard));
            Ok(Helper {
                stdin: Box::new(ours_in),
                stdout: Box::new(ours_out),
                stderr: Box::new(ours_err),
                hand: Arc::new(Hand(Owned::start(talk))),
            })
        })
    }
}

async fn play(
    script: Script,
    stdin: DuplexStream,
    mut stdout: DuplexStream,
    heard: Arc<Mutex<Vec<Value>>>,
) {
    let mut lines = BufReader::new(stdin).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        heard.lock().unwrap().push(message.clone());
        for answer in script(&message) {
            if answer.is_null() {
                return;
            }
            if stdout.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Subscriber for Notices {
    fn take(&self, event: Event) {
        if let Event::Notice { text } = event {
            self.0.lock().unwrap().push(text);
        }
    }
}

struct Asked {
    outcome: Result<Reply, ModelError>,
    double: Arc<Double>,
    notices: Vec<String>,
}

impl Asked {
    fn methods(&self) -> Vec<String> {
        let heard = self.double.heard.lock().unwrap();
        let named = |message: &Value| message["method"].as_str().map(str::to_owned);
        heard.iter().filter_map(named).collect()
    }

    fn heard(&self, method: &str) -> Value {
        let heard = self.double.heard.lock().unwrap();
        heard.iter().find(|message| message["method"] == method).unwrap()["params"].clone()
    }

    fn answered(&self, id: &Value) -> Value {
        let heard = self.double.heard.lock().unwrap();
        let found =
            heard.iter().find(|message| message["id"] == *id && message.get("method").is_none());
        found.unwrap().clone()
    }
}

async fn ask(script: Script, values: Value) -> Asked {
    let double = Arc::new(Double { script, specs: Mutex::default(), heard: Arc::default() });
    let settings = Arc::new(Settings::from_values(values.as_object().unwrap().clone()));
    let net = Arc::new(Net::new(NetOptions::default()));
    let routes = Arc::new(VaultRoutes::new(net.clone()));
    let client = Client::new(routes, net, Table::built_in()).with_pace(0.001);
    let client = client.with_processes(Some(Arc::clone(&double) as _));
    let notices = Arc::<Notices>::default();
    let mut cx = CallContext::new(settings, Surface::Cli, "s".into());
    cx.events = EventSink::to(notices.clone());
    let prompt = Prompt {
        system: "You are terse.".to_owned(),
        messages: vec![Message::user("weather in two cities")],
        tools: Arc::from([weather()]),
        ..Prompt::default()
    };
    let outcome = client.ask(&prompt, Role::Main, &cx).await;
    let notices = notices.0.lock().unwrap().clone();
    Asked { outcome, double, notices }
}

/// The recorded lines that follow the answer with this id, up to the next answer to us.
fn recorded(wire: Wire, name: &str, id: &str) -> Vec<Value> {
    let transport = transport::of(wire).unwrap();
    let text = std::fs::read_to_string(golden(transport).join(name)).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let start = lines.iter().position(|line| line["id"] == id).unwrap();
    let rest = lines.iter().skip(start + 1);
    let more = rest.take_while(|line| line.get("method").is_some() || line["id"] == "turn");
    std::iter::once(&lines[start]).chain(more).cloned().collect()
}

/// What comes until the program waits for an answer, and what comes after it.
fn around_the_question(lines: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let asks = |line: &Value| line.get("id").is_some() && line.get("method").is_some();
    let at = lines.iter().position(asks).unwrap() + 1;
    (lines[..at].to_vec(), lines[at..].to_vec())
}

fn copilot(message: &Value) -> Vec<Value> {
    let lines = recorded(Wire::CopilotAcp, "tools.jsonl", "session");
    let (session, turn) = lines.split_at(1);
    let (before, after) = around_the_question(turn);
    match message["method"].as_str() {
        None => after,
        Some("initialize") => recorded(Wire::CopilotAcp, "tools.jsonl", "initialize"),
        Some("session/new") => session.to_vec(),
        Some("session/set_model") => {
            vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": {}})]
        }
        Some("session/prompt") => before,
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn copilot_is_asked_one_turn_and_gets_no_permission() {
    let asked = ask(copilot, json!({"model": {"provider": "copilot-acp"}})).await;
    let reply = asked.outcome.as_ref().unwrap();
    let calls: Vec<&str> = reply.message.tool_calls.iter().map(|call| &*call.arguments).collect();
    assert_eq!(calls, ["{\"city\":\"Oslo\"}", "{\"city\":\"Rome\"}"]);
    assert_eq!(reply.message.text().trim(), "I ask for both.");
    assert_eq!(asked.methods(), ["initialize", "session/new", "session/prompt"]);
    let refused = asked.answered(&json!(7));
    assert_eq!(refused["result"]["outcome"]["optionId"], "no", "{refused}");
    let prompt = asked.heard("session/prompt")["prompt"][0]["text"].to_string();
    for part in ["You are terse.", "get_weather", "weather in two cities"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let specs = asked.double.specs.lock().unwrap();
    assert_eq!(specs[0].argv, ["copilot", "--acp", "--stdio"]);
    assert!(
        specs[0].env.is_empty() && !specs[0].grants.iter().any(|name| name.contains("API_KEY"))
    );
}

#[tokio::test]
async fn a_model_of_copilot_is_chosen_where_it_lists_it_and_named_where_not() {
    let of = |model: &str| json!({"model": {"provider": "copilot-acp", "default": model}});
    let asked = ask(copilot, of("gpt-5")).await;
    assert!(asked.outcome.is_ok(), "{:?}", asked.outcome);
    assert_eq!(asked.heard("session/set_model")["modelId"], "gpt-5");
    let error = ask(copilot, of("gpt-9")).await.outcome.unwrap_err();
    assert_eq!(error.reason, Reason::ModelNotFound);
    assert!(error.line.contains("but gpt-5"), "{}", error.line);
}

#[tokio::test]
async fn a_missing_login_or_program_says_what_to_do() {
    let locked: Script = |message| match message["method"].as_str() {
        Some("initialize") => recorded(Wire::CopilotAcp, "login.jsonl", "initialize"),
        _ => recorded(Wire::CopilotAcp, "login.jsonl", "session"),
    };
    let error = ask(locked, json!({"model": {"provider": "copilot-acp"}})).await;
    let error = error.outcome.unwrap_err();
    assert_eq!(error.reason, Reason::Auth);
    assert!(error.line.ends_with("log in with `copilot login`"), "{}", error.line);
    let silent: Script = |_| vec![Value::Null];
    let error = ask(silent, json!({"model": {"provider": "copilot-acp"}})).await;
    let error = error.outcome.unwrap_err();
    assert_eq!(error.reason, Reason::NotConfigured);
    assert!(error.line.contains("a last word"), "{error:?}");
    assert_eq!(error.path.len(), 3, "what never spoke is not asked again: {:?}", error.path);
}

#[tokio::test]
async fn what_a_program_said_before_it_died_is_kept() {
    let dies: Script = |message| match message["method"].as_str() {
        Some("session/prompt") => {
            let lines = recorded(Wire::CopilotAcp, "text.jsonl", "session");
            lines.into_iter().skip(1).filter(|line| line["id"] != "turn").collect()
        }
        Some("initialize" | "session/new") => copilot(message),
        _ => vec![Value::Null],
    };
    let values = json!({"model": {"provider": "copilot-acp"},
        "providers": {"copilot-acp": {"stale_timeout_seconds": 0.2}}});
    let asked = ask(dies, values).await;
    let reply = asked.outcome.unwrap();
    assert_eq!(reply.message.text(), "Hello from <b>Copilot</b>.");
    assert!(reply.broken.is_some());
}

fn codex(message: &Value) -> Vec<Value> {
    let file = "worked.jsonl";
    let (before, after) = around_the_question(&recorded(Wire::CodexAppServer, file, "turn"));
    match message["method"].as_str() {
        Some("initialize") => recorded(Wire::CodexAppServer, file, "initialize"),
        Some("thread/start") => {
            recorded(Wire::CodexAppServer, file, "thread").into_iter().take(1).collect()
        }
        Some("turn/start") => before,
        None => after,
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn codex_runs_its_own_loop_and_what_it_did_is_told() {
    let values = json!({"model": {"provider": "openai-codex", "default": "gpt-5",
        "openai_runtime": "codex_app_server"}});
    let asked = ask(codex, values.clone()).await;
    let reply = asked.outcome.as_ref().unwrap();
    assert_eq!(reply.message.text(), "Two files: a and b.\n\nSaid whole.");
    let thought = reply.message.reasoning.as_deref().unwrap();
    for part in ["I look at the folder first.", "it ran `ls -a`: exit 0", "declined", "weather"] {
        assert!(thought.contains(part), "{part}: {thought}");
    }
    assert!(reply.message.tool_calls.is_empty(), "its calls are its own");
    assert_eq!((reply.usage.input, reply.usage.cache_read, reply.usage.output), (300, 500, 100));
    assert_eq!(asked.answered(&json!(0))["result"]["decision"], "decline");
    let thread = asked.heard("thread/start");
    assert_eq!((&thread["sandbox"], &thread["model"]), (&json!("read-only"), &json!("gpt-5")));
    assert_eq!(thread["developerInstructions"], "You are terse.");
    assert_eq!(asked.methods(), ["initialize", "initialized", "thread/start", "turn/start"]);
    assert_eq!(asked.notices.len(), 1, "{:?}", asked.notices);
    let specs = asked.double.specs.lock().unwrap().clone();
    assert_eq!(
        (&*specs[0].argv.join(" "), &*specs[0].grants.join(" ")),
        ("codex app-server", "CODEX_HOME")
    );
    let mut confined = values;
    confined["terminal"] = json!({"sandbox": "workspace"});
    let asked = ask(codex, confined).await;
    assert_eq!(asked.heard("thread/start")["sandbox"], "workspace-write");
}

#[tokio::test]
async fn a_failed_turn_of_codex_is_classified_and_says_what_to_do() {
    let fails: Script = |message| match message["method"].as_str() {
        Some("turn/start") => vec![json!({"method": "turn/completed", "params": {"turn":
            {"id": "t", "status": "failed", "error": {"message": "log in first",
            "codexErrorInfo": "unauthorized"}}}})],
        _ => codex(message),
    };
    let values = json!({"model": {"provider": "openai-api", "default": "gpt-5",
        "openai_runtime": "codex_app_server"}});
    let error = ask(fails, values).await.outcome.unwrap_err();
    assert_eq!(error.reason, Reason::Auth);
    assert!(error.line.ends_with("log in with `codex login`"), "{}", error.line);
}
