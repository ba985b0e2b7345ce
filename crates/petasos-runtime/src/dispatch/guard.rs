//! Loop guardrails: notices when a model repeats itself without getting anywhere.
//!
//! Counts are per turn. Warnings are added to results; hard stops are off unless configured.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use parking_lot::Mutex;
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::settings::Section;
use petasos_contract::{Args, CallContext, ToolName, TurnId};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Granted;

/// So many turns are remembered at most; the oldest are forgotten first.
const TURNS_MAX: usize = 4_096;

/// `tool_loop_guardrails` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GuardOptions {
    /// Whether warnings are added to results.
    pub warnings_enabled: bool,
    /// Whether calls are blocked and turns halted.
    pub hard_stop_enabled: bool,
    /// After how many repetitions to warn.
    pub warn_after: Thresholds,
    /// After how many repetitions to stop.
    pub hard_stop_after: Thresholds,
}

/// How many repetitions of each kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Thresholds {
    /// The same call failing.
    pub exact_failure: u32,
    /// The same tool failing.
    pub same_tool_failure: u32,
    /// The same reading call giving the same result.
    pub idempotent_no_progress: u32,
}

impl Default for GuardOptions {
    fn default() -> Self {
        Self {
            warnings_enabled: true,
            hard_stop_enabled: false,
            warn_after: Thresholds::default(),
            hard_stop_after: Thresholds {
                exact_failure: 5,
                same_tool_failure: 8,
                idempotent_no_progress: 5,
            },
        }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { exact_failure: 2, same_tool_failure: 3, idempotent_no_progress: 2 }
    }
}

impl Section for GuardOptions {
    const NAME: &'static str = "tool_loop_guardrails";
}

/// Identifies a call within a turn: the tool and its arguments, whatever their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Signature {
    tool: u64,
    args: u64,
}

impl Signature {
    pub(super) fn of(tool: &ToolName, args: &Args) -> Self {
        let mut hasher = DefaultHasher::new();
        tool.hash(&mut hasher);
        let tool = hasher.finish();
        let mut hasher = DefaultHasher::new();
        hash_object(args.object(), &mut hasher);
        Self { tool, args: hasher.finish() }
    }
}

fn hash_object(object: &Map<String, Value>, hasher: &mut DefaultHasher) {
    let mut fields: Vec<(&String, &Value)> = object.iter().collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    fields.len().hash(hasher);
    for (key, value) in fields {
        key.hash(hasher);
        hash_value(value, hasher);
    }
}

/// Kinds and lengths are part of the hash: `[["a"], "b"]` is not `[["a", "b"]]`, nor 1 `"1"`.
fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Object(object) => hash_object(object, hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            for item in items {
                hash_value(item, hasher);
            }
        }
        Value::String(text) => text.hash(hasher),
        Value::Bool(one) => one.hash(hasher),
        Value::Number(number) => number.hash(hasher),
        Value::Null => {}
    }
}

/// Two results are one when they are the same JSON, or else the same text.
fn identity_of(result: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let json = result.starts_with(['{', '[']).then(|| serde_json::from_str::<Value>(result).ok());
    match json.flatten() {
        Some(value) => hash_value(&value, &mut hasher),
        None => result.hash(&mut hasher),
    }
    hasher.finish()
}

/// What the guardrails have to say about a finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Guidance {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) halts: bool,
}

/// What happened in the turns that are under way.
#[derive(Debug, Default)]
pub(super) struct Guards {
    turns: Mutex<Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    order: std::collections::VecDeque<TurnId>,
    by_turn: HashMap<TurnId, Turn>,
}

#[derive(Debug, Default)]
struct Turn {
    options: GuardOptions,
    failed_calls: HashMap<Signature, u32>,
    failed_tools: HashMap<u64, u32>,
    unchanged: HashMap<Signature, (u64, u32)>,
}

impl Guards {
    /// Refuses a call that has failed, or led nowhere, too often in this turn.
    pub(super) fn before(&self, call: &Granted, cx: &CallContext) -> Result<(), Refusal> {
        let mut turns = self.turns.lock();
        let turn = turns.of(cx);
        if !turn.options.hard_stop_enabled {
            return Ok(());
        }
        let signature = Signature::of(&call.entry.name, &call.args);
        let stop = &turn.options.hard_stop_after;
        let failures = turn.failed_calls.get(&signature).copied().unwrap_or_default();
        if failures >= stop.exact_failure {
            let what = "this exact call has failed";
            return Err(refuse("repeated_exact_failure_block", what, call, failures, signature));
        }
        let unchanged = turn.unchanged.get(&signature).map_or(0, |(_, count)| *count);
        if unchanged >= stop.idempotent_no_progress {
            let what = "this call has given the same result";
            return Err(refuse("idempotent_no_progress_block", what, call, unchanged, signature));
        }
        Ok(())
    }

    /// Counts a finished call and says what the model should hear about it.
    pub(super) fn after(
        &self,
        signature: Signature,
        observed: &Observed<'_>,
        cx: &CallContext,
    ) -> Option<Guidance> {
        let mut turns = self.turns.lock();
        let turn = turns.of(cx);
        if observed.failed {
            return turn.failure(signature, observed.tool);
        }
        turn.failed_calls.remove(&signature);
        turn.failed_tools.remove(&signature.tool);
        if observed.idempotent { turn.repetition(signature, observed) } else { None }
    }

    pub(super) fn forget(&self, turn: &TurnId) {
        let mut turns = self.turns.lock();
        turns.by_turn.remove(turn);
        turns.order.retain(|known| known != turn);
    }
}

/// A finished call, as the guardrails see it.
pub(super) struct Observed<'a> {
    pub(super) tool: &'a ToolName,
    pub(super) result: &'a str,
    pub(super) failed: bool,
    pub(super) idempotent: bool,
}

impl Turns {
    fn of(&mut self, cx: &CallContext) -> &mut Turn {
        if !self.by_turn.contains_key(&cx.turn) {
            if self.order.len() >= TURNS_MAX {
                let oldest = self.order.pop_front();
                oldest.map(|turn| self.by_turn.remove(&turn));
            }
            self.order.push_back(cx.turn.clone());
        }
        self.by_turn.entry(cx.turn.clone()).or_insert_with(|| Turn {
            // A section that does not fit was reported when the settings were read.
            options: cx.settings.section().unwrap_or_default(),
            ..Turn::default()
        })
    }
}

impl Turn {
    fn failure(&mut self, signature: Signature, tool: &ToolName) -> Option<Guidance> {
        let exact = self.failed_calls.entry(signature).or_default();
        *exact += 1;
        let exact = *exact;
        let same = self.failed_tools.entry(signature.tool).or_default();
        *same += 1;
        let same = *same;
        let options = &self.options;
        if options.hard_stop_enabled && same >= options.hard_stop_after.same_tool_failure {
            let message =
                format!("`{tool}` has failed {same} times in this turn, which ends here.");
            return Some(Guidance { code: "same_tool_failure_halt", message, halts: true });
        }
        if !options.warnings_enabled {
            return None;
        }
        if exact >= options.warn_after.exact_failure {
            let message = format!(
                "This exact call has failed {exact} times. Change the arguments or the approach \
                 instead of repeating it."
            );
            return Some(Guidance {
                code: "repeated_exact_failure_warning",
                message,
                halts: false,
            });
        }
        if same >= options.warn_after.same_tool_failure {
            let message = format!(
                "`{tool}` has failed {same} times in this turn. Look at the cause before you use \
                 it again."
            );
            return Some(Guidance { code: "same_tool_failure_warning", message, halts: false });
        }
        None
    }

    fn repetition(&mut self, signature: Signature, observed: &Observed<'_>) -> Option<Guidance> {
        let identity = identity_of(observed.result);
        let seen = self.unchanged.entry(signature).or_insert((identity, 0));
        *seen = if seen.0 == identity { (identity, seen.1 + 1) } else { (identity, 1) };
        let count = seen.1;
        // The first result is progress; only repetitions of it are counted against the call.
        let warn = self.options.warnings_enabled
            && count > 1
            && count >= self.options.warn_after.idempotent_no_progress;
        warn.then(|| Guidance {
            code: "idempotent_no_progress_warning",
            message: format!(
                "This call has given the same result {count} times. Use what you have, or ask \
                 for something else."
            ),
            halts: false,
        })
    }
}

fn refuse(
    code: &'static str,
    what: &str,
    call: &Granted,
    count: u32,
    signature: Signature,
) -> Refusal {
    let tool = &call.entry.name;
    let message = format!("Not run: {what} {count} times in this turn. Try something else.");
    let guardrail = json!({
        "action": "block",
        "code": code,
        "message": message,
        "tool_name": tool,
        "count": count,
        "signature": { "tool_name": tool, "args_hash": format!("{:016x}", signature.args) },
    });
    Refusal::new(RefusalKind::Guardrail, message).with("guardrail", guardrail)
}
