//! From a platform's configuration to its toolsets, step by step.

use std::collections::BTreeSet;

use petasos_contract::Settings;
use petasos_contract::settings::Parts;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{PlatformChoice, TOOLSETS, choose, resolve};
use crate::probe::{echo, entry, settings_with};
use crate::registry::{Intent, Origin, Registry};

fn choice(platform: &str, values: &Value, variables: &[(&str, &str)]) -> PlatformChoice {
    let settings = settings_with(values, variables, &std::env::temp_dir());
    choose(platform, &settings, &world().snapshot())
}

/// Two plugins, one of which adds to a toolset that has a switch, and an MCP server.
fn world() -> Registry {
    let registry = Registry::new();
    let plugin = Origin::bundled_plugin("p");
    for (name, toolset) in
        [("weather", "weather"), ("web_more", "web"), ("spotify_queue", "spotify")]
    {
        registry.register(entry(name, toolset, echo()), &plugin, Intent::Add).unwrap();
    }
    registry
}

fn on(platform: &str, values: &Value, variables: &[(&str, &str)]) -> BTreeSet<String> {
    choice(platform, values, variables).enabled.into_iter().collect()
}

fn listed(platform: &str, list: &Value) -> BTreeSet<String> {
    on(platform, &json!({ "platform_toolsets": { platform: list } }), &[])
}

fn has(set: &BTreeSet<String>, names: &[&str]) -> bool {
    names.iter().all(|name| set.contains(*name))
}

fn lacks(set: &BTreeSet<String>, names: &[&str]) -> bool {
    names.iter().all(|name| !set.contains(*name))
}

#[test]
fn a_platform_without_a_list_has_its_preset_without_what_is_off_by_default() {
    let cli = on("cli", &json!({}), &[]);
    assert!(has(&cli, &["web", "terminal", "file", "browser", "memory", "kanban"]), "{cli:?}");
    let off = ["homeassistant", "spotify", "video", "x_search", "discord", "feishu_doc", "moa"];
    assert!(lacks(&cli, &off), "{cli:?}");
    assert!(lacks(&cli, &["hermes-cli", "coding", "safe", "search", "context_engine"]), "{cli:?}");
    let webhook = on("webhook", &json!({}), &[]);
    assert!(has(&webhook, &["web", "vision", "clarify"]) && lacks(&webhook, &["terminal", "file"]));
    let choice = choice("cli", &json!({}), &[]);
    assert!(choice.reasons.iter().any(|reason| reason.toolset == "web" && reason.on));
}

#[test]
fn a_list_of_single_toolsets_is_taken_as_it_is() {
    let cli = listed("cli", &json!(["web", "spotify", "discord"]));
    assert!(has(&cli, &["web", "spotify"]) && lacks(&cli, &["terminal", "discord"]), "{cli:?}");
    assert!(has(&listed("discord", &json!(["discord"])), &["discord"]));
    assert!(has(&listed("cli", &json!("web")), &["web"]));
    let mixed = listed("cli", &json!(["spotify", "debugging"]));
    assert!(has(&mixed, &["spotify", "terminal", "web", "file"]) && lacks(&mixed, &["memory"]));
}

#[test]
fn what_is_off_by_default_comes_on_for_its_platform_or_its_account() {
    assert!(has(&on("homeassistant", &json!({}), &[]), &["homeassistant"]));
    assert!(has(&on("cli", &json!({}), &[("HASS_TOKEN", "t")]), &["homeassistant"]));
    assert!(lacks(&on("cli", &json!({}), &[("HASS_TOKEN", " ")]), &["homeassistant"]));
    assert!(has(&on("cli", &json!({}), &[("XAI_API_KEY", "k")]), &["x_search"]));
    let saved = json!({ "platform_toolsets": { "cli": ["hermes-cli"] } });
    assert!(lacks(&on("cli", &saved, &[("XAI_API_KEY", "k")]), &["x_search"]));
    assert!(lacks(&on("discord", &json!({}), &[]), &["discord", "discord_admin"]));
    let native = listed("discord", &json!(["hermes-discord"]));
    assert!(has(&native, &["discord", "discord_admin", "web"]), "{native:?}");
    assert!(lacks(&listed("cli", &json!(["hermes-discord"])), &["discord"]));
}

#[test]
fn what_nobody_can_switch_comes_with_the_platforms_preset() {
    let feishu = on("feishu", &json!({}), &[]);
    assert!(has(&feishu, &["feishu_doc", "feishu_drive"]), "{feishu:?}");
    let listed = listed("feishu", &json!(["web"]));
    assert!(has(&listed, &["feishu_doc", "feishu_drive", "web"]));
    assert!(lacks(&listed, &["search", "debugging", "safe", "coding", "project"]), "{listed:?}");
}

#[test]
fn plugin_toolsets_are_on_when_listed_or_new_here() {
    assert!(has(&on("cli", &json!({}), &[]), &["weather"]));
    let known = json!({ "known_plugin_toolsets": { "cli": ["weather", "web"] } });
    let seen = on("cli", &known, &[]);
    assert!(lacks(&seen, &["weather"]) && has(&seen, &["web"]), "{seen:?}");
    let mut values = known;
    values["platform_toolsets"] = json!({ "cli": ["terminal", "weather"] });
    let chosen = on("cli", &values, &[]);
    assert!(has(&chosen, &["weather", "terminal"]));
    assert!(
        lacks(&chosen, &["web", "spotify"]),
        "a plugin does not switch others' sets: {chosen:?}"
    );
}

#[test]
fn another_context_engine_brings_its_tools_unless_the_list_is_empty() {
    let engine = |list: Value| {
        let mut values = json!({ "context": { "engine": "lcm" } });
        if !list.is_null() {
            values["platform_toolsets"] = json!({ "cli": list });
        }
        on("cli", &values, &[])
    };
    assert!(has(&engine(Value::Null), &["context_engine"]));
    assert!(has(&engine(json!(["web"])), &["context_engine"]));
    assert!(lacks(&engine(json!([])), &["context_engine", "web", "kanban"]));
    let usual = json!({ "context": { "engine": "compressor" } });
    assert!(lacks(&on("cli", &usual, &[]), &["context_engine"]));
}

#[test]
fn other_names_pass_through() {
    let cli = listed("cli", &json!(["web", "search", "custom", "web_tools"]));
    assert!(has(&cli, &["search", "custom", "web_tools"]), "{cli:?}");
}

#[test]
fn every_mcp_server_is_on_unless_the_list_says_otherwise() {
    let servers = json!({ "one": {}, "two": {}, "off": { "enabled": false } });
    let with = |list: Value| {
        let values = json!({ "mcp_servers": servers, "platform_toolsets": { "cli": list } });
        on("cli", &values, &[])
    };
    let all = with(json!(["web"]));
    assert!(has(&all, &["one", "two"]) && lacks(&all, &["off"]), "{all:?}");
    let some = with(json!(["web", "two"]));
    assert!(has(&some, &["two"]) && lacks(&some, &["one"]));
    let none = with(json!(["web", "no_mcp"]));
    assert!(lacks(&none, &["one", "two", "no_mcp"]));
}

#[test]
fn what_is_disabled_everywhere_goes_last() {
    let values = json!({ "agent": { "disabled_toolsets": ["web", "weather"] } });
    let choice = choice("cli", &values, &[]);
    assert!(!choice.enabled.iter().any(|name| name == "web" || name == "weather"));
    assert_eq!(choice.disabled, ["web", "weather"]);
    let board = [("HERMES_KANBAN_TASK", "7")];
    let settings = settings_with(&values, &board, &std::env::temp_dir());
    let selection = choose("cli", &settings, &world().snapshot()).selection(&settings);
    assert!(selection.board_task && selection.disabled == ["web", "weather"]);
}

#[test]
fn a_name_that_means_nothing_is_noticed_with_the_nearest() {
    let notices = |values: Value| -> Vec<(String, String, String)> {
        let values = json!({
            "platform_toolsets": { "cli": values["on"] }, "mcp_servers": { "hub": {} },
            "agent": { "disabled_toolsets": values["off"] },
        });
        let notices = choice("cli", &values, &[]).notices;
        notices.into_iter().map(|it| (it.key, it.what, it.hint)).collect()
    };
    let named = notices(json!({ "on": ["web", "termnal"], "off": ["code_exection"] }));
    let expected = [
        ("platform_toolsets.cli", "termnal", "did you mean `terminal`?"),
        ("agent.disabled_toolsets", "code_exection", "did you mean `code_execution`?"),
    ]
    .map(|(key, name, hint)| {
        (key.to_owned(), format!("no toolset is named `{name}`"), hint.to_owned())
    });
    assert_eq!(named, expected);
    let fine = json!({ "on": ["hub", "no_mcp", "web_tools", "all"], "off": ["weather", "hub"] });
    assert_eq!(notices(fine), []);
    assert_eq!(choice("unheard_of", &json!({}), &[]).notices, []);
}

#[test]
fn the_root_list_is_the_terminals_unless_the_terminal_has_its_own() {
    let root = json!({ "toolsets": ["file"] });
    assert!(has(&on("cli", &root, &[]), &["file"]) && lacks(&on("cli", &root, &[]), &["terminal"]));
    assert!(has(&on("telegram", &root, &[]), &["terminal"]));
    let both = json!({ "toolsets": ["file"], "platform_toolsets": { "cli": ["web"] } });
    assert!(has(&on("cli", &both, &[]), &["web"]) && lacks(&on("cli", &both, &[]), &["file"]));
}

fn limited(user: Option<&[String]>, key: &str, project: Option<&[String]>) -> PlatformChoice {
    let values = user.map(|list| json!({ "platform_toolsets": { "cli": list } }));
    let values = values.and_then(|values| values.as_object().cloned()).unwrap_or_default();
    let limits = project.map(|list| (key.to_owned(), list.to_vec()));
    let settings =
        Settings::new(Parts { values, limits: limits.into_iter().collect(), ..Parts::default() });
    choose("cli", &settings, &world().snapshot())
}

proptest! {
    #[test]
    fn a_project_never_brings_a_tool_in(
        user in prop::option::of(prop::collection::vec(toolset(), 0..4)),
        project in prop::collection::vec(toolset(), 0..4),
        key in prop::sample::select(vec!["platform_toolsets.cli", "toolsets"]),
    ) {
        let registry = world().snapshot();
        let tools = |choice: PlatformChoice| -> BTreeSet<_> {
            let settings = Settings::new(Parts::default());
            resolve(&choice.selection(&settings), &registry).tools.into_iter().collect()
        };
        let without = tools(limited(user.as_deref(), key, None));
        let with = tools(limited(user.as_deref(), key, Some(&project)));
        prop_assert!(with.is_subset(&without), "{:?}", with.difference(&without));
    }
}

fn toolset() -> impl Strategy<Value = String> {
    let names = TOOLSETS.iter().map(|def| def.name).chain(["all", "no_mcp", "weather", "nope"]);
    prop::sample::select(names.map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn a_project_that_narrows_says_so_in_the_reasons() {
    let project = ["file".to_owned()];
    let choice = limited(None, "platform_toolsets.cli", Some(&project));
    assert!(choice.enabled.contains(&"file".to_owned()));
    assert!(!choice.enabled.contains(&"terminal".to_owned()));
    let why = choice.reasons.iter().rfind(|reason| reason.toolset == "terminal").unwrap();
    assert_eq!((why.on, why.why.as_str()), (false, "not in the project's `platform_toolsets.cli`"));
}
