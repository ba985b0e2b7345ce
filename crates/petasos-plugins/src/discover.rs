//! Which plugins there are, and which of them run. Looks at files only; nothing is started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use petasos_contract::Settings;
use serde::Serialize;
use serde_json::Value;

use crate::manifest::{Manifest, ManifestError, Source};
use crate::shell::is_safe_mode;

/// Whether a plugin runs, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", content = "why", rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Runs(String),
    /// It does not.
    Rests(String),
}

/// A plugin that was found.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    /// What it says about itself.
    pub manifest: Manifest,
    /// Whether it runs.
    pub decision: Decision,
}

impl Found {
    /// Whether it runs.
    pub fn runs(&self) -> bool {
        matches!(self.decision, Decision::Runs(_))
    }
}

/// What was found, and what was unusable.
#[derive(Debug, Default)]
pub struct Discovered {
    /// Plugins by key.
    pub found: Vec<Found>,
    /// Manifests that cannot be used.
    pub errors: Vec<ManifestError>,
    /// Enabled names that no folder has; perhaps installed packages.
    pub missing: Vec<String>,
}

/// Whether anything could run at all; the look that every start pays for.
pub fn is_configured(settings: &Settings) -> bool {
    settings.names("plugins.enabled").is_some_and(|names| !names.is_empty())
        || settings.role("BUNDLED_PLUGINS").is_some()
}

/// Looks in all places.
pub fn discover(settings: &Settings) -> Discovered {
    let mut discovered = Discovered::default();
    let mut by_key: BTreeMap<String, Manifest> = BTreeMap::new();
    for (root, source) in roots(settings) {
        scan(&root, source, &mut |read| match read {
            Ok(manifest) => {
                by_key.insert(manifest.key.clone(), manifest);
            }
            Err(error) => discovered.errors.push(error),
        });
    }
    let choice = Choice::of(settings);
    let named = |name: &&String| {
        !by_key.values().any(|one| one.key == **name || one.name == **name)
            && !choice.disabled.contains(name)
    };
    discovered.missing = choice.enabled.iter().filter(named).cloned().collect();
    discovered.found = by_key
        .into_values()
        .map(|manifest| Found { decision: choice.decide(&manifest), manifest })
        .collect();
    discovered
}

/// The places, from weak to strong.
pub fn roots(settings: &Settings) -> Vec<(PathBuf, Source)> {
    let mut roots = Vec::new();
    if let Some(bundled) = settings.role("BUNDLED_PLUGINS") {
        roots.push((PathBuf::from(bundled.value.expose()), Source::Bundled));
    }
    roots.push((settings.home().join("plugins"), Source::User));
    let wants_project = settings.is_on("ENABLE_PROJECT_PLUGINS");
    if wants_project {
        for name in [".hermes", ".petasos"] {
            roots.push((settings.workspace().join(name).join("plugins"), Source::Project));
        }
    }
    roots
}

/// `<root>/<name>` and `<root>/<category>/<name>`.
fn scan(root: &Path, source: Source, tell: &mut dyn FnMut(Result<Manifest, ManifestError>)) {
    for folder in folders(root) {
        match Manifest::read(&folder, None, source) {
            Ok(Some(manifest)) => tell(Ok(manifest)),
            Err(error) => tell(Err(error)),
            Ok(None) => {
                let category = folder.file_name().map(|name| name.to_string_lossy().into_owned());
                for inner in folders(&folder) {
                    match Manifest::read(&inner, category.as_deref(), source) {
                        Ok(Some(manifest)) => tell(Ok(manifest)),
                        Ok(None) => {}
                        Err(error) => tell(Err(error)),
                    }
                }
            }
        }
    }
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let visible = |path: &PathBuf| {
        path.is_dir() && !path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'))
    };
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(visible).collect();
    folders.sort();
    folders
}

struct Choice {
    enabled: Vec<String>,
    disabled: Vec<String>,
    safe_mode: bool,
}

impl Choice {
    fn of(settings: &Settings) -> Self {
        Self {
            enabled: settings.names("plugins.enabled").unwrap_or_default(),
            disabled: settings.names("plugins.disabled").unwrap_or_default(),
            safe_mode: is_safe_mode(settings),
        }
    }

    fn decide(&self, manifest: &Manifest) -> Decision {
        let named = |names: &[String]| {
            names.iter().any(|name| *name == manifest.key || *name == manifest.name)
        };
        if self.safe_mode {
            return Decision::Rests("safe mode starts no plugins".to_owned());
        }
        if named(&self.disabled) {
            return Decision::Rests("named in `plugins.disabled`".to_owned());
        }
        if named(&self.enabled) {
            return Decision::Runs("named in `plugins.enabled`".to_owned());
        }
        if manifest.source == Source::Bundled && manifest.kind == "backend" {
            return Decision::Runs("a backend that came with the program".to_owned());
        }
        Decision::Rests(format!("`petasos plugins enable {}` lets it run", manifest.key))
    }
}

/// A value under `plugins.entries.<key>`.
pub fn entry<'a>(settings: &'a Settings, key: &str, name: &str) -> Option<&'a Value> {
    settings.get("plugins.entries")?.get(key)?.get(name)
}
