//! The grant: the tool exists, the caller may use it, and it is not the loop's own.

use std::sync::Arc;

use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::tool::Route;
use petasos_contract::{Args, CallContext};

use super::coerce::coerce;
use super::{Granted, Parsed};
use crate::registry::Snapshot;

/// How alike a name must be to be suggested.
const SIMILARITY_MIN: f64 = 0.75;

/// Finds the tool and coerces the arguments by its schema.
pub(super) fn check(call: Parsed, tools: &Snapshot, cx: &CallContext) -> Result<Granted, Refusal> {
    let Some(entry) = tools.find(call.name.as_str()) else {
        return Err(unknown(call.name.as_str(), tools, cx));
    };
    if !cx.grant.allows(entry.name.as_str()) {
        let name = &entry.name;
        let message = format!("Tool `{name}` is not part of this session. Use another tool.");
        return Err(Refusal::new(RefusalKind::OutOfScope, message));
    }
    let (args, fault) = match call.args {
        Ok(mut args) => {
            coerce(args.object_mut(), entry.schema.parameters());
            (args, None)
        }
        Err(fault) => (Args::default(), Some(fault)),
    };
    Ok(Granted { id: call.id, entry: Arc::clone(entry), args, fault, rewrites: Vec::new() })
}

/// Tools of the agent loop pass only with the loop's own state in the context.
pub(super) fn refuse_loop_tools(call: &Granted, cx: &CallContext) -> Result<(), Refusal> {
    if call.entry.route == Route::Registry || cx.seat.is_some() {
        return Ok(());
    }
    let name = &call.entry.name;
    let message = format!("`{name}` must be handled by the agent loop and cannot be called here");
    Err(Refusal::new(RefusalKind::AgentLoop, message))
}

fn unknown(name: &str, tools: &Snapshot, cx: &CallContext) -> Refusal {
    let near = tools
        .entries()
        .filter(|entry| cx.grant.allows(entry.name.as_str()))
        .map(|entry| (strsim::jaro_winkler(name, entry.name.as_str()), &entry.name))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let refusal = Refusal::new(RefusalKind::Unknown, format!("Unknown tool: {name}"));
    match near {
        Some((_, similar)) => refusal.with("did_you_mean", similar.as_str()),
        None => refusal,
    }
}
