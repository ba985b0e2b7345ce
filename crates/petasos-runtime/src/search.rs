//! Tool search: when the catalogue is large, the model sees the core and finds the rest.
//!
//! Deferred tools are replaced by three bridge tools. Nothing is kept between calls: the catalogue
//! is rebuilt from the registry and the session's own grant each time.

mod rank;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use petasos_contract::context::Grant;
use petasos_contract::{Settings, ToolName};
use serde_json::{Map, Value, json};

use crate::definitions::{Definition, Function};
use crate::registry::{Entry, Snapshot};
use crate::toolsets;

/// Finds tools by words.
pub const TOOL_SEARCH: &str = "tool_search";
/// Shows one tool's schema.
pub const TOOL_DESCRIBE: &str = "tool_describe";
/// Calls a tool that was found.
pub const TOOL_CALL: &str = "tool_call";

/// A model without a known context window is taken to afford so many tokens of schemas.
const UNKNOWN_WINDOW_TOKENS: u64 = 20_000;
/// Descriptions in search results are cut here.
const DESCRIPTION_CHARS: usize = 400;

/// Whether the name is one of the three bridge tools.
pub fn is_bridge(name: &str) -> bool {
    matches!(name, TOOL_SEARCH | TOOL_DESCRIBE | TOOL_CALL)
}

/// When to hide the long tail, and how much a search shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    /// Always, never, or when the schemas are large.
    pub when: When,
    /// Share of the context window that deferrable schemas may take, in percent.
    pub threshold_percent: f64,
    /// How many matches a search shows.
    pub limit: u32,
    /// How many it shows at most.
    pub limit_max: u32,
}

/// When tool search is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When the schemas are large.
    Auto,
    /// Whenever something can be deferred.
    On,
    /// Never.
    Off,
}

impl SearchOptions {
    /// Reads `tools.tool_search`: a switch, or a map of details.
    pub fn from_settings(settings: &Settings) -> Self {
        let mut options =
            Self { when: When::Auto, threshold_percent: 10.0, limit: 5, limit_max: 20 };
        let Some(value) = settings.get("tools.tool_search") else { return options };
        let switch = value.get("enabled").unwrap_or(value);
        options.when = match (switch.as_bool(), switch.as_str()) {
            (Some(false), _) | (_, Some("off")) => When::Off,
            (_, Some("on")) => When::On,
            _ => When::Auto,
        };
        if let Some(percent) = value.get("threshold_pct").and_then(Value::as_f64) {
            options.threshold_percent = percent.clamp(0.0, 100.0);
        }
        let count = |key: &str| value.get(key)?.as_u64().and_then(|n| u32::try_from(n).ok());
        options.limit_max = count("max_search_limit").unwrap_or(options.limit_max).clamp(1, 50);
        let limit = count("search_default_limit").unwrap_or(options.limit);
        options.limit = limit.clamp(1, options.limit_max);
        options
    }

    fn active(self, cost_tokens: u64, context_tokens: Option<u32>) -> bool {
        match (self.when, context_tokens) {
            (When::Off, _) => false,
            (When::On, _) => cost_tokens > 0,
            (When::Auto, None) => cost_tokens >= UNKNOWN_WINDOW_TOKENS,
            (When::Auto, Some(window)) => {
                let share = f64::from(window) * self.threshold_percent / 100.0;
                #[expect(clippy::cast_precision_loss, reason = "an estimate of tokens")]
                let cost = cost_tokens as f64;
                cost_tokens > 0 && cost >= share
            }
        }
    }
}

/// Moves deferrable definitions out of the list and the bridge in, when that pays.
pub(crate) fn assemble(
    shown: &mut Vec<Definition>,
    core: &BTreeSet<ToolName>,
    options: SearchOptions,
    context_tokens: Option<u32>,
) -> BTreeSet<ToolName> {
    let deferrable = |definition: &Definition| !core.contains(&definition.name);
    let cost_chars: usize = shown
        .iter()
        .filter(|definition| deferrable(definition))
        .map(|definition| definition.to_value().to_string().chars().count())
        .sum();
    if !options.active(cost_chars.div_ceil(4) as u64, context_tokens) {
        return BTreeSet::new();
    }
    let (rest, kept): (Vec<_>, Vec<_>) = shown.drain(..).partition(deferrable);
    *shown = kept;
    shown.extend(bridge_definitions().iter().cloned());
    rest.into_iter().map(|definition| definition.name).collect()
}

/// The tools that a search may find for this caller.
pub(crate) fn deferrable<'a>(
    tools: &'a Snapshot,
    grant: &'a Grant,
) -> impl Iterator<Item = &'a Arc<Entry>> {
    let core = toolsets::always_shown();
    tools
        .entries()
        .filter(move |entry| !core.contains(&entry.name) && grant.allows(entry.name.as_str()))
}

/// Whether a search may find this tool for this caller.
pub(crate) fn is_deferrable(entry: &Entry, grant: &Grant) -> bool {
    grant.allows(entry.name.as_str()) && !toolsets::always_shown().contains(&entry.name)
}

/// The parameters of a bridge tool, by which its arguments are coerced.
pub(crate) fn bridge_parameters(name: &str) -> Option<&'static Value> {
    let definition = bridge_definitions().iter().find(|definition| definition.name == *name)?;
    definition.function.get("parameters")
}

/// Answers `tool_search`.
pub(crate) fn answer_search(
    args: &Map<String, Value>,
    tools: &Snapshot,
    grant: &Grant,
    options: SearchOptions,
) -> Value {
    let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
    let asked = args.get("limit").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let limit = asked.unwrap_or(options.limit).clamp(1, options.limit_max);
    let all: Vec<&Arc<Entry>> = deferrable(tools, grant).collect();
    let matches: Vec<Value> = rank::best(query, &all, limit as usize)
        .into_iter()
        .map(|entry| {
            let origin = entry.origin();
            let source_name = origin.mcp_server().or(origin.plugin_id());
            json!({
                "name": entry.name,
                "source": origin.label(),
                "source_name": source_name.unwrap_or(&entry.toolset),
                "description": cut(entry.description(), DESCRIPTION_CHARS),
            })
        })
        .collect();
    json!({ "query": query, "total_available": all.len(), "matches": matches })
}

/// Answers `tool_describe`; `None` when the tool cannot be found this way.
pub(crate) fn answer_describe(name: &str, tools: &Snapshot, grant: &Grant) -> Option<Value> {
    let entry = tools.find(name).filter(|entry| is_deferrable(entry, grant))?;
    let names = tools.entries().map(|entry| entry.name.clone());
    let granted = names.filter(|name| grant.allows(name.as_str())).collect();
    let function = crate::definitions::function(entry, &granted).ok()?;
    let said = |key: &str| function.get(key).cloned().unwrap_or(Value::Null);
    Some(json!({
        "name": entry.name, "description": said("description"), "parameters": said("parameters"),
    }))
}

fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// The three bridge tools, in the order in which a model uses them.
fn bridge_definitions() -> &'static [Definition; 3] {
    static BRIDGE: LazyLock<[Definition; 3]> = LazyLock::new(|| {
        [
            bridge(
                TOOL_SEARCH,
                "Find more tools by what they do. Search before you say that something cannot be \
                 done.",
                &json!({
                    "query": { "type": "string" },
                    "limit": { "type": "integer" },
                }),
                &["query"],
            ),
            bridge(
                TOOL_DESCRIBE,
                "Show the parameters of a tool that was found.",
                &json!({ "name": { "type": "string" } }),
                &["name"],
            ),
            bridge(
                TOOL_CALL,
                "Call a tool that was found.",
                &json!({
                    "name": { "type": "string" },
                    "arguments": { "type": "object" },
                }),
                &["name", "arguments"],
            ),
        ]
    });
    &BRIDGE
}

fn bridge(name: &str, description: &str, properties: &Value, required: &[&str]) -> Definition {
    let mut function = Map::new();
    function.insert("name".to_owned(), name.into());
    function.insert("description".to_owned(), description.into());
    let parameters = json!({ "type": "object", "properties": properties, "required": required });
    function.insert("parameters".to_owned(), parameters);
    Definition { name: name.into(), function: Function::ready(function) }
}
