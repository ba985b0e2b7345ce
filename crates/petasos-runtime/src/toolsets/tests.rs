//! The table against its data file, resolution against an oracle, platforms step by step.

mod oracle;
mod platforms;

use std::collections::{BTreeMap, BTreeSet};

use petasos_contract::ToolName;
use serde::Deserialize;

use super::{
    Action, CODE_TOOLS, CORE, Kind, LEGACY, PLATFORMS, Resolution, SUBAGENT_BLOCKED, Selection,
    TOOLSETS, describe, is_valid, known_names, resolve, resolve_toolset,
};
use crate::probe::{echo, entry};
use crate::registry::{Intent, Origin, Registry};

/// The data file.
#[derive(Deserialize)]
struct Data {
    core_tools: Vec<String>,
    toolsets: Vec<Row>,
    legacy_name_map: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    platform_presets: Vec<Preset>,
    subagent_blocked_tools: Vec<String>,
    execute_code_rpc_tools: Vec<String>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the shape of the data file")]
struct Row {
    name: String,
    kind: String,
    core: bool,
    tools: Vec<String>,
    includes: Vec<String>,
    default_off: bool,
    user_configurable: bool,
    only_platforms: Vec<String>,
}

#[derive(Deserialize)]
struct Preset {
    platform: String,
    default_toolset: String,
}

fn data() -> Data {
    serde_saphyr::from_str(include_str!("../../tests/data/toolsets.yaml")).unwrap()
}

impl Data {
    /// Every tool of a toolset, with what it contains.
    fn expanded(&self, name: &str) -> BTreeSet<String> {
        let row = self.toolsets.iter().find(|row| row.name == name).unwrap();
        let core = if row.core { self.core_tools.as_slice() } else { &[] };
        let own = core.iter().chain(&row.tools).cloned();
        own.chain(row.includes.iter().flat_map(|inner| self.expanded(inner))).collect()
    }
}

/// A registry with a tool for each name, each in the first toolset that lists it.
fn registry(tools: &[(&str, &str)]) -> Registry {
    let registry = Registry::new();
    for (name, toolset) in tools {
        registry.register(entry(name, toolset, echo()), &Origin::core(), Intent::Add).unwrap();
    }
    registry
}

fn names(tools: &[ToolName]) -> BTreeSet<String> {
    tools.iter().map(ToString::to_string).collect()
}

fn chosen(enabled: Option<&[&str]>, disabled: &[&str], registry: &Registry) -> BTreeSet<String> {
    let own = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    let (enabled, disabled) = (enabled.map(own), own(disabled));
    let selection = Selection { enabled, disabled, board_task: false };
    names(&resolve(&selection, &registry.snapshot()).tools)
}

#[test]
fn leaves_and_the_core_list_name_every_tool_of_the_table() {
    let leaves = TOOLSETS.iter().filter(|def| def.kind == Kind::Leaf);
    let named: BTreeSet<&str> = leaves.flat_map(|def| def.tools).chain(CORE).copied().collect();
    let all = TOOLSETS.iter().flat_map(|def| def.tools).copied();
    assert_eq!(all.filter(|tool| !named.contains(tool)).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn the_table_is_the_data_file() {
    let data = data();
    assert_eq!(CORE, data.core_tools);
    assert_eq!(SUBAGENT_BLOCKED, data.subagent_blocked_tools);
    assert_eq!(CODE_TOOLS, data.execute_code_rpc_tools);
    assert_eq!(TOOLSETS.len(), data.toolsets.len());
    for (def, row) in TOOLSETS.iter().zip(&data.toolsets) {
        let kind = match (row.kind.as_str(), row.core) {
            ("leaf", false) => Kind::Leaf,
            ("composite", false) => Kind::Composite,
            ("posture", false) => Kind::Posture,
            ("platform", false) => Kind::Platform,
            ("platform", true) => Kind::Bundle,
            other => panic!("{other:?}"),
        };
        assert_eq!((def.name, def.kind), (row.name.as_str(), kind));
        assert_eq!(
            (def.tools, def.includes),
            (as_strs(&row.tools).as_slice(), as_strs(&row.includes).as_slice()),
            "{}",
            row.name
        );
        assert_eq!((def.default_off, def.configurable), (row.default_off, row.user_configurable));
        assert_eq!(def.only_platforms, row.only_platforms, "{}", row.name);
        assert!(!def.description.is_empty());
    }
    let legacy: BTreeMap<&str, Vec<&str>> =
        LEGACY.iter().map(|(name, tools)| (*name, tools.to_vec())).collect();
    let wanted = data.legacy_name_map.values().flatten();
    let wanted: BTreeMap<&str, Vec<&str>> =
        wanted.map(|(name, tools)| (name.as_str(), as_strs(tools))).collect();
    assert_eq!(legacy, wanted);
    let presets: Vec<(&str, &str)> = data
        .platform_presets
        .iter()
        .map(|preset| (preset.platform.as_str(), preset.default_toolset.as_str()))
        .collect();
    assert_eq!(PLATFORMS, presets);
}

fn as_strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[test]
fn every_toolset_resolves_to_the_data_file_expanded() {
    let (data, empty) = (data(), Registry::new().snapshot());
    for row in &data.toolsets {
        let Resolution { tools, trace } = resolve_toolset(&row.name, &empty);
        assert_eq!(names(&tools), data.expanded(&row.name), "{}", row.name);
        assert!(tools.is_sorted() && trace[0].action == Action::Enable);
    }
    assert_eq!(resolve_toolset("hermes-cli", &empty).tools.len(), 52);
}

#[test]
fn an_empty_list_means_no_tools_and_no_list_means_all() {
    let registry = registry(&[("own", "mine")]);
    assert!(chosen(Some(&[]), &[], &registry).is_empty());
    let everything = chosen(None, &[], &registry);
    assert_eq!(everything, chosen(Some(&["all"]), &[], &registry));
    assert_eq!(everything, chosen(Some(&["*"]), &[], &registry));
    assert!(everything.contains("own") && everything.contains("rl_list_runs"));
}

#[test]
fn disabling_a_toolset_takes_its_tools_from_any_bundle() {
    let left = chosen(Some(&["hermes-cli"]), &["terminal"], &Registry::new());
    assert!(!left.contains("terminal") && !left.contains("process"));
    assert!(left.contains("read_file") && left.len() == 50);
}

#[test]
fn disabling_a_preset_leaves_the_core_list() {
    let discord = chosen(Some(&["hermes-discord"]), &["hermes-discord"], &Registry::new());
    assert_eq!(discord, CORE.iter().map(|&name| name.to_owned()).collect());
    let all = chosen(None, &[], &Registry::new());
    let left = chosen(None, &["hermes-gateway", "coding"], &Registry::new());
    let gone: Vec<&String> = all.difference(&left).collect();
    assert!(gone.iter().all(|name| {
        ["discord", "feishu_", "yb_"].iter().any(|prefix| name.starts_with(prefix))
    }));
    assert_eq!(gone.len(), 12, "{gone:?}");
}

#[test]
fn older_names_work_and_unknown_ones_are_noted() {
    let selection = Selection {
        enabled: Some(vec!["web_tools".into(), "terminal".into(), "nope".into()]),
        disabled: vec!["terminal_tools".into(), "neither".into()],
        board_task: false,
    };
    let Resolution { tools, trace } = resolve(&selection, &Registry::new().snapshot());
    assert_eq!(tools, ["process", "web_extract", "web_search"].map(ToolName::new));
    let steps: Vec<(Action, &str)> =
        trace.iter().map(|step| (step.action, step.toolset.as_str())).collect();
    assert_eq!(
        steps,
        [
            (Action::Legacy, "web_tools"),
            (Action::Enable, "terminal"),
            (Action::Unknown, "nope"),
            (Action::Disable, "terminal_tools"),
            (Action::Unknown, "neither"),
        ]
    );
    assert!(trace[2].note.is_some());
    assert!(!is_valid("web_tools", &Registry::new().snapshot()));
}

#[test]
fn a_board_task_brings_the_board() {
    let of = |enabled: &[&str]| {
        let enabled = Some(enabled.iter().map(|&name| name.to_owned()).collect());
        let selection = Selection { enabled, disabled: Vec::new(), board_task: true };
        resolve(&selection, &Registry::new().snapshot())
    };
    assert_eq!(of(&[]).tools.len(), 12);
    assert_eq!(of(&["kanban"]).trace.len(), 1);
    let web = of(&["web"]);
    assert_eq!(web.tools.len(), 14);
    assert!(web.trace.last().unwrap().note.is_some());
}

#[test]
fn registered_toolsets_aliases_and_platforms_are_toolsets() {
    let registry = registry(&[
        ("mcp__hub__list", "mcp-hub"),
        ("extra", "web"),
        ("own", "mine"),
        ("irc_send", "irc"),
    ]);
    registry.register_toolset_alias("hub", "mcp-hub");
    registry.register_platform("irc");
    let of = |name: &str| names(&resolve_toolset(name, &registry.snapshot()).tools);
    let set = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(of("web"), set(&["web_search", "web_extract", "extra"]));
    assert_eq!((of("hub"), of("mcp-hub")), (set(&["mcp__hub__list"]), set(&["mcp__hub__list"])));
    assert_eq!(of("mine"), set(&["own"]));
    assert_eq!(of("hermes-irc").len(), 53);
    assert!(of("hermes-nope").is_empty() && of("nothing").is_empty());
    let known = known_names(&registry.snapshot());
    assert!(known.contains("hub") && !known.contains("mcp-hub") && known.contains("mine"));
    let snapshot = registry.snapshot();
    for name in ["all", "*", "web", "hub", "mcp-hub", "mine", "hermes-irc"] {
        assert!(is_valid(name, &snapshot), "{name}");
    }
    assert!(describe("hub", &snapshot).unwrap().contains("MCP server `hub`"));
    assert!(describe("nope", &snapshot).is_none());
    let left = chosen(Some(&["hermes-irc", "hub"]), &["hermes-irc"], &registry);
    assert!(!left.contains("irc_send") && left.contains("mcp__hub__list"));
}

#[test]
fn a_toolset_named_twice_is_expanded_once_and_cycles_end() {
    let empty = Registry::new().snapshot();
    let gateway = resolve_toolset("hermes-gateway", &empty);
    assert_eq!(names(&gateway.tools), data().expanded("hermes-gateway"));
    // The table has no cycle, so the walk is given one.
    let mut walk = super::resolve::Walk::over(&empty);
    walk.look = |name, _| {
        let includes: &[&str] = if name == "A" { &["B"] } else { &["A"] };
        let tools = std::iter::once(format!("tool of {name}").into()).collect();
        Some(super::Found { description: String::new(), tools, includes, preset: false })
    };
    for start in ["A", "B"] {
        let tools = walk.expand(start, Action::Enable, &mut BTreeSet::new());
        assert_eq!(tools, ["tool of A", "tool of B"].map(ToolName::new).into());
    }
}
