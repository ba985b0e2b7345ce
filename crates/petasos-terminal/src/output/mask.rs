//! Masks secrets: the exact values we know, and the shapes of keys that we do not.

use std::borrow::Cow;
use std::sync::LazyLock;

use petasos_contract::Settings;
use petasos_contract::settings::Source;
use regex::{Captures, Regex};
use serde_json::Value;

use crate::childenv;

/// Shorter values would mask ordinary words.
const VALUE_CHARS_MIN: usize = 8;
const MASK: &str = "[masked]";

/// Keys by their shape. The first group, if any, is kept: it says what was masked.
///
/// One expression each, so that each is looked for by its own fixed letters: as one expression they
/// took three times as long over a large output. Classes are ASCII, which is built in a tenth of
/// the time.
static SHAPES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let shapes = [
        r"(?-u:\b)sk-[A-Za-z0-9_-]{16,}",
        r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
        r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"(?-u:\b)(?:AKIA|ASIA)[A-Z0-9]{16}(?-u:\b)",
        r"(?-u:\b)AIza[A-Za-z0-9_-]{30,}",
        r"(?-u:\b)(?:hf|npm|r8|gsk|fw|nvapi|pplx|tvly|exa|xai|dop_v1|shpat|rk_live|sk_live|SG)[_-][A-Za-z0-9_.-]{20,}",
        r"(?-u:\b)ya29\.[A-Za-z0-9_-]{20,}",
        r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"(?-u:\b)[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}",
        r"(?i:(?P<header>authorization:[ \t-\r]*(?:bearer|basic|token)[ \t-\r]+|x-api-key:[ \t-\r]*))[^ \t-\r\x22']{8,}",
        r"(?P<login>(?-u:\b)[a-z][a-z0-9+.-]{1,15}://[^ \t-\r:/@]{0,64}:)[^ \t-\r@/]{3,}@",
    ];
    let compiled = |shape: &&str| {
        Regex::new(shape).inspect_err(|error| tracing::error!(%error, "a mask is lost")).ok()
    };
    shapes.iter().filter_map(compiled).collect()
});

/// Assignments, for commands that print the environment.
static ASSIGNMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?P<name>(?:declare -x |export )?([A-Za-z_][A-Za-z0-9_]*)=)(?P<value>.+)$")
        .ok()
});

/// Knows the secrets of one snapshot.
#[derive(Debug)]
pub struct Masker {
    values: Option<Regex>,
    on: bool,
}

/// Whether the text is inside a private key, whose lines have no shape of their own.
#[derive(Debug, Default, Clone)]
pub(super) struct InKey(bool);

impl Masker {
    /// Gathers what must not be shown.
    pub fn new(settings: &Settings) -> Self {
        let mut values: Vec<String> = Vec::new();
        for (name, variable) in settings.variables() {
            let from_file = matches!(variable.source, Source::DotEnv { .. });
            if from_file || childenv::names_a_secret(name) {
                values.push(variable.value.expose().to_owned());
            }
        }
        for (key, value) in settings.values() {
            gather(key, value, &mut values);
        }
        values.retain(|value| value.chars().count() >= VALUE_CHARS_MIN);
        // A secret that begins another must not hide the rest of it.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        let escaped: Vec<String> = values.iter().map(|value| regex::escape(value)).collect();
        let values = (!escaped.is_empty()).then(|| Regex::new(&escaped.join("|")).ok()).flatten();
        Self { values, on: crate::settings::masks_secrets(settings) }
    }

    /// A masked copy of a whole text.
    pub fn text(&self, text: &str) -> String {
        self.mask(text, &mut InKey::default())
    }

    /// Masks every assignment whose name says that it is a secret, for environment dumps.
    pub fn assignments(text: &str) -> String {
        let Some(shape) = &*ASSIGNMENTS else { return text.to_owned() };
        let masked = shape.replace_all(text, |found: &Captures<'_>| {
            let name = found.name("name").map_or("", |name| name.as_str());
            if childenv::names_a_secret(name) {
                format!("{name}{MASK}")
            } else {
                found.get(0).map_or("", |whole| whole.as_str()).to_owned()
            }
        });
        masked.into_owned()
    }

    /// Masks a piece that begins and ends where no secret is cut.
    pub(super) fn mask(&self, text: &str, key: &mut InKey) -> String {
        let mut masked = match &self.values {
            Some(values) => values.replace_all(text, MASK),
            None => Cow::Borrowed(text),
        };
        if !self.on {
            return masked.into_owned();
        }
        if key.0 || masked.contains("PRIVATE KEY-----") {
            masked = Cow::Owned(private_keys(&masked, key));
        }
        for shape in SHAPES.iter() {
            if let Cow::Owned(changed) = shape.replace_all(&masked, keep_label) {
                masked = Cow::Owned(changed);
            }
        }
        masked.into_owned()
    }
}

fn keep_label(found: &Captures<'_>) -> String {
    if let Some(header) = found.name("header") {
        return format!("{}{MASK}", header.as_str());
    }
    if let Some(login) = found.name("login") {
        return format!("{}{MASK}@", login.as_str());
    }
    MASK.to_owned()
}

fn private_keys(text: &str, key: &mut InKey) -> String {
    let mut masked = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if key.0 {
            key.0 = !line.contains("-----END");
        } else if line.contains("-----BEGIN") && line.contains("PRIVATE KEY-----") {
            key.0 = !line.contains("-----END");
            masked.push_str("[masked private key]\n");
        } else {
            masked.push_str(line);
        }
    }
    masked
}

/// Texts of the configuration whose key says that they are secrets.
fn gather(key: &str, value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if childenv::names_a_secret(key) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| gather(key, item, into)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| gather(key, value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
