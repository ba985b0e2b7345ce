//! What an agent is made of, shared by all agents of a program, and what one of them chooses.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::context::{Phase, Surface};
use petasos_contract::model::{Effort, Model, Prompt, Role};
use petasos_contract::ports::Ports;
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use petasos_runtime::Dispatcher;
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::toolsets::Selection;
use petasos_store::{NewSession, SessionStore};
use serde_json::Value;

use crate::watch::Watcher;

/// Asks the person on the other side a question.
pub trait Asker: Send + Sync {
    /// Puts the question and waits for the answer.
    fn ask<'a>(
        &'a self,
        question: &'a Question,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// A question, perhaps with answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub text: String,
    /// At most four; empty means any answer.
    pub choices: Vec<String>,
}

/// A task for another agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTask {
    /// Which one, by its name in the configuration.
    pub agent: String,
    /// What it is told.
    pub words: String,
}

/// Other agent programs that can do parts of the work.
pub trait OtherAgents: Send + Sync {
    /// Their names under these settings.
    fn names(&self, settings: &Settings) -> Vec<String>;

    /// Lets one of them work in the workspace of the call; gives what it said at the end.
    fn work<'a>(
        &'a self,
        task: &'a AgentTask,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// The parts that every agent of a program shares.
pub struct Engine {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// Where conversations are kept.
    pub store: Arc<dyn SessionStore>,
    /// The one door.
    pub dispatcher: Arc<Dispatcher>,
    /// Which tools there are.
    pub catalogue: Arc<Catalogue>,
    /// What checks can reach.
    pub ports: Arc<Ports>,
    /// Who can be asked; nobody when absent.
    pub asker: Option<Arc<dyn Asker>>,
    /// Other agent programs; none when absent.
    pub agents: Option<Arc<dyn OtherAgents>>,
    /// Who is told everything that happens in any conversation: logs and traces.
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// The conversations that are being shortened now.
    shortening: Mutex<HashSet<SessionId>>,
}

/// A conversation is being shortened while this lives.
#[derive(Debug)]
pub(crate) struct Shortening {
    engine: Arc<Engine>,
    session: SessionId,
}

impl Drop for Shortening {
    fn drop(&mut self) {
        self.engine.shortening.lock().remove(&self.session);
    }
}

impl Engine {
    /// Whether a conversation is being shortened: what is said meanwhile waits.
    pub fn is_shortening(&self, session: &SessionId) -> bool {
        self.shortening.lock().contains(session)
    }

    /// From now on a conversation is being shortened.
    pub(crate) fn shorten(self: &Arc<Self>, session: &SessionId) -> Shortening {
        self.shortening.lock().insert(session.clone());
        Shortening { engine: Arc::clone(self), session: session.clone() }
    }

    /// With nobody to ask and nobody who watches.
    pub fn new(
        model: Arc<dyn Model>,
        store: Arc<dyn SessionStore>,
        dispatcher: Arc<Dispatcher>,
        catalogue: Arc<Catalogue>,
        ports: Arc<Ports>,
    ) -> Self {
        Self {
            model,
            store,
            dispatcher,
            catalogue,
            ports,
            asker: None,
            agents: None,
            watchers: Vec::new(),
            shortening: Mutex::default(),
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("catalogue", &self.catalogue).finish_non_exhaustive()
    }
}

/// How replies are written, where whoever asks says so.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    /// The most tokens of a reply, which is taken as it is then: nobody lets the model go on.
    pub max_tokens: Option<u32>,
    /// How freely words are chosen.
    pub temperature: Option<f32>,
    /// More, by the names of chat completions; see [`Prompt::extra`].
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// The window of a model that nobody has described yet, in tokens.
const WINDOW_USUAL: u64 = 256_000;

/// What one agent chooses.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Where it lives.
    pub surface: Surface,
    /// The word for that in the store: `cli`, `one_shot`, …
    pub source: String,
    /// Its toolsets.
    pub selection: Selection,
    /// Those that a person chose for it; the configured ones when absent.
    pub toolsets: Option<Vec<String>>,
    /// For which task its model is asked.
    pub role: Role,
    /// Another model than the configured one.
    pub model: Option<String>,
    /// Another provider than the configured one.
    pub provider: Option<String>,
    /// How much thinking is asked for; the configured or the provider's own amount when absent.
    pub effort: Option<Effort>,
    /// How replies are written; as configured, else up to the provider.
    pub sampling: Sampling,
    /// How many requests a turn may make; the configured number when absent.
    pub requests_max: Option<u32>,
    /// The model's window in tokens; configured, known or usual when absent.
    pub window: Option<u64>,
    /// Whether it only plans so far.
    pub phase: Phase,
    /// A system prompt instead of the assembled one.
    pub system_prompt: Option<String>,
    /// Text at the end of the assembled system prompt.
    pub addition: Option<String>,
    /// Whose notes it reads and writes, by the name of their folder; the home's own when absent.
    pub notes: Option<String>,
    /// The configuration, for what is decided when the conversation begins.
    pub settings: Arc<Settings>,
    /// Where a new conversation comes from, its title and identity.
    pub new: NewSession,
}

impl Choice {
    /// A conversation on a surface with everything else as configured.
    pub fn new(surface: Surface, settings: Arc<Settings>) -> Self {
        let selection = Selection {
            enabled: None,
            disabled: settings.names("agent.disabled_toolsets").unwrap_or_default(),
            ..Selection::default()
        };
        Self {
            surface,
            source: surface.as_str().to_owned(),
            selection,
            toolsets: None,
            role: Role::Main,
            model: None,
            provider: None,
            effort: None,
            sampling: Sampling::default(),
            requests_max: None,
            window: None,
            phase: Phase::Work,
            system_prompt: None,
            addition: None,
            notes: None,
            settings,
            new: NewSession::default(),
        }
    }

    /// The window of the model that it leads to, in tokens. Asks nobody over the network.
    pub async fn window(&self, model: &dyn Model, cx: &CallContext) -> u64 {
        self.known_window(model, cx).await.unwrap_or(WINDOW_USUAL)
    }

    /// The same as far as somebody has said it; nothing where it would be assumed.
    pub async fn known_window(&self, model: &dyn Model, cx: &CallContext) -> Option<u64> {
        let prompt = Prompt {
            model: self.model.clone(),
            provider: self.provider.clone(),
            ..Prompt::default()
        };
        self.stated_window(model.window(&prompt, self.role, cx).await)
    }

    /// The window: chosen, configured for this very model, known of it, or the usual one.
    pub(crate) fn window_or(&self, known: Option<u64>) -> u64 {
        self.stated_window(known).unwrap_or(WINDOW_USUAL)
    }

    fn stated_window(&self, known: Option<u64>) -> Option<u64> {
        let configured = self.settings.get("model.context_length").and_then(Value::as_u64);
        let own = configured.filter(|_| self.is_as_configured());
        let stated = [self.window, own, known, configured];
        stated.into_iter().flatten().find(|tokens| *tokens > 0)
    }

    /// Whether the model is the one that the section `model` describes.
    fn is_as_configured(&self) -> bool {
        let same = |chosen: &Option<String>, key: &str| {
            let configured = self.settings.text(key);
            chosen.as_deref().is_none_or(|it| configured.is_none_or(|word| word == it))
        };
        same(&self.model, "model.default") && same(&self.provider, "model.provider")
    }

    /// How much thinking is asked for: chosen, configured, or up to the provider.
    pub fn effort(&self) -> Option<Effort> {
        let configured = || {
            let word = self.settings.text("agent.reasoning_effort").filter(|it| !it.is_empty())?;
            Self::effort_named(word)
        };
        self.effort.or_else(configured)
    }

    /// The level of this name; a word that is none is told by `petasos config check`.
    pub(crate) fn effort_named(word: &str) -> Option<Effort> {
        serde_json::from_value(Value::from(if word == "none" { "off" } else { word })).ok()
    }

    /// What is known about a conversation that is to begin.
    pub(crate) fn session(&self, id: Option<SessionId>) -> NewSession {
        let configured = |key: &str| self.settings.text(key).map(str::to_owned);
        let new = self.new.clone();
        NewSession {
            id: id.or(new.id),
            source: self.source.clone(),
            model: self.model.clone().or_else(|| configured("model.default")),
            provider: self.provider.clone().or_else(|| configured("model.provider")),
            cwd: new.cwd.or_else(|| Some(self.settings.workspace().display().to_string())),
            ..new
        }
    }
}
