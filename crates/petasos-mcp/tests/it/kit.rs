//! What the tests share: a home, a door that allows everything, servers by mode.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Intent, Nobody, Policy, Scope, Verdict, Who,
};
use petasos_contract::call::ToolCall;
use petasos_contract::context::Surface;
use petasos_contract::message::Assistant;
use petasos_contract::model::{Model, ModelError, Prompt, Reply, Role};
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{BoxFuture, CallContext, Secret, SessionId, Settings};
use petasos_mcp::client::{Around, ServerSpec, ServerView, Servers};
use petasos_net::{Net, NetOptions};
use petasos_runtime::{Dispatcher, Registry};
use petasos_terminal::Helpers;
use petasos_testkit::Home;
use serde_json::{Map, Value, json};

pub(crate) struct Allow;

impl Policy for Allow {
    fn judge(&self, _: &Intent<'_>, _: &CallContext) -> Verdict {
        Verdict::Allow
    }
}

/// Answers every prompt with the last words of it.
pub(crate) struct Parrot;

impl Model for Parrot {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        _: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let last = prompt.messages.last().map(|message| json!(message)["content"].to_string());
        let text = format!("a parrot heard {}", last.unwrap_or_default());
        let message = Assistant { content: Some(text), ..Assistant::default() };
        Box::pin(std::future::ready(Ok(Reply { message, ..Reply::default() })))
    }
}

/// Says yes, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Yes(pub(crate) Mutex<Vec<String>>);

impl Approver for Yes {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        self.0.lock().push(request.subject.clone());
        let answer = Answer::Allowed { scope: Scope::Once, by: Who::Person(None) };
        Box::pin(std::future::ready(answer))
    }
}

/// A home, a registry and a door.
pub(crate) struct Kit {
    pub(crate) home: Home,
    pub(crate) around: Around,
    pub(crate) door: Arc<Dispatcher>,
}

impl Kit {
    pub(crate) fn new() -> Self {
        let home = Home::temp();
        let settings = settings(&home, Map::new());
        let registry = Arc::new(Registry::new());
        let around = Around {
            settings,
            net: Arc::new(Net::new(NetOptions::default())),
            processes: Some(Helpers::new()),
            registry: Arc::clone(&registry),
            session: None,
            model: None,
            people: None,
        };
        let door = Arc::new(Dispatcher::new(registry, Arc::new(Allow), Arc::new(Nobody)));
        Self { home, around, door }
    }

    /// The settings with these servers.
    pub(crate) fn configured(&self, servers: Value) -> Arc<Settings> {
        settings(&self.home, Map::from_iter([("mcp_servers".to_owned(), servers)]))
    }

    pub(crate) fn spec(&self, name: &str, entry: &Value) -> ServerSpec {
        ServerSpec::read(name, entry, &self.around.settings).unwrap()
    }

    /// The entry of a server of the kit, which notes its processes in `pids`.
    pub(crate) fn hostile(&self, mode: &str) -> Value {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/hostile.py");
        json!({ "command": "python3", "args": [script, mode, self.pids_file()], "connect_timeout": 10, "timeout": 10 })
    }

    pub(crate) fn pids_file(&self) -> PathBuf {
        self.home.user().join("pids")
    }

    /// The processes that servers of the kit ever were.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(self.pids_file()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// How often a server of the kit noted that something happened.
    pub(crate) fn count(&self, what: &str) -> usize {
        let notes = format!("{}.{what}", self.pids_file().display());
        std::fs::read_to_string(notes).unwrap_or_default().lines().count()
    }

    pub(crate) async fn start(&self, entries: &[(&str, Value)]) -> Servers {
        let specs = entries.iter().map(|(name, entry)| self.spec(name, entry)).collect();
        let servers = Servers::of(specs, &self.around);
        servers.settle(Duration::from_secs(20)).await;
        servers
    }

    pub(crate) fn context(&self) -> CallContext {
        let session = SessionId::new("test");
        CallContext::new(Arc::clone(&self.around.settings), Surface::Embedded, session)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> String {
        self.call_in(tool, arguments, &self.context()).await
    }

    pub(crate) async fn call_in(&self, tool: &str, arguments: Value, cx: &CallContext) -> String {
        let call = ToolCall::new("call-1", tool, arguments.to_string());
        self.door.dispatch(call, cx).await.content.text()
    }

    pub(crate) async fn echo(&self, server: &str, text: &str) -> String {
        self.call(&format!("mcp__{server}__echo"), json!({ "text": text })).await
    }
}

fn settings(home: &Home, values: Map<String, Value>) -> Arc<Settings> {
    let variable = |name: &str, value: &str| {
        let source = Source::Environment { variable: name.to_owned() };
        (name.to_owned(), Variable { value: Secret::new(value), source })
    };
    let path = std::env::var("PATH").unwrap_or_default();
    Arc::new(Settings::new(Parts {
        home: home.agent(),
        user_home: home.user().to_owned(),
        workspace: home.workspace(),
        temp: std::env::temp_dir(),
        values,
        variables: [
            variable("PATH", &path),
            variable("HOME", home.user().to_str().unwrap()),
            variable("OPENAI_API_KEY", "sk-canary-0123456789"),
            // A name that nobody resolves: the list of malware is not asked in tests.
            variable("OSV_ENDPOINT", "http://127.0.0.1:9/"),
        ]
        .into(),
        ..Parts::default()
    }))
}

pub(crate) fn view(servers: &Servers, name: &str) -> ServerView {
    servers.views().into_iter().find(|view| view.name == name).unwrap()
}

/// Waits until something holds; nothing here takes longer than a loaded machine needs.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}
