//! Parts for tests: a server on a store of its own, a scripted model, and a client of a few lines
//! that shows what really went over the wire.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_agent::{LOOP_TOOLS, Scripted};
use petasos_api::{
    ApiHost, ApiOptions, ApiParts, ApiServer, ModelRoute, Outgoing, Reached, WebhookOptions,
    WebhookParts, WebhookServer, Wish,
};
use petasos_contract::approval::{
    ApprovalRequest, Finding, FindingKind, Intent, Policy, Scope, Verdict,
};
use petasos_contract::context::Surface;
use petasos_contract::ports::Ports;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::wait::Owned;
use petasos_contract::{Address, BoxFuture, CallContext, Secret, SessionId, Settings};
use petasos_runtime::availability::Checks;
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::{Dispatcher, Registry};
use petasos_session::{
    Choice, Engine, ModelChoice, Questions, Services, SessionParts, Sessions, Topic,
};
use petasos_sqlite::{OpenOptions, Store, new_session_id};
use petasos_store::{ApiStore as _, LeaseStore as _, Stores};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// Two keys.
pub(crate) const KEY: &str = "key-of-una-0123456789";
pub(crate) const OTHER: &str = "key-of-ben-9876543210";
/// What webhooks are signed with.
pub(crate) const SIGNED_WITH: &str = "the-secret-of-webhooks";

/// Asks a person about every call of `todo`, so that approval can be tried without a shell.
struct AskAboutTodo;

impl Policy for AskAboutTodo {
    fn judge(&self, intent: &Intent<'_>, cx: &CallContext) -> Verdict {
        if intent.tool.as_str() != "todo" || !cx.attended {
            return Verdict::Allow;
        }
        Verdict::Ask(vec![Finding {
            key: "todo list".into(),
            why: "it changes the list".to_owned(),
            kind: FindingKind::Rule,
            span: None,
            widest: Scope::Session,
            stores: None,
        }])
    }
}

/// The program around: nothing but settings.
pub(crate) struct Around {
    settings: Arc<Settings>,
    places: Mutex<std::collections::HashMap<SessionId, (Arc<Address>, bool)>>,
    pub(crate) halted: Mutex<Option<String>>,
    pub(crate) wishes: Mutex<Vec<Wish>>,
    /// The fields that the model's wire has a word for.
    pub(crate) takes: Mutex<Vec<&'static str>>,
}

impl ApiHost for Around {
    fn wished(&self, wish: &Wish) -> Choice {
        self.wishes.lock().push(wish.clone());
        let mut choice = Choice::new(Surface::ApiServer, Arc::clone(&self.settings));
        choice.selection.enabled = Some(vec!["clarify".to_owned(), "todo".to_owned()]);
        wish.platform.clone_into(&mut choice.source);
        choice.model.clone_from(&wish.route.model);
        choice.addition.clone_from(&wish.instructions);
        choice.sampling.clone_from(&wish.sampling);
        choice
    }

    fn reached(&self, session: &SessionId, place: Reached) {
        self.places.lock().insert(session.clone(), (place.address, place.attended));
    }

    fn redact(&self, text: &str) -> String {
        text.replace("hunter2", "••••")
    }

    fn halted(&self) -> Option<String> {
        self.halted.lock().clone()
    }

    fn takes<'a>(&'a self, _: &'a ModelRoute) -> BoxFuture<'a, Vec<&'static str>> {
        Box::pin(async { self.takes.lock().clone() })
    }

    fn toolsets(&self) -> Value {
        json!([{ "name": "todo" }])
    }
}

impl Services for Around {
    fn context(&self, session: &SessionId) -> CallContext {
        let cx = CallContext::new(Arc::clone(&self.settings), Surface::ApiServer, session.clone());
        match self.places.lock().get(session) {
            Some((address, attended)) => cx.at(Arc::clone(address)).attended(*attended),
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
        request.subject.clone()
    }

    fn resolve<'a>(&'a self, _: &'a ModelChoice) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { Ok("scripted".to_owned()) })
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

/// A server that runs.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) model: Arc<Scripted>,
    pub(crate) store: Arc<Store>,
    pub(crate) around: Arc<Around>,
    pub(crate) outgoing: Option<Arc<Outgoing>>,
    sessions: Arc<Sessions>,
    stop: CancellationToken,
    serving: Option<Owned<()>>,
    folder: Option<Arc<TempDir>>,
}

impl World {
    pub(crate) async fn new(model: Scripted) -> Self {
        Self::with(model, json!({})).await
    }

    /// With more below `platforms.api_server.extra`.
    pub(crate) async fn with(model: Scripted, extra: Value) -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        Self::at(&folder, model, extra).await
    }

    /// On a home that may have been used before.
    pub(crate) async fn at(folder: &Arc<TempDir>, model: Scripted, extra: Value) -> Self {
        let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
        let store = Arc::new(store);
        let settings = settings(folder.path(), extra);
        let around = Arc::new(Around {
            settings: Arc::clone(&settings),
            places: Mutex::default(),
            halted: Mutex::default(),
            wishes: Mutex::default(),
            takes: Mutex::default(),
        });
        let model = Arc::new(model);
        let sessions = sessions(&store, &model, &around);
        let net = Arc::new(petasos_net::Net::default());
        let outgoing = Some(Outgoing::read(&settings, Arc::clone(&store) as _, net).unwrap());
        let options = ApiOptions::read(&settings, None, (None, Some(0))).unwrap();
        let server = ApiServer::bind(ApiParts {
            options,
            store: Arc::clone(&store) as _,
            conversations: Arc::clone(&store) as _,
            sessions: Arc::clone(&sessions),
            host: Arc::clone(&around) as _,
            outgoing: outgoing.clone(),
            version: "0.0.0-test",
        });
        let server = server.await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let serving = Some(Owned::start(server.run(stop.clone())));
        let folder = Some(Arc::clone(folder));
        Self { address, model, store, around, outgoing, sessions, stop, serving, folder }
    }

    /// Dies as a process does: nothing is told, nothing is waited for, and nobody takes a question
    /// back.
    pub(crate) async fn die(self) -> Arc<TempDir> {
        self.sessions.questions().suspend();
        let folder = self.folder.clone().unwrap();
        drop(self);
        // Its tasks end a moment later; the leases of a process end with it.
        let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
        let until = tokio::time::Instant::now() + PATIENCE;
        for run in store.open_runs(0).await.unwrap() {
            while store.holder(&run.session).await.unwrap().is_some() {
                assert!(tokio::time::Instant::now() < until, "the dead hold {}", run.session);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        folder
    }

    /// Ends as a process does that was asked to.
    pub(crate) async fn end(mut self) -> Arc<TempDir> {
        self.stop.cancel();
        if let Some(serving) = self.serving.take() {
            serving.join().await;
        }
        self.folder.take().unwrap()
    }

    /// Webhooks of these routes over the same store and sessions; ends with the test.
    pub(crate) async fn webhooks(&self, extra: Value) -> (SocketAddr, Owned<()>) {
        let values = json!({ "platforms": { "webhook": { "enabled": true, "extra": extra } } });
        let home = self.folder.as_ref().unwrap();
        let variables = [("WEBHOOK_SECRET", SIGNED_WITH), ("WEBHOOK_PORT", "0")];
        let options =
            WebhookOptions::read(&with(home.path(), values, &variables), false).unwrap().unwrap();
        let server = WebhookServer::bind(WebhookParts {
            options,
            store: Arc::clone(&self.store) as _,
            conversations: Arc::clone(&self.store) as _,
            sessions: Arc::clone(&self.sessions),
            host: Arc::clone(&self.around) as _,
            outgoing: None,
            outbox: Arc::clone(&self.store) as _,
            silence: None,
        });
        let server = server.await.unwrap();
        (server.address(), Owned::start(server.run(CancellationToken::new())))
    }

    /// Its home.
    pub(crate) fn folder(&self) -> &Arc<TempDir> {
        self.folder.as_ref().unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// One request; gives the whole answer.
    pub(crate) async fn ask(&self, request: Ask) -> Told {
        self.ask_at(self.address, request).await
    }

    /// The same of another listener.
    pub(crate) async fn ask_at(&self, address: SocketAddr, request: Ask) -> Told {
        let asked = tokio::task::spawn_blocking(move || request.send(address).whole());
        tokio::time::timeout(PATIENCE, asked).await.unwrap().unwrap()
    }

    /// One request whose answer comes in pieces.
    pub(crate) async fn open(&self, request: Ask) -> Wire {
        let address = self.address;
        tokio::task::spawn_blocking(move || request.send(address)).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Told {
        self.ask(Ask::get(path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Told {
        self.ask(Ask::post(path, body)).await
    }

    /// Waits until something holds of an answer.
    pub(crate) async fn until(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let told = self.get(path).await.json();
            if holds(&told) {
                return told;
            }
            assert!(tokio::time::Instant::now() < until, "not seen at {path}: {told}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn sessions(store: &Arc<Store>, model: &Arc<Scripted>, around: &Arc<Around>) -> Arc<Sessions> {
    let ports = Arc::new(Ports::default());
    let registry = Arc::new(Registry::with_builtin(LOOP_TOOLS, &ports));
    let questions = Questions::new();
    questions.keep(&Stores::of(store), |text| text.replace("hunter2", "••••"));
    let people = Arc::clone(&questions) as _;
    let door = Dispatcher::new(Arc::clone(&registry), Arc::new(AskAboutTodo), people);
    let catalogue = Arc::new(Catalogue::new(registry, Arc::new(Checks::default())));
    let (asked, kept) = (Arc::clone(model) as _, Arc::clone(store) as _);
    let mut engine = Engine::new(asked, kept, Arc::new(door), catalogue, ports);
    engine.asker = Some(Arc::clone(&questions) as _);
    Sessions::new(SessionParts {
        engine: Arc::new(engine),
        stores: Stores::of(store),
        services: Arc::clone(around) as _,
        questions,
        states: Vec::new(),
        extras: Vec::new(),
        new_id: new_session_id,
    })
}

/// Settings with two keys and more below `platforms.api_server.extra`.
pub(crate) fn settings(home: &Path, mut extra: Value) -> Arc<Settings> {
    extra["keys"] =
        json!([{ "name": "ben", "key_env": "BEN_KEY", "scopes": ["chat", "runs", "sessions"] }]);
    let (told, agent) = (extra["webhooks_out"].take(), extra["agent"].take());
    let values = json!({
        "platforms": { "api_server": { "extra": extra } }, "gateway": { "webhooks_out": told },
        "agent": agent,
    });
    let variables = [("API_SERVER_KEY", KEY), ("BEN_KEY", OTHER), ("OUT_SECRET", SIGNED_WITH)];
    with(home, values, &variables)
}

/// Settings of these values and variables.
pub(crate) fn with(home: &Path, values: Value, variables: &[(&str, &str)]) -> Arc<Settings> {
    let values: Map<String, Value> = serde_json::from_value(values).unwrap();
    let variable = |(name, value): &(&str, &str)| {
        let source = Source::Environment { variable: (*name).to_owned() };
        ((*name).to_owned(), Variable { value: Secret::new(*value), source })
    };
    Arc::new(Settings::new(Parts {
        home: home.to_owned(),
        workspace: home.join("work"),
        temp: PathBuf::from("/tmp"),
        values,
        variables: variables.iter().map(variable).collect(),
        ..Parts::default()
    }))
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path, Vec::new())
    }

    pub(crate) fn post(path: &str, body: &Value) -> Self {
        Self::new("POST", path, body.to_string().into_bytes())
    }

    pub(crate) fn new(method: &str, path: &str, body: Vec<u8>) -> Self {
        let headers = vec![
            ("Host".to_owned(), "localhost".to_owned()),
            ("Authorization".to_owned(), format!("Bearer {KEY}")),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        Self { method: method.to_owned(), path: path.to_owned(), headers, body }
    }

    /// With this header instead of the usual one of its name.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// With this key.
    pub(crate) fn by(self, key: &str) -> Self {
        self.with("Authorization", &format!("Bearer {key}"))
    }

    fn send(self, address: SocketAddr) -> Wire {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = vec![format!("{} {} HTTP/1.1", self.method, self.path)];
        head.push("Connection: close".to_owned());
        head.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        head.push(format!("Content-Length: {}\r\n\r\n", self.body.len()));
        socket.write_all(head.join("\r\n").as_bytes()).unwrap();
        // Who is refused early need not read the rest.
        drop(socket.write_all(&self.body));
        Wire::of(socket)
    }
}

/// An answer on its way.
pub(crate) struct Wire {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    chunked: bool,
}

impl Wire {
    pub(crate) fn of(socket: TcpStream) -> Self {
        let mut reader = BufReader::new(socket);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let chunked = headers.iter().any(|(_, value)| value == "chunked");
        Self { status, headers, reader, chunked }
    }

    /// The next piece; nothing at the end.
    pub(crate) fn piece(&mut self) -> Option<String> {
        if !self.chunked {
            let mut rest = String::new();
            self.reader.read_to_string(&mut rest).ok()?;
            return Some(rest).filter(|rest| !rest.is_empty());
        }
        let mut line = String::new();
        self.reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut bytes = vec![0; length + 2];
        self.reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(length);
        (length > 0).then(|| String::from_utf8(bytes).unwrap())
    }

    /// Reads until something is in what came; gives all of it.
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        let mut all = String::new();
        while !all.contains(wanted) {
            match self.piece() {
                Some(piece) => all.push_str(&piece),
                None => unreachable!("not seen: {wanted}: {all}"),
            }
        }
        all
    }

    pub(crate) fn whole(mut self) -> Told {
        let mut body = String::new();
        while let Some(piece) = self.piece() {
            body.push_str(&piece);
        }
        Told { status: self.status, headers: self.headers, body }
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| json!({ "odd": error.to_string(), "body": self.body }))
    }

    /// Status and code of an error.
    pub(crate) fn error(&self) -> (u16, String) {
        let code = self.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
        (self.status, code)
    }

    /// The events of a stream: number, name and data.
    pub(crate) fn events(&self) -> Vec<(Option<i64>, String, Value)> {
        events(&self.body)
    }
}

/// The frames of a stream.
pub(crate) fn events(text: &str) -> Vec<(Option<i64>, String, Value)> {
    let frames = text.split("\n\n").filter(|frame| frame.contains("data: "));
    let field = |frame: &str, name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned))
    };
    frames
        .map(|frame| {
            let number = field(frame, "id: ").and_then(|id| id.parse().ok());
            let data = field(frame, "data: ").unwrap_or_default();
            let value = serde_json::from_str(&data).unwrap_or(Value::String(data));
            (number, field(frame, "event: ").unwrap_or_default(), value)
        })
        .collect()
}
