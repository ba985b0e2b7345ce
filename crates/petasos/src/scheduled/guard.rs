//! A scheduled run does not stop the gateway that runs it, whatever the policy would allow.

use petasos_contract::BoxFuture;
use petasos_contract::context::Surface;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_cron::scan;

/// Tools whose words are run.
const RUN: [&str; 3] = ["terminal", "execute_code", "process"];

/// Looks at what scheduled runs are about to run.
#[derive(Debug)]
pub(crate) struct GatewayGuard;

impl Hook for GatewayGuard {
    fn name(&self) -> &'static str {
        "gateway-guard"
    }

    fn wants(&self) -> HookSet {
        HookSet::EMPTY.with(HookKind::PreToolCall)
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        let stops = match moment {
            Moment::PreToolCall(call) if call.cx.surface == Surface::Cron => {
                RUN.contains(&call.tool.as_str())
                    && scan::stops_gateway(&call.args.words(), std::process::id())
            }
            _ => false,
        };
        let why = "a scheduled run may not stop or restart what runs it: say in the reply what is \
                   needed";
        let wanted = if stops { Directive::Block(why.to_owned()) } else { Directive::Pass };
        Box::pin(std::future::ready(Ok(wanted)))
    }
}
