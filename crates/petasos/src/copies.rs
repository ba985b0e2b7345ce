//! Puts the copies of the workspace around every call, and lets them hear what a model asks for.
//! Here because only the registry knows which tools change files.

use std::sync::Arc;

use petasos_checkpoint::{Before, Checkpoints};
use petasos_contract::message::RequestedCall;
use petasos_contract::model::{Model, ModelError, Prompt, Reply, Role};
use petasos_contract::tool::{Concurrency, FileChanges};
use petasos_contract::{BoxFuture, CallContext};
use petasos_runtime::Registry;
use petasos_runtime::dispatch::parse_arguments;

/// The layer that copies before the first change of a turn.
pub(crate) fn before(terminal: &Arc<petasos_terminal::Engine>) -> Arc<Before> {
    Arc::new(Before::new(Checkpoints::new(Arc::clone(terminal) as _)))
}

/// A model whose replies the copies hear of at once: a reply is stored and its calls are judged
/// before they run, and the workspace can be looked at meanwhile.
pub(crate) struct Heard {
    model: Arc<dyn Model>,
    before: Arc<Before>,
    registry: Arc<Registry>,
}

impl Heard {
    /// This model, heard by these copies.
    pub(crate) fn new(
        model: Arc<dyn Model>,
        before: &Arc<Before>,
        registry: &Arc<Registry>,
    ) -> Self {
        Self { model, before: Arc::clone(before), registry: Arc::clone(registry) }
    }

    /// Tells of a call whose tool changes files.
    async fn foresee(&self, call: &RequestedCall, cx: &CallContext) {
        let tools = self.registry.seen_by(cx.origin());
        let entry = tools.find(call.name.as_str());
        let Some(entry) = entry.filter(|entry| entry.changes != FileChanges::None) else { return };
        let args = parse_arguments(&call.arguments).unwrap_or_default();
        let command = match entry.concurrency {
            Concurrency::ByCommand { script, .. } => args.text(script),
            _ => None,
        };
        self.before.foresee(command, cx).await;
    }
}

impl Model for Heard {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let reply = self.model.ask(prompt, role, cx).await?;
            if let Some(call) = reply.message.tool_calls.first() {
                self.foresee(call, cx).await;
            }
            Ok(reply)
        })
    }

    fn window<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<u64>> {
        self.model.window(prompt, role, cx)
    }
}
