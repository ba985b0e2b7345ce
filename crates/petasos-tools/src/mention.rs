//! What a schema may say of other tools: nothing of one that the model does not have.

use std::collections::BTreeSet;

use petasos_contract::ToolName;
use petasos_contract::tool::Patch;
use serde_json::Value;

/// Words of a schema that make sense beside other tools only.
pub(crate) struct Mention {
    /// As they stand in the schema, with the space before them.
    pub(crate) words: &'static str,
    /// The tools that they name.
    pub(crate) tools: &'static [&'static str],
}

/// Takes out the words about tools that are not granted. Nothing is built where all are.
pub(crate) fn patch(
    schema: fn() -> Value,
    mentions: &[Mention],
    granted: &BTreeSet<ToolName>,
) -> Patch {
    let is_idle = |mention: &&Mention| !mention.tools.iter().all(|tool| granted.contains(*tool));
    let idle: Vec<&str> = mentions.iter().filter(is_idle).map(|mention| mention.words).collect();
    if idle.is_empty() {
        return Patch::Keep;
    }
    match without(schema(), &idle) {
        Value::Object(changed) => Patch::Merge(changed),
        _ => Patch::Keep,
    }
}

fn without(value: Value, idle: &[&str]) -> Value {
    match value {
        Value::String(text) => {
            Value::String(idle.iter().fold(text, |text, words| text.replace(words, "")))
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| without(item, idle)).collect())
        }
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(key, value)| (key, without(value, idle))).collect(),
        ),
        other => other,
    }
}
