//! What the gateway and the HTTP interface ask of the program: what conversations choose, where they
//! are reached, and whether everything was stopped.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use petasos_api::{ApiHost, JobAsk, JobFault, ModelRoute, Reached, Wish};
use petasos_config::Inputs;
use petasos_contract::approval::ApprovalRequest;
use petasos_contract::context::Surface;
use petasos_contract::delivery::Deliveries;
use petasos_contract::message::Content;
use petasos_contract::settings::Source;
use petasos_contract::{Address, BoxFuture, CallContext, SessionId, Settings};
use petasos_gateway::platform::PlatformDef;
use petasos_gateway::{Gateway, GatewayHost, Hearing, Wanted};
use petasos_media::speaking::{self, SpeechAsk};
use petasos_media::transcribing::{self, Patience};
use petasos_redact::Redactor;
use petasos_runtime::toolsets::choose;
use petasos_session::{Choice, ModelChoice, Refreshed, Services, SessionLimits, Topic, notes_of};
use serde_json::{Map, Value, json};

use crate::elsewhere;
use crate::halt;
use crate::host::Host;
use crate::pictures::{self, Bad};
use crate::report::Report;
use crate::services::{self, Program};

/// The program behind the chats of a gateway.
pub(crate) struct ChatProgram {
    host: Arc<Host>,
    program: Program,
    redactor: Arc<Redactor>,
    /// The settings of conversations over HTTP: commands are confined unless somebody chose
    /// otherwise, also where a run is being watched.
    confined: Arc<Settings>,
    /// The same where a key says how its commands are confined.
    levels: HashMap<String, Arc<Settings>>,
    /// The gateway of this process, where one runs.
    gateway: OnceLock<Weak<Gateway>>,
    places: Mutex<HashMap<SessionId, Place>>,
}

/// Where a conversation is reached.
struct Place {
    surface: Surface,
    address: Arc<Address>,
    attended: bool,
    since: Instant,
    /// The settings of its commands, where they are others than those of the program.
    settings: Option<Arc<Settings>>,
}

/// A place is kept so long for a session that is just being opened.
const OPENING: Duration = Duration::from_mins(10);

impl ChatProgram {
    /// With what sessions ask of any surface.
    pub(crate) fn new(host: Arc<Host>, program: Program, inputs: &Inputs) -> Result<Self, Report> {
        let redactor = Redactor::of(host.settings());
        let confined = confined(host.settings(), inputs)?;
        let levels = levels(host.settings(), inputs)?;
        let gateway = OnceLock::new();
        Ok(Self { levels, gateway, host, program, redactor, confined, places: Mutex::default() })
    }

    /// Whoever asks how the program is hears of this gateway, too.
    pub(crate) fn serves(&self, gateway: &Arc<Gateway>) {
        if self.gateway.set(Arc::downgrade(gateway)).is_err() {
            tracing::debug!("a gateway was known already");
        }
    }

    /// The settings of a conversation over HTTP whose key says so, or of any other.
    fn confined_to(&self, level: Option<&str>) -> &Arc<Settings> {
        level.and_then(|level| self.levels.get(level)).unwrap_or(&self.confined)
    }

    fn place(&self, session: &SessionId, place: Place) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.insert(session.clone(), place);
    }
}

impl GatewayHost for ChatProgram {
    fn choice(&self, platform: &PlatformDef, _: &Address) -> Choice {
        let settings = self.host.settings();
        let mut choice = Choice::new(Surface::Gateway, Arc::clone(settings));
        let tools = self.host.catalogue().registry().snapshot();
        choice.selection = choose(platform.name, settings, &tools).selection(settings);
        platform.name.clone_into(&mut choice.source);
        choice.addition = Some(platform.hint.to_owned()).filter(|hint| !hint.is_empty());
        choice
    }

    fn placed(&self, session: &SessionId, address: &Arc<Address>, attended: bool) {
        let (surface, address) = (Surface::Gateway, Arc::clone(address));
        let since = Instant::now();
        self.place(session, Place { surface, address, attended, since, settings: None });
    }

    /// A session that has gone cold is placed anew before it wakes.
    fn resident(&self, sessions: &[SessionId]) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|id, place| place.since.elapsed() < OPENING || sessions.contains(id));
    }

    fn new_session(&self) -> SessionId {
        petasos_sqlite::new_session_id()
    }

    fn stopped(&self) -> Option<String> {
        halt::stopped(self.host.settings().home())
    }

    fn stop_all(&self, by: &str) -> Result<(), String> {
        halt::stop(self.host.settings().home(), by)
    }

    fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.host.settings().home()).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn redact(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }

    fn is_elsewhere(&self) -> bool {
        elsewhere::is_meant(self.host.settings())
    }

    fn fetched<'a>(&'a self, wanted: Wanted<'a>) -> BoxFuture<'a, Result<(), String>> {
        let cx = Services::context(self, wanted.session);
        Box::pin(async move { elsewhere::fetched(&self.host, wanted, &cx).await })
    }

    fn lent<'a>(&'a self, session: &'a SessionId, path: &'a str) -> BoxFuture<'a, Option<String>> {
        let cx = Services::context(self, session);
        Box::pin(async move { elsewhere::lent(&self.host, path, &cx).await })
    }

    fn spoken<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let cx = self.host.call_context(Surface::Gateway, SessionId::new("speaking"));
            let ask = SpeechAsk { text: text.to_owned(), voice_message: true };
            let processes = self.host.ports().processes.as_ref();
            let said = Box::pin(speaking::speak(&ask, processes, &cx)).await;
            said.map(|said| said.path.display().to_string()).map_err(|error| error.to_string())
        })
    }

    /// The link to a program whose file was replaced says so.
    fn is_outdated(&self) -> bool {
        let own = std::fs::read_link("/proc/self/exe");
        own.is_ok_and(|path| path.to_string_lossy().ends_with(" (deleted)"))
    }

    fn heard<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Hearing> {
        Box::pin(async move {
            let path = Path::new(path);
            if let Err(why) = transcribing::ready(self.host.settings()) {
                tracing::info!(why, "nobody listens to a voice message");
                return Hearing::Unheard(transcribing::seconds(path));
            }
            let cx = self.host.call_context(Surface::Gateway, SessionId::new("hearing"));
            let processes = self.host.ports().processes.as_ref();
            let heard = transcribing::transcribe(path, Patience::CHAT, processes, &cx);
            match Box::pin(heard).await {
                Ok(heard) => Hearing::Words(heard.transcript),
                Err(error) => {
                    tracing::warn!(%error, "a voice message was not transcribed");
                    Hearing::Failed(error.kind.replace('_', " "))
                }
            }
        })
    }
}

impl ApiHost for ChatProgram {
    fn wished(&self, wish: &Wish) -> Choice {
        let settings = self.confined_to(wish.sandbox.as_deref());
        let mut choice = Choice::new(Surface::ApiServer, Arc::clone(settings));
        let tools = self.host.catalogue().registry().snapshot();
        choice.selection = choose(wish.platform, settings, &tools).selection(settings);
        if let Some(instead) = &wish.instead {
            choice.selection.enabled = Some(instead.clone());
        }
        if let (Some(only), Some(enabled)) = (&wish.toolsets, &mut choice.selection.enabled) {
            enabled.retain(|name| only.contains(name));
        }
        choice.selection.disabled.push("messaging".to_owned());
        if !wish.may_ask {
            choice.selection.disabled.push("clarify".to_owned());
        }
        wish.platform.clone_into(&mut choice.source);
        choice.model.clone_from(&wish.route.model);
        choice.provider.clone_from(&wish.route.provider);
        choice.addition.clone_from(&wish.instructions);
        choice.notes = wish.memory.as_ref().map(notes_of);
        choice.sampling.clone_from(&wish.sampling);
        choice
    }

    fn takes<'a>(&'a self, route: &'a ModelRoute) -> BoxFuture<'a, Vec<&'static str>> {
        let choice = ModelChoice { model: route.model.clone(), provider: route.provider.clone() };
        Box::pin(async move {
            let taken = services::taken_fields(self.host.settings(), &self.host, &choice).await;
            taken.to_vec()
        })
    }

    fn reached(&self, session: &SessionId, place: Reached) {
        let Reached { address, attended, sandbox } = place;
        let attended = attended || self.routes_questions();
        let settings = Some(Arc::clone(self.confined_to(sandbox.as_deref())));
        let (surface, since) = (Surface::ApiServer, Instant::now());
        self.place(session, Place { surface, address, attended, since, settings });
    }

    fn redact(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }

    fn halted(&self) -> Option<String> {
        halt::stopped(self.host.settings().home())
    }

    fn routes_questions(&self) -> bool {
        crate::post::routes_questions(self.host.settings())
    }

    fn toolsets(&self) -> Value {
        let tools = self.host.catalogue().registry().snapshot();
        let enabled = choose("api_server", &self.confined, &tools).enabled;
        enabled.into_iter().map(|name| json!({ "name": name })).collect()
    }

    fn condition(&self) -> BoxFuture<'_, Value> {
        let gateway = self.gateway.get().and_then(Weak::upgrade);
        Box::pin(crate::http::condition::of(&self.host, gateway))
    }

    fn skills(&self) -> BoxFuture<'_, Value> {
        Box::pin(crate::http::skills::list(&self.host))
    }

    fn skill_words<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(crate::http::skills::words(&self.host, names))
    }

    fn jobs<'a>(&'a self, ask: JobAsk, by: &'a str) -> BoxFuture<'a, Result<Value, JobFault>> {
        Box::pin(crate::http::jobs::ask(self.host.scheduled(), ask, by))
    }

    fn boards<'a>(&'a self, board: Option<&'a str>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(crate::board::shown(&self.host, board))
    }

    fn deliveries(&self) -> Option<Arc<dyn Deliveries>> {
        Some(Arc::clone(self.host.everywhere()) as _)
    }

    fn subscriptions(&self) -> Map<String, Value> {
        crate::http::subscriptions::read(self.host.settings())
    }

    fn script<'a>(
        &'a self,
        file: &'a str,
        input: String,
        limit: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        let around = (&self.confined, self.host.ports().processes.clone());
        Box::pin(petasos_cron::script::filter(file, input, around, limit))
    }
}

/// The settings at each level that a key of the HTTP interface names.
fn levels(
    settings: &Arc<Settings>,
    inputs: &Inputs,
) -> Result<HashMap<String, Arc<Settings>>, Report> {
    let keys = settings.get("platforms.api_server.extra.keys").and_then(Value::as_array);
    let mut levels = HashMap::new();
    for key in keys.into_iter().flatten() {
        let Some(level) = key.get("sandbox").and_then(Value::as_str) else { continue };
        let inputs = inputs.clone().with_override("terminal.sandbox", level, "a key");
        levels.insert(level.to_owned(), Arc::new(petasos_config::load(&inputs)?));
    }
    Ok(levels)
}

/// The settings with commands confined to the workspace, where nobody chose otherwise.
fn confined(settings: &Arc<Settings>, inputs: &Inputs) -> Result<Arc<Settings>, Report> {
    let chosen = settings.explain("terminal.sandbox").first();
    // A project's file is no person's choice, though what it tightens holds.
    let chosen = chosen
        .is_some_and(|layer| !matches!(layer.source, Source::Default | Source::Project { .. }));
    if chosen || settings.text("terminal.sandbox").is_some_and(|level| level != "off") {
        return Ok(Arc::clone(settings));
    }
    let inputs = inputs.clone();
    let inputs = inputs.with_override("terminal.sandbox", "workspace", "the HTTP interface");
    Ok(Arc::new(petasos_config::load(&inputs)?))
}

impl Services for ChatProgram {
    /// Nobody in a chat can attach a picture anew before the turn: it goes on with a word.
    fn taken<'a>(
        &'a self,
        content: Content,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Content, String>> {
        Box::pin(pictures::taken(&self.host, content, Bad::IsTold, cx))
    }

    fn limits(&self) -> SessionLimits {
        let turns = self.host.settings().get("gateway.max_concurrent_sessions");
        let turns = turns.and_then(serde_json::Value::as_u64);
        let turns = turns.and_then(|count| usize::try_from(count).ok());
        let usual = SessionLimits::CHATS;
        SessionLimits { turns: turns.unwrap_or(usual.turns).max(1), ..usual }
    }

    fn context(&self, session: &SessionId) -> CallContext {
        let mut cx = self.program.context(session);
        cx.surface = Surface::Gateway;
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = places.get(session) else { return cx };
        if let Some(settings) = &place.settings {
            (cx.surface, cx.settings) = (place.surface, Arc::clone(settings));
        }
        cx.at(Arc::clone(&place.address)).attended(place.attended)
    }

    fn describe<'a>(
        &'a self,
        topic: Topic,
        about: &'a str,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.program.describe(topic, about, choice)
    }

    fn approval_text(&self, request: &ApprovalRequest, colour: bool) -> String {
        self.program.approval_text(request, colour)
    }

    fn resolve<'a>(&'a self, choice: &'a ModelChoice) -> BoxFuture<'a, Result<String, String>> {
        self.program.resolve(choice)
    }

    fn unknown_toolset(&self, names: &[String]) -> Option<String> {
        self.program.unknown_toolset(names)
    }

    fn save_model(&self, choice: &ModelChoice) -> Result<String, String> {
        self.program.save_model(choice)
    }

    fn approvals_off(&self) -> bool {
        self.program.approvals_off()
    }

    fn set_approvals_off(&self, _: bool) -> Result<(), String> {
        Err("approvals stay on in chats: change `approvals.mode` on the machine".to_owned())
    }

    fn restore<'a>(
        &'a self,
        checkpoint: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.program.restore(checkpoint, cx)
    }

    fn export<'a>(
        &'a self,
        session: &'a SessionId,
        file: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.program.export(session, file)
    }

    fn refresh_servers<'a>(
        &'a self,
        asked: bool,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<Option<Refreshed>, String>> {
        self.program.refresh_servers(asked, choice)
    }
}
