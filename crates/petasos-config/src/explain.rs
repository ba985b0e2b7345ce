//! What holds for a key, where it came from, and what else was offered: the data behind
//! `config path`, `get`, `explain` and `check`. Everything here is fit to be shown.

use std::path::{Path, PathBuf};

use petasos_contract::settings::{Layered, Notice, Settings, Source};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{ConfigError, Problem};
use crate::home::{self, Places};
use crate::inputs::Inputs;
use crate::keys::{self, Key, Kind, Project};
use crate::layers;
use crate::mask;
use crate::strict::names;
use crate::variables::{self, Meaning, Wins};

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The key.
    pub key: String,
    /// The value, secrets masked.
    pub value: Value,
    /// Where it came from; a whole section has many sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// Everything about a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The key or variable.
    pub key: String,
    /// Whether anything reads it.
    pub known: bool,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<&'static str>,
    /// What fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expects: Option<String>,
    /// That nothing obeys it yet, and what it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<String>,
    /// What a project's file may do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'static str>,
    /// The variables that set it, and when they win.
    pub variables: Vec<String>,
    /// Every candidate, the one in force first, the built-in default last.
    pub candidates: Vec<Layered>,
    /// The nearest known name, when this one is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checkup {
    /// Whether a start would succeed.
    pub usable: bool,
    /// Why nothing could be read at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why a start is refused.
    pub problems: Vec<Problem>,
    /// What a person should know.
    pub notices: Vec<Notice>,
}

/// A file or directory of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// What it is.
    pub name: &'static str,
    /// Where.
    pub path: PathBuf,
    /// Whether it is there.
    pub exists: bool,
}

/// The places of the configuration.
pub fn paths(inputs: &Inputs) -> Result<Vec<Place>, ConfigError> {
    let Places { home, config, dotenv, providers, project: [own, other], .. } =
        home::places(inputs)?;
    let rows = [
        ("home", home),
        ("config", config),
        ("dotenv", dotenv),
        ("providers", providers),
        ("project", own),
        ("project (old name)", other),
    ];
    Ok(rows.map(|(name, path)| Place { name, exists: path.exists(), path }).into())
}

/// The value of a key or a whole section, built-in defaults included.
pub fn get(settings: &Settings, key: &str) -> Option<Answer> {
    let answer = |value, source| Some(Answer { key: key.to_owned(), value, source });
    let stack = settings.explain(key);
    if let Some(first) = stack.first().filter(|first| first.passed_over.is_none()) {
        return answer(first.value.clone(), Some(first.source.clone()));
    }
    let below = section(settings, key);
    if !below.is_empty() {
        return answer(Value::Object(below), None);
    }
    let default = keys::find(&names(key)).filter(|row| row.path == key || row.is_pattern())?;
    // A free-form key has rows above it whose default is not its own.
    (default.path.split('.').count() == names(key).len())
        .then(|| answer(default.default_value()?, Some(Source::Default)))?
}

/// Everything about a key, or about a variable when the name is one.
pub fn explain(settings: &Settings, key: &str) -> Explanation {
    if is_variable_name(key) {
        return explain_variable(settings, key);
    }
    let row = keys::find(&names(key));
    let mut candidates = settings.explain(key).to_vec();
    let default = row
        .filter(|row| row.path.split('.').count() == names(key).len())
        .and_then(Key::default_value);
    if let Some(value) = default
        && !candidates.iter().any(|layer| layer.source == Source::Default)
    {
        let passed_over = candidates.first().map(|first| format!("{} goes first", first.source));
        candidates.push(Layered { value, source: Source::Default, passed_over });
    }
    let known = row.is_some() || !section(settings, key).is_empty();
    let nearest = if known { None } else { keys::nearest(key, keys::all().map(|row| row.path)) };
    Explanation {
        key: key.to_owned(),
        known,
        doc: row.map(|row| row.doc),
        expects: row.map(|row| expects(row.kind)),
        reserved: row.and_then(crate::reserved::said),
        project: row.map(|row| project(row.project)),
        variables: row.map(|row| variables_of(row.path)).unwrap_or_default(),
        candidates,
        nearest: nearest.map(str::to_owned),
    }
}

/// Reads everything as a start would, and tells what it thinks of it.
pub fn check(inputs: &Inputs) -> Checkup {
    match layers::read(inputs) {
        Ok(reading) => {
            let mut notices = reading.settings.notices().to_vec();
            notices.extend(open_to_others(&reading.places.dotenv));
            let problems = reading.problems;
            Checkup { usable: problems.is_empty(), error: None, problems, notices }
        }
        Err(error) => Checkup {
            usable: false,
            error: Some(error.to_string()),
            problems: Vec::new(),
            notices: Vec::new(),
        },
    }
}

/// Keys belong to their owner only.
#[cfg(unix)]
fn open_to_others(dotenv: &Path) -> Option<Notice> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(dotenv).ok()?.permissions().mode();
    (mode & 0o077 != 0).then(|| Notice {
        key: ".env".to_owned(),
        what: format!("{} can be read by other users", dotenv.display()),
        hint: format!("chmod 600 {}", dotenv.display()),
    })
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Option<Notice> {
    None
}

/// What is set below a key, with the defaults of what is not.
fn section(settings: &Settings, key: &str) -> Map<String, Value> {
    let prefix = format!("{key}.");
    let mut tree = Map::new();
    for row in keys::all().filter(|row| row.path.starts_with(&prefix) && !row.is_pattern()) {
        if let Some(value) = row.default_value() {
            put(&mut tree, row.path, &prefix, value);
        }
    }
    let set = settings.sources().range(prefix.clone()..);
    for (path, stack) in set.take_while(|(path, _)| path.starts_with(&prefix)) {
        if let Some(first) = stack.first().filter(|first| first.passed_over.is_none()) {
            put(&mut tree, path, &prefix, first.value.clone());
        }
    }
    tree
}

fn put(tree: &mut Map<String, Value>, path: &str, prefix: &str, value: Value) {
    let path = names(path.strip_prefix(prefix).unwrap_or(path));
    let Some((last, around)) = path.split_last() else { return };
    let mut map = tree;
    for name in around {
        let inner = map.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(next) = inner else { return };
        map = next;
    }
    map.insert(last.clone(), value);
}

fn explain_variable(settings: &Settings, name: &str) -> Explanation {
    let row = variables::find(name);
    let held = settings.variable(name);
    let candidates = held.map(|held| Layered {
        value: if variables::is_secret(name) {
            Value::String(held.value.masked())
        } else {
            mask::shown(held.value.expose())
        },
        source: held.source.clone(),
        passed_over: None,
    });
    Explanation {
        key: name.to_owned(),
        known: row.is_some(),
        doc: row.map(|row| row.doc),
        expects: row.and_then(|row| match row.meaning {
            Meaning::Setting(key, _) => Some(format!("what `{key}` takes")),
            _ => None,
        }),
        reserved: None,
        project: None,
        variables: row.map(variables::Row::spellings).unwrap_or_default(),
        candidates: candidates.into_iter().collect(),
        nearest: if row.is_none() { variables::nearest_of_ours(name) } else { None },
    }
}

fn is_variable_name(key: &str) -> bool {
    key.contains('_') && key.bytes().all(|b| matches!(b, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

/// The variables that set a key, with the rule that decides.
pub(crate) fn variables_of(path: &str) -> Vec<String> {
    let sets =
        |row: &&variables::Row| matches!(row.meaning, Meaning::Setting(key, _) if key == path);
    variables::all()
        .filter(sets)
        .map(|row| {
            let rule = match row.meaning {
                Meaning::Setting(_, Wins::Section(section)) => {
                    format!(" (unless config.yaml has a `{section}` section)")
                }
                Meaning::Setting(_, Wins::File) => " (unless a file sets it)".to_owned(),
                _ => String::new(),
            };
            format!("{}{rule}", row.shown())
        })
        .collect()
}

/// What fits a key, in words.
pub(crate) fn expects(kind: Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Integer => "whole number".to_owned(),
        Kind::Number => "number".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Secret => "text, never shown".to_owned(),
        Kind::Choice(words) => words.join(" | "),
        Kind::Names => "list of texts".to_owned(),
        Kind::List => "list".to_owned(),
        Kind::Map => "map".to_owned(),
        Kind::Any => "anything".to_owned(),
    }
}

/// What a project may do with a key, in a word.
pub(crate) fn project(project: Project) -> &'static str {
    match project {
        Project::Free => "may set it",
        Project::Tighten(_) => "may only make it stricter",
        Project::Never => "may not set it",
    }
}
