//! Puts the copies of the workspace around every call. Here because a copy is made by what a call
//! states that it would do, and only the registry knows whom to ask.

use std::sync::Arc;

use petasos_checkpoint::{Before, Checkpoints};
use petasos_contract::effect::Effects;
use petasos_contract::middleware::AroundMiddleware;
use petasos_contract::{Args, CallContext, ToolName};
use petasos_runtime::Registry;

/// The frame that copies before the first change of a turn.
pub(crate) fn before(
    terminal: &Arc<petasos_terminal::Engine>,
    registry: &Arc<Registry>,
) -> Arc<dyn AroundMiddleware> {
    let registry = Arc::clone(registry);
    let effects = move |tool: &ToolName, args: &Args, cx: &CallContext| {
        let tools = registry.snapshot();
        tools.find(tool.as_str()).map_or_else(Effects::none, |entry| entry.tool.effects(args, cx))
    };
    Arc::new(Before::new(Checkpoints::new(Arc::clone(terminal) as _), Arc::new(effects)))
}
