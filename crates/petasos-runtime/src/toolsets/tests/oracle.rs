//! Resolution against an independent oracle over the data file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use proptest::prelude::*;

use super::{Data, chosen, data, registry};

/// What is registered beside the table: name, toolset.
const REGISTERED: &[(&str, &str)] = &[
    ("mcp__hub__list", "mcp-hub"),
    ("own", "mine"),
    ("extra", "web"),
    ("yb_more", "hermes-yuanbao"),
];

/// The rules in their plainest form.
struct Oracle {
    data: Data,
    registered: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Oracle {
    fn new() -> Self {
        let mut registered: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (tool, toolset) in REGISTERED {
            registered.entry(toolset).or_default().push(tool);
        }
        Self { data: data(), registered }
    }

    fn under(&self, toolset: &str) -> BTreeSet<String> {
        self.registered.get(toolset).into_iter().flatten().map(|&name| name.to_owned()).collect()
    }

    /// The tools of one name; `None` when nothing has it.
    fn tools(&self, name: &str) -> Option<BTreeSet<String>> {
        if matches!(name, "all" | "*") {
            let table = self.data.toolsets.iter().filter_map(|row| self.tools(&row.name));
            let others = self.registered.keys().map(|toolset| self.under(toolset));
            return Some(table.chain(others).flatten().collect());
        }
        if let Some(row) = self.data.toolsets.iter().find(|row| row.name == name) {
            let mut all = self.under(name);
            all.extend(row.tools.iter().cloned());
            if row.core {
                all.extend(self.data.core_tools.iter().cloned());
            }
            for inner in &row.includes {
                all.extend(self.tools(inner).unwrap_or_default());
            }
            return Some(all);
        }
        let name = if name == "hub" { "mcp-hub" } else { name };
        if self.registered.contains_key(name) {
            return Some(self.under(name));
        }
        let legacy = self.data.legacy_name_map.values().find_map(|map| map.get(name));
        legacy.map(|tools| tools.iter().cloned().collect())
    }

    fn is_preset(&self, name: &str) -> bool {
        let row = self.data.toolsets.iter().find(|row| row.name == name);
        row.is_some_and(|row| matches!(row.kind.as_str(), "platform" | "posture"))
    }

    fn resolve(&self, enabled: Option<&[&str]>, disabled: &[&str]) -> BTreeSet<String> {
        let mut all: BTreeSet<String> = match enabled {
            None => self.tools("all").unwrap_or_default(),
            Some(names) => names.iter().filter_map(|name| self.tools(name)).flatten().collect(),
        };
        for name in disabled {
            let mut gone = self.tools(name).unwrap_or_default();
            if self.is_preset(name) {
                gone.retain(|tool| !self.data.core_tools.contains(tool));
            }
            all.retain(|tool| !gone.contains(tool));
        }
        all
    }
}

static ORACLE: LazyLock<Oracle> = LazyLock::new(Oracle::new);

/// Names to choose from: all of the table, older names, registered ones, and nonsense.
fn any_name() -> impl Strategy<Value = &'static str> {
    let mut names: Vec<&'static str> = super::TOOLSETS.iter().map(|def| def.name).collect();
    names.extend(super::LEGACY.iter().map(|(name, _)| *name));
    names.extend(["all", "*", "hub", "mcp-hub", "mine", "nope", "", "hermes-nope"]);
    prop::sample::select(names)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_choice_resolves_as_the_rules_say(
        enabled in prop::option::of(prop::collection::vec(any_name(), 0..5)),
        disabled in prop::collection::vec(any_name(), 0..5),
    ) {
        let registry = registry(REGISTERED);
        registry.register_toolset_alias("hub", "mcp-hub");
        let wanted = ORACLE.resolve(enabled.as_deref(), &disabled);
        prop_assert_eq!(chosen(enabled.as_deref(), &disabled, &registry), wanted);
    }
}
