//! Builds definitions, and gives the same ones again while nothing has changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use petasos_contract::ToolName;
use petasos_contract::check::{Availability, Check};
use petasos_contract::context::CheckContext;
use petasos_contract::tool::Patch;
use serde_json::{Map, Value};
use tracing::warn;

use super::{Definition, Definitions, Fate, sanitise};
use crate::availability::{Answers, Checks};
use crate::registry::{Entry, Generation, Registry, Snapshot, ToolsetView};
use crate::search::{self, SearchOptions};
use crate::toolsets::{self, Resolution, Selection, resolve};

/// How many results are kept.
const KEPT: usize = 8;

/// What a caller wants definitions for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Wanted {
    /// The choice of toolsets.
    pub selection: Selection,
    /// The model's context window, when it is known.
    pub context_tokens: Option<u32>,
    /// Show every schema, however many there are.
    pub whole: bool,
}

/// The registry, its checks, and the definitions made of them.
#[derive(Debug)]
pub struct Catalogue {
    registry: Arc<Registry>,
    checks: Arc<Checks>,
    kept: Mutex<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    key: Key,
    /// The checks that were asked, with what they said: the result holds while they still say so.
    answers: Vec<(Check, bool)>,
    definitions: Arc<Definitions>,
}

#[derive(Debug, PartialEq, Eq)]
struct Key {
    wanted: Wanted,
    generation: Generation,
    settings: u64,
}

impl Catalogue {
    /// Over this registry.
    pub fn new(registry: Arc<Registry>, checks: Arc<Checks>) -> Self {
        Self { registry, checks, kept: Mutex::new(VecDeque::new()) }
    }

    /// The registry behind it.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The checks behind it.
    pub fn checks(&self) -> &Arc<Checks> {
        &self.checks
    }

    /// The definitions for a choice. Equal choices give the very same definitions until the
    /// registry, the settings or an answer changes.
    pub async fn define(&self, wanted: &Wanted, cx: &CheckContext) -> Arc<Definitions> {
        let snapshot = self.registry.snapshot();
        let generation = snapshot.generation();
        let settings = cx.settings.fingerprint();
        if let Some(kept) = self.still_true(wanted, generation, settings, cx) {
            return kept;
        }
        let resolution = resolve(&wanted.selection, &snapshot);
        let asked = checks_of(&resolution.tools, &snapshot);
        let answers = self.checks.answer(asked.iter(), cx).await;
        let options = SearchOptions::from_settings(&cx.settings);
        let definitions = Arc::new(build(wanted, resolution, &snapshot, &answers, options));
        let passed =
            |check: &Check| answers.get(check.id()).is_some_and(|a| a.availability.is_ready());
        let answers = asked.into_iter().map(|check| (check.clone(), passed(&check))).collect();
        let key = Key { wanted: wanted.clone(), generation, settings };
        self.keep(Kept { key, answers, definitions: Arc::clone(&definitions) });
        definitions
    }

    /// Every toolset with whether at least one of its tools would be offered.
    pub async fn toolsets(&self, cx: &CheckContext) -> Vec<ToolsetView> {
        let snapshot = self.registry.snapshot();
        let checks: Vec<Check> =
            snapshot.entries().filter_map(|entry| entry.check.clone()).collect();
        let answers = self.checks.answer(checks.iter(), cx).await;
        let view = |toolset: Arc<str>| ToolsetView {
            available: snapshot
                .in_toolset(&toolset)
                .any(|entry| missing(entry, &answers).is_none()),
            tools: snapshot.names_in(&toolset),
            requirements: snapshot.requirements(&toolset),
            name: toolset.to_string(),
        };
        snapshot.toolsets().into_iter().map(view).collect()
    }

    /// Whether at least one tool of a toolset would be offered; false for an unknown one.
    pub async fn is_toolset_available(&self, toolset: &str, cx: &CheckContext) -> bool {
        let snapshot = self.registry.snapshot();
        let entries: Vec<&Arc<Entry>> = snapshot.in_toolset(toolset).collect();
        let answers = self.checks.answer(entries.iter().filter_map(|e| e.check.as_ref()), cx).await;
        entries.iter().any(|entry| missing(entry, &answers).is_none())
    }

    fn still_true(
        &self,
        wanted: &Wanted,
        generation: Generation,
        settings: u64,
        cx: &CheckContext,
    ) -> Option<Arc<Definitions>> {
        let kept = self.kept.lock();
        let found = kept.iter().find(|kept| {
            kept.key.generation == generation
                && kept.key.settings == settings
                && kept.key.wanted == *wanted
        })?;
        let same = found.answers.iter().all(|(check, passed)| {
            self.checks.remembered(check, cx).is_some_and(|now| now.is_ready() == *passed)
        });
        same.then(|| Arc::clone(&found.definitions))
    }

    fn keep(&self, new: Kept) {
        let mut kept = self.kept.lock();
        kept.retain(|old| old.key != new.key && old.key.generation == new.key.generation);
        kept.truncate(KEPT - 1);
        kept.push_front(new);
    }
}

/// The distinct checks of the named tools.
fn checks_of(names: &[ToolName], tools: &Snapshot) -> Vec<Check> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let checks = names.iter().filter_map(|name| tools.get(name.as_str())?.check.as_ref());
    checks.filter(|check| seen.insert(check.id().as_ref())).cloned().collect()
}

/// Why an entry is not available, if so.
fn missing(entry: &Entry, answers: &Answers) -> Option<String> {
    let check = entry.check.as_ref()?;
    match answers.get(check.id()).map(|answer| &answer.availability) {
        Some(Availability::Ready) => None,
        Some(Availability::Missing(reason)) => Some(reason.clone()),
        None => Some("its check was not asked".to_owned()),
    }
}

fn build(
    wanted: &Wanted,
    resolution: Resolution,
    tools: &Snapshot,
    answers: &Answers,
    options: SearchOptions,
) -> Definitions {
    let mut fates = BTreeMap::new();
    let mut present: Vec<&Arc<Entry>> = Vec::new();
    for name in &resolution.tools {
        let fate = match tools.get(name.as_str()) {
            None => Fate::NotRegistered,
            Some(entry) => missing(entry, answers).map_or_else(
                || {
                    present.push(entry);
                    Fate::Offered
                },
                Fate::Unavailable,
            ),
        };
        fates.insert(name.clone(), fate);
    }
    let mut shown = patched(&present, &mut fates);
    let mut deferred = BTreeSet::new();
    if !wanted.whole {
        let core = toolsets::core(tools);
        deferred = search::assemble(&mut shown, &core, options, wanted.context_tokens);
        for name in &deferred {
            fates.insert(name.clone(), Fate::Deferred);
        }
    }
    Definitions {
        tools: shown,
        deferred,
        fates,
        trace: resolution.trace,
        generation: tools.generation(),
        json: OnceLock::new(),
    }
}

/// Lets each tool adjust its schema to the tools that are really there.
fn patched(present: &[&Arc<Entry>], fates: &mut BTreeMap<ToolName, Fate>) -> Vec<Definition> {
    let granted: BTreeSet<ToolName> = present.iter().map(|entry| entry.name.clone()).collect();
    let mut shown = Vec::with_capacity(present.len());
    for entry in present {
        let mut function = Map::new();
        function.insert("name".to_owned(), entry.name.as_str().into());
        function.extend(entry.schema.get().clone());
        match entry.tool.schema_patch(&granted) {
            Ok(Patch::Keep) => {}
            Ok(Patch::Merge(changes)) => function.extend(changes),
            Ok(Patch::Hide(reason)) => {
                fates.insert(entry.name.clone(), Fate::Withdrawn(reason));
                continue;
            }
            Err(error) => warn!(tool = %entry.name, %error, "schema patch failed, static one used"),
        }
        function.insert("name".to_owned(), Value::String(entry.name.to_string()));
        sanitise(&mut function);
        shown.push(Definition { name: entry.name.clone(), function: Arc::new(function) });
    }
    shown
}
