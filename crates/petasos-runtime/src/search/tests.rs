//! Finding, describing and calling tools that are not listed.

use std::sync::Arc;

use petasos_contract::call::Status;
use petasos_contract::context::Grant;
use petasos_contract::tool::Patch;
use petasos_contract::{CallContext, ToolOutput};
use serde_json::{Value, json};

use super::{SearchOptions, When};
use crate::probe::{Scripted, Seen, World, body, echo, entry, error_of, gives, schema, settings};
use crate::registry::{Entry, Intent, Origin};

fn described(name: &str, toolset: &str, description: &str) -> Entry {
    let mut schema =
        schema(&json!({ "title": { "type": "string" }, "count": { "type": "integer" } }));
    schema.insert("description".to_owned(), description.into());
    Entry::new(name, toolset, schema, echo())
}

fn world() -> World {
    let world = World::with(vec![
        entry("read_file", "file", echo()),
        described("project_list", "project", "List desktop workspaces."),
    ]);
    let server = Origin::mcp("hub");
    for (name, about) in [
        ("mcp__hub__create_issue", "Create an issue in a repository."),
        ("mcp__hub__list_issues", "List issues; each issue has a number."),
        ("mcp__hub__merge", "Merge a pull request."),
    ] {
        let entry = described(name, "mcp-hub", about);
        world.registry.register(entry, &server, Intent::Add).unwrap();
    }
    let plugin = Origin::bundled_plugin("weather");
    let long = described("forecast", "weather", &"wind ".repeat(200));
    world.registry.register(long, &plugin, Intent::Add).unwrap();
    world
}

async fn search(world: &World, arguments: &Value) -> Value {
    body(&world.call("tool_search", &arguments.to_string()).await)
}

fn found(answer: &Value) -> Vec<&str> {
    answer["matches"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_search_ranks_by_words_and_tells_where_a_tool_is_from() {
    let world = world();
    let answer = search(&world, &json!({ "query": "create issue" })).await;
    assert_eq!((&answer["query"], &answer["total_available"]), (&json!("create issue"), &json!(5)));
    assert_eq!(found(&answer)[0], "mcp__hub__create_issue");
    assert!(found(&answer).contains(&"mcp__hub__list_issues"));
    let first = &answer["matches"][0];
    assert_eq!((&first["source"], &first["source_name"]), (&json!("mcp"), &json!("hub")));
    let plugin = search(&world, &json!({ "query": "wind" })).await;
    assert_eq!(plugin["matches"][0]["source"], "plugin");
    assert!(plugin["matches"][0]["description"].as_str().unwrap().chars().count() <= 400);
    let other = search(&world, &json!({ "query": "workspaces" })).await;
    assert_eq!(other["matches"][0]["source"], "other");
    assert_eq!(other["matches"][0]["source_name"], "project");
    assert_eq!(world.recorder.counts(), (0, 0), "the bridge itself fires nothing");
}

#[tokio::test]
async fn a_part_of_a_name_is_the_last_resort_and_limits_hold() {
    let world = world();
    assert_eq!(found(&search(&world, &json!({ "query": "ojec" })).await), ["project_list"]);
    assert!(found(&search(&world, &json!({ "query": "zzz" })).await).is_empty());
    assert!(found(&search(&world, &json!({})).await).is_empty());
    let table = [(json!(1), 1), (json!("2"), 2), (json!(99), 4), (json!(0), 1), (json!(null), 4)];
    for (limit, count) in table {
        let answer = search(&world, &json!({ "query": "title count list", "limit": limit })).await;
        assert!(
            found(&answer).len() >= count.min(4) && (count > 2 || found(&answer).len() == count),
            "{limit}: {answer}"
        );
    }
}

#[tokio::test]
async fn describe_shows_the_schema_of_what_a_search_can_find() {
    let world = world();
    let shown = body(&world.call("tool_describe", r#"{"name": "mcp__hub__merge"}"#).await);
    assert_eq!(shown["name"], "mcp__hub__merge");
    assert_eq!(shown["description"], "Merge a pull request.");
    assert!(shown["parameters"]["properties"]["title"].is_object());
    for wrong in ["read_file", "nope", "tool_call"] {
        let result = world.call("tool_describe", &json!({ "name": wrong }).to_string()).await;
        assert_eq!(result.error_type, Some("tool_scope_block"), "{wrong}");
    }
    assert!(!error_of(&world.call("tool_describe", "[]").await).is_empty());
}

#[tokio::test]
async fn describe_shows_the_schema_as_the_tool_itself_adjusts_it() {
    let patched = |name: &str, patch: fn(usize) -> Patch| {
        let mut tool =
            Scripted::new(|_, _: CallContext| async { Ok(ToolOutput::Text(String::new())) });
        tool.patch = Box::new(move |granted| Ok(patch(granted.len())));
        entry(name, "test", Arc::new(tool))
    };
    let world = World::with(vec![
        patched("counts", |others| {
            let text = json!({ "description": format!("One of {others}.") });
            Patch::Merge(text.as_object().cloned().unwrap())
        }),
        patched("hides", |_| Patch::Hide("no actions".into())),
    ]);
    let shown = body(&world.call("tool_describe", r#"{"name": "counts"}"#).await);
    assert_eq!(shown["description"], "One of 2.");
    let hidden = world.call("tool_describe", r#"{"name": "hides"}"#).await;
    assert_eq!(hidden.error_type, Some("tool_scope_block"));
}

#[tokio::test]
async fn a_call_through_the_bridge_is_a_call_of_the_real_tool() {
    let world = world();
    for arguments in [
        json!({ "name": "mcp__hub__merge", "arguments": { "count": "3" } }),
        json!({ "name": "mcp_hub_merge", "arguments": "{\"count\": 3}" }),
    ] {
        let result = world.call("tool_call", &arguments.to_string()).await;
        assert_eq!((result.name.as_str(), result.status), ("mcp__hub__merge", Status::Ok));
        assert_eq!(body(&result), json!({ "args": { "count": 3 } }));
    }
    let seen = world.recorder.seen();
    assert!(
        matches!(&seen[0], Seen::Pre { tool, args, .. } if tool == "mcp__hub__merge" && args["count"] == 3)
    );
    assert_eq!(world.recorder.counts(), (2, 2));
    let no_arguments = world.call("tool_call", r#"{"name": "mcp__hub__merge"}"#).await;
    assert_eq!(body(&no_arguments), json!({ "args": {} }));
    let bad = world.call("tool_call", r#"{"name": "mcp__hub__merge", "arguments": [1]}"#).await;
    assert_eq!(error_of(&bad), "Invalid tool arguments");
}

#[tokio::test]
async fn the_bridge_refuses_before_anything_fires() {
    let world = world();
    let hidden = entry("mcp__hub__secret", "mcp-hub", gives(|| panic!("it must not run")));
    world.registry.register(hidden, &Origin::mcp("hub"), Intent::Add).unwrap();
    let mut cx = world.cx();
    cx.grant = Arc::new(Grant::Only(
        ["read_file", "mcp__hub__merge"].iter().map(|&name| name.into()).collect(),
    ));
    for name in ["mcp__hub__secret", "read_file", "tool_search", "tool_call", "nope", ""] {
        let arguments = json!({ "name": name, "arguments": {} }).to_string();
        let result = world.call_in("tool_call", &arguments, &cx).await;
        assert_eq!(result.error_type, Some("tool_scope_block"), "{name}");
    }
    let answer = world.call_in("tool_search", r#"{"query": "secret merge"}"#, &cx).await;
    assert_eq!(found(&body(&answer)), ["mcp__hub__merge"]);
    assert_eq!(world.recorder.counts(), (0, 0));
}

#[test]
fn options_are_read_with_bounds() {
    let read = |value: Value| {
        SearchOptions::from_settings(&settings(&json!({ "tools": { "tool_search": value } })))
    };
    let usual =
        SearchOptions { when: When::Auto, threshold_percent: 10.0, limit: 5, limit_max: 20 };
    assert_eq!(SearchOptions::from_settings(&settings(&json!({}))), usual);
    for same in [json!(true), json!("auto"), json!("nonsense"), json!(7), json!({})] {
        assert_eq!(read(same.clone()), usual, "{same}");
    }
    assert_eq!(read(json!(false)).when, When::Off);
    assert_eq!(read(json!({ "enabled": "on" })).when, When::On);
    assert_eq!(read(json!({ "enabled": "off" })).when, When::Off);
    let bounded = read(json!({
        "threshold_pct": 250, "max_search_limit": 500, "search_default_limit": 90,
    }));
    assert_eq!((bounded.limit, bounded.limit_max), (50, 50));
    assert!((bounded.threshold_percent - 100.0).abs() < f64::EPSILON);
    assert_eq!(read(json!({ "max_search_limit": 0 })).limit_max, 1);
}

#[test]
fn the_bridge_pays_by_cost_and_window() {
    let auto = SearchOptions { when: When::Auto, threshold_percent: 10.0, limit: 5, limit_max: 20 };
    let table = [
        (auto, 19_999, None, false),
        (auto, 20_000, None, true),
        (auto, 999, Some(10_000), false),
        (auto, 1_000, Some(10_000), true),
        (auto, 0, Some(0), false),
        (SearchOptions { when: When::On, ..auto }, 1, None, true),
        (SearchOptions { when: When::On, ..auto }, 0, None, false),
        (SearchOptions { when: When::Off, ..auto }, 1_000_000, None, false),
    ];
    for (options, cost, window, wanted) in table {
        assert_eq!(options.active(cost, window), wanted, "{options:?} {cost} {window:?}");
    }
}
