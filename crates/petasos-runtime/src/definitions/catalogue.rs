//! Builds definitions, and gives the same ones again while nothing has changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use petasos_contract::ToolName;
use petasos_contract::check::{Availability, Check};
use petasos_contract::context::CheckContext;
use petasos_contract::tool::{Patch, ToolError};
use serde_json::Map;
use tracing::warn;

use super::{Definition, Definitions, Fate, Function};
use crate::availability::{Answers, Checks};
use crate::registry::{Entry, Generation, Registry, Snapshot, ToolsetNeeds, ToolsetView};
use crate::search::{self, SearchOptions};
use crate::toolsets::{self, Resolution, Selection, resolve};

/// How many results are kept.
const KEPT: usize = 64;

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
    answers: Said,
    definitions: Arc<Definitions>,
}

/// Checks with what they said.
type Said = Vec<(Check, Availability)>;

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
        let snapshot = self.registry.seen_by(&cx.session);
        let generation = snapshot.generation();
        let settings = cx.settings.fingerprint();
        let key = Key { wanted: wanted.clone(), generation, settings };
        let now = |check: &Check| self.checks.remembered(check, cx);
        if let Some(kept) = self.kept(&key, now) {
            return kept;
        }
        let resolution = resolve(&wanted.selection, &snapshot);
        let asked = checks_of(&resolution.tools, &snapshot);
        let answers = self.checks.answer(asked.iter(), cx).await;
        let said = |check: &Check| Some(answers.get(check.id())?.availability.clone());
        if let Some(kept) = self.kept(&key, said) {
            return kept;
        }
        let options = SearchOptions::from_settings(&cx.settings);
        let definitions = Arc::new(build(wanted, resolution, &snapshot, &answers, options));
        let answers =
            asked.into_iter().filter_map(|check| Some((check.clone(), said(&check)?))).collect();
        self.keep(Kept { key, answers, definitions: Arc::clone(&definitions) });
        definitions
    }

    /// Every toolset with whether at least one of its tools would be offered.
    pub async fn toolsets(&self, cx: &CheckContext) -> Vec<ToolsetView> {
        let snapshot = self.registry.seen_by(&cx.session);
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

    /// The toolsets that would offer something, and those that would not with what they need.
    pub async fn check_tool_availability(
        &self,
        cx: &CheckContext,
    ) -> (Vec<String>, Vec<ToolsetNeeds>) {
        let snapshot = self.registry.seen_by(&cx.session);
        let (ready, rest): (Vec<_>, Vec<_>) =
            self.toolsets(cx).await.into_iter().partition(|view| view.available);
        let first_needs = |toolset: &str| {
            let first = snapshot.in_toolset(toolset).next();
            first.map(|entry| entry.requires_env.clone()).unwrap_or_default()
        };
        let needs = |view: ToolsetView| ToolsetNeeds {
            env_vars: first_needs(&view.name),
            name: view.name,
            tools: view.tools,
        };
        let ready = ready.into_iter().map(|view| view.name).collect();
        (ready, rest.into_iter().map(needs).collect())
    }

    /// Whether at least one tool of a toolset would be offered; false for an unknown one.
    pub async fn is_toolset_available(&self, toolset: &str, cx: &CheckContext) -> bool {
        let snapshot = self.registry.seen_by(&cx.session);
        let entries: Vec<&Arc<Entry>> = snapshot.in_toolset(toolset).collect();
        let answers = self.checks.answer(entries.iter().filter_map(|e| e.check.as_ref()), cx).await;
        entries.iter().any(|entry| missing(entry, &answers).is_none())
    }

    /// Definitions that were made for the same key while the checks said what they say now. Two
    /// sessions with different answers have one each.
    fn kept(
        &self,
        key: &Key,
        now: impl Fn(&Check) -> Option<Availability>,
    ) -> Option<Arc<Definitions>> {
        let kept = self.kept.lock();
        let same = |said: &Said| said.iter().all(|(check, then)| now(check).as_ref() == Some(then));
        let found = kept.iter().find(|kept| kept.key == *key && same(&kept.answers))?;
        Some(Arc::clone(&found.definitions))
    }

    /// Keeps the newest few; those of an older registry are not asked for again and fall out.
    fn keep(&self, new: Kept) {
        let mut kept = self.kept.lock();
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
    let mut present: Vec<&Arc<Entry>> = Vec::new();
    let mut fate = |name: &ToolName| match tools.get(name.as_str()) {
        None => Fate::NotRegistered,
        Some(entry) => missing(entry, answers).map_or_else(
            || {
                present.push(entry);
                Fate::Offered
            },
            Fate::Unavailable,
        ),
    };
    let fates = resolution.tools.iter().map(|name| (name.clone(), fate(name)));
    let mut fates: BTreeMap<ToolName, Fate> = fates.collect();
    let mut shown = patched(&present, &mut fates);
    let mut deferred = BTreeSet::new();
    if !wanted.whole {
        let core = toolsets::always_shown();
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
        match function(entry, &granted) {
            Ok(function) => shown.push(Definition { name: entry.name.clone(), function }),
            Err(reason) => drop(fates.insert(entry.name.clone(), Fate::Withdrawn(reason))),
        }
    }
    shown
}

/// The schema of a tool beside these, or why it is withdrawn.
pub(crate) fn function(
    entry: &Arc<Entry>,
    granted: &BTreeSet<ToolName>,
) -> Result<Function, String> {
    let patch = AssertUnwindSafe(|| entry.tool.schema_patch(granted));
    let patch = std::panic::catch_unwind(patch);
    let changes = match patch.unwrap_or_else(|_| Err(ToolError::new("Panic", "it panicked"))) {
        Ok(Patch::Keep) => Map::new(),
        Ok(Patch::Merge(changes)) => changes,
        Ok(Patch::Hide(reason)) => return Err(reason),
        Err(error) => {
            warn!(tool = %entry.name, %error, "schema patch failed, static one used");
            Map::new()
        }
    };
    Ok(Function::of(entry, changes))
}
