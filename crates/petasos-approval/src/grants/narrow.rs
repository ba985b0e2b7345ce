//! A narrow grant: what a rule would say, for one project, until some day.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::keys::same_key;
use crate::permissions::{Anchors, Deed, Rule, is_within, rule};

/// What to grant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewGrant {
    /// Only for findings with this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Only for this tool, or tools by a pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Commands that begin with these words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Whether the command has these words and no others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Files here and below; a pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only in this directory and below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Until then, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// A grant that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name for revoking.
    pub id: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// What it grants.
    #[serde(flatten)]
    pub what: NewGrant,
}

impl Grant {
    /// Whether its time is over.
    pub fn is_expired(&self, now: u64) -> bool {
        self.what.expires.is_some_and(|end| end <= now)
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// A grant ready to be compared.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) grant: Grant,
    rule: Option<Rule>,
}

impl Held {
    /// Checks that a grant says something, and nothing that would allow everything.
    pub(super) fn new(grant: Grant) -> Result<Self, String> {
        let what = &grant.what;
        let mut written = json!({});
        let mut put = |name: &str, value: Value| {
            if let Value::Object(map) = &mut written {
                map.insert(name.to_owned(), value);
            }
        };
        if let Some(tool) = &what.tool {
            put("tool", tool.as_str().into());
        }
        if !what.command.is_empty() {
            put("command", what.command.clone().into());
            put("exact", what.exact.into());
        }
        if let Some(path) = &what.path {
            put("path", path.as_str().into());
        }
        let named = written.as_object().is_some_and(|map| !map.is_empty());
        if !named && what.key.is_none() {
            return Err("it names no key, tool, command or path".to_owned());
        }
        if !named && what.project.is_none() && what.expires.is_none() {
            return Err("a key without a limit belongs in `command_allowlist`".to_owned());
        }
        let rule = if named { Some(rule::from_value(&written)?) } else { None };
        Ok(Self { grant, rule })
    }

    /// Whether it silences this key for all of this deed.
    pub(super) fn covers(&self, key: &str, deed: &Deed, at: &At<'_>) -> bool {
        let what = &self.grant.what;
        !self.grant.is_expired(at.now)
            && what.key.as_ref().is_none_or(|own| same_key(own, key))
            && what.project.as_ref().is_none_or(|project| is_within(at.workspace, project))
            && self.rule.as_ref().is_none_or(|rule| {
                rule::covering(std::slice::from_ref(rule), deed, at.anchors).is_some()
            })
    }
}

/// Where and when a grant is asked for.
pub(super) struct At<'a> {
    pub(super) now: u64,
    pub(super) workspace: &'a Path,
    pub(super) anchors: Anchors<'a>,
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}
