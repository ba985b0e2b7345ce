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

/// Where the path leads through nothing or through an empty map, it is the same: a map that lost
/// its last key may stay behind as either. Everything off the path stays as it is.
pub(super) fn plain(value: Value, path: &[String]) -> Value {
    let (Value::Object(mut entries), Some((name, rest))) = (value.clone(), path.split_first())
    else {
        return value;
    };
    if let Some(inner) = entries.get_mut(name) {
        *inner = plain(inner.take(), rest);
        if inner.is_null() {
            entries.shift_remove(name);
        }
    }
    if entries.is_empty() { Value::Null } else { Value::Object(entries) }
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
