//! What schedules ask of the program: sessions in which nobody can be asked, the tools of a job,
//! where a run works, and who may still have made it.

mod attach;
mod first_call;
mod guard;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_config::Inputs;
use petasos_contract::context::Surface;
use petasos_contract::delivery::{Deliveries, Destination};
use petasos_contract::ports::{Ports, Schedules};
use petasos_contract::processes::Processes;
use petasos_contract::taint::Taint;
use petasos_contract::{Address, BoxFuture, CallContext, SessionId, Settings};
use petasos_cron::{
    CronHost, Job, Jobs, Place, Runs, Scheduler, SchedulerOptions, SystemWall, desk, mirror,
};
use petasos_gateway::{PLATFORMS, explain};
use petasos_redact::Redactor;
use petasos_runtime::toolsets::{choose, unknown};
use petasos_session::{Choice, ModelChoice, Sessions, notes_of};
use petasos_skills::Library;
use petasos_store::ChatKind;
use serde_json::{Value, json};

pub(crate) use self::first_call::FirstCall;
pub(crate) use self::guard::GatewayGuard;
use crate::everywhere::Everywhere;
use crate::halt;
use crate::host::Host;
use crate::post::HomeStore;
use crate::report::Report;
use crate::services::{Program, acts_by_itself, resolved};

/// Toolsets that are not for scheduled runs: they would breed, ask or write to people.
const WITHHELD: [&str; 3] = ["cronjob", "clarify", "messaging"];

/// How long runs may go on when the program ends.
pub(crate) fn patience(settings: &Settings) -> Duration {
    let seconds = settings.get("agent.restart_drain_timeout").and_then(Value::as_u64);
    Duration::from_secs(seconds.unwrap_or(20))
}

/// Where the runs of this program live.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<HashMap<SessionId, Stay>>);

/// A run in its place.
#[derive(Debug, Clone)]
struct Stay {
    place: Place,
    label: Taint,
    /// It is noted that it has called something.
    called: bool,
}

impl Places {
    /// The surroundings of a run.
    pub(crate) fn put(&self, cx: CallContext) -> CallContext {
        let Some(Stay { place, label, .. }) = self.0.lock().get(&cx.session).cloned() else {
            return cx;
        };
        let mut cx = cx.tainted(label);
        if let Some(workdir) = place.workdir {
            cx.workspace = workdir.into();
        }
        match place.address {
            Some(address) => cx.at(Arc::new(address)),
            None => cx,
        }
    }

    /// The run of a session that has called nothing so far.
    fn untouched(&self, session: &SessionId) -> Option<String> {
        let places = self.0.lock();
        places.get(session).filter(|stay| !stay.called).map(|stay| stay.place.run.clone())
    }

    fn note_call(&self, session: &SessionId) {
        if let Some(stay) = self.0.lock().get_mut(session) {
            stay.called = true;
        }
    }
}

/// The program behind schedules. It is there from the start; what needs the whole host comes when
/// somebody who runs jobs binds it.
pub(crate) struct Scheduled {
    settings: Arc<Settings>,
    store: Arc<HomeStore>,
    everywhere: Arc<Everywhere>,
    processes: Option<Arc<dyn Processes>>,
    bound: OnceLock<Bound>,
    places: Arc<Places>,
    sessions: OnceLock<Arc<Sessions>>,
    scheduler: OnceLock<Arc<Scheduler>>,
}

struct Bound {
    host: Weak<Host>,
    inputs: Inputs,
}

impl std::fmt::Debug for Scheduled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduled").finish_non_exhaustive()
    }
}

impl Scheduled {
    pub(crate) fn new(
        settings: Arc<Settings>,
        store: Arc<HomeStore>,
        everywhere: Arc<Everywhere>,
        processes: Option<Arc<dyn Processes>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings,
            store,
            everywhere,
            processes,
            bound: OnceLock::new(),
            places: Arc::default(),
            sessions: OnceLock::new(),
            scheduler: OnceLock::new(),
        })
    }

    /// From now on jobs can be run here.
    pub(crate) fn bind(&self, host: &Arc<Host>, inputs: &Inputs) {
        let bound = Bound { host: Arc::downgrade(host), inputs: inputs.clone() };
        if self.bound.set(bound).is_err() {
            tracing::debug!("jobs could be run here already");
        }
    }

    /// Notes the first call of each run before it begins.
    pub(crate) fn first_calls(&self) -> FirstCall {
        FirstCall { places: Arc::clone(&self.places), store: Arc::clone(&self.store) }
    }

    fn host(&self) -> Result<Arc<Host>, String> {
        let host = self.bound.get().and_then(|bound| bound.host.upgrade());
        host.ok_or_else(|| "jobs cannot be run from here".to_owned())
    }

    /// The jobs of this home.
    pub(crate) fn jobs(self: &Arc<Self>) -> Result<Jobs, Report> {
        let store =
            self.store.open().map_err(|error| Report::new(error.to_string()).code("store"))?;
        let jobs = Jobs::new(store, Arc::clone(self) as _, Arc::new(SystemWall));
        jobs.map_err(|error| Report::new(error.what).code("settings").hint(error.hint))
    }

    /// Takes over the jobs of another agent that lie in this home, once.
    pub(crate) async fn take_over(self: &Arc<Self>) -> Result<(), Report> {
        let file = self.settings.home().join("cron").join("jobs.json");
        let Ok(text) = std::fs::read_to_string(&file) else { return Ok(()) };
        let ours = serde_json::from_str(&text).is_ok_and(|it: Value| mirror::is_mirror(&it));
        if ours {
            return Ok(());
        }
        match self.jobs()?.import(&text).await {
            Ok(done) => {
                let (taken, refused) = (done.taken.len(), done.refused.len());
                tracing::info!(taken, refused, "jobs of another agent were taken over");
                for (name, why) in done.refused {
                    tracing::warn!(name, why, "a job was not taken over");
                }
                if let Err(error) = std::fs::rename(&file, file.with_extension("json.imported")) {
                    tracing::warn!(%error, "the file of taken jobs stays where it is");
                }
                self.jobs()?.mirror().await;
            }
            Err(error) => tracing::warn!(%error, "jobs of another agent cannot be read"),
        }
        Ok(())
    }

    /// The scheduler of this program, made when somebody first needs it.
    pub(crate) fn scheduler(
        self: &Arc<Self>,
        kind: &'static str,
    ) -> Result<Arc<Scheduler>, Report> {
        if let Some(scheduler) = self.scheduler.get() {
            return Ok(Arc::clone(scheduler));
        }
        let jobs = self.jobs()?;
        let options = SchedulerOptions {
            kind,
            parallel: jobs.options().parallel,
            catch_up: jobs.options().missed.catch_up,
        };
        let (store, wall) = (Arc::clone(jobs.store()), Arc::clone(jobs.wall()));
        let scheduler = Scheduler::new(store, wall, Runs::new(jobs), options);
        Ok(Arc::clone(self.scheduler.get_or_init(|| scheduler)))
    }

    /// The notes of the chat that a job was made in; the home's own where the owner made it.
    fn notes(&self, origin: &Address) -> Option<String> {
        let owner = self.settings.text("gateway.owner");
        let user = origin.user.as_ref().map(|user| format!("{}:{}", origin.platform, user));
        let own = owner.is_some() && owner == user.as_deref();
        let shared = self.settings.get("gateway.shared_memory") == Some(&Value::Bool(true));
        (!own && !shared).then(|| notes_of(&Address { thread: None, ..origin.clone() }))
    }

    /// The skills, as a run in this session sees them.
    fn library(&self, session: SessionId) -> (Library, CallContext) {
        let library = self
            .host()
            .map_or_else(|_| Library::new(&Ports::default()), |host| Library::of(host.ports()));
        let cx = CallContext::new(Arc::clone(&self.settings), Surface::Cron, session);
        (library, cx)
    }

    /// Whether whoever made a job in a chat is still let in there.
    async fn creator(&self, job: &Job) -> Result<(), String> {
        let Some(origin) = &job.body.origin else { return Ok(()) };
        let (Some(user), Some(def)) = (
            &origin.user,
            PLATFORMS.iter().copied().find(|def| def.name == origin.platform.as_str()),
        ) else {
            return Ok(());
        };
        let store = self.store.open().map_err(|error| error.to_string())?;
        let mut rule = "";
        // Which kind of chat it was is not kept: whoever is let in either way is let in.
        for kind in [ChatKind::Dm, ChatKind::Group] {
            let place = (user.as_str(), origin.chat.as_str(), kind);
            let found = explain(&*store, &self.settings, def, place).await;
            let found = found.map_err(|error| error.to_string())??;
            if found.class.is_some() {
                return Ok(());
            }
            rule = found.rule;
        }
        Err(format!("{} may no longer write on {} ({rule})", user.as_str(), def.name))
    }
}

impl CronHost for Scheduled {
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }

    fn sessions(&self) -> Result<Arc<Sessions>, String> {
        if let Some(sessions) = self.sessions.get() {
            return Ok(Arc::clone(sessions));
        }
        let host = self.host()?;
        let inputs = self.bound.get().map(|bound| bound.inputs.clone());
        let inputs = inputs.ok_or("jobs cannot be run from here")?;
        let program = Program::scheduled(Arc::clone(&host), inputs, Arc::clone(&self.places));
        // Nobody is there, unless questions are led to a chat.
        let people = crate::post::route_to(&self.settings).map(|_| host.people());
        let sessions = host.sessions_with(host.model(), people, Arc::new(program), Vec::new());
        let sessions = sessions.map_err(|report| report.to_string())?;
        Ok(Arc::clone(self.sessions.get_or_init(|| sessions)))
    }

    fn choice(&self, job: &Job) -> Result<Choice, String> {
        let host = self.host()?;
        let mut choice = Choice::new(Surface::Cron, Arc::clone(&self.settings));
        let tools = host.catalogue().registry().snapshot();
        choice.selection = choose("cron", &self.settings, &tools).selection(&self.settings);
        if let Some(names) = &job.body.enabled_toolsets {
            choice.selection.enabled = Some(names.clone());
        }
        // Taken away at the end, whatever brought them in.
        choice.selection.disabled.extend(WITHHELD.map(str::to_owned));
        choice.model.clone_from(&job.body.model);
        choice.provider.clone_from(&job.body.provider);
        // A job of a chat knows what its chat knows, and tells nobody else's.
        choice.notes = job.body.origin.as_ref().and_then(|origin| self.notes(origin));
        Ok(choice)
    }

    fn unknown_toolsets(&self, names: &[String]) -> Vec<String> {
        let Ok(host) = self.host() else { return Vec::new() };
        let tools = host.catalogue().registry().snapshot();
        let strange = unknown(names, &self.settings, &tools);
        strange.iter().map(|it| format!("`{}` ({})", it.name, it.hint())).collect()
    }

    fn placed(&self, session: &SessionId, place: Place, job: &Job) {
        let stay = Stay { place, label: job.body.label, called: false };
        self.places.0.lock().insert(session.clone(), stay);
        // What a person allowed this job is allowed to its run, and to nothing else.
        if let Ok(policy) = self.host().and_then(|it| it.policy().map_err(|it| it.to_string())) {
            policy.allow_in(session, &job.body.grants);
        }
    }

    fn left(&self, session: &SessionId) {
        self.places.0.lock().remove(session);
        if let Ok(policy) = self.host().and_then(|it| it.policy().map_err(|it| it.to_string())) {
            policy.end_session(session);
        }
    }

    fn resolve<'a>(
        &'a self,
        provider: Option<&'a str>,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let (provider, model) = (provider.map(str::to_owned), model.map(str::to_owned));
            let host = self.host()?;
            resolved(&host, &ModelChoice { model, provider }).await
        })
    }

    fn acts_by_itself<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            if job.body.no_agent {
                return false;
            }
            let Ok(host) = self.host() else { return true };
            let (provider, model) = (job.body.provider.clone(), job.body.model.clone());
            let choice = ModelChoice { model, provider };
            acts_by_itself(&self.settings, &host, choice).await
        })
    }

    fn findings(&self, text: &str) -> Vec<String> {
        petasos_agent::threat::findings(text).into_iter().map(str::to_owned).collect()
    }

    fn missing_skills<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            if names.is_empty() {
                return Vec::new();
            }
            let (library, cx) = self.library(SessionId::new("schedules"));
            let why = |name: &String| library.find(name, &cx).err().map(|error| error.message);
            names.iter().filter_map(why).collect()
        })
    }

    fn skills<'a>(
        &'a self,
        names: &'a [String],
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<String>, String>> {
        Box::pin(async move {
            if names.is_empty() {
                return Ok(Vec::new());
            }
            let (library, cx) = self.library(session.clone());
            let cx = CallContext { attended: false, ..cx };
            library.loaded(names, &cx).await.map_err(|error| error.message)
        })
    }

    fn may_still<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.creator(job))
    }

    fn stopped(&self) -> Option<String> {
        halt::stopped(self.settings.home())
    }

    fn redact(&self, text: &str) -> String {
        Redactor::of(&self.settings).text(text).into_owned()
    }

    fn save(&self, path: &Path, text: &str) -> Result<(), String> {
        let folder = path.parent().ok_or("it has no folder")?;
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        petasos_fs::write(path, text.as_bytes(), petasos_fs::Mode::Exactly(0o600))
            .map_err(|error| error.to_string())
    }

    fn processes(&self) -> Option<Arc<dyn Processes>> {
        self.processes.clone()
    }

    fn deliveries(&self) -> Option<Arc<dyn Deliveries>> {
        Some(Arc::clone(&self.everywhere) as _)
    }

    fn unknown_rules(&self, names: &[String]) -> Vec<String> {
        let rules = petasos_approval::policy::explain::rules(&self.settings).unwrap_or_default();
        let asks = |name: &String| rules.iter().any(|it| it.key == *name && it.severity == "ask");
        names.iter().filter(|name| !asks(name)).map(|name| format!("`{name}`")).collect()
    }

    fn attach<'a>(
        &'a self,
        to: &'a Destination,
        text: &'a str,
        mark: &'a str,
        patience: Duration,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let store = self.store.open().map_err(|error| error.to_string())?;
            let attached = attach::attach(&store, to, (text, mark), patience);
            attached.await.map_err(|error| error.to_string())
        })
    }

    fn finished<'a>(&'a self, job: &'a Job, run: Value) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(outgoing) = self.everywhere.outgoing() else { return };
            if outgoing.is_wanted("cron_finished") {
                let state = run.get("state").and_then(Value::as_str).unwrap_or_default();
                let text = format!("{} (job {}): {state}", job.name, job.id);
                outgoing.tell("cron_finished", &run, &text).await;
            }
        })
    }
}

/// What the tool `cronjob` reaches.
#[derive(Debug)]
pub(crate) struct ScheduleDesk(pub(crate) Arc<Scheduled>);

impl Schedules for ScheduleDesk {
    fn manage<'a>(&'a self, request: Value, cx: &'a CallContext) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let jobs = match self.0.jobs() {
                Ok(jobs) => jobs,
                Err(report) => {
                    return json!({ "success": false, "error": report.to_string(), "error_type": "store" });
                }
            };
            // Without the whole host jobs can be kept, not run.
            let scheduler = self.0.host().ok().and_then(|_| self.0.scheduler("session").ok());
            desk::answer(&jobs, scheduler.as_ref(), request, cx).await
        })
    }
}
