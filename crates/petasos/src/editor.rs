//! The program behind sessions in an editor: each session has its own directory, and with it its own
//! settings, its own place for commands and its own servers.

mod hearing;
mod terminal;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_acp::port::HostFuture;
use petasos_acp::{
    EditorHost, EditorPlace, ModelOption, PreparedSession, StoredMessage, StoredSession,
    UsableProvider,
};
use petasos_config::Inputs;
use petasos_contract::approval::ApprovalRequest;
use petasos_contract::context::Surface;
use petasos_contract::message::Content;
use petasos_contract::message::Message;
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use petasos_mcp::client::{Around, ServerSpec, Servers, State};
use petasos_providers::catalog::list;
use petasos_providers::{ProviderRuntime, Request, Vault, resolve};
use petasos_redact::Redactor;
use petasos_runtime::toolsets::choose;
use petasos_session::{Choice, ModelChoice, Refreshed, Services, Topic, embedded};
use petasos_sqlite::Store;
use petasos_store::{
    Amend, Filter, LeaseStore as _, Lineage, LoadedRow, NewSession, SessionHead, SessionScope,
    SessionStore, Slice, StoreError,
};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

use crate::conversation::unasked;
use crate::foreign;
use crate::guests;
use crate::host::Host;
use crate::services::{Program, resolved_by};
pub(crate) use terminal::EditorTerminal;

/// How long servers of a client may take to begin.
const SERVERS: Duration = Duration::from_secs(10);
/// How long a provider may take to list its models while an editor waits.
const LISTING: Duration = Duration::from_millis(1500);
/// So many models are offered.
const MODELS_MAX: usize = 200;
/// So many conversations are looked at for a list.
const SESSIONS_MAX: usize = 10_000;

/// The program, as sessions in an editor see it.
pub(crate) struct EditorProgram {
    host: Arc<Host>,
    program: Program,
    inputs: Inputs,
    store: Arc<Store>,
    places: Mutex<HashMap<SessionId, Arc<Settings>>>,
    /// What the present provider offers, asked once.
    listed: OnceCell<Vec<ModelOption>>,
    /// The settings by which a model answers, where the program began without one: the person has
    /// signed in meanwhile.
    signed_in: Mutex<Option<Arc<Settings>>>,
}

impl std::fmt::Debug for EditorProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EditorProgram").field("host", &self.host).finish_non_exhaustive()
    }
}

impl EditorProgram {
    pub(crate) fn new(
        host: Arc<Host>,
        program: Program,
        inputs: Inputs,
        store: Arc<Store>,
    ) -> Self {
        let (places, listed, signed_in) = (Mutex::default(), OnceCell::new(), Mutex::default());
        Self { host, program, inputs, store, places, listed, signed_in }
    }

    /// The settings of the program, as they are since a model answers.
    fn current(&self) -> Arc<Settings> {
        let signed_in = self.signed_in.lock().clone();
        signed_in.unwrap_or_else(|| Arc::clone(self.host.settings()))
    }

    /// Whether a model can be asked, perhaps since a moment ago.
    async fn answers(&self) -> Result<String, String> {
        let usual = ModelChoice::default();
        let before = resolved_by(&self.current(), &self.host, &usual).await;
        let Err(why) = before else { return before };
        let Ok(now) = petasos_config::load(&self.inputs).map(Arc::new) else { return Err(why) };
        let line = resolved_by(&now, &self.host, &usual).await.map_err(|_| why)?;
        *self.signed_in.lock() = Some(now);
        Ok(line)
    }

    /// The settings of a directory: a project's own file may tighten them. A question stays open as
    /// long as one in a chat, because whoever is asked may look at another window.
    fn settings(&self, cwd: &Path) -> Result<Arc<Settings>, String> {
        let patience = self.host.settings().get("approvals.gateway_timeout").cloned();
        let patience = patience.unwrap_or(Value::from(300)).to_string();
        let inputs = Inputs { cwd: cwd.to_owned(), ..self.inputs.clone() };
        let mut inputs =
            inputs.with_override("approvals.timeout", &patience, "approvals.gateway_timeout");
        if self.program.approvals_off() {
            inputs = unasked(inputs, "/yolo");
        }
        petasos_config::load(&inputs).map(Arc::new).map_err(|error| error.to_string())
    }

    async fn prepared(&self, place: EditorPlace) -> Result<PreparedSession, String> {
        let settings = self.settings(&place.cwd)?;
        self.places.lock().insert(place.session.clone(), Arc::clone(&settings));
        self.host.recall_jobs(&place.session).await;
        let tools = self.host.catalogue().registry().snapshot();
        let mut choice = Choice::new(Surface::Acp, Arc::clone(&settings));
        choice.selection = choose("acp", &settings, &tools).selection(&settings);
        choice.new.cwd = Some(place.cwd.display().to_string());
        let (servers, notices) = self.servers(&place, &settings).await;
        if let Some(enabled) = &mut choice.selection.enabled {
            enabled.extend(place.servers.keys().cloned());
            // Without forms the toolset of editors has no way to ask.
            enabled.extend(place.forms.then(|| "clarify".to_owned()));
        }
        if !place.more.is_empty() {
            let more: Vec<String> = place.more.iter().map(|it| it.display().to_string()).collect();
            choice.addition =
                Some(format!("Further directories of this workspace: {}", more.join(", ")));
        }
        Ok(PreparedSession { choice, servers: Box::new(servers), notices })
    }

    /// Starts the servers that the client brings; they end with what is returned.
    async fn servers(
        &self,
        place: &EditorPlace,
        settings: &Arc<Settings>,
    ) -> (Servers, Vec<String>) {
        let mut notices = Vec::new();
        let specs = specs(&place.servers, settings, &mut notices);
        let around = Around {
            settings: Arc::clone(settings),
            session: Some(place.session.clone()),
            ..guests::around(&self.host, Some(self.host.people()))
        };
        let servers = Servers::of(specs, &around);
        servers.settle(SERVERS).await;
        let bad = servers
            .views()
            .into_iter()
            .filter(|view| !matches!(view.state, State::Ready | State::Resting | State::Disabled));
        notices.extend(bad.map(|view| format!("MCP server `{}` is {}", view.name, view.state)));
        (servers, notices)
    }

    /// Who answers now.
    fn present(&self, choice: Option<&Choice>) -> Result<ProviderRuntime, String> {
        let settings = &self.current();
        let view = Vault::of(settings).view(settings);
        let mut request = Request::default();
        if let Some(choice) = choice {
            request.provider.clone_from(&choice.provider);
            request.model.clone_from(&choice.model);
        }
        resolve(&request, settings, &view).outcome.map_err(|error| match error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message,
        })
    }

    async fn offered(&self, choice: &Choice) -> Vec<ModelOption> {
        let option = |runtime: &ProviderRuntime| {
            let model = runtime.model.clone()?;
            Some(ModelOption { provider: runtime.provider.clone(), model })
        };
        let present = self.present(Some(choice)).ok();
        let usual = self.present(None).ok();
        let mut models: Vec<ModelOption> = present.as_ref().and_then(option).into_iter().collect();
        models.extend(usual.as_ref().and_then(option));
        let listed = self.listed.get_or_init(|| async {
            let Some(runtime) = &usual else { return Vec::new() };
            let net = self.host.net();
            let asked = list(&net, runtime, LISTING);
            // A server that ignores the deadline must not hold up the editor.
            let listed = tokio::time::timeout(LISTING, asked).await;
            let listed = listed.ok().and_then(Result::ok).unwrap_or_default();
            let provider = &runtime.provider;
            let model = |it: petasos_providers::catalog::Listed| ModelOption {
                provider: provider.clone(),
                model: it.id,
            };
            listed.into_iter().take(MODELS_MAX).map(model).collect()
        });
        models.extend(listed.await.iter().cloned());
        let agent = |model: String| ModelOption { provider: foreign::PROVIDER.to_owned(), model };
        models.extend(foreign::names(self.host.settings()).into_iter().map(agent));
        let mut known = std::collections::HashSet::new();
        models.retain(|model| known.insert((model.provider.clone(), model.model.clone())));
        models
    }

    async fn found(&self, session: &SessionId) -> Result<Option<StoredSession>, String> {
        match self.store.find(session.as_str(), &SessionScope::Local).await {
            // A title or the beginning of a name finds something, too; a client names it whole.
            Ok(head) => Ok(Some(head).filter(|head| head.id == session.as_str()).map(stored)),
            Err(StoreError::NotFound { .. } | StoreError::Ambiguous { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn listing(&self) -> Result<Vec<StoredSession>, String> {
        let all = self.host.settings().get("acp.list_all") == Some(&Value::Bool(true));
        let sources = if all { &["acp", "cli"][..] } else { &["acp"][..] };
        let mut found = Vec::new();
        for source in sources {
            let filter = Filter {
                source: Some((*source).to_owned()),
                limit: SESSIONS_MAX,
                ..Filter::default()
            };
            let heads = self.store.list(&filter).await.map_err(|error| error.to_string())?;
            found.extend(heads.into_iter().map(stored));
        }
        found.sort_by_key(|session| std::cmp::Reverse(session.updated_ms));
        Ok(found)
    }

    /// What people see of a conversation: what was undone and what only the model reads is left out.
    async fn said(&self, session: &SessionId, slice: Slice) -> Result<Vec<StoredMessage>, String> {
        let rows = self.store.read(session, slice).await;
        let rows = rows.map_err(|error| error.to_string())?;
        let shown = rows.into_iter().filter(|row| {
            row.active && row.stored.note.as_deref().is_none_or(|note| note != "nudge")
        });
        let message = |row: LoadedRow| StoredMessage { seq: row.seq, message: row.stored.message };
        Ok(shown.map(message).collect())
    }
}

fn specs(
    entries: &Map<String, Value>,
    settings: &Settings,
    notices: &mut Vec<String>,
) -> Vec<ServerSpec> {
    let mut specs = Vec::new();
    for (name, entry) in entries {
        match ServerSpec::read(name, entry, settings) {
            Ok(spec) => specs.push(spec),
            Err(error) => notices.push(error.to_string()),
        }
    }
    specs
}

fn stored(head: SessionHead) -> StoredSession {
    StoredSession {
        id: head.session(),
        cwd: head.cwd.map(Into::into),
        title: head.title,
        updated_ms: head.updated_ms,
        cost_usd: head.cost_usd,
        archived: head.archived,
    }
}

impl EditorHost for EditorProgram {
    fn new_id(&self) -> SessionId {
        petasos_sqlite::new_session_id()
    }

    fn ready(&self) -> HostFuture<'_, String> {
        Box::pin(self.answers())
    }

    fn providers(&self) -> Vec<UsableProvider> {
        let settings = &self.current();
        let view = Vault::of(settings).view(settings);
        let usable = view.table.providers().iter().filter(|provider| {
            resolve(&Request::of(&provider.id), settings, &view).outcome.is_ok()
        });
        usable
            .map(|provider| UsableProvider { id: provider.id.clone(), name: provider.name.clone() })
            .collect()
    }

    fn models<'a>(&'a self, choice: &'a Choice) -> BoxFuture<'a, Vec<ModelOption>> {
        Box::pin(self.offered(choice))
    }

    fn prepare(&self, place: EditorPlace) -> HostFuture<'_, PreparedSession> {
        Box::pin(self.prepared(place))
    }

    fn leave(&self, session: &SessionId) {
        self.places.lock().remove(session);
    }

    fn stored<'a>(&'a self, session: &'a SessionId) -> HostFuture<'a, Option<StoredSession>> {
        Box::pin(self.found(session))
    }

    fn list(&self) -> HostFuture<'_, Vec<StoredSession>> {
        Box::pin(self.listing())
    }

    fn history<'a>(&'a self, session: &'a SessionId) -> HostFuture<'a, Vec<StoredMessage>> {
        Box::pin(self.said(session, Slice::Whole))
    }

    fn message<'a>(&'a self, session: &'a SessionId, seq: i64) -> HostFuture<'a, Option<Message>> {
        Box::pin(async move {
            let found = self.said(session, Slice::Around { seq, radius: 0 }).await?;
            Ok(found.into_iter().find(|row| row.seq == seq).map(|row| row.message))
        })
    }

    fn hears(&self) -> bool {
        petasos_media::transcribing::ready(self.host.settings()).is_ok()
    }

    fn heard<'a>(&'a self, session: &'a SessionId, recording: &'a str) -> HostFuture<'a, String> {
        let cx = self.context(session);
        Box::pin(async move { hearing::heard(&self.host, recording, &cx).await })
    }

    fn fork<'a>(&'a self, session: &'a SessionId, cwd: &'a Path) -> HostFuture<'a, SessionId> {
        Box::pin(async move {
            let new = NewSession {
                source: Surface::Acp.as_str().to_owned(),
                cwd: Some(cwd.display().to_string()),
                parent: Some((session.clone(), Lineage::Fork)),
                ..NewSession::default()
            };
            let head = self.store.fork(session, None, new).await;
            head.map(|head| head.session()).map_err(|error| error.to_string())
        })
    }

    fn archive<'a>(&'a self, session: &'a SessionId) -> HostFuture<'a, ()> {
        Box::pin(async move {
            let archived = self.store.amend(session, Amend::Archive(true)).await;
            archived.map(drop).map_err(|error| error.to_string())
        })
    }

    fn is_worked_on<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, bool> {
        Box::pin(async move { matches!(self.store.holder(session).await, Ok(Some(_))) })
    }

    fn strangers_wrote(&self, path: &Path, session: &SessionId) -> bool {
        embedded::strangers_wrote(path, &self.context(session).settings)
    }

    fn redact(&self, text: &str) -> String {
        Redactor::of(&self.current()).text(text).into_owned()
    }

    fn window<'a>(&'a self, choice: &'a Choice) -> BoxFuture<'a, u64> {
        Box::pin(async move {
            let cx = self.host.call_context(Surface::Acp, SessionId::new("window"));
            choice.window(&*self.host.model(), &cx).await
        })
    }
}

impl Services for EditorProgram {
    fn taken<'a>(
        &'a self,
        content: Content,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Content, String>> {
        self.program.taken(content, cx)
    }

    fn context(&self, session: &SessionId) -> CallContext {
        let own = self.places.lock().get(session).cloned();
        let settings = own.unwrap_or_else(|| Arc::clone(self.host.settings()));
        CallContext::new(settings, Surface::Acp, session.clone())
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

    fn set_approvals_off(&self, off: bool) -> Result<(), String> {
        self.program.set_approvals_off(off)?;
        let open: Vec<(SessionId, Arc<Settings>)> =
            self.places.lock().iter().map(|(id, own)| (id.clone(), Arc::clone(own))).collect();
        for (id, before) in open {
            let now = self.settings(before.workspace())?;
            self.places.lock().insert(id, now);
        }
        Ok(())
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

    fn injected(&self) -> BoxFuture<'_, String> {
        self.program.injected()
    }
}
