//! `petasos toolsets`: names, and what they come down to.

use petasos_testkit::Home;
use serde_json::Value;

use crate::{petasos, run};

#[test]
fn a_bundle_resolves_to_the_sorted_core_list() {
    let resolution = run(&["toolsets", "resolve", "hermes-cli", "--json"]).json();
    let tools: Vec<&str> =
        resolution["tools"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    assert!(tools.is_sorted());
    for expected in ["read_file", "terminal", "kanban_show", "browser_navigate", "computer_use"] {
        assert!(tools.contains(&expected), "{expected}");
    }
    assert_eq!(resolution["trace"][0]["toolset"], "hermes-cli");
}

#[test]
fn composites_older_names_and_everything_resolve() {
    let tools = |name: &str| run(&["toolsets", "resolve", name, "--json"]).json()["tools"].clone();
    assert_eq!(
        tools("safe"),
        serde_json::json!(["image_generate", "vision_analyze", "web_extract", "web_search"])
    );
    assert_eq!(tools("terminal_tools"), serde_json::json!(["terminal"]));
    let all = tools("*");
    assert_eq!(all, tools("all"));
    assert!(all.as_array().unwrap().contains(&Value::from("spotify_queue")));
}

#[test]
fn an_unknown_toolset_is_an_error_with_the_nearest_name() {
    let finished = run(&["toolsets", "resolve", "hermes-telegramm"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("did you mean `hermes-telegram`?"), "{}", finished.stderr);
}

#[test]
fn showing_a_toolset_says_which_tools_this_program_has() {
    let shown = petasos(&Home::temp()).run(&["toolsets", "show", "debugging", "--json"]).json();
    assert_eq!(shown["includes"], serde_json::json!(["web", "file"]));
    let tools = shown["tools"].as_array().unwrap();
    let read_file = tools.iter().find(|tool| tool["name"] == "read_file").unwrap();
    assert_eq!(read_file["registered"], true);
}
