//! A narrow grant: what a rule would say, for a command or a path, in one project, until some day.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::address::Address;
use petasos_store::{GrantRecord, NewGrant};
use serde_json::{Value, json};

use crate::keys::same_key;
use crate::permissions::glob::PathGlob;
use crate::permissions::{Anchors, Deed, Rule, is_within, rule};
use petasos_analysis::FINDINGS_MAX;

/// Stands for what is not known in a text that is shown.
const UNKNOWN: char = '…';

/// A grant with a name of its own, made now.
pub(super) fn made(what: NewGrant, owner: Option<Address>) -> GrantRecord {
    GrantRecord { id: format!("g-{}", crate::id::fresh()), created: now(), owner, what }
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
pub(crate) fn covered(held: &[&Held], asked: &Asked<'_>, anchors: Anchors<'_>) -> Option<String> {
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
    pub(crate) grant: GrantRecord,
    rule: Option<Rule>,
    path: Option<PathGlob>,
}

impl Held {
    /// Checks that a grant says something, and nothing that would allow everything.
    pub(crate) fn new(grant: GrantRecord) -> Result<Self, String> {
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
        what.check()?;
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
