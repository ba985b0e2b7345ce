//! Parts for tests: tools that behave as told, a home of its own, and everything that happened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_agent::validate::{ALL, validate};
use petasos_agent::{
    Agent, Asker, Choice, Engine, LOOP_TOOLS, Question, Scripted, TurnEnd, TurnError,
};
use petasos_contract::approval::{Intent, Nobody, Policy, Verdict};
use petasos_contract::context::Surface;
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::message::Message;
use petasos_contract::ports::Ports;
use petasos_contract::settings::Parts;
use petasos_contract::tool::{Concurrency, RoundKind, Tool, ToolError};
use petasos_contract::{BoxFuture, CallContext, Cleared, SessionId, Settings, ToolOutput};
use petasos_runtime::availability::Checks;
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::registry::{Entry, Intent as Registering, Origin};
use petasos_runtime::{Dispatcher, Registry};
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::SessionStore;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A tool that does what its arguments say: `echo`, `wait` (until cancelled), `panic`, `fail`,
/// `sleep_ms`, `until` (a word of the test).
pub(crate) struct Puppet {
    pub(crate) ran: Arc<Mutex<Vec<String>>>,
}

impl Tool for Puppet {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = cleared.into_args();
            let text = args.text("do").unwrap_or("echo").to_owned();
            self.ran.lock().push(text.clone());
            if let Some(ms) = args.get("sleep_ms").and_then(Value::as_u64) {
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
            if let Some(word) = args.text("until") {
                while !self.ran.lock().iter().any(|one| one == word) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            match text.as_str() {
                "wait" => std::future::pending().await,
                "panic" => panic!("the tool died"),
                "fail" => Err(ToolError::new("Broken", "it does not work")),
                _ => Ok(ToolOutput::json(&json!({ "did": text }))),
            }
        })
    }
}

struct AllowAll;

impl Policy for AllowAll {
    fn judge(&self, _: &Intent<'_>, _: &CallContext) -> Verdict {
        Verdict::Allow
    }
}

/// Keeps every event.
#[derive(Default)]
pub(crate) struct Watch(pub(crate) Mutex<Vec<Event>>);

impl Subscriber for Watch {
    fn take(&self, event: Event) {
        self.0.lock().push(event);
    }
}

/// Answers every question the same way.
pub(crate) struct Says(pub(crate) &'static str);

impl Asker for Says {
    fn ask<'a>(
        &'a self,
        _: &'a Question,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { Ok(self.0.to_owned()) })
    }
}

/// Everything an agent needs, in a folder of its own.
pub(crate) struct World {
    pub(crate) folder: PathBuf,
    pub(crate) settings: Arc<Settings>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) model: Arc<Scripted>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) ran: Arc<Mutex<Vec<String>>>,
    pub(crate) surface: Surface,
    /// Removed with the world.
    temp: Option<TempDir>,
}

impl World {
    pub(crate) fn new(model: Scripted) -> Self {
        Self::with(model, &json!({}))
    }

    pub(crate) fn with(model: Scripted, values: &Value) -> Self {
        let temp = TempDir::new().unwrap();
        let folder = temp.path().to_owned();
        let store = Arc::new(Store::open(&OpenOptions::new(folder.join("petasos.db"))).unwrap());
        let mut world = Self::over(model, values, &folder, store);
        world.temp = Some(temp);
        world
    }

    /// In a folder that is there, over a store that is open.
    pub(crate) fn over(
        model: Scripted,
        values: &Value,
        folder: &Path,
        store: Arc<dyn SessionStore>,
    ) -> Self {
        let settings = Arc::new(Settings::new(Parts {
            home: folder.to_owned(),
            workspace: folder.to_owned(),
            temp: folder.to_owned(),
            values: values.as_object().cloned().unwrap_or_default(),
            ..Parts::default()
        }));
        let ports = Arc::new(Ports::default());
        let registry = Arc::new(Registry::with_builtin(LOOP_TOOLS, &ports));
        let ran: Arc<Mutex<Vec<String>>> = Arc::default();
        for (name, concurrency) in [("look", Concurrency::Safe), ("act", Concurrency::Barrier)] {
            let mut entry = puppet(name, &ran);
            entry.concurrency = concurrency;
            registry.register(entry, &Origin::core(), Registering::Add).unwrap();
        }
        let dispatcher =
            Arc::new(Dispatcher::new(Arc::clone(&registry), Arc::new(AllowAll), Arc::new(Nobody)));
        let catalogue = Arc::new(Catalogue::new(registry, Arc::new(Checks::default())));
        let model = Arc::new(model);
        let mut engine = Engine::new(Arc::clone(&model) as _, store, dispatcher, catalogue, ports);
        engine.asker = Some(Arc::new(Says("blue")));
        Self {
            folder: folder.to_owned(),
            settings,
            engine: Arc::new(engine),
            model,
            watch: Arc::default(),
            ran,
            surface: Surface::OneShot,
            temp: None,
        }
    }

    /// One more tool, which does what its arguments say.
    pub(crate) fn register(&self, name: &str, round: RoundKind) {
        self.register_with(name, |entry| entry.round = round);
    }

    /// The same with something of its own.
    pub(crate) fn register_with(&self, name: &str, with: impl FnOnce(&mut Entry)) {
        let registry = self.engine.dispatcher.registry();
        let mut entry = puppet(name, &self.ran);
        with(&mut entry);
        registry.register(entry, &Origin::core(), Registering::Add).unwrap();
    }

    pub(crate) fn choice(&self) -> Choice {
        let mut choice = Choice::new(self.surface, Arc::clone(&self.settings));
        let toolsets = ["test", "todo", "memory", "session_search", "delegation", "clarify"];
        choice.selection.enabled = Some(toolsets.map(str::to_owned).to_vec());
        choice
    }

    pub(crate) fn cx(&self) -> CallContext {
        let settings = Arc::clone(&self.settings);
        let mut cx = CallContext::new(settings, self.surface, SessionId::new("unset"));
        cx.events = EventSink::to(Arc::clone(&self.watch) as _);
        cx
    }

    pub(crate) async fn agent(&self) -> Agent {
        Agent::begin(Arc::clone(&self.engine), self.choice()).await.unwrap()
    }

    pub(crate) async fn resume(&self, session: &SessionId) -> (Agent, Vec<String>) {
        Agent::resume(Arc::clone(&self.engine), self.choice(), session).await.unwrap()
    }

    /// One turn of a new agent; the transcript is checked.
    pub(crate) async fn one_turn(&self, words: &str) -> (Agent, Result<TurnEnd, TurnError>) {
        let mut agent = self.agent().await;
        let end = agent.turn(words.into(), &self.cx()).await;
        self.check(&agent).await;
        (agent, end)
    }

    /// What is stored is valid by everybody's rules, and the same as what is in memory.
    pub(crate) async fn check(&self, agent: &Agent) {
        let loaded = self.engine.store.load(agent.session()).await.unwrap();
        let stored: Vec<Message> =
            loaded.rows.iter().map(|row| row.stored.message.clone()).collect();
        let ours: Vec<Message> =
            agent.transcript().rows().iter().map(|row| row.stored.message.clone()).collect();
        assert_eq!(stored, ours);
        valid(&agent.transcript().outgoing());
        for asked in self.model.asked() {
            valid(&asked.prompt.messages);
        }
    }

    /// Whether something like this has happened.
    pub(crate) fn saw(&self, like: impl Fn(&Event) -> bool) -> bool {
        self.watch.0.lock().iter().any(like)
    }

    /// The names of events, in order.
    pub(crate) fn happened(&self) -> Vec<String> {
        let events = self.watch.0.lock();
        let name = |event: &Event| event.to_json()["type"].as_str().unwrap_or_default().to_owned();
        events.iter().map(name).collect()
    }
}

fn puppet(name: &str, ran: &Arc<Mutex<Vec<String>>>) -> Entry {
    let schema = json!({
        "description": "For tests.",
        "parameters": { "type": "object", "properties": { "do": { "type": "string" } } }
    });
    let schema = schema.as_object().cloned().unwrap_or_default();
    Entry::new(name, "test", schema, Arc::new(Puppet { ran: Arc::clone(ran) }))
}

/// Waits for something to become true, for a few seconds at most.
pub(crate) async fn when(what: &str, holds: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "never came: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Accepted by every provider.
pub(crate) fn valid(messages: &[Message]) {
    for rules in ALL {
        validate(messages, *rules).unwrap_or_else(|why| panic!("{rules:?}: {why}: {messages:#?}"));
    }
}

/// The texts of a transcript, roles in front.
pub(crate) fn told(agent: &Agent) -> Vec<String> {
    agent.transcript().rows().iter().map(|row| line(&row.stored.message)).collect()
}

/// One message, its role in front.
pub(crate) fn line(message: &Message) -> String {
    match message {
        Message::User { content } => format!("user: {}", content.text()),
        Message::Tool(result) => format!("tool: {}", result.content.text()),
        Message::Assistant(said) => {
            let calls: Vec<&str> = said.tool_calls.iter().map(|call| call.name.as_str()).collect();
            format!("assistant: {}{}", said.text(), calls.join(","))
        }
    }
}
