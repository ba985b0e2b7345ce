//! Changing one key of a YAML file and nothing else: comments, order and layout stay.
//!
//! Every change runs under the lock of the file: read, splice the text, read the result again, and
//! require that it says exactly what the old text said plus the change. Then it is written whole
//! (see `petasos-fs`). A text where this does not come out is left alone, and the error shows what to
//! add by hand.

mod expected;
mod render;
mod splice;

use std::path::Path;

use serde_json::Value;

use crate::error::ConfigError;
use crate::keys;
use crate::layers::{document, file_text};
use crate::strict::{SHORTHANDS, dotted, from_text, names};
use crate::yaml::Node;
use splice::Splices;

const MODE_NEW: u32 = 0o600;

/// One change.
#[derive(Debug)]
enum Change<'a> {
    Set(&'a Value),
    Unset,
    Append(&'a str),
    Remove(&'a str),
}

/// Sets a key, making the maps on the way. Says whether the file changed.
pub fn set(file: &Path, key: &str, value: &Value) -> Result<bool, ConfigError> {
    change(file, key, &Change::Set(value))
}

/// Sets a known key from text as a person types it. Says whether the file changed.
pub fn set_text(file: &Path, key: &str, text: &str) -> Result<bool, ConfigError> {
    set(file, key, &value_for(key, text)?)
}

/// The value that a text is for a known key.
pub fn value_for(key: &str, text: &str) -> Result<Value, ConfigError> {
    let mut path = names(key);
    if let Some((_, main)) = SHORTHANDS.iter().find(|(short, _)| *short == key) {
        path.push((*main).to_owned());
    }
    let Some(row) = keys::find(&path) else {
        let nearest = keys::nearest(key, keys::all().map(|row| row.path));
        let hint = nearest.map_or_else(
            || "not a known key; see `petasos config explain`".to_owned(),
            |nearest| format!("not a known key; did you mean `{nearest}`?"),
        );
        return Err(ConfigError::key(key, hint));
    };
    from_text(row, text, false)
        .map_err(|expected| ConfigError::key(key, format!("must be {expected}")))
}

/// Removes a key. Says whether the file changed.
pub fn unset(file: &Path, key: &str) -> Result<bool, ConfigError> {
    change(file, key, &Change::Unset)
}

/// Adds a text to a list, making the list when there is none. Says whether the file changed: a text
/// that is there already is not added again.
pub fn append_to_list(file: &Path, key: &str, item: &str) -> Result<bool, ConfigError> {
    change(file, key, &Change::Append(item))
}

/// Takes a text out of a list. Says whether the file changed.
pub fn remove_from_list(file: &Path, key: &str, item: &str) -> Result<bool, ConfigError> {
    change(file, key, &Change::Remove(item))
}

fn change(file: &Path, key: &str, change: &Change<'_>) -> Result<bool, ConfigError> {
    let path = path_of(key)?;
    let target = petasos_fs::target_of(file)?;
    let lock = petasos_fs::lock(&target)?;
    let (mark, old) = file_text(&target)?.unwrap_or_default();
    let Some(new) = changed(&old, &target, &path, change)? else { return Ok(false) };
    let new = format!("{mark}{new}");
    petasos_fs::write_locked(&target, new.as_bytes(), petasos_fs::Mode::KeepOr(MODE_NEW))?;
    drop(lock);
    Ok(true)
}

/// The new text; `None` when the old one says it already.
fn changed(
    old: &str,
    file: &Path,
    path: &[String],
    change: &Change<'_>,
) -> Result<Option<String>, ConfigError> {
    let before = document(old, file)?;
    let root = before.root.as_ref().filter(|root| !root.is_null());
    let had = root.map_or(Value::Null, Node::value);
    let Some(wanted) = expected::after(&had, path, change)
        .map_err(|problem| ConfigError::key(dotted(path), problem))?
    else {
        return Ok(None);
    };
    let refused = |reason: &str| ConfigError::NotEdited {
        file: file.to_path_buf(),
        reason: reason.to_owned(),
        line: by_hand(path, change),
    };
    let splices = Splices::new(old, root);
    let new = match change {
        Change::Set(value) => splices.set(path, value),
        Change::Unset => splices.unset(path),
        Change::Append(item) => splices.append(path, item),
        Change::Remove(item) => splices.remove(path, item),
    }
    .ok_or_else(|| refused("its layout is not one we can edit"))?;
    let after = document(&new, file).map_err(|_| refused("the result would not be readable"))?;
    let says = after.root.map_or(Value::Null, |root| root.value());
    if expected::plain(says, path) == expected::plain(wanted, path) {
        Ok(Some(new))
    } else {
        Err(refused("more than this key would have changed"))
    }
}

fn by_hand(path: &[String], change: &Change<'_>) -> String {
    match change {
        Change::Set(value) => render::block(path, value, 0, "\n"),
        Change::Append(item) => render::block(path, &Value::from(vec![*item]), 0, "\n"),
        Change::Unset => format!("(remove `{}`)", dotted(path)),
        Change::Remove(item) => format!("(remove `{item}` from `{}`)", dotted(path)),
    }
}

fn path_of(key: &str) -> Result<Vec<String>, ConfigError> {
    let path = names(key);
    let usable = |name: &String| !name.is_empty() && !name.chars().any(char::is_control);
    if path.iter().all(usable) {
        Ok(path)
    } else {
        Err(ConfigError::key(key, "a key is names with a dot between"))
    }
}

#[cfg(test)]
mod tests;
