//! Puts the copies of the workspace around every call, and lets them hear what a model asks for.
//! Here because a copy is made by what a call states that it would do, and only the registry knows
//! whom to ask.

use std::sync::Arc;

use petasos_checkpoint::{Before, Checkpoints};
use petasos_contract::effect::Effects;
use petasos_contract::model::{Model, ModelError, Prompt, Reply, Role};
use petasos_contract::{Args, BoxFuture, CallContext, ToolName};
use petasos_runtime::Registry;
use petasos_runtime::dispatch::parse_arguments;

/// The frame that copies before the first change of a turn.
pub(crate) fn before(
    terminal: &Arc<petasos_terminal::Engine>,
    registry: &Arc<Registry>,
) -> Arc<Before> {
    let registry = Arc::clone(registry);
    let effects = move |tool: &ToolName, args: &Args, cx: &CallContext| {
        let tools = registry.seen_by(&cx.session);
        tools.find(tool.as_str()).map_or_else(Effects::none, |entry| entry.tool.effects(args, cx))
    };
    Arc::new(Before::new(Checkpoints::new(Arc::clone(terminal) as _), Arc::new(effects)))
}

/// A model whose replies the copies hear of at once: a reply is stored and its calls are judged
/// before they run, and the workspace can be looked at meanwhile.
pub(crate) struct Heard {
    model: Arc<dyn Model>,
    before: Arc<Before>,
}

impl Heard {
    /// This model, heard by these copies.
    pub(crate) fn new(model: Arc<dyn Model>, before: &Arc<Before>) -> Self {
        Self { model, before: Arc::clone(before) }
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
            if let Some(call) = reply.message.tool_calls.first()
                && let Ok(args) = parse_arguments(&call.arguments)
            {
                self.before.foresee(&call.name, &args, cx).await;
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
