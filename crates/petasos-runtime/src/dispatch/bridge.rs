//! The tool search bridge. Searching and describing are answered here; `tool_call` becomes
//! the tool it names before anything else sees the call.

use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::context::Grant;
use petasos_contract::{Args, CallContext, ToolOutput};
use serde_json::{Map, Value};

use super::Parsed;
use super::args::parse_arguments;
use super::coerce::coerce;
use crate::registry::Snapshot;
use crate::search::{self, SearchOptions, TOOL_CALL, TOOL_DESCRIBE, TOOL_SEARCH};

/// What came of it.
pub(super) enum Crossed {
    /// The bridge itself answered.
    Answer(ToolOutput),
    /// A call of a real tool.
    Call(Parsed),
}

/// Crosses the bridge, if the call is one of its own.
pub(super) fn cross(call: Parsed, tools: &Snapshot, cx: &CallContext) -> Result<Crossed, Refusal> {
    match call.name.as_str() {
        TOOL_SEARCH => {
            let options = SearchOptions::from_settings(&cx.settings);
            let mut args = call.args?;
            coerce(args.object_mut(), search::bridge_parameters(TOOL_SEARCH));
            let found = search::answer_search(args.object(), tools, &cx.grant, options);
            Ok(Crossed::Answer(ToolOutput::json(&found)))
        }
        TOOL_DESCRIBE => {
            let args = call.args?;
            let name = args.text("name").unwrap_or_default();
            let found = search::answer_describe(name, tools, &cx.grant);
            let found = found.ok_or_else(|| not_found(name))?;
            Ok(Crossed::Answer(ToolOutput::json(&found)))
        }
        TOOL_CALL => unwrap(call, tools, &cx.grant).map(Crossed::Call),
        _ => Ok(Crossed::Call(call)),
    }
}

/// `tool_call` becomes the call it carries.
fn unwrap(call: Parsed, tools: &Snapshot, grant: &Grant) -> Result<Parsed, Refusal> {
    let mut object = call.args?.into_object();
    let name = object.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let entry = tools.find(&name).filter(|entry| search::is_deferrable(entry, grant));
    let Some(entry) = entry else { return Err(not_found(&name)) };
    let args = match object.remove("arguments") {
        None | Some(Value::Null) => Ok(Args::new(Map::new())),
        Some(Value::Object(arguments)) => Ok(Args::new(arguments)),
        Some(Value::String(text)) => parse_arguments(&text),
        Some(other) => parse_arguments(&other.to_string()),
    };
    Ok(Parsed { id: call.id, name: entry.name.clone(), args })
}

fn not_found(name: &str) -> Refusal {
    let message = format!(
        "`{name}` is not a tool that tool_search can find in this session. Use tool_search to \
         see what is there; call listed tools directly."
    );
    Refusal::new(RefusalKind::OutOfScope, message)
}
