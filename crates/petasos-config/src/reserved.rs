//! Keys that are set though nothing obeys them yet: a setting must not promise what is not there.
//!
//! Most are a notice, so that a file of another version loads. In a section that guards something
//! a wish that nobody grants refuses the start.

use std::collections::BTreeSet;

use petasos_contract::settings::{Notice, Source};
use serde_json::{Map, Value};

use crate::error::Problem;
use crate::keys::{self, Key};
use crate::layers::Settled;
use crate::strict::names;

/// What every place says of such a key.
pub(crate) const NO_EFFECT: &str = "reserved: no effect in this version";

/// Looks at every key that somebody set; what is written below a key counts as that key's value.
pub(crate) fn check(settled: &Settled, notices: &mut Vec<Notice>, problems: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for (path, stack) in &settled.sources {
        let in_force = stack.first().filter(|first| first.passed_over.is_none());
        let Some(layer) = in_force.filter(|layer| layer.source != Source::Default) else {
            continue;
        };
        let Some((key, waits_for)) = reserved(path) else { continue };
        let path = if key.is_pattern() { path.as_str() } else { key.path };
        if !seen.insert(path) {
            continue;
        }
        let place = layer.source.to_string();
        if keys::is_security(path) && !is_idle(key, value(&settled.values, path)) {
            problems.push(Problem {
                key: path.to_owned(),
                place,
                at: None,
                what: format!("`{path}` is {NO_EFFECT}; it waits for {waits_for}"),
                hint: "remove it: it would promise what is not there".to_owned(),
            });
        } else {
            notices.push(Notice {
                key: path.to_owned(),
                what: format!("{NO_EFFECT}; it waits for {waits_for}"),
                hint: format!("nothing to do; {place} may keep it"),
            });
        }
    }
}

fn value<'a>(values: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let path = names(path);
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(values.get(first)?, |value, name| value.get(name))
}

fn reserved(path: &str) -> Option<(&'static Key, &'static str)> {
    let key = keys::find(&names(path))?;
    Some((key, key.reserved?))
}

/// Whether a value asks for nothing: what holds anyway, or something that is switched off.
fn is_idle(key: &Key, value: Option<&Value>) -> bool {
    let Some(value) = value else { return true };
    let off = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => {
            fields.is_empty() || fields.get("enabled") == Some(&Value::Bool(false))
        }
        _ => false,
    };
    off || key.default_value().as_ref() == Some(value)
}
