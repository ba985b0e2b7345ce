//! The one place that knows every engine. It wires them and does nothing else.

mod jobs;
mod listeners;
mod model;
mod records;

use std::future::Future;
use std::io;
use std::sync::{Arc, OnceLock};

use petasos_acp::EditorRules;
use petasos_agent::LOOP_TOOLS;
use petasos_agent::delegate::ForSubagents;
use petasos_agent::watch::Watcher;
use petasos_approval::Engine;
use petasos_approval::policy::explain::Checker;
use petasos_approval::settings::ApprovalSettingsError;
use petasos_approval::smart::SmartApprover;
use petasos_browser::Browsers;
use petasos_checkpoint::{Before, Checkpoints};
use petasos_config::Inputs;
use petasos_contract::approval::{Approver, Nobody};
use petasos_contract::clock::SystemClock;
use petasos_contract::context::{CheckContext, Surface};
use petasos_contract::hook::Hook;
use petasos_contract::model::Model;
use petasos_contract::ports::Ports;
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, SessionId, Settings, ToolDef};
use petasos_gateway::{PLATFORMS, Post};
use petasos_media::Media;
use petasos_net::client::Net;
use petasos_providers::client::Client;
use petasos_providers::local::Finder;
use petasos_redact::Redactor;
use petasos_runtime::availability::Checks;
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::hooks::HookBus;
use petasos_runtime::middleware::{Attended, Middleware};
use petasos_runtime::{Dispatcher, Registry, toolsets};
use petasos_session::{Extra, Questions, Services, SessionParts, SessionState, Sessions};
use petasos_skills::Library;
use petasos_sqlite::{SqliteFiles, Store};
use petasos_store::{Databases, StoreError, Stores};
use petasos_tools::{BUILTIN, FileMemory, Panels};

use crate::board_news::BoardNews;
use crate::copies::{self, Heard};
use crate::doorway::Doorway;
use crate::editor::EditorTerminal;
use crate::everywhere::{ChatNews, Everywhere};
use crate::extensions::Extensions;
use crate::foreign::{AgentModel, ForeignAgents};
use crate::logging::Journal;
use crate::panel::EditorPanel;
use crate::post::HomeStore;
use crate::report::Report;
use crate::reviewer::ModelReviewer;
use crate::scheduled::{ScheduleDesk, Scheduled};
use crate::states;
use crate::telemetry::Telemetry;
use model::LazyModel;

/// What gets ready beside a first request.
#[derive(Debug)]
pub struct Warming {
    _terminal: Option<Owned<()>>,
    _built: Owned<()>,
}

/// Settings, tools and engines of one program.
#[derive(Debug)]
pub struct Host {
    settings: Arc<Settings>,
    ports: Arc<Ports>,
    catalogue: Arc<Catalogue>,
    terminal: Arc<petasos_terminal::Engine>,
    doorway: Arc<Doorway>,
    hooks: Arc<HookBus>,
    copies: Arc<Before>,
    middleware: Arc<Middleware>,
    extensions: OnceLock<Extensions>,
    questions: Arc<Questions>,
    policy: OnceLock<Arc<Engine>>,
    store: Arc<HomeStore>,
    scheduled: Arc<Scheduled>,
    everywhere: Arc<Everywhere>,
    editors: Arc<EditorRules>,
    media: Arc<Media>,
    model: Arc<LazyModel>,
}

/// The tools, and the chat platforms that have the common ones because no toolset is their own.
fn registered(tools: &[&'static ToolDef], ports: &Ports) -> Arc<Registry> {
    let registry = Registry::with_builtin(tools, ports);
    for def in PLATFORMS.iter().filter(|def| toolsets::named(def.toolset).is_none()) {
        registry.register_platform(def.name);
    }
    Arc::new(registry)
}

impl Host {
    /// Reads the settings and registers the built-in tools. Touches no network.
    pub fn open(inputs: &Inputs) -> Result<Self, Report> {
        let settings = Arc::new(petasos_config::load(inputs)?);
        Ok(Self::with_settings(settings))
    }

    /// A host over a snapshot that somebody else made.
    pub fn with_settings(settings: Arc<Settings>) -> Self {
        let questions = Questions::new();
        let terminal = petasos_terminal::Engine::with_backends(
            Some(Arc::clone(&questions) as _),
            Arc::new(SystemClock),
            petasos_hosted::backends::BACKENDS,
        );
        let doorway = Arc::new(Doorway::default());
        let mut ports = Ports::default();
        terminal.fill(&mut ports);
        ports.door = Some(Arc::clone(&doorway) as _);
        let editors = EditorRules::new(ports.environments.clone());
        ports.terminal = ports.terminal.map(|own| EditorTerminal::beside(own, &editors) as _);
        ports.buffers = Some(Arc::clone(&editors) as _);
        let store = HomeStore::of(&settings);
        let model = Arc::new(LazyModel::new(Arc::clone(&settings), ports.processes.clone()));
        ports.model = Some(Arc::clone(&model) as _);
        let platforms = PLATFORMS.iter().copied().filter(|def| def.name != "loopback").collect();
        let post =
            Post::new(Arc::clone(&store) as _, Arc::clone(&settings), model.net(), platforms);
        let everywhere = Everywhere::new(post, &settings, &store, model.net());
        ports.deliveries = Some(Arc::clone(&everywhere) as _);
        let (to, processes) = (Arc::clone(&everywhere), ports.processes.clone());
        let scheduled = Scheduled::new(Arc::clone(&settings), Arc::clone(&store), to, processes);
        ports.schedules = Some(Arc::new(ScheduleDesk(Arc::clone(&scheduled))) as _);
        ports.logins = Some(petasos_providers::credential::services::logins());
        let file_memory = FileMemory::new();
        ports.file_memory = Some(Arc::clone(&file_memory) as _);
        ports.browsers = Some(Browsers::new(ports.processes.clone()) as _);
        ports.web_sources = Some(crate::apart::sources(ports.processes.clone()) as _);
        let media = Arc::new(Media::default());
        ports.media = Some(Arc::clone(&media) as _);
        let boards = crate::board::boards(&settings);
        ports.boards = Some(Arc::clone(&boards) as _);
        let panel = EditorPanel(Arc::clone(&editors));
        ports.panel = Some(Arc::new(Panels(Arc::new(panel))) as _);
        ports.databases = Some(Arc::new(Databases(SqliteFiles::shared())) as _);
        let chat_news = Arc::new(ChatNews::new(&everywhere, &settings)) as Arc<dyn Hook>;
        let board_news = Arc::new(BoardNews::new(&settings, &boards)) as Arc<dyn Hook>;
        let listening = [file_memory as Arc<dyn Hook>, chat_news, board_news];
        let hooks = listeners::bus(settings.home(), &scheduled, listening);
        ports.moments = Some(Arc::clone(&hooks) as _);
        ports.skills = Some(Arc::new(Library::new(&ports)) as _);
        let ports = Arc::new(ports);
        let tools = [BUILTIN, LOOP_TOOLS].concat();
        let registry = registered(&tools, &ports);
        let catalogue = Arc::new(Catalogue::new(registry, Arc::new(Checks::default())));
        let middleware = Arc::new(Middleware::new());
        let copies = copies::before(&terminal);
        middleware.register_around(&(Arc::clone(&copies) as _));
        let extensions = OnceLock::new();
        Self {
            settings,
            ports,
            catalogue,
            terminal,
            doorway,
            hooks,
            copies,
            middleware,
            extensions,
            questions,
            policy: OnceLock::new(),
            editors,
            store,
            scheduled,
            everywhere,
            media,
            model,
        }
    }

    /// The snapshot.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// What the linked engines offer to tools.
    pub fn ports(&self) -> &Arc<Ports> {
        &self.ports
    }

    /// The tools and what is known of their availability.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Other people's code: plugins and shell hooks, started on first need. Costs two looks at the
    /// settings when none is configured.
    pub fn extensions(&self) -> &Extensions {
        self.extensions.get_or_init(|| Extensions::start(self))
    }

    /// The plugins, started where any are configured.
    pub fn plugins(&self) -> Option<&Arc<petasos_plugins::Plugins>> {
        let configured = petasos_plugins::discover::is_configured(&self.settings);
        configured.then(|| self.extensions().plugins()).flatten()
    }

    /// This host with the tools of its plugins, for those who only look at tools.
    pub fn with_plugins(&self) -> &Self {
        if petasos_plugins::discover::is_configured(&self.settings) {
            self.extensions();
        }
        self
    }

    /// Scheduled jobs.
    pub(crate) fn scheduled(&self) -> &Arc<Scheduled> {
        &self.scheduled
    }

    /// Every place that messages can go to.
    pub(crate) fn everywhere(&self) -> &Arc<Everywhere> {
        &self.everywhere
    }

    /// What editors are asked and shown, for the sessions that they have open.
    pub fn editors(&self) -> &Arc<EditorRules> {
        &self.editors
    }

    /// The hooks of every door of this host.
    pub fn hooks(&self) -> &Arc<HookBus> {
        &self.hooks
    }

    /// The middleware of every door of this host.
    pub fn middleware(&self) -> &Arc<Middleware> {
        &self.middleware
    }

    /// What a check is told on this surface.
    pub fn check_context(&self, surface: Surface, session: SessionId) -> CheckContext {
        CheckContext {
            surface,
            attended: self.call_context(surface, session.clone()).attended,
            session,
            settings: Arc::clone(&self.settings),
            ports: Arc::clone(&self.ports),
        }
    }

    /// The policy of this program; refuses settings that it cannot use.
    pub fn engine(&self) -> Result<Engine, Report> {
        let engine = Engine::new(&self.settings).map_err(|error| unusable(&error))?;
        let engine = engine.keeping(self.settings.home(), self.grants(), self.decisions());
        let engine = engine.supervised(petasos_terminal::is_supervised());
        Ok(engine.with_processes(self.ports.processes.clone()))
    }

    /// The one policy of every door, so that what is approved for a session can be forgotten.
    pub(crate) fn policy(&self) -> Result<Arc<Engine>, Report> {
        if let Some(policy) = self.policy.get() {
            return Ok(Arc::clone(policy));
        }
        let policy = Arc::new(self.engine()?);
        Ok(Arc::clone(self.policy.get_or_init(|| policy)))
    }

    /// The same policy for those who only want to know.
    pub fn checker(&self) -> Result<Checker, Report> {
        let checker = Checker::new(Arc::clone(&self.settings)).map_err(|error| unusable(&error))?;
        let checker = checker.supervised(petasos_terminal::is_supervised());
        Ok(checker.with_processes(self.ports.processes.clone()))
    }

    /// The one door, asking the people who are there, if any; before them the reviewing model,
    /// where the settings want one.
    pub fn dispatcher(&self, people: Option<Arc<dyn Approver>>) -> Result<Arc<Dispatcher>, Report> {
        self.extensions();
        let registry = Arc::clone(self.catalogue.registry());
        let reviewer = Arc::new(ModelReviewer::new(self.model()));
        // A subagent never asks the person of the conversation it works for.
        let approver = ForSubagents::new(Arc::new(SmartApprover::new(reviewer, people)));
        let door = Dispatcher::new(registry, self.policy()?, Arc::new(approver));
        let door = door.with_environments(self.ports.environments.clone());
        let door = door.with_hooks(Arc::clone(&self.hooks));
        let door = Arc::new(door.with_middleware(Arc::clone(&self.middleware)));
        self.doorway.leads_to(&door);
        Ok(door)
    }

    /// What agents share: a model, the store of this home, the door and the tools.
    fn parts(
        &self,
        model: Arc<dyn Model>,
        people: Option<Arc<dyn Approver>>,
    ) -> Result<petasos_agent::engine::Engine, Report> {
        let (hooks, middleware) = (Arc::clone(&self.hooks), Arc::clone(&self.middleware));
        let mut engine = petasos_agent::engine::Engine::new(
            Arc::new(Heard::new(
                Arc::new(Attended::new(model, hooks, middleware)),
                &self.copies,
                self.catalogue.registry(),
            )),
            self.store()? as _,
            self.dispatcher(people)?,
            Arc::clone(&self.catalogue),
            Arc::clone(&self.ports),
        );
        engine.watchers = self.watchers();
        Ok(engine)
    }

    /// Sessions whose questions go to whoever is connected to them. Below a supervisor that is the
    /// agent itself, so nobody is asked.
    pub fn sessions(
        &self,
        services: Arc<dyn Services>,
        extras: Vec<Arc<dyn Extra>>,
    ) -> Result<Arc<Sessions>, Report> {
        let people = (!petasos_terminal::is_supervised()).then(|| self.people());
        self.sessions_with(self.model(), people, services, extras)
    }

    /// The same with another model, or with nobody who can be asked.
    pub fn sessions_with(
        &self,
        model: Arc<dyn Model>,
        people: Option<Arc<dyn Approver>>,
        services: Arc<dyn Services>,
        extras: Vec<Arc<dyn Extra>>,
    ) -> Result<Arc<Sessions>, Report> {
        self.keep_questions()?;
        let asker = people.as_ref().map(|_| Arc::clone(&self.questions) as _);
        let person = people.clone().unwrap_or_else(|| Arc::new(Nobody));
        let (processes, editors) = (self.ports.processes.clone(), Arc::clone(&self.editors));
        let agents = Arc::new(ForeignAgents::new(processes, self.policy()?, person, editors));
        let model = AgentModel::around(model, &agents);
        let mut engine = self.parts(Arc::clone(&model) as _, people)?;
        engine.asker = asker;
        engine.agents = Some(agents);
        let mut states: Vec<Arc<dyn SessionState>> = vec![
            Arc::new(states::Shells(Arc::clone(&self.terminal))),
            Arc::new(states::Approvals(self.policy()?)),
            model,
        ];
        let files = self.ports.file_memory.clone();
        states.extend(files.map(|files| Arc::new(states::Files(files)) as _));
        let kept = [self.ports.browsers.clone(), self.ports.web_sources.clone()];
        states.extend(kept.into_iter().flatten().map(|kept| Arc::new(states::Files(kept)) as _));
        Ok(Sessions::new(SessionParts {
            engine: Arc::new(engine),
            stores: Stores::of(&self.store()?),
            services,
            questions: Arc::clone(&self.questions),
            states,
            extras,
            new_id: petasos_sqlite::new_session_id,
        }))
    }

    /// Questions are kept in the store of this home from now on.
    pub fn keep_questions(&self) -> Result<&Arc<Questions>, Report> {
        let redactor = Redactor::of(&self.settings);
        let stores = Stores::of(&self.store()?);
        self.questions.keep(&stores, move |text| redactor.text(text).into_owned());
        Ok(&self.questions)
    }

    /// The people who are connected to the sessions of this host.
    pub fn people(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.questions) as _
    }

    /// Who records conversations: the log, and a collector of traces where one is configured.
    fn watchers(&self) -> Vec<Arc<dyn Watcher>> {
        let redactor = || Redactor::of(&self.settings);
        let traces = Telemetry::of(&self.settings, || self.net(), redactor);
        let mut watchers: Vec<Arc<dyn Watcher>> = vec![Arc::new(Journal)];
        watchers.extend(traces.map(|traces| Arc::new(traces) as Arc<dyn Watcher>));
        watchers
    }

    /// The one store of this home: conversations, questions.
    pub fn store(&self) -> Result<Arc<Store>, Report> {
        self.store.open().map_err(|error| {
            let report = Report::new(error.to_string()).code("store");
            match error {
                StoreError::Failed(_) | StoreError::Slow { .. } | StoreError::ReadOnly => {
                    report.hint("`petasos doctor` looks at the home and its disk")
                }
                _ => report,
            }
        })
    }

    /// The gate before decoders.
    pub(crate) fn media(&self) -> &Arc<Media> {
        &self.media
    }

    /// The way out to the network; nothing is built before the first request.
    pub fn net(&self) -> Arc<Net> {
        self.model.net()
    }

    /// Finds out whom to ask; it may start programs that print keys.
    pub fn resolver(&self) -> Finder {
        self.model.resolver()
    }

    /// The one model client of this program: the loop, reviewers, plugins and servers share what it
    /// knows of providers that are to be left alone for a while.
    pub fn model(&self) -> Arc<Client> {
        self.model.client()
    }

    /// Copies of the workspace from before it was changed.
    pub fn checkpoints(&self) -> Arc<Checkpoints> {
        Arc::clone(self.copies.checkpoints())
    }

    /// Lets the terminal, the rules and the masks get ready while a model is being asked; ends when
    /// dropped.
    pub fn warm_terminal(&self) -> Warming {
        let cx = self.call_context(Surface::OneShot, SessionId::new("warming"));
        let settings = Arc::clone(&self.settings);
        let prepare = move || {
            petasos_approval::judge_command("echo a > b", &petasos_approval::Facts::default());
            petasos_approval::log::warm();
            Redactor::of(&settings).text("a");
        };
        let built = Owned::start(async move {
            if let Err(error) = tokio::task::spawn_blocking(prepare).await {
                tracing::debug!(%error, "rules and masks were not warmed");
            }
        });
        Warming { _terminal: self.terminal.warm(cx), _built: built }
    }

    /// The engine that runs commands.
    pub fn terminal(&self) -> &Arc<petasos_terminal::Engine> {
        &self.terminal
    }

    /// The surroundings of a call.
    pub fn call_context(&self, surface: Surface, session: SessionId) -> CallContext {
        CallContext::new(Arc::clone(&self.settings), surface, session)
    }

    /// Whether there is no process, place or connection that belongs to this host.
    pub(crate) fn started_nothing(&self) -> bool {
        // A store still writes what nobody waited for.
        let unused = self.extensions.get().is_none() && self.store.opened().is_none();
        unused && !self.terminal.is_away()
    }

    /// Waits for what only looks: checks and definitions. It has a clock and a blocking pool but no
    /// sockets, which every start would pay for: only a place elsewhere is asked by one.
    pub fn glance<T>(&self, future: impl Future<Output = T>) -> io::Result<T> {
        if self.settings.text("terminal.backend").is_some_and(|backend| backend != "local") {
            return self.wait(future);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        Ok(runtime.block_on(future))
    }

    /// Waits for a future on this thread; a command needs no more than one.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> io::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(future))
    }
}

fn unusable(error: &ApprovalSettingsError) -> Report {
    Report::new(error.to_string())
        .code("approval")
        .hint("`petasos config check` shows where it is set")
}

impl Drop for Host {
    /// Throw-away containers go with the program; kept ones stay for the next.
    fn drop(&mut self) {
        if !self.terminal.is_away() || tokio::runtime::Handle::try_current().is_ok() {
            return;
        }
        match self.wait(self.terminal.close_places()) {
            Ok(failed) => {
                for error in failed {
                    tracing::warn!(%error, "a place is not cleared away");
                }
            }
            Err(error) => tracing::warn!(%error, "places are not cleared away"),
        }
    }
}
