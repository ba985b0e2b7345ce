//! The front matter of a skill: fields of the open standard, and those that older homes use.
//!
//! Read leniently, because people write lists as text and text as lists; what was meant is plain.

use serde::Serialize;
use serde_json::{Map, Value};

/// A variable that a skill wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WantedVariable {
    /// Its name.
    pub name: String,
    /// How a person is asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Where to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What does not work without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_for: Option<String>,
}

/// When the index shows a skill: by tools that are there, or that are not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Shown only with all of these tools.
    pub requires_tools: Vec<String>,
    /// Shown only with all of these toolsets.
    pub requires_toolsets: Vec<String>,
    /// Shown only without any of these tools.
    pub fallback_for_tools: Vec<String>,
    /// Shown only without any of these toolsets.
    pub fallback_for_toolsets: Vec<String>,
}

/// What the front matter says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Front {
    /// The name, as written.
    pub name: Option<String>,
    /// What it is about, as written.
    pub description: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs, in words.
    pub compatibility: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Tools it would like; shown, never granted.
    pub allowed_tools: Vec<String>,
    /// Anything else that its author notes.
    pub metadata: Option<Value>,
    /// Systems it works on; all when empty.
    pub platforms: Vec<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Skills near to it.
    pub related: Vec<String>,
    /// Its category, when not that of its folder.
    pub category: Option<String>,
    /// When the index shows it.
    pub conditions: Conditions,
    /// Variables that it wants.
    pub variables: Vec<WantedVariable>,
    /// Programs that it runs.
    pub programs: Vec<String>,
    /// Files of the home that it wants, such as tokens.
    pub credential_files: Vec<String>,
}

impl Front {
    /// Reads a mapping.
    pub(crate) fn of(fields: &Map<String, Value>) -> Self {
        let hermes = fields.get("metadata").and_then(|metadata| metadata.get("hermes"));
        let nested = |name: &str| hermes.and_then(|hermes| hermes.get(name));
        let either = |name: &str| fields.get(name).or_else(|| nested(name));
        let prerequisites = fields.get("prerequisites");
        let needed = |name: &str| prerequisites.and_then(|all| all.get(name));
        Self {
            name: text(fields.get("name")),
            description: text(fields.get("description")),
            license: text(fields.get("license")),
            compatibility: text(fields.get("compatibility")),
            version: text(fields.get("version")),
            allowed_tools: words(fields.get("allowed-tools")),
            metadata: fields.get("metadata").filter(|value| value.is_object()).cloned(),
            platforms: names(fields.get("platforms")).iter().map(|p| p.to_lowercase()).collect(),
            tags: names(either("tags")),
            related: names(either("related_skills")),
            category: text(nested("category")),
            conditions: Conditions {
                requires_tools: names(nested("requires_tools")),
                requires_toolsets: names(nested("requires_toolsets")),
                fallback_for_tools: names(nested("fallback_for_tools")),
                fallback_for_toolsets: names(nested("fallback_for_toolsets")),
            },
            variables: variables(fields.get("required_environment_variables"), needed("env_vars")),
            programs: names(needed("commands")),
            credential_files: files(fields.get("required_credential_files")),
        }
    }

    /// The names of the variables that it wants.
    pub fn variable_names(&self) -> Vec<String> {
        self.variables.iter().map(|wanted| wanted.name.clone()).collect()
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// A list of texts, or texts with commas between.
fn names(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(|item| text(Some(item))).collect(),
        Some(Value::String(line)) => {
            let bare = line.trim().trim_start_matches('[').trim_end_matches(']');
            let parts = bare.split(',').map(|part| part.trim().trim_matches(['"', '\'']));
            parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// A list of texts, or texts with commas or blanks between: `Bash(git:*) Read`.
fn words(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(line)) if !line.contains(',') => {
            line.split_whitespace().map(str::to_owned).collect()
        }
        other => names(other),
    }
}

fn variables(listed: Option<&Value>, older: Option<&Value>) -> Vec<WantedVariable> {
    let bare = |name: String| WantedVariable { name, prompt: None, help: None, required_for: None };
    let mut wanted: Vec<WantedVariable> = match listed {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| match item {
                Value::Object(entry) => Some(WantedVariable {
                    name: text(entry.get("name"))?,
                    prompt: text(entry.get("prompt")),
                    help: text(entry.get("help")),
                    required_for: text(entry.get("required_for")),
                }),
                other => text(Some(other)).map(bare),
            })
            .collect(),
        other => names(other).into_iter().map(bare).collect(),
    };
    for name in names(older) {
        if !wanted.iter().any(|known| known.name == name) {
            wanted.push(bare(name));
        }
    }
    wanted.retain(|wanted| is_variable(&wanted.name));
    wanted
}

fn is_variable(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(fits) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn files(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| match item {
                Value::Object(entry) => text(entry.get("path").or_else(|| entry.get("name"))),
                other => text(Some(other)),
            })
            .collect(),
        other => names(other),
    }
}
