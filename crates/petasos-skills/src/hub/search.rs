//! Looking for skills of others: in the repositories whose owners answer for them, and in those
//! that a person added (`skills/.hub/taps.json`). What is found is somebody else's words.

use std::path::Path;

use petasos_contract::Settings;
use petasos_fs::Record;
use serde::Serialize;
use serde_json::{Value, json};

use super::fetch::Fetcher;
use super::source::{Source, TRUSTED, TrustLevel};
use crate::disclose;
use crate::error::SkillError;
use crate::format::{self, MAIN_FILE};
use crate::lock;

const FOUND_MAX: usize = 50;

/// A skill that could be installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// How it is called.
    pub name: String,
    /// What it says it is about; empty where that reads like an order.
    pub description: String,
    /// What installs it.
    pub identifier: String,
    /// How far its source is trusted.
    pub trust: TrustLevel,
}

/// What was found, and where nothing could be looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Hits {
    /// Those that fit, best first.
    pub found: Vec<Hit>,
    /// Sources that did not answer, and why.
    pub failed: Vec<(String, String)>,
}

/// The repositories that are looked through: added ones first.
pub fn taps(settings: &Settings) -> Vec<String> {
    let mut all = added(settings);
    all.extend(TRUSTED.iter().map(|known| (*known).to_owned()));
    all.dedup();
    all
}

fn added(settings: &Settings) -> Vec<String> {
    let all: Value = file(settings).read().unwrap_or_default();
    let rows = all.get("taps").unwrap_or(&all).as_array().cloned().unwrap_or_default();
    let named = |row: &Value| {
        let repo = row.as_str().or_else(|| row.get("repo")?.as_str())?;
        let path = row.get("path").and_then(Value::as_str).unwrap_or_default();
        let path = path.trim_matches('/');
        Some(if path.is_empty() { repo.to_owned() } else { format!("{repo}/{path}") })
    };
    rows.iter().filter_map(named).collect()
}

/// Adds a repository to those that are looked through, or takes it away.
pub fn tap(settings: &Settings, repo: &str, wanted: bool) -> Result<(), SkillError> {
    Source::of(repo, settings)?;
    let mut all = added(settings);
    all.retain(|known| known != repo);
    if wanted {
        all.push(repo.to_owned());
    }
    let rows: Vec<Value> = all.iter().map(|repo| json!({ "repo": repo })).collect();
    let file = file(settings);
    let folder = lock::folder(settings);
    let failed = |error: std::io::Error| SkillError::disk("written", file.path(), &error);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    file.edit(|all: &mut Value| *all = json!({ "taps": rows })).map_err(failed)
}

fn file(settings: &Settings) -> Record {
    Record::at(lock::folder(settings).join("taps.json"))
}

impl Fetcher {
    /// Skills whose name or description has all of the words; all of them without words.
    pub async fn search(&self, words: &str, places: &[String]) -> Hits {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let mut hits = Hits::default();
        for place in places {
            match self.listed(place).await {
                Ok(all) => hits.found.extend(all.into_iter().filter(|hit| fits(hit, &words))),
                Err(error) => hits.failed.push((place.clone(), error.message)),
            }
        }
        let by_name = |hit: &Hit| {
            let name = hit.name.to_lowercase();
            words.iter().filter(|word| name.contains(word.as_str())).count()
        };
        hits.found.sort_by(|a, b| by_name(b).cmp(&by_name(a)).then_with(|| a.name.cmp(&b.name)));
        hits.found.truncate(FOUND_MAX);
        hits
    }

    /// Every skill of a repository or folder.
    async fn listed(&self, place: &str) -> Result<Vec<Hit>, SkillError> {
        let source = Source::of(place, self.settings())?;
        let trust = source.trust();
        let mains = self.mains(&source).await?;
        let hit = |(folder, text): (String, String)| {
            let checked = format::check(&text, Path::new(&folder));
            if checked.broken().is_some() {
                return None;
            }
            let about = disclose::cleaned(&checked.description, format::DESCRIPTION_MAX);
            let place = place.trim_end_matches('/');
            let identifier =
                if folder.is_empty() { place.to_owned() } else { format!("{place}/{folder}") };
            let description = about.unwrap_or_default();
            Some(Hit { name: checked.name, description, identifier, trust })
        };
        Ok(mains.into_iter().filter_map(hit).collect())
    }
}

fn fits(hit: &Hit, words: &[String]) -> bool {
    let text = format!("{} {}", hit.name, hit.description).to_lowercase();
    words.iter().all(|word| text.contains(word))
}

/// The folders of a tree that hold a skill below this one, and their main texts.
pub(super) fn mains_of(
    files: &std::collections::BTreeMap<String, Vec<u8>>,
    below: Option<&str>,
) -> Vec<(String, String)> {
    let prefix = below.map(|below| format!("{}/", below.trim_matches('/'))).unwrap_or_default();
    let mut found = Vec::new();
    for (path, bytes) in files {
        let Some(inner) = path.strip_prefix(&prefix) else { continue };
        let Some(folder) = inner.strip_suffix(MAIN_FILE) else { continue };
        if folder.is_empty() || folder.ends_with('/') {
            let text = String::from_utf8_lossy(bytes).into_owned();
            found.push((folder.trim_end_matches('/').to_owned(), text));
        }
    }
    found
}
