//! Parts for tests: a gateway on a store of its own, a scripted model, people who write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_agent::{LOOP_TOOLS, Scripted};
use petasos_contract::approval::{ApprovalRequest, Finding, Intent, Policy, Scope, Verdict};
use petasos_contract::context::Surface;
use petasos_contract::ports::Ports;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{Address, BoxFuture, CallContext, Secret, SessionId, Settings};
use petasos_gateway::platform::{Arrival, PlatformDef};
use petasos_gateway::{
    Gateway, GatewayHost, GatewayParts, Hearing, LoopbackMessage, LoopbackServer,
};
use petasos_net::Net;
use petasos_runtime::availability::Checks;
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::{Dispatcher, Registry};
use petasos_session::{
    Choice, Engine, ModelChoice, Questions, Services, SessionLimits, SessionParts, Sessions, Topic,
};
use petasos_sqlite::{OpenOptions, Store, new_session_id};
use petasos_store::Stores;
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::sync::Notify;

use crate::errands::{Errands, STUCK};
use crate::mortal::{Mortal, When};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks a person about every call of `todo`, so that cards can be tried without a shell.
struct AskAboutTodo;

impl Policy for AskAboutTodo {
    fn judge(&self, intent: &Intent<'_>, _: &CallContext) -> Verdict {
        if intent.tool.as_str() != "todo" {
            return Verdict::Allow;
        }
        Verdict::Ask(vec![Finding {
            key: "todo list".into(),
            why: "it changes the list".to_owned(),
            kind: petasos_contract::approval::FindingKind::Rule,
            span: None,
            widest: Scope::Always,
            stores: None,
        }])
    }
}

/// The program around: nothing but settings.
pub(crate) struct Around {
    settings: Arc<Settings>,
    limits: SessionLimits,
    stopped: Mutex<Option<String>>,
    /// How much is free on the disk, as far as the gateway is told.
    pub(crate) free: Mutex<Option<u64>>,
    places: Mutex<BTreeMap<String, Arc<Address>>>,
}

impl Services for Around {
    fn limits(&self) -> SessionLimits {
        self.limits
    }

    fn context(&self, session: &SessionId) -> CallContext {
        let cx = CallContext::new(Arc::clone(&self.settings), Surface::Gateway, session.clone());
        match self.places.lock().get(session.as_str()) {
            Some(place) => cx.at(Arc::clone(place)),
            None => cx,
        }
    }

    fn describe<'a>(
        &'a self,
        topic: Topic,
        _: &'a str,
        _: &'a Choice,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Ok(format!("{topic:?}")) })
    }

    fn approval_text(&self, request: &ApprovalRequest, _: bool) -> String {
        format!("{}\nbecause {}", request.subject, request.findings[0].why)
    }

    fn resolve<'a>(&'a self, choice: &'a ModelChoice) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { choice.model.clone().ok_or_else(|| "no model".to_owned()) })
    }

    fn save_model(&self, _: &ModelChoice) -> Result<String, String> {
        Ok("saved".to_owned())
    }

    fn approvals_off(&self) -> bool {
        false
    }

    fn set_approvals_off(&self, _: bool) -> Result<(), String> {
        Ok(())
    }

    fn restore<'a>(
        &'a self,
        _: &'a str,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { Err("there is none".to_owned()) })
    }

    fn export<'a>(&'a self, _: &'a SessionId, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { Ok("saved".to_owned()) })
    }
}

impl GatewayHost for Around {
    fn choice(&self, _: &PlatformDef, _: &Address) -> Choice {
        let mut choice = Choice::new(Surface::Gateway, Arc::clone(&self.settings));
        choice.selection.enabled = Some(
            ["clarify", "memory", "todo", "session_search", "delegation", "stuck"]
                .map(str::to_owned)
                .to_vec(),
        );
        choice
    }

    fn placed(&self, session: &SessionId, address: &Arc<Address>, _: bool) {
        self.places.lock().insert(session.to_string(), Arc::clone(address));
    }

    fn new_session(&self) -> SessionId {
        new_session_id()
    }

    fn stopped(&self) -> Option<String> {
        self.stopped.lock().clone()
    }

    fn free_bytes(&self) -> Option<u64> {
        *self.free.lock()
    }

    fn stop_all(&self, by: &str) -> Result<(), String> {
        *self.stopped.lock() = Some(by.to_owned());
        Ok(())
    }

    /// Hears the same in every recording, and nothing in one that is called bad.
    fn heard<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Hearing> {
        Box::pin(std::future::ready(match path.rsplit('/').next() {
            Some("bad.ogg") => Hearing::Failed("timeout".to_owned()),
            Some("off.ogg") => Hearing::Unheard(Some(7.4)),
            _ => Hearing::Words("open the door, hunter2".to_owned()),
        }))
    }

    fn redact(&self, text: &str) -> String {
        text.replace("hunter2", "••••")
    }
}

impl Around {
    pub(crate) fn resume(&self) {
        *self.stopped.lock() = None;
    }
}

/// A gateway and the other side of its platform.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) server: Arc<LoopbackServer>,
    pub(crate) store: Arc<Store>,
    pub(crate) around: Arc<Around>,
    pub(crate) model: Arc<Scripted>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) mortal: Arc<Mortal>,
    pub(crate) errands: Arc<Errands>,
    folder: Option<TempDir>,
}

/// Configuration of a test: keys as JSON text, variables.
#[derive(Default)]
pub(crate) struct Config {
    pub(crate) values: &'static str,
    pub(crate) variables: Vec<(&'static str, String)>,
    pub(crate) platforms: Vec<&'static PlatformDef>,
    pub(crate) limits: SessionLimits,
    /// Where the gateway dies: at which call of its store, before or after, and after how many.
    pub(crate) dies: Option<(&'static str, When, u32)>,
    /// Whom its death is told, also while it starts: a process that is dead does not end to start.
    pub(crate) died: Option<Arc<Notify>>,
}

impl Config {
    /// These people may write on the platform inside.
    pub(crate) fn allowing(people: &str) -> Self {
        Self { variables: vec![("LOOPBACK_ALLOWED_USERS", people.to_owned())], ..Self::default() }
    }

    /// And these keys are set.
    pub(crate) fn and(self, values: &'static str) -> Self {
        Self { values, ..self }
    }
}

impl World {
    /// With one allowed person, `una`.
    pub(crate) async fn new(model: Scripted) -> Self {
        Self::with(model, Config::allowing("una,ben")).await
    }

    pub(crate) async fn with(model: Scripted, config: Config) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().to_owned();
        let mut world = Self::at(&path, Arc::default(), model, config).await;
        world.folder = Some(folder);
        world
    }

    /// On a home that may have been used before.
    pub(crate) async fn at(
        home: &Path,
        server: Arc<LoopbackServer>,
        model: Scripted,
        config: Config,
    ) -> Self {
        let store = Arc::new(Store::open(&OpenOptions::new(home.join("petasos.db"))).unwrap());
        let settings = settings(home, &config);
        let errands = Arc::new(Errands::default());
        let mut ports = Ports::default();
        ports.jobs = Some(Arc::clone(&errands) as _);
        let ports = Arc::new(ports);
        let tools: Vec<_> = LOOP_TOOLS.iter().copied().chain([&STUCK]).collect();
        let registry = Arc::new(Registry::with_builtin(&tools, &ports));
        let questions = Questions::new();
        questions.keep(&Stores::of(&store), |text| text.replace("hunter2", "••••"));
        let door = Dispatcher::new(
            Arc::clone(&registry),
            Arc::new(AskAboutTodo),
            Arc::clone(&questions) as _,
        );
        let catalogue = Arc::new(Catalogue::new(registry, Arc::new(Checks::default())));
        let model = Arc::new(model);
        let mut engine = Engine::new(
            Arc::clone(&model) as _,
            Arc::clone(&store) as _,
            Arc::new(door),
            catalogue,
            ports,
        );
        engine.asker = Some(Arc::clone(&questions) as _);
        let around = Arc::new(Around {
            settings: Arc::clone(&settings),
            limits: config.limits,
            stopped: Mutex::default(),
            free: Mutex::default(),
            places: Mutex::default(),
        });
        let sessions = Sessions::new(SessionParts {
            engine: Arc::new(engine),
            stores: Stores::of(&store),
            services: Arc::clone(&around) as _,
            questions,
            states: Vec::new(),
            extras: Vec::new(),
            new_id: new_session_id,
        });
        let mortal = Arc::new(Mortal::new(Arc::clone(&store), config.dies, config.died.clone()));
        let gateway = Gateway::start(GatewayParts {
            store: Arc::clone(&mortal) as _,
            conversations: Arc::clone(&store) as _,
            sessions: Arc::clone(&sessions),
            host: Arc::clone(&around) as _,
            settings,
            net: Arc::new(Net::default()),
            platforms: config.platforms.clone(),
            accounts: vec![(LoopbackServer::def(), server.account("bot"))],
        });
        let gateway = within("the start of the gateway", gateway).await.unwrap();
        Self { gateway, server, store, around, model, sessions, mortal, errands, folder: None }
    }

    /// Una writes in her chat.
    pub(crate) async fn una(&self, dedup: &str, text: &str) {
        assert!(
            self.server.give(Arrival::text("c-una", "una", dedup, text)).await,
            "not acknowledged"
        );
    }

    /// What arrived, once something holds of it.
    pub(crate) async fn until(
        &self,
        what: &str,
        holds: impl Fn(&[LoopbackMessage]) -> bool,
    ) -> Vec<LoopbackMessage> {
        match tokio::time::timeout(PATIENCE, self.server.until(holds)).await {
            Ok(sent) => sent,
            Err(_) => unreachable!("not seen: {what}: {:#?}", self.server.sent()),
        }
    }

    /// The texts of a chat, once there are so many.
    pub(crate) async fn texts(&self, chat: &str, count: usize) -> Vec<String> {
        let own = |sent: &[LoopbackMessage]| -> Vec<String> {
            sent.iter().filter(|it| it.lane.chat == chat).map(|it| it.text.clone()).collect()
        };
        own(&self
            .until(&format!("{count} messages in {chat}"), |sent| own(sent).len() >= count)
            .await)
    }

    /// The home.
    pub(crate) fn home(&self) -> &Path {
        self.folder.as_ref().map(TempDir::path).unwrap()
    }

    /// Lets go of everything but the folder, as a dying process does.
    pub(crate) fn die(self) -> (Option<TempDir>, Arc<LoopbackServer>) {
        (self.folder, self.server)
    }
}

pub(crate) fn settings(home: &Path, config: &Config) -> Arc<Settings> {
    let values: Map<String, Value> =
        serde_json::from_str(if config.values.is_empty() { "{}" } else { config.values }).unwrap();
    let variable = |(name, value): &(&str, String)| {
        let source = Source::Environment { variable: (*name).to_owned() };
        ((*name).to_owned(), Variable { value: Secret::new(value.as_str()), source })
    };
    Arc::new(Settings::new(Parts {
        home: home.to_owned(),
        workspace: home.join("work"),
        temp: PathBuf::from("/tmp"),
        values,
        variables: config.variables.iter().map(variable).collect(),
        ..Parts::default()
    }))
}

/// Waits for something, and says what it waited for when it does not come.
pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, wait).await {
        Ok(done) => done,
        Err(_) => unreachable!("not within {} s: {what}", PATIENCE.as_secs()),
    }
}

/// Waits until something holds, and says what it waited for when it never does.
pub(crate) async fn holds(what: &str, mut look: impl AsyncFnMut() -> bool) {
    within(what, async {
        while !look().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// The rows of a process that is gone, as far as anybody can tell.
pub(crate) fn forget_owner(home: &std::path::Path) {
    let direct = rusqlite::Connection::open(home.join("petasos.db")).unwrap();
    for table in ["inbox", "outbox"] {
        direct.execute(&format!("UPDATE {table} SET owner = ''"), []).unwrap();
    }
    direct.execute("DELETE FROM leases", []).unwrap();
}
