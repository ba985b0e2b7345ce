//! The one place that knows every engine. It wires them and does nothing else.

use std::future::Future;
use std::io;
use std::sync::Arc;

use petasos_config::Inputs;
use petasos_contract::approval::{Finding, Intent, Nobody, Policy, Scope, Verdict};
use petasos_contract::context::{CheckContext, Surface};
use petasos_contract::effect::Effect;
use petasos_contract::ports::Ports;
use petasos_contract::{CallContext, SessionId, Settings};
use petasos_runtime::availability::Checks;
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::{Dispatcher, Registry};
use petasos_tools::BUILTIN;

use crate::report::Report;

/// Settings, tools and engines of one program.
#[derive(Debug)]
pub struct Host {
    settings: Arc<Settings>,
    ports: Arc<Ports>,
    catalogue: Arc<Catalogue>,
}

impl Host {
    /// Reads the settings and registers the built-in tools. Touches no network.
    pub fn open(inputs: &Inputs) -> Result<Self, Report> {
        let settings = Arc::new(petasos_config::load(inputs)?);
        Ok(Self::with_settings(settings))
    }

    /// A host over a snapshot that somebody else made.
    pub fn with_settings(settings: Arc<Settings>) -> Self {
        let ports = Arc::new(Ports::default());
        let registry = Arc::new(Registry::with_builtin(BUILTIN, &ports));
        let catalogue = Arc::new(Catalogue::new(registry, Arc::new(Checks::default())));
        Self { settings, ports, catalogue }
    }

    /// The snapshot.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The tools and what is known of their availability.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// What a check is told on this surface.
    pub fn check_context(&self, surface: Surface, session: SessionId) -> CheckContext {
        CheckContext {
            surface,
            session,
            settings: Arc::clone(&self.settings),
            ports: Arc::clone(&self.ports),
        }
    }

    /// The one door, with whoever can be asked.
    pub fn dispatcher(&self) -> Result<Dispatcher, Report> {
        let registry = Arc::clone(self.catalogue.registry());
        Ok(Dispatcher::new(registry, Arc::new(Reads), Arc::new(Nobody)))
    }

    /// The surroundings of a call.
    pub fn call_context(&self, surface: Surface, session: SessionId) -> CallContext {
        CallContext::new(Arc::clone(&self.settings), surface, session)
    }

    /// Waits for a future on this thread; a command needs no more than one.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> io::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(future))
    }
}

/// Lets a call read and nothing else.
#[derive(Debug)]
struct Reads;

impl Policy for Reads {
    fn judge(&self, intent: &Intent<'_>, _: &CallContext) -> Verdict {
        if intent.effects.iter().all(|effect| matches!(effect, Effect::Read(_))) {
            return Verdict::Allow;
        }
        Verdict::Block(vec![Finding {
            key: "no policy engine".into(),
            why: "only reading is allowed".to_owned(),
            span: None,
            widest: Scope::Once,
        }])
    }
}
