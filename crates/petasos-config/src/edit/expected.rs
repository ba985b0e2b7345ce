//! What the file must say after a change: the old value plus the change, and nothing else.

use serde_json::{Map, Value};

use super::Change;
use crate::strict::{SHORTHANDS, dotted};

/// The value after a change; `None` when the old one says it already.
pub(super) fn after(
    old: &Value,
    path: &[String],
    change: &Change<'_>,
) -> Result<Option<Value>, &'static str> {
    let current = at(old, path);
    let wanted = match change {
        Change::Set(value) => Some((*value).clone()),
        Change::Unset => None,
        Change::Append(item) => Some(appended(current, item)?),
        Change::Remove(item) => match removed(current, item) {
            Some(rest) => Some(rest),
            None => return Ok(None),
        },
    };
    if current == wanted.as_ref() {
        return Ok(None);
    }
    let mut new = old.clone();
    put(&mut new, path, 0, wanted)?;
    Ok(Some(new))
}

/// Without what says nothing: empty values, and maps of nothing else.
pub(super) fn plain(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let kept: Map<String, Value> = entries
                .into_iter()
                .map(|(name, value)| (name, plain(value)))
                .filter(|(_, value)| !value.is_null())
                .collect();
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        other => other,
    }
}

fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name)).filter(|value| !value.is_null())
}

fn appended(current: Option<&Value>, item: &str) -> Result<Value, &'static str> {
    let mut items = match current {
        None => Vec::new(),
        Some(Value::Array(items)) => items.clone(),
        Some(Value::String(one)) => vec![Value::from(one.as_str())],
        Some(_) => return Err("is not a list; make it one"),
    };
    if !items.iter().any(|other| other.as_str() == Some(item)) {
        items.push(Value::from(item));
    } else if !matches!(current, Some(Value::Array(_))) {
        // A single text stands for a list of one: nothing is to do.
        return Ok(current.cloned().unwrap_or_default());
    }
    Ok(Value::Array(items))
}

fn removed(current: Option<&Value>, item: &str) -> Option<Value> {
    let items = current?.as_array()?;
    let rest: Vec<Value> =
        items.iter().filter(|other| other.as_str() != Some(item)).cloned().collect();
    (rest.len() < items.len()).then_some(Value::Array(rest))
}

fn put(
    value: &mut Value,
    path: &[String],
    depth: usize,
    wanted: Option<Value>,
) -> Result<(), &'static str> {
    let Some(name) = path.get(depth) else {
        *value = wanted.unwrap_or_default();
        return Ok(());
    };
    if !value.is_object() {
        *value = as_map(value, path.get(..depth).unwrap_or_default())?;
    }
    if let Value::Object(entries) = value {
        put(entries.entry(name.clone()).or_insert(Value::Null), path, depth + 1, wanted)?;
    }
    Ok(())
}

/// A word that stands for a map keeps its meaning when the map is written out.
pub(super) fn as_map(value: &Value, path: &[String]) -> Result<Value, &'static str> {
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Array(_) | Value::Object(_) => Err("is inside something that is not a map"),
        word => {
            let short = dotted(path);
            let main = SHORTHANDS.iter().find(|(path, _)| *path == short);
            let (_, main) = main.ok_or("is inside something that is not a map")?;
            Ok(Value::Object(Map::from_iter([((*main).to_owned(), word.clone())])))
        }
    }
}
