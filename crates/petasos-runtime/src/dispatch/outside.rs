//! A call that its sandbox refused: one question, and the very same call once outside.
//!
//! Whoever is asked sees what was refused, beside everything that speaks against the call outside.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use petasos_contract::approval::{Finding, FindingKind, Scope};
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::{Args, CallContext, CallId, ToolOutput};
use serde_json::{Map, Value};

use super::{ClearedCall, Dispatcher, PlannedCall, clear, plan};
use crate::registry::Entry;

/// What the question is called.
const KEY: &str = "refused by the sandbox";

/// The call outside, where a sandbox refused a part of it and somebody is there to be asked.
pub(super) fn wanted(
    entry: &Entry,
    args: &Args,
    output: &ToolOutput,
    cx: &CallContext,
) -> Option<(Args, String)> {
    if !cx.attended || cx.cancel.is_cancelled() {
        return None;
    }
    let wanted = AssertUnwindSafe(|| entry.tool.outside(args, output, cx));
    std::panic::catch_unwind(wanted).ok().flatten()
}

/// Plans it, has it judged and asks.
pub(super) async fn asked(
    (args, refused): (Args, String),
    (id, entry): (CallId, Arc<Entry>),
    door: &Dispatcher,
    cx: &CallContext,
) -> Result<ClearedCall, Refusal> {
    let plan = plan::make(&entry, args, cx).await?;
    let why = format!("the sandbox refused {refused}; a yes runs this once outside");
    let finding = Finding {
        key: KEY.into(),
        why,
        kind: FindingKind::Rule,
        span: None,
        widest: Scope::Once,
        stores: None,
    };
    clear::check(PlannedCall { id, entry, plan }, vec![finding], door, cx).await
}

/// What came of it inside, with who did not want it outside.
pub(super) fn declined(output: ToolOutput, refusal: &Refusal) -> ToolOutput {
    let asked = matches!(refusal.kind, RefusalKind::Denied | RefusalKind::Expired);
    let ToolOutput::Text(text) = &output else { return output };
    let Ok(mut result) = serde_json::from_str::<Map<String, Value>>(text) else { return output };
    if asked {
        result.remove("hint");
    }
    result.insert("outside_sandbox".to_owned(), refusal.message.clone().into());
    ToolOutput::Text(Value::Object(result).to_string())
}
