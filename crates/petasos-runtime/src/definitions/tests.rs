//! What a model is offered, why, and that the same inputs give the same bytes.

mod schemas;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use petasos_contract::check::{Availability, CheckScope};
use petasos_contract::clock::ManualClock;
use petasos_contract::tool::{Patch, Tool, ToolError};
use petasos_contract::{CallContext, ToolOutput};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Catalogue, Definitions, Fate, Wanted};
use crate::availability::Checks;
use crate::probe::{Scripted, check, check_context, echo, entry, schema, settings, settings_with};
use crate::registry::{Entry, Intent, Origin, Registry};
use crate::toolsets::{CODE_TOOLS, Selection};

fn catalogue(entries: Vec<Entry>) -> Catalogue {
    let registry = Arc::new(Registry::new());
    for entry in entries {
        registry.register(entry, &Origin::core(), Intent::Add).unwrap();
    }
    Catalogue::new(registry, Arc::new(Checks::default()))
}

fn wanted(enabled: &[&str]) -> Wanted {
    let enabled = Some(enabled.iter().map(|&name| name.to_owned()).collect());
    Wanted { selection: Selection { enabled, ..Selection::default() }, ..Wanted::default() }
}

async fn define(catalogue: &Catalogue, enabled: &[&str]) -> Arc<Definitions> {
    let cx = check_context(&settings(&json!({})), "session");
    catalogue.define(&wanted(enabled), &cx).await
}

fn offered(definitions: &Definitions) -> Vec<&str> {
    definitions.tools.iter().map(|definition| definition.name.as_str()).collect()
}

fn checked(name: &str, toolset: &str, check: petasos_contract::check::Check) -> Entry {
    let mut entry = entry(name, toolset, echo());
    entry.check = Some(check);
    entry
}

#[tokio::test]
async fn names_are_sorted_and_unknown_ones_are_skipped() {
    let catalogue = catalogue(vec![
        entry("write_file", "file", echo()),
        entry("patch", "file", echo()),
        entry("read_file", "file", echo()),
    ]);
    let definitions = define(&catalogue, &["file", "nope"]).await;
    assert_eq!(offered(&definitions), ["patch", "read_file", "write_file"]);
    assert_eq!(definitions.fates["search_files"], Fate::NotRegistered);
    assert_eq!(definitions.fates["patch"], Fate::Offered);
    let first = &serde_json::from_str::<Value>(&definitions.json()).unwrap()[0];
    assert_eq!((&first["type"], &first["function"]["name"]), (&json!("function"), &json!("patch")));
}

#[tokio::test]
async fn one_definitions_call_asks_a_shared_check_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let shared = check("shared", CheckScope::Process, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Availability::Ready
    });
    let catalogue = catalogue(vec![
        checked("read_file", "file", shared.clone()),
        checked("patch", "file", shared),
    ]);
    assert_eq!(define(&catalogue, &["file"]).await.tools.len(), 2);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_tool_whose_check_panics_is_absent_and_nothing_else() {
    let broken = check("broken", CheckScope::Process, |_| panic!("no such library"));
    let missing = check("missing", CheckScope::Process, |_| Availability::Missing("no key".into()));
    let catalogue = catalogue(vec![
        checked("read_file", "file", broken),
        checked("patch", "file", missing),
        entry("write_file", "file", echo()),
    ]);
    let definitions = define(&catalogue, &["file"]).await;
    assert_eq!(offered(&definitions), ["write_file"]);
    assert_eq!(definitions.fates["read_file"], Fate::Unavailable("its check panicked".into()));
    assert_eq!(definitions.fates["patch"], Fate::Unavailable("no key".into()));
}

/// Lists in its description the tools that a script may call and that are there.
fn code_tool() -> Arc<dyn Tool> {
    let mut tool = Scripted::new(|_, _: CallContext| async { Ok(ToolOutput::Text(String::new())) });
    tool.patch = Box::new(|granted| {
        let usable: Vec<&str> =
            CODE_TOOLS.iter().copied().filter(|name| granted.contains(*name)).collect();
        let description = format!("Runs a script that may call: {}.", usable.join(", "));
        Ok(Patch::Merge(json!({ "description": description }).as_object().cloned().unwrap()))
    });
    Arc::new(tool)
}

#[tokio::test]
async fn a_schema_names_only_tools_that_the_model_has() {
    let missing = check("web", CheckScope::Process, |_| Availability::Missing("no key".into()));
    let catalogue = catalogue(vec![
        entry("execute_code", "code_execution", code_tool()),
        checked("web_search", "web", missing),
        entry("read_file", "file", echo()),
    ]);
    let definitions = define(&catalogue, &["code_execution", "web", "file"]).await;
    let code = &definitions.tools[0].function;
    assert_eq!(code["description"], "Runs a script that may call: read_file.");
    let alone = define(&catalogue, &["code_execution"]).await;
    assert!(!alone.json().contains("web_") && !alone.json().contains("read_file"));
}

#[tokio::test]
async fn a_patch_may_hide_its_tool_and_a_broken_one_leaves_the_schema() {
    type Patcher = fn() -> Result<Patch, ToolError>;
    let patched = |name: &str, patch: Patcher| {
        let mut tool =
            Scripted::new(|_, _: CallContext| async { Ok(ToolOutput::Text(String::new())) });
        tool.patch = Box::new(move |_| patch());
        entry(name, "set", Arc::new(tool))
    };
    let catalogue = catalogue(vec![
        patched("fails", || Err(ToolError::new("IoError", "gone"))),
        patched("hides", || Ok(Patch::Hide("no actions".into()))),
        patched("panics", || panic!("in a patch")),
        patched("renames", || {
            Ok(Patch::Merge(json!({ "name": "other", "x": 1 }).as_object().cloned().unwrap()))
        }),
    ]);
    let definitions = define(&catalogue, &["set"]).await;
    assert_eq!(offered(&definitions), ["fails", "panics", "renames"]);
    assert_eq!(definitions.fates["hides"], Fate::Withdrawn("no actions".into()));
    for definition in &definitions.tools {
        assert_eq!(definition.function["name"], definition.name.as_str());
        assert_eq!(definition.function["description"], "For tests.");
    }
}

#[tokio::test]
async fn the_same_definitions_are_given_until_something_changes() {
    let catalogue = catalogue(vec![entry("read_file", "file", echo())]);
    let first = define(&catalogue, &["file"]).await;
    assert!(Arc::ptr_eq(&first, &define(&catalogue, &["file"]).await));
    assert!(!Arc::ptr_eq(&first, &define(&catalogue, &["file", "web"]).await));
    assert!(Arc::ptr_eq(&first, &define(&catalogue, &["file"]).await));

    let other = check_context(&settings(&json!({ "a": 1 })), "session");
    assert!(!Arc::ptr_eq(&first, &catalogue.define(&wanted(&["file"]), &other).await));

    let registry = catalogue.registry();
    registry.register(entry("patch", "file", echo()), &Origin::core(), Intent::Add).unwrap();
    let second = define(&catalogue, &["file"]).await;
    assert!(!Arc::ptr_eq(&first, &second) && second.generation > first.generation);
    assert_eq!(offered(&second), ["patch", "read_file"]);
}

#[tokio::test]
async fn an_answer_that_changes_changes_the_definitions_and_one_that_stays_does_not() {
    let (clock, broken) = (Arc::new(ManualClock::new()), Arc::new(AtomicBool::new(false)));
    let dial = Arc::clone(&broken);
    let flaky = check("flaky", CheckScope::Process, move |_| {
        Availability::when(!dial.load(Ordering::Relaxed), "broken")
    });
    let registry = Arc::new(Registry::new());
    let tool = checked("read_file", "file", flaky);
    registry.register(tool, &Origin::core(), Intent::Add).unwrap();
    let catalogue = Catalogue::new(registry, Arc::new(Checks::new(Arc::clone(&clock) as _)));
    let first = define(&catalogue, &["file"]).await;
    clock.advance(Duration::from_secs(31));
    assert!(Arc::ptr_eq(&first, &define(&catalogue, &["file"]).await), "asked again, same answer");
    broken.store(true, Ordering::Relaxed);
    clock.advance(Duration::from_secs(40));
    assert!(Arc::ptr_eq(&first, &define(&catalogue, &["file"]).await), "forgiven");
    clock.advance(Duration::from_secs(30));
    let second = define(&catalogue, &["file"]).await;
    assert!(second.tools.is_empty());
}

#[tokio::test]
async fn sessions_with_different_answers_keep_their_own_definitions() {
    let own = check("own", CheckScope::Session, |cx| {
        Availability::when(cx.session == "a", "only in session a")
    });
    let catalogue = catalogue(vec![checked("read_file", "file", own)]);
    let settings = settings(&json!({}));
    let (a, b) = (check_context(&settings, "a"), check_context(&settings, "b"));
    let wanted = wanted(&["file"]);
    let (for_a, for_b) = (catalogue.define(&wanted, &a).await, catalogue.define(&wanted, &b).await);
    assert_eq!((for_a.tools.len(), for_b.tools.len()), (1, 0));
    assert!(Arc::ptr_eq(&for_a, &catalogue.define(&wanted, &a).await));
    assert!(Arc::ptr_eq(&for_b, &catalogue.define(&wanted, &b).await));
}

#[tokio::test]
async fn only_the_newest_results_are_kept() {
    let catalogue = catalogue(vec![entry("read_file", "file", echo())]);
    let first = define(&catalogue, &["file"]).await;
    for n in 0..64 {
        define(&catalogue, &["file", &n.to_string()]).await;
    }
    assert!(!Arc::ptr_eq(&first, &define(&catalogue, &["file"]).await));
}

#[tokio::test]
async fn toolsets_tell_whether_they_would_offer_something() {
    let missing = check("m", CheckScope::Process, |_| Availability::Missing("no key".into()));
    let mut needy = checked("a", "needy", missing.clone());
    needy.requires_env = vec!["KEY".into()];
    let mut second = checked("b", "needy", missing.clone());
    second.requires_env = vec!["OTHER".into()];
    let catalogue =
        catalogue(vec![needy, second, checked("c", "mixed", missing), entry("d", "mixed", echo())]);
    let cx = check_context(&settings(&json!({})), "session");
    assert!(catalogue.is_toolset_available("mixed", &cx).await);
    assert!(!catalogue.is_toolset_available("needy", &cx).await);
    assert!(!catalogue.is_toolset_available("unknown", &cx).await);
    let views = catalogue.toolsets(&cx).await;
    let shown: Vec<(&str, bool)> =
        views.iter().map(|view| (view.name.as_str(), view.available)).collect();
    assert_eq!(shown, [("mixed", true), ("needy", false)]);
    assert_eq!(views[1].requirements, ["KEY", "OTHER"]);
    let (ready, rest) = catalogue.check_tool_availability(&cx).await;
    assert_eq!(ready, ["mixed"]);
    assert_eq!((rest[0].name.as_str(), &rest[0].env_vars), ("needy", &vec!["KEY".to_owned()]));
    assert_eq!(rest[0].tools.len(), 2);
}

#[tokio::test]
async fn a_large_tail_moves_behind_the_bridge() {
    let long = "x".repeat(4000);
    let mut entries = vec![entry("read_file", "file", echo())];
    for n in 0..30 {
        let mut schema = schema(&json!({ "q": { "type": "string" } }));
        schema.insert("description".into(), format!("{long} {n}").into());
        entries.push(Entry::new(format!("mcp__s__t{n}"), "mcp-s", schema, echo()));
    }
    let catalogue = catalogue(entries);
    let cx = check_context(&settings(&json!({})), "session");
    let mut wanted = wanted(&["file", "mcp-s"]);
    let definitions = catalogue.define(&wanted, &cx).await;
    let names = offered(&definitions);
    assert_eq!(names, ["read_file", "tool_search", "tool_describe", "tool_call"]);
    assert_eq!(definitions.fates["mcp__s__t0"], Fate::Deferred);
    assert!(definitions.granted().contains("mcp__s__t7"));
    wanted.context_tokens = Some(2_000_000);
    assert_eq!(catalogue.define(&wanted, &cx).await.tools.len(), 31);
    wanted.context_tokens = None;
    wanted.whole = true;
    assert_eq!(catalogue.define(&wanted, &cx).await.tools.len(), 31);
}

#[tokio::test]
async fn settings_switch_the_bridge() {
    let catalogue = catalogue(vec![entry("x_search", "x_search", echo())]);
    for (value, tools) in [(json!("on"), 3), (json!(false), 1), (json!(true), 1)] {
        let values = json!({ "tools": { "tool_search": { "enabled": value } } });
        let settings = settings_with(&values, &[], &std::env::temp_dir());
        let cx = check_context(&settings, "session");
        assert_eq!(catalogue.define(&wanted(&["x_search"]), &cx).await.tools.len(), tools);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_bytes_do_not_depend_on_the_order_of_registration(
        order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let tool = |n: usize| {
            let parameters = json!({ "b": { "type": "string" }, "a": { "type": ["integer", "null"] } });
            Entry::new(format!("tool_{n}"), "set", schema(&parameters), echo())
        };
        let json = |order: Vec<usize>| {
            let catalogue = catalogue(order.into_iter().map(tool).collect());
            runtime.block_on(define(&catalogue, &["set"])).json()
        };
        prop_assert_eq!(json(order), json((0..12).collect()));
    }
}
