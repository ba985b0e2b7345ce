//! A narrow grant: what a rule would say, for a command or a path, in one project, until some day.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::keys::same_key;
use crate::permissions::glob::PathGlob;
use crate::permissions::{Anchors, Deed, Rule, is_within, rule};
use petasos_analysis::FINDINGS_MAX;

/// Stands for what is not known in a text that is shown.
const UNKNOWN: char = '…';

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
    /// The one command that a question was about, as it was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
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

impl NewGrant {
    /// Whether it covers everything that a rule asks about.
    pub fn is_wide(&self) -> bool {
        self.tool.is_none()
            && self.command.is_empty()
            && self.leaf.is_none()
            && self.path.is_none()
            && self.project.is_none()
    }
}

impl fmt::Display for NewGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key.as_deref().unwrap_or("anything"))?;
        if let Some(tool) = &self.tool {
            write!(f, " by {tool}")?;
        }
        if !self.command.is_empty() {
            let more = if self.exact { "" } else { " …" };
            write!(f, ": `{}{more}`", self.command.join(" "))?;
        }
        if let Some(leaf) = &self.leaf {
            write!(f, ": exactly `{leaf}`")?;
        }
        if let Some(path) = &self.path {
            write!(f, ": only {path} and below")?;
        }
        match &self.project {
            Some(project) => write!(f, ", in {}", project.display()),
            None => f.write_str(", everywhere"),
        }
    }
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
    /// A grant with a name of its own, made now.
    pub(super) fn new(what: NewGrant) -> Self {
        Self { id: format!("g-{}", crate::id::fresh()), created: now(), what }
    }

    /// Whether its time is over.
    pub fn is_expired(&self, now: u64) -> bool {
        self.what.expires.is_some_and(|end| end <= now)
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.id, self.what)
    }
}

/// One thing that made a rule speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The command, as it is shown.
    pub(crate) leaf: String,
    /// The path it is about, where it is about one.
    pub(crate) target: Option<String>,
    /// Where the command runs, when that is known.
    pub(crate) cwd: Option<String>,
}

/// What grants are asked about.
pub(crate) struct Asked<'a> {
    pub(crate) key: &'a str,
    pub(crate) spots: &'a [Spot],
    pub(crate) deed: &'a Deed,
}

/// The narrowest grants that would spare the same question: each path with what is below it, or
/// the very command, in this project. None where one of them cannot be named.
pub(crate) fn offers(key: &str, spots: &[Spot], project: &Path) -> Option<Vec<NewGrant>> {
    // Beyond the limit findings are left out, and what nobody saw is not granted.
    if spots.is_empty() || spots.len() >= FINDINGS_MAX || project.as_os_str().is_empty() {
        return None;
    }
    let mut offers = Vec::new();
    for spot in spots {
        let whole = NewGrant {
            key: Some(key.to_owned()),
            project: Some(project.to_owned()),
            ..NewGrant::default()
        };
        let known = |text: &&String| !text.contains(UNKNOWN) && !text.is_empty();
        let offer = if let Some(target) = &spot.target {
            let target = Some(target).filter(known).filter(|it| it.starts_with('/'))?;
            NewGrant { path: Some(target.clone()), ..whole }
        } else {
            let here = spot.cwd.as_ref().is_some_and(|cwd| is_within(Path::new(cwd), project));
            let leaf = Some(&spot.leaf).filter(known).filter(|_| here)?;
            NewGrant { leaf: Some(leaf.clone()), ..whole }
        };
        if !offers.contains(&offer) {
            offers.push(offer);
        }
    }
    Some(offers)
}

/// The grants that between them cover all that was found.
pub(crate) fn covered(held: &[Held], asked: &Asked<'_>, anchors: Anchors<'_>) -> Option<String> {
    let now = now();
    let find = |spot: Option<&Spot>| {
        let mut fitting = held.iter().filter(|held| held.covers(asked, spot, anchors, now));
        fitting.next().map(|held| held.grant.id.clone())
    };
    if asked.spots.is_empty() {
        return find(None);
    }
    // Beyond the limit findings are left out, so that only a grant without paths covers them all.
    let unseen = asked.spots.len() >= FINDINGS_MAX;
    if unseen && !held.iter().any(|held| held.grant.what.is_wide()) {
        return None;
    }
    let mut used: Vec<String> = Vec::new();
    for spot in asked.spots {
        let id = find(Some(spot))?;
        if !used.contains(&id) {
            used.push(id);
        }
    }
    Some(used.join(", "))
}

/// A grant ready to be compared.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) grant: Grant,
    rule: Option<Rule>,
    path: Option<PathGlob>,
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
        let named = written.as_object().is_some_and(|map| !map.is_empty());
        let limited = named || what.path.is_some() || what.leaf.is_some();
        if !limited && what.key.is_none() {
            return Err("it names no key, tool, command or path".to_owned());
        }
        if !limited && what.project.is_none() && what.expires.is_none() {
            return Err("a key without a limit belongs in `command_allowlist`".to_owned());
        }
        let rule = if named { Some(rule::from_value(&written)?) } else { None };
        let path = what.path.as_deref().map(PathGlob::new);
        Ok(Self { grant, rule, path })
    }

    /// Whether it silences this key for one thing that was found, or for all of an effect.
    fn covers(&self, asked: &Asked<'_>, spot: Option<&Spot>, at: Anchors<'_>, now: u64) -> bool {
        let what = &self.grant.what;
        let target = spot.and_then(|spot| spot.target.as_deref());
        !self.grant.is_expired(now)
            && what.key.as_ref().is_none_or(|own| same_key(own, asked.key))
            && what.leaf.as_ref().is_none_or(|leaf| spot.is_some_and(|it| it.leaf == *leaf))
            && self.path.as_ref().is_none_or(|path| {
                target.is_some_and(|it| !it.contains(UNKNOWN) && path.matches(it, at))
            })
            && what.project.as_ref().is_none_or(|project| self.is_in(project, spot, at))
            && self.rule.as_ref().is_none_or(|rule| {
                rule::covering(std::slice::from_ref(rule), asked.deed, at).is_some()
            })
    }

    /// Whether the session works in a project and what was found lies in it. A path that the grant
    /// names itself may lie anywhere.
    fn is_in(&self, project: &Path, spot: Option<&Spot>, at: Anchors<'_>) -> bool {
        let place = spot.and_then(|spot| spot.target.as_ref().or(spot.cwd.as_ref()));
        let inside = |place: &String| {
            !place.contains(UNKNOWN)
                && !place.contains("..")
                && is_within(Path::new(place), project)
        };
        is_within(at.workspace, project) && (self.path.is_some() || place.is_none_or(inside))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}
