//! The sandbox `workspace` at a terminal: nothing is asked that it confines, and what it refuses
//! becomes one question, "run this once outside".

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petasos::Host;
use petasos_config::Inputs;
use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Scope, Who};
use petasos_contract::call::{Content, ToolCall};
use petasos_contract::context::{Principal, Surface};
use petasos_contract::{BoxFuture, CallContext, SessionId};
use petasos_runtime::Dispatcher;
use petasos_testkit::Home;
use serde_json::{Value, json};

/// Says one thing to everything, and keeps what it was asked.
struct Person {
    agrees: bool,
    asked: Mutex<Vec<Vec<(String, String)>>>,
}

impl Approver for Person {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        let said = request.findings.iter().map(|it| (it.key.to_string(), it.why.clone()));
        self.asked.lock().expect("a list").push(said.collect());
        let by = Who::Person(None);
        let answer = if self.agrees {
            Answer::Allowed { scope: Scope::Once, by }
        } else {
            Answer::Denied { by, comment: None }
        };
        Box::pin(async move { answer })
    }
}

struct Stage {
    home: Home,
    person: Arc<Person>,
    door: Arc<Dispatcher>,
    cx: CallContext,
    _host: Host,
}

impl Stage {
    /// Nothing where this machine cannot confine.
    fn new(agrees: bool, more: &str) -> Option<Self> {
        let home = Home::temp();
        home.write("tmp/.keep", "");
        home.write(".bashrc", "# mine\n");
        home.write("papers/letter.txt", "dear");
        let config = format!("terminal:\n  sandbox: workspace\n{more}");
        home.write(".petasos/config.yaml", config);
        let variable = |name: &str, value: String| (name.to_owned(), value);
        let environment = BTreeMap::from([
            variable("HOME", home.user().display().to_string()),
            variable("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            variable("LANG", "C.UTF-8".to_owned()),
            variable("TMPDIR", home.user().join("tmp").display().to_string()),
        ]);
        let (cwd, user_home) = (home.workspace(), Some(home.user().to_owned()));
        let inputs = Inputs { environment, cwd, user_home, ..Inputs::default() };
        let host = Host::open(&inputs).expect("a host");
        let person = Arc::new(Person { agrees, asked: Mutex::default() });
        let door = host.dispatcher(Some(Arc::clone(&person) as _)).expect("a door");
        let mut cx = host.call_context(Surface::Cli, SessionId::new("one")).attended(true);
        cx.principal = Principal::Model;
        cx.deadline = std::time::Instant::now() + Duration::from_mins(2);
        let terminal: Arc<dyn petasos_contract::terminal::Terminal> = host.terminal().clone();
        let holds = terminal.held(&cx).is_some();
        holds.then_some(Self { home, person, door, cx, _host: host })
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let mut cx = self.cx.clone();
        cx.call = format!("call-{}", self.asked().len()).as_str().into();
        let call = ToolCall::new(cx.call.as_str(), tool, arguments.to_string());
        match self.door.dispatch(call, &cx).await.content {
            Content::Text(text) => serde_json::from_str(&text).expect("a result"),
            Content::Multimodal(parts) => json!(parts.text_summary),
        }
    }

    async fn run(&self, command: &str) -> Value {
        self.call("terminal", json!({ "command": command })).await
    }

    fn asked(&self) -> Vec<Vec<(String, String)>> {
        self.person.asked.lock().expect("a list").clone()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.user().join(path)
    }

    /// The keys of the one question that was asked.
    fn question(&self) -> Vec<String> {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "one question: {asked:?}");
        asked.into_iter().flatten().map(|(key, _)| key).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_sandbox_refuses_becomes_one_question_that_names_it() {
    let Some(stage) = Stage::new(true, "") else { return };
    let told = stage.run("echo x > ~/outside.txt && echo done").await;
    assert_eq!((&told["exit_code"], &told["output"]), (&json!(0), &json!("done\n")), "{told}");
    assert!(stage.at("outside.txt").exists());
    let asked = stage.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let why = &asked[0].iter().find(|(key, _)| key == "refused by the sandbox").expect("it").1;
    let path = stage.at("outside.txt").display().to_string();
    assert!(why.contains(&path), "{why}");
    assert!(asked[0].iter().any(|(key, _)| key == "run outside the sandbox"), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_leaves_what_came_of_it_inside() {
    let Some(stage) = Stage::new(false, "") else { return };
    let told = stage.run("echo x > ~/outside.txt").await;
    assert_ne!(told["exit_code"], json!(0), "{told}");
    assert!(told["sandbox_denied"].as_str().expect("a path").contains("outside.txt"), "{told}");
    assert!(told["outside_sandbox"].as_str().expect("words").contains("Denied"), "{told}");
    assert!(!stage.at("outside.txt").exists());
    assert_eq!(stage.question(), ["run outside the sandbox", "refused by the sandbox"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_confined_is_not_asked_about_beforehand() {
    let Some(stage) = Stage::new(false, "") else { return };
    // Each of these is a question without the sandbox; inside it is refused, and asked once.
    for (command, key) in [
        ("echo evil >> ~/.bashrc", "write to a shell start-up file"),
        ("rm -rf ~/papers", "recursive delete"),
        ("cp x ~/.petasos/config.yaml", "write to agent settings"),
    ] {
        stage.person.asked.lock().expect("a list").clear();
        stage.home.write("work/x", "x");
        let told = stage.run(command).await;
        assert!(told["sandbox_denied"].is_string(), "{command}: {told}");
        let keys = stage.question();
        assert!(keys.iter().any(|it| it == "refused by the sandbox"), "{command}: {keys:?}");
        assert!(keys.iter().any(|it| it.contains(key)), "{command}: {keys:?}");
    }
    assert_eq!(std::fs::read_to_string(stage.at(".bashrc")).expect("it"), "# mine\n");
    assert!(stage.at("papers/letter.txt").exists());
    // What happens inside or is not confined is asked about as ever.
    for command in ["mkdir -p a && rm -rf a", "cat ~/.ssh/id_rsa", "rm -rf ~/wor*"] {
        stage.person.asked.lock().expect("a list").clear();
        let told = stage.run(command).await;
        assert_eq!(told["status"], "blocked", "{command}: {told}");
        assert_eq!(stage.asked().len(), 1, "{command}");
    }
    // And nothing at all for what stays inside.
    stage.person.asked.lock().expect("a list").clear();
    for command in ["echo x > f && rm f", "git init -q . && git status", "mkdir -p d && mv x d/"] {
        let told = stage.run(command).await;
        assert_eq!(told["exit_code"], json!(0), "{command}: {told}");
    }
    assert!(stage.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_and_settings_of_git_are_offered_outside_too() {
    let Some(stage) = Stage::new(true, "") else { return };
    let code = "import os\nopen(os.path.expanduser('~/by-code.txt'), 'w').write('x')";
    let told = stage.call("execute_code", json!({ "code": code })).await;
    assert_eq!(told["status"], "success", "{told}");
    assert!(stage.at("by-code.txt").exists());
    assert!(stage.question().contains(&"refused by the sandbox".to_owned()));
    stage.person.asked.lock().expect("a list").clear();
    stage.run("git init -q .").await;
    let told = stage.run("git config user.name Ada && git config user.name").await;
    assert_eq!(told["output"], json!("Ada\n"), "{told}");
    assert_eq!(stage.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_is_required_is_not_left() {
    let Some(stage) = Stage::new(true, "  sandbox_require: required\n") else { return };
    let told = stage.run("echo x > ~/outside.txt").await;
    assert!(told["sandbox_denied"].is_string(), "{told}");
    assert!(stage.asked().is_empty());
    assert!(!stage.at("outside.txt").exists());
}
