//! Parts for tests: a service over a folder of its own, and streams read to a certain event.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_agent::{LOOP_TOOLS, Scripted};
use petasos_contract::approval::{ApprovalRequest, Finding, Intent, Policy, Scope, Verdict};
use petasos_contract::bridging::{Inline, SyncTool};
use petasos_contract::context::Surface;
use petasos_contract::event::Event;
use petasos_contract::ports::Ports;
use petasos_contract::settings::Parts;
use petasos_contract::{
    Args, BoxFuture, CallContext, SessionId, Settings, ToolDef, ToolError, ToolOutput,
};
use petasos_runtime::availability::Checks;
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::{Dispatcher, Registry};
use petasos_session::{
    Begin, Choice, Engine, EventStream, ModelChoice, Questions, Replay, Services, Session,
    SessionEvent, SessionLimits, SessionParts, SessionState, Sessions, StreamItem, Topic,
};
use petasos_sqlite::{OpenOptions, Store, new_session_id};
use petasos_store::Stores;
use tempfile::TempDir;

/// Longer than any question stays open.
const PATIENCE: Duration = Duration::from_mins(2);

/// A tool whose calls can be counted: each adds a line to the file `touched` of the workspace.
static TOUCH: ToolDef = ToolDef {
    name: "touch",
    toolset: "touch",
    core: true,
    schema: || serde_json::json!({ "parameters": { "type": "object", "properties": {} } }),
    build: |_| Arc::new(Inline::new(Touch)),
    ..ToolDef::USUAL
};

struct Touch;

impl SyncTool for Touch {
    fn call(&self, _: Args, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let path = cx.workspace.join("touched");
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        writeln!(file, "{}", cx.call).unwrap();
        Ok(ToolOutput::json(&serde_json::json!({ "touched": true })))
    }
}

/// `touch` needs consent, everything else is allowed.
struct AskForTouch;

impl Policy for AskForTouch {
    fn judge(&self, intent: &Intent<'_>, _: &CallContext) -> Verdict {
        if intent.tool.as_str() != "touch" {
            return Verdict::Allow;
        }
        Verdict::Ask(vec![Finding {
            key: "touching".into(),
            why: "it touches, with the password hunter2".to_owned(),
            kind: petasos_contract::approval::FindingKind::Rule,
            span: None,
            widest: Scope::Session,
            stores: None,
        }])
    }
}

/// A program that knows nothing but its settings.
struct Bare(Arc<Settings>, SessionLimits);

impl Services for Bare {
    fn limits(&self) -> SessionLimits {
        self.1
    }

    fn context(&self, session: &SessionId) -> CallContext {
        CallContext::new(Arc::clone(&self.0), Surface::Cli, session.clone())
    }

    fn describe<'a>(
        &'a self,
        topic: Topic,
        about: &'a str,
        _: &'a Choice,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Ok(format!("{topic:?} {about}")) })
    }

    fn approval_text(&self, request: &ApprovalRequest, _: bool) -> String {
        request.subject.clone()
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

/// An engine that remembers which sessions ended.
#[derive(Default)]
pub(crate) struct Ends(pub(crate) Mutex<Vec<SessionId>>);

impl SessionState for Ends {
    fn end(&self, session: &SessionId) {
        self.0.lock().push(session.clone());
    }
}

/// A service with everything it needs.
pub(crate) struct World {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) questions: Arc<Questions>,
    pub(crate) model: Arc<Scripted>,
    pub(crate) ends: Arc<Ends>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) store: Arc<Store>,
    _folder: Option<TempDir>,
}

impl World {
    pub(crate) fn new(model: Scripted) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().to_owned();
        Self { _folder: Some(folder), ..Self::over(&path, model) }
    }

    /// With questions that are kept nowhere, for tests that move the clock.
    pub(crate) fn unkept(model: Scripted) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().to_owned();
        Self { _folder: Some(folder), ..Self::built(&path, model, false, SessionLimits::default()) }
    }

    /// With other limits than the usual ones.
    pub(crate) fn limited(model: Scripted, limits: SessionLimits) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().to_owned();
        Self { _folder: Some(folder), ..Self::built(&path, model, true, limits) }
    }

    /// Over a folder that another process may use too.
    pub(crate) fn over(folder: &Path, model: Scripted) -> Self {
        Self::built(folder, model, true, SessionLimits::default())
    }

    /// The same with other limits than the usual ones.
    pub(crate) fn over_limited(folder: &Path, model: Scripted, limits: SessionLimits) -> Self {
        Self::built(folder, model, true, limits)
    }

    fn built(folder: &Path, model: Scripted, kept: bool, limits: SessionLimits) -> Self {
        let path = folder.to_owned();
        let store = Arc::new(Store::open(&OpenOptions::new(path.join("petasos.db"))).unwrap());
        let settings = Arc::new(Settings::new(Parts {
            home: path.clone(),
            workspace: path.clone(),
            temp: path,
            ..Parts::default()
        }));
        let ports = Arc::new(Ports::default());
        let tools = [LOOP_TOOLS, &[&TOUCH]].concat();
        let registry = Arc::new(Registry::with_builtin(&tools, &ports));
        let questions = Questions::new();
        if kept {
            let hide = |text: &str| text.replace("hunter2", "***");
            questions.keep(&Stores::of(&store), hide);
        }
        let door = Dispatcher::new(
            Arc::clone(&registry),
            Arc::new(AskForTouch),
            Arc::clone(&questions) as _,
        );
        let catalogue = Arc::new(Catalogue::new(registry, Arc::new(Checks::default())));
        let model = Arc::new(model);
        let (asked, stored) = (Arc::clone(&model) as _, Arc::clone(&store) as _);
        let mut engine = Engine::new(asked, stored, Arc::new(door), catalogue, ports);
        engine.asker = Some(Arc::clone(&questions) as _);
        let ends: Arc<Ends> = Arc::default();
        let engine = Arc::new(engine);
        let sessions = Sessions::new(SessionParts {
            engine: Arc::clone(&engine),
            stores: Stores::of(&store),
            services: Arc::new(Bare(Arc::clone(&settings), limits)),
            questions: Arc::clone(&questions),
            states: vec![Arc::clone(&ends) as _],
            extras: Vec::new(),
            new_id: new_session_id,
        });
        Self { sessions, engine, questions, model, ends, settings, store, _folder: None }
    }

    pub(crate) fn choice(&self) -> Box<Choice> {
        let mut choice = Choice::new(Surface::Cli, Arc::clone(&self.settings));
        choice.selection.enabled = Some(vec!["clarify".to_owned(), "touch".to_owned()]);
        Box::new(choice)
    }

    pub(crate) async fn open(&self) -> Session {
        self.sessions.open(Begin::New { choice: self.choice(), after: None }).await.unwrap()
    }

    /// A new session that has answered one message.
    pub(crate) async fn begun(&self) -> Session {
        let session = self.open().await;
        let mut watch = Watch::of(&session);
        session.submit("begin".into(), petasos_session::WhenBusy::Refuse).await.unwrap();
        watch.until("the end of the turn", is_turn_end).await;
        session
    }
}

pub(crate) fn is_turn_end(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TurnEnded { .. })
}

/// The model has begun to answer.
pub(crate) fn is_delta(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Agent(Event::Delta { .. }))
}

pub(crate) fn is_question(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::QuestionAsked(_))
}

/// A stream, and everything that it has given.
pub(crate) struct Watch {
    stream: EventStream,
    pub(crate) seen: Vec<SessionEvent>,
}

impl Watch {
    pub(crate) fn of(session: &Session) -> Self {
        Self { stream: session.events(Replay::Now), seen: Vec::new() }
    }

    /// From its first event on.
    pub(crate) fn of_all(session: &Session) -> Self {
        Self { stream: session.events(Replay::Since(0)), seen: Vec::new() }
    }

    /// Reads until an event is as wanted.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        wanted: impl Fn(&SessionEvent) -> bool,
    ) -> SessionEvent {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            let Ok(item) = next else { panic!("not seen: {what}: {:?}", self.seen) };
            match item {
                Some(StreamItem::Event(envelope)) => {
                    self.seen.push(envelope.event.clone());
                    if wanted(&envelope.event) {
                        return envelope.event.clone();
                    }
                }
                other => panic!("{what}: {other:?}"),
            }
        }
    }

    /// What happened, a word each, without the pieces of replies.
    pub(crate) fn words(&self) -> Vec<String> {
        let word = |event: &SessionEvent| match event {
            SessionEvent::Submitted { id, text } => Some(format!("submitted {id} {text}")),
            SessionEvent::TurnStarted { id } => Some(format!("started {id}")),
            SessionEvent::TurnEnded { id, end, .. } => {
                let end = end.as_ref().map_or("failed", |end| end.outcome.as_str());
                Some(format!("{end} {id}"))
            }
            SessionEvent::QuestionAsked(_) => Some("asked".to_owned()),
            SessionEvent::QuestionWaits => Some("another waits".to_owned()),
            SessionEvent::QuestionClosed { how, .. } => Some(format!("{how:?}").to_lowercase()),
            SessionEvent::Page(page) => Some(page.text().to_owned()),
            SessionEvent::Ended { why } => Some(format!("ended: {}", why.as_str())),
            _ => None,
        };
        self.seen.iter().filter_map(word).collect()
    }
}
