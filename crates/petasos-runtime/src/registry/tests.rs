//! Names, trust, removal, aliases and the generation counter.

use std::sync::Arc;

use petasos_contract::tool::Limit;
use petasos_contract::{SessionId, ToolName};
use serde_json::json;

use super::{Collision, DEFAULT_EMOJI, Entry, Intent, Origin, Registry};
use crate::probe::{echo, entry, says, schema, settings};

fn plugin(id: &str, consent: bool) -> Origin {
    let values = json!({ "plugins": { "entries": { id: { "allow_tool_override": consent } } } });
    Origin::plugin(id, &settings(&values))
}

fn add(registry: &Registry, name: &str, toolset: &str, origin: &Origin) -> Result<u64, Collision> {
    registry.register(entry(name, toolset, echo()), origin, Intent::Add)
}

fn holder(registry: &Registry, name: &str) -> Option<Origin> {
    registry.snapshot().get(name).map(|entry| entry.origin().clone())
}

#[test]
fn a_name_goes_to_the_more_trusted_and_between_equals_to_the_later() {
    use Intent::{Add, Override};
    let (core, bundled) = (Origin::core(), Origin::bundled_plugin("spotify"));
    let (guest, other, server) = (plugin("p", false), plugin("q", false), Origin::mcp("s"));
    let consented = plugin("p", true);
    let table = [
        (&core, &core, Add, true),
        (&core, &bundled, Add, false),
        (&core, &bundled, Override, true),
        (&core, &guest, Add, false),
        (&core, &guest, Override, false),
        (&core, &consented, Add, false),
        (&core, &consented, Override, true),
        (&core, &server, Add, false),
        (&core, &server, Override, false),
        (&bundled, &core, Add, true),
        (&bundled, &guest, Add, false),
        (&bundled, &consented, Override, true),
        (&guest, &core, Add, true),
        (&guest, &bundled, Add, true),
        (&guest, &other, Add, true),
        (&guest, &server, Add, true),
        (&server, &guest, Add, true),
        (&server, &server, Add, true),
    ];
    for (first, second, intent, replaced) in table {
        let registry = Registry::new();
        add(&registry, "tool", "first", first).unwrap();
        let outcome = registry.register(entry("tool", "second", echo()), second, intent);
        assert_eq!(outcome.is_ok(), replaced, "{second} over {first}, {intent:?}");
        let wanted = if replaced { second } else { first };
        assert_eq!(holder(&registry, "tool").as_ref(), Some(wanted));
        assert_eq!(registry.snapshot().generation(), if replaced { 2 } else { 1 });
    }
}

#[test]
fn a_plugin_cannot_take_terminal_without_consent() {
    let registry = Registry::new();
    add(&registry, "terminal", "terminal", &Origin::core()).unwrap();
    for toolset in ["terminal", "shell"] {
        let newcomer = entry("terminal", toolset, echo());
        let refused = registry.register(newcomer, &plugin("evil", false), Intent::Override);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("terminal") && error.contains("evil"), "{error}");
        assert!(error.contains("the program itself"), "{error}");
    }
    assert_eq!(holder(&registry, "terminal"), Some(Origin::core()));
    assert_eq!(registry.snapshot().generation(), 1);
}

#[test]
fn consent_is_read_from_the_settings_and_nothing_else_is_consent() {
    let consent = |value: serde_json::Value| {
        let entries = json!({ "p": { "allow_tool_override": value } });
        let values = json!({ "plugins": { "entries": entries } });
        Origin::plugin("p", &settings(&values)).may_override()
    };
    assert!(consent(json!(true)));
    for other in [json!(false), json!("true"), json!(1), json!(null)] {
        assert!(!consent(other.clone()), "{other}");
    }
    assert!(!Origin::plugin("p", &settings(&json!({ "plugins": "broken" }))).may_override());
    assert!(!Origin::plugin("q", &settings(&json!({}))).may_override());
    assert!(Origin::bundled_plugin("b").may_override());
}

#[test]
fn the_names_of_the_bridge_are_reserved() {
    let registry = Registry::new();
    for name in ["tool_search", "tool_describe", "tool_call"] {
        let refused = add(&registry, name, "x", &Origin::core());
        assert_eq!(refused, Err(Collision::Reserved { name: name.into() }));
    }
    assert_eq!(registry.snapshot().generation(), 0);
}

#[test]
fn only_owners_consented_plugins_and_the_program_remove_tools() {
    let (core, bundled) = (Origin::core(), Origin::bundled_plugin("b"));
    let (guest, consented) = (plugin("p", false), plugin("p", true));
    let (stranger, server) = (plugin("q", false), Origin::mcp("s"));
    let table = [
        (&core, "file", &core, true),
        (&core, "file", &guest, false),
        (&core, "file", &server, false),
        (&core, "file", &bundled, true),
        (&core, "file", &consented, true),
        (&guest, "own", &guest, true),
        (&guest, "own", &consented, true),
        (&consented, "own", &guest, true),
        (&guest, "own", &stranger, false),
        (&guest, "own", &core, true),
        (&server, "mcp-s", &stranger, true),
        (&server, "mcp-s", &Origin::mcp("t"), true),
    ];
    for (owner, toolset, caller, removed) in table {
        let registry = Registry::new();
        add(&registry, "tool", toolset, owner).unwrap();
        let outcome = registry.deregister("tool", caller);
        assert_eq!(outcome.is_ok(), removed, "{caller} removes what {owner} brought");
        assert_eq!(registry.snapshot().is_empty(), removed);
        assert_eq!(registry.snapshot().generation(), if removed { 2 } else { 1 });
    }
    let registry = Registry::new();
    assert_eq!(registry.deregister("nothing", &guest), Ok(0));
}

#[test]
fn everything_of_one_origin_goes_at_once_whatever_its_consent_was() {
    let registry = Registry::new();
    add(&registry, "a", "x", &plugin("p", false)).unwrap();
    add(&registry, "b", "x", &plugin("p", true)).unwrap();
    add(&registry, "c", "x", &plugin("q", false)).unwrap();
    registry.deregister_all(&plugin("p", false));
    assert_eq!(registry.snapshot().names(), [ToolName::new("c")]);
    assert_eq!(registry.snapshot().generation(), 4);
    registry.deregister_all(&plugin("p", false));
    assert_eq!(registry.snapshot().generation(), 4);
}

#[test]
fn what_was_overridden_comes_back_when_the_override_goes() {
    let registry = Registry::new();
    let (core, plugin) = (Origin::core(), plugin("p", true));
    add(&registry, "terminal", "terminal", &core).unwrap();
    let over = |origin: &Origin| {
        registry.register(entry("terminal", "shell", echo()), origin, Intent::Override).unwrap();
    };
    over(&plugin);
    over(&plugin);
    assert_eq!(holder(&registry, "terminal"), Some(plugin.clone()));
    registry.deregister_all(&plugin);
    assert_eq!(holder(&registry, "terminal"), Some(core.clone()));
    assert_eq!(registry.snapshot().toolset_of("terminal"), Some("terminal"));
    over(&plugin);
    registry.deregister("terminal", &plugin).unwrap();
    assert_eq!(holder(&registry, "terminal"), Some(core.clone()));
    over(&plugin);
    registry.deregister_all(&core);
    assert_eq!(holder(&registry, "terminal"), Some(plugin.clone()));
    registry.deregister_all(&plugin);
    assert_eq!(holder(&registry, "terminal"), None);
    over(&plugin);
    add(&registry, "terminal", "terminal", &core).unwrap();
    registry.deregister("terminal", &core).unwrap();
    assert_eq!(holder(&registry, "terminal"), None);
}

#[test]
fn an_alias_goes_with_the_last_tool_of_its_toolset_and_not_before() {
    let registry = Registry::new();
    let (a, b) = (Origin::mcp("a"), Origin::mcp("b"));
    registry.register_toolset_alias("later", "mcp-later");
    for (name, toolset, origin) in [("a1", "mcp-a", &a), ("a2", "mcp-a", &a), ("b1", "mcp-b", &b)] {
        add(&registry, name, toolset, origin).unwrap();
    }
    registry.register_toolset_alias("a", "mcp-a");
    registry.register_toolset_alias("short", "mcp-a");
    registry.register_toolset_alias("b", "mcp-b");
    let aliases = || -> Vec<String> {
        registry.snapshot().toolset_aliases().keys().map(ToString::to_string).collect()
    };
    registry.deregister("a1", &a).unwrap();
    assert_eq!(aliases(), ["a", "b", "later", "short"]);
    registry.deregister("a2", &a).unwrap();
    assert_eq!(aliases(), ["b", "later"], "an alias that waits for its tools stays");
    registry.refresh(Vec::new(), &b);
    assert_eq!(aliases(), ["later"]);
}

#[test]
fn the_generation_counts_effective_changes_only() {
    let registry = Registry::new();
    let generation = || registry.snapshot().generation();
    assert_eq!(generation(), 0);
    assert_eq!(add(&registry, "t", "x", &Origin::core()), Ok(1));
    assert_eq!(add(&registry, "t", "x", &Origin::core()), Ok(2), "a refresh counts");
    add(&registry, "t", "x", &Origin::mcp("m")).unwrap_err();
    assert_eq!(generation(), 2);
    assert_eq!(registry.register_toolset_alias("a", "x"), 3);
    assert_eq!(registry.register_toolset_alias("a", "x"), 3);
    assert_eq!(registry.register_toolset_alias("a", "y"), 4);
    assert_eq!(registry.snapshot().toolset_alias("a"), Some("y"));
    assert_eq!(registry.register_platform("irc"), 5);
    assert_eq!(registry.register_platform("irc"), 5);
    registry.refresh(Vec::new(), &Origin::mcp("m"));
    assert_eq!(generation(), 5);
    assert_eq!(registry.deregister("gone", &Origin::core()), Ok(5));
    assert_eq!(registry.deregister("t", &Origin::core()), Ok(6));
}

#[test]
fn a_refresh_replaces_in_one_step_and_tells_what_it_could_not_take() {
    let registry = Registry::new();
    let server = Origin::mcp("s");
    add(&registry, "terminal", "terminal", &Origin::core()).unwrap();
    let list = |names: &[&str]| names.iter().map(|name| entry(name, "mcp-s", echo())).collect();
    assert!(registry.refresh(list(&["a", "b"]), &server).is_empty());
    registry.register_toolset_alias("s", "mcp-s");
    let old = registry.snapshot();
    let refused = registry.refresh(list(&["b", "c", "terminal"]), &server);
    assert_eq!(refused.len(), 1);
    let names: Vec<String> = registry.snapshot().names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["b", "c", "terminal"]);
    assert_eq!(registry.snapshot().generation(), old.generation() + 1);
    assert_eq!(registry.snapshot().toolset_alias("s"), Some("mcp-s"));
    assert!(old.get("a").is_some(), "a reader keeps what it took");
}

#[test]
fn an_older_mcp_spelling_is_found_by_lookup_only() {
    let registry = Registry::new();
    let server = Origin::mcp("git_hub");
    add(&registry, "mcp__git_hub__list_issues", "mcp-git_hub", &server).unwrap();
    add(&registry, "mcp_plain", "x", &Origin::core()).unwrap();
    let snapshot = registry.snapshot();
    let found = |name: &str| snapshot.find(name).map(|entry| entry.name.to_string());
    assert_eq!(found("mcp_git_hub_list_issues").as_deref(), Some("mcp__git_hub__list_issues"));
    assert_eq!(found("mcp__git_hub__list_issues").as_deref(), Some("mcp__git_hub__list_issues"));
    assert_eq!(found("mcp_plain").as_deref(), Some("mcp_plain"));
    for wrong in ["mcp_git_hub_list", "mcp_git_list_issues", "git_hub_list_issues", "mcp_"] {
        assert_eq!(found(wrong), None, "{wrong}");
    }
    assert!(snapshot.get("mcp_git_hub_list_issues").is_none());
}

#[test]
fn the_queries_answer_from_one_snapshot() {
    let registry = Registry::new();
    let mut first = Entry::new("b", "x", schema(&json!({ "p": {} })), says(""));
    first.requires_env = vec!["ONE".into(), "TWO".into()];
    first.emoji = "🔧".into();
    first.result_chars_max = Limit::Chars(5);
    let mut second = entry("a", "x", says(""));
    second.requires_env = vec!["TWO".into(), "THREE".into()];
    let mut third = entry("c", "y", says(""));
    third.result_chars_max = Limit::Unlimited;
    third.description = "Own words.".into();
    for entry in [first, second, third] {
        registry.register(entry, &Origin::core(), Intent::Add).unwrap();
    }
    let all = registry.snapshot();
    let names = |names: Vec<ToolName>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(all.names()), ["a", "b", "c"]);
    assert_eq!(names(all.names_in("x")), ["a", "b"]);
    assert!(all.names_in("z").is_empty());
    let toolsets: Vec<Arc<str>> = all.toolsets().into_iter().collect();
    assert_eq!(toolsets, ["x".into(), "y".into()]);
    assert_eq!((all.toolset_of("b"), all.toolset_of("z")), (Some("x"), None));
    assert_eq!(all.tool_to_toolset().len(), 3);
    assert_eq!((all.emoji("b", DEFAULT_EMOJI), all.emoji("a", "!")), ("🔧", "!"));
    assert_eq!(all.emoji("z", DEFAULT_EMOJI), "⚡");
    assert_eq!(all.max_result_chars("a", 9), Some(9));
    assert_eq!(all.max_result_chars("b", 9), Some(5));
    assert_eq!(all.max_result_chars("c", 9), None);
    assert_eq!(all.max_result_chars("z", 100_000), Some(100_000));
    assert_eq!(all.requirements("x"), ["TWO", "THREE", "ONE"]);
    assert_eq!(all.schema("b").unwrap()["description"], "For tests.");
    assert!(all.schema("z").is_none());
    assert_eq!(all.get("c").unwrap().description(), "Own words.");
    assert_eq!(all.get("b").unwrap().description(), "For tests.");
    assert!(all.get("b").unwrap().is_async() && all.len() == 3 && !all.is_empty());
}

#[test]
fn built_in_tools_are_registered_in_a_stable_order() {
    use petasos_contract::ports::Ports;
    use petasos_contract::tool::ToolDef;
    static ONE: ToolDef = ToolDef {
        name: "one",
        toolset: "x",
        requires_env: &["KEY"],
        schema: || json!({ "description": "One." }),
        ..ToolDef::USUAL
    };
    static TWO: ToolDef =
        ToolDef { name: "two", toolset: "y", schema: || json!("no object"), ..ToolDef::USUAL };
    static THREE: ToolDef =
        ToolDef { name: "three", toolset: "y", schema: || panic!("no schema"), ..ToolDef::USUAL };
    let all = [&TWO, &ONE, &THREE];
    assert_eq!(super::discover_builtin_tools(&all), ["two", "one", "three"]);
    let registry = Registry::with_builtin(&all, &Ports::default());
    let snapshot = registry.snapshot();
    assert_eq!((snapshot.generation(), snapshot.len()), (3, 3));
    assert_eq!(snapshot.get("one").unwrap().description(), "One.");
    assert!(snapshot.schema("two").unwrap().is_empty());
    assert!(snapshot.schema("three").unwrap().is_empty());
}

#[test]
fn tools_of_one_session_are_seen_there_and_nowhere_else() {
    let registry = Registry::new();
    let (one, two) = (SessionId::new("one"), SessionId::new("two"));
    let git = |session: &SessionId| Origin::mcp("git").within(session);
    add(&registry, "read", "file", &Origin::core()).unwrap();
    add(&registry, "mcp__git__log", "mcp-git", &Origin::mcp("git")).unwrap();
    let all = registry.snapshot().generation();
    for (session, tool) in [(&one, "mcp__git__log"), (&two, "mcp__git__push")] {
        let refused = registry.refresh(vec![entry(tool, "mcp-git", echo())], &git(session));
        assert!(refused.is_empty(), "{refused:?}");
        registry.register_toolset_alias_of(&git(session), "git", "mcp-git");
    }
    let seen = |session: &SessionId| {
        let tools = registry.seen_by(session);
        let names: Vec<String> = tools.entries().map(|one| one.name.to_string()).collect();
        let mine = tools.entries().filter(|one| one.origin().scope() == Some(session)).count();
        (names.join(" "), mine, tools.toolset_alias("git").is_some())
    };
    assert_eq!(seen(&one), ("mcp__git__log read".to_owned(), 1, true));
    assert_eq!(seen(&two), ("mcp__git__log mcp__git__push read".to_owned(), 1, true));
    assert_eq!(seen(&SessionId::new("three")), ("mcp__git__log read".to_owned(), 0, false));
    assert_eq!(registry.snapshot().generation(), all, "for all others nothing has changed");

    let outranked = registry.register(entry("read", "x", echo()), &git(&one), Intent::Add);
    assert!(matches!(outranked, Err(Collision::Outranked { .. })));
    add(&registry, "mcp__git__push", "own", &Origin::core()).unwrap();
    assert_eq!(seen(&two).1, 0, "what is trusted more comes first, whenever it comes");
    registry.deregister("mcp__git__push", &Origin::core()).unwrap();
    assert_eq!(seen(&two).1, 1);

    let generations = [&one, &two].map(|session| registry.seen_by(session).generation());
    assert!(generations[0] != generations[1] && !generations.contains(&all), "{generations:?}");
    registry.deregister_all(&git(&one));
    registry.deregister_all(&git(&two));
    assert_eq!(seen(&one), seen(&SessionId::new("three")));
    assert!(registry.views.load().is_empty(), "nothing is left of a session that is over");
}
