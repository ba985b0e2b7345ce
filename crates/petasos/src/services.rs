//! What sessions ask of the program: contexts, models, checkpoints, files.

mod pages;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ask::{Look, shown, stored};
use petasos_config::{Inputs, edit, home};
use petasos_contract::approval::ApprovalRequest;
use petasos_contract::context::Surface;
use petasos_contract::message::Content;
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use petasos_providers::{Request, Resolved, Vault};
use petasos_runtime::toolsets::{choose, unknown};
use petasos_session::{Choice, ModelChoice, Offer, OfferKind, Refreshed, Services, Topic};
use petasos_sqlite::Format;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::conversation::unasked;
use crate::extensions::injections;
use crate::guests::{Guests, News};
use crate::host::Host;
use crate::pictures::{self, Bad};
use crate::scheduled::Places;

/// The program behind the sessions of a surface.
#[derive(Debug)]
pub(crate) struct Program {
    host: Arc<Host>,
    inputs: Inputs,
    guests: Option<Arc<Guests>>,
    surface: Surface,
    attended: bool,
    injected: tokio::sync::Mutex<mpsc::UnboundedReceiver<String>>,
    /// Where scheduled runs live.
    places: Option<Arc<Places>>,
    /// The settings of the next turn, and whether somebody is asked.
    settings: Mutex<(Arc<Settings>, bool)>,
}

impl Program {
    /// With this host and its servers.
    pub(crate) fn new(host: Arc<Host>, inputs: Inputs, guests: Arc<Guests>) -> Self {
        let injected = injections(&host);
        Self { injected: injected.into(), ..Self::of(host, inputs, Some(guests), Surface::Cli) }
    }

    /// For one turn, with or without somebody who can be asked; plugins say nothing in between.
    pub(crate) fn one_turn(
        host: Arc<Host>,
        inputs: Inputs,
        guests: Option<Arc<Guests>>,
        attended: bool,
    ) -> Self {
        Self { attended, ..Self::of(host, inputs, guests, Surface::OneShot) }
    }

    /// For scheduled runs: nobody can be asked, and each has its own place.
    pub(crate) fn scheduled(host: Arc<Host>, inputs: Inputs, places: Arc<Places>) -> Self {
        let of = Self::of(host, inputs, None, Surface::Cron);
        Self { attended: false, places: Some(places), ..of }
    }

    /// For the tour of the demo.
    pub(crate) fn demo(host: Arc<Host>, inputs: Inputs) -> Self {
        Self::of(host, inputs, None, Surface::Cli)
    }

    fn of(host: Arc<Host>, inputs: Inputs, guests: Option<Arc<Guests>>, surface: Surface) -> Self {
        let settings = Arc::clone(host.settings());
        let off = settings.text("approvals.mode") == Some("off");
        let injected = mpsc::unbounded_channel().1.into();
        let settings = Mutex::new((settings, off));
        let places = None;
        Self { host, inputs, guests, surface, attended: true, injected, places, settings }
    }

    fn present(&self) -> (Arc<Settings>, bool) {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn exported(&self, session: &SessionId, file: &str) -> Result<String, String> {
        let format = match Path::new(file).extension().and_then(std::ffi::OsStr::to_str) {
            Some("jsonl" | "json") => Format::Jsonl,
            _ => Format::Markdown,
        };
        let path = self.host.settings().workspace().join(file);
        if path.exists() {
            return Err(format!("`{}` exists: choose another name", path.display()));
        }
        let store = self.host.store().map_err(|report| report.to_string())?;
        let redactor = petasos_redact::Redactor::of(self.host.settings());
        let text =
            store.export(session, format, move |text| redactor.text(text).into_owned()).await;
        let text = text.map_err(|error| error.to_string())?;
        petasos_fs::write(&path, text.as_bytes(), petasos_fs::Mode::Exactly(0o600))
            .map_err(|error| error.to_string())?;
        Ok(format!("saved to {}", path.display()))
    }

    async fn refreshed(&self, asked: bool, choice: &Choice) -> Result<Option<Refreshed>, String> {
        let Some(guests) = &self.guests else { return Ok(None) };
        let news = if asked {
            Some(guests.reload(&self.inputs).await?)
        } else {
            guests.follow(&self.inputs).await?
        };
        let Some(news) = news else { return Ok(None) };
        let mut summary = format!("MCP servers: {}", news.done);
        for trouble in guests.troubles() {
            summary.push('\n');
            summary.push_str(&trouble);
        }
        let enabled = choice.selection.enabled.clone();
        let enabled = enabled.map(|enabled| self.followed(enabled, &news));
        Ok(Some(Refreshed { enabled, summary }))
    }

    /// The toolsets of a conversation after the servers changed: new ones come in where the list
    /// is the configured one, and not where somebody chose another.
    fn followed(&self, mut enabled: Vec<String>, news: &News) -> Vec<String> {
        let tools = self.host.catalogue().registry().snapshot();
        let before = choose("cli", &news.before, &tools).enabled;
        if before.iter().all(|name| enabled.contains(name)) {
            let after = choose("cli", &news.after, &tools).enabled;
            let new = after.into_iter().filter(|name| news.done.started.contains(name));
            enabled.extend(new.filter(|name| !before.contains(name)));
        }
        enabled.retain(|name| !news.done.stopped.contains(name));
        enabled
    }

    async fn restored(&self, words: &str, cx: &CallContext) -> Result<String, String> {
        let (copy, consent) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let checkpoints = self.host.checkpoints();
        let changes = checkpoints.preview(copy, &[], cx).await;
        let changes = changes.map_err(|error| error.to_string())?;
        if changes.needs_consent() && consent.trim() != "yes" {
            let count = changes.deleted.len();
            return Err(format!(
                "this removes {count} files that checkpoint {copy} does not have: \
                 `/rollback {copy} yes` goes on, `petasos rollback restore {copy} --dry-run` lists them"
            ));
        }
        let restored = checkpoints.restore(copy, &[], cx).await;
        let restored = restored.map_err(|error| error.to_string())?;
        let (count, removed) = (restored.changes.files().len(), restored.changes.deleted.len());
        let undo = restored.undo;
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        let removed = if removed == 0 { String::new() } else { format!(", {removed} removed") };
        Ok(format!("Restored {files}{removed}; `/rollback {undo}` undoes this."))
    }
}

/// Who would answer for this choice, by the resolver that is asked for each request.
pub(crate) async fn resolved(host: &Host, choice: &ModelChoice) -> Result<String, String> {
    resolved_by(host.settings(), host, choice).await
}

/// The fields of a client that the wire of this choice has a word for; none where nobody answers.
pub(crate) async fn taken_fields(
    settings: &Arc<Settings>,
    host: &Host,
    choice: &ModelChoice,
) -> &'static [&'static str] {
    match runtime_of(settings, host, choice).await.outcome {
        Ok(runtime) => petasos_providers::transport::of(runtime.wire).map_or(&[], |def| def.takes),
        Err(_) => &[],
    }
}

/// Whether asking whom this choice leads to, or whoever stands in for them, may already do
/// something: another agent answers with tools of its own.
pub(crate) async fn acts_by_itself(
    settings: &Arc<Settings>,
    host: &Host,
    choice: ModelChoice,
) -> bool {
    if crate::foreign::resolved(&choice, settings).is_some() {
        return true;
    }
    let others = petasos_providers::fallback::chain(settings).into_iter();
    let others = others.map(|it| ModelChoice { model: it.model, provider: it.provider });
    for choice in std::iter::once(choice).chain(others) {
        let wire = runtime_of(settings, host, &choice).await.outcome.ok().map(|it| it.wire);
        let def = wire.and_then(petasos_providers::transport::of);
        if def.is_some_and(|def| def.program.is_some()) {
            return true;
        }
    }
    false
}

async fn runtime_of(settings: &Arc<Settings>, host: &Host, choice: &ModelChoice) -> Resolved {
    let view = Vault::of(settings).view(settings);
    let mut request = Request::default();
    request.provider.clone_from(&choice.provider);
    request.model.clone_from(&choice.model);
    let (resolver, net) = (host.resolver(), host.net());
    resolver.resolve(&request, settings, view, &net).await
}

/// The same by other settings than those that the program began with.
pub(crate) async fn resolved_by(
    settings: &Arc<Settings>,
    host: &Host,
    choice: &ModelChoice,
) -> Result<String, String> {
    if let Some(agent) = crate::foreign::resolved(choice, settings) {
        return agent;
    }
    let resolved = runtime_of(settings, host, choice).await;
    let runtime = resolved.outcome.map_err(|error| match error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message,
    })?;
    let model = runtime.model.as_deref().unwrap_or("(the provider's default)");
    Ok(format!("`{model}` from {} at {}", runtime.provider, runtime.base_url.as_str()))
}

impl Services for Program {
    fn context(&self, session: &SessionId) -> CallContext {
        let cx = CallContext::new(self.present().0, self.surface, session.clone());
        let routed = self.surface == Surface::Cron && crate::post::routes_questions(&cx.settings);
        let cx = cx.attended(self.attended || routed);
        match &self.places {
            Some(places) => places.put(cx),
            None => cx,
        }
    }

    fn taken<'a>(
        &'a self,
        content: Content,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Content, String>> {
        Box::pin(pictures::taken(&self.host, content, Bad::Refuses, cx))
    }

    fn approval_text(&self, request: &ApprovalRequest, colour: bool) -> String {
        let look = if colour { Look::Colour } else { Look::Plain };
        let settings = self.present().0;
        shown(request, &settings, look) + "\n" + &stored(request, &settings)
    }

    fn describe<'a>(
        &'a self,
        topic: Topic,
        about: &'a str,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(pages::describe(&self.host, topic, about, choice))
    }

    fn offers<'a>(
        &'a self,
        kind: OfferKind,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<Vec<Offer>, String>> {
        Box::pin(pages::offers(&self.host, kind, choice))
    }

    fn resolve<'a>(&'a self, choice: &'a ModelChoice) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(resolved(&self.host, choice))
    }

    fn unknown_toolset(&self, names: &[String]) -> Option<String> {
        let tools = self.host.catalogue().registry().snapshot();
        let strange = unknown(names, self.host.settings(), &tools).into_iter().next()?;
        let hint = match &strange.nearest {
            Some(_) => strange.hint(),
            None => "/toolsets shows them all".to_owned(),
        };
        Some(format!("no toolset is named `{}`: {hint}", strange.name))
    }

    fn save_model(&self, choice: &ModelChoice) -> Result<String, String> {
        let said = |error: petasos_config::ConfigError| error.to_string();
        let file = home::places(&self.inputs).map_err(said)?.config;
        if let Some(provider) = &choice.provider {
            edit::set(&file, "model.provider", &Value::from(provider.as_str())).map_err(said)?;
            // An address that was saved for another provider must not follow this one.
            edit::unset(&file, "model.base_url").map_err(said)?;
        }
        if let Some(model) = &choice.model {
            edit::set(&file, "model.default", &Value::from(model.as_str())).map_err(said)?;
        }
        Ok(format!("also saved in {}", file.display()))
    }

    fn approvals_off(&self) -> bool {
        self.present().1
    }

    fn set_approvals_off(&self, off: bool) -> Result<(), String> {
        let inputs = self.inputs.clone();
        let inputs = if off {
            unasked(inputs, "/yolo")
        } else {
            inputs.with_override("approvals.mode", "manual", "/yolo off")
        };
        let settings = petasos_config::load(&inputs).map_err(|error| error.to_string())?;
        let mut present = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        *present = (Arc::new(settings), off);
        Ok(())
    }

    fn restore<'a>(
        &'a self,
        checkpoint: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.restored(checkpoint, cx))
    }

    fn export<'a>(
        &'a self,
        session: &'a SessionId,
        file: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.exported(session, file))
    }

    fn refresh_servers<'a>(
        &'a self,
        asked: bool,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<Option<Refreshed>, String>> {
        Box::pin(self.refreshed(asked, choice))
    }

    fn injected(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            match self.injected.lock().await.recv().await {
                Some(message) => message,
                // No plugin can send any.
                None => std::future::pending().await,
            }
        })
    }
}
