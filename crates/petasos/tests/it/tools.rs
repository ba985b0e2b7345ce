//! `petasos tools`: lists, schemas, calls and explanations.

use std::collections::BTreeSet;

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::{petasos, run};

fn names(listing: &Value) -> BTreeSet<String> {
    let tools = listing["tools"].as_array().expect("a list of tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_listing_gives_name_toolset_and_reason_of_every_tool() {
    let listing = run(&["tools", "list", "--all", "--json"]).json();
    for tool in listing["tools"].as_array().expect("a list") {
        assert!(tool["name"].is_string());
        let available = tool["available"].as_bool().expect("a boolean");
        assert_eq!(tool["reason"].is_string(), !available, "{tool}");
    }
    let read_file = listing["tools"].as_array().unwrap().iter().find(|t| t["name"] == "read_file");
    let read_file = read_file.expect("read_file is listed");
    assert_eq!(read_file["toolset"], "file");
    assert_eq!(read_file["available"], true);
    assert_eq!(read_file["emoji"], "📖");
}

#[test]
fn choices_are_obeyed() {
    let pick = |words: &[&str]| {
        let all: Vec<&str> = ["tools", "list", "--json"].iter().chain(words).copied().collect();
        names(&run(&all).json())
    };
    assert!(pick(&[]).contains("read_file"));
    assert!(pick(&["--enabled", "file"]).contains("search_files"));
    assert_eq!(pick(&["--enabled="]), BTreeSet::new());
    assert_eq!(pick(&["--enabled", "file", "--disabled", "file"]), BTreeSet::new());
    assert!(!pick(&["--disabled", "file"]).contains("read_file"));
    assert!(pick(&["--disabled", "hermes-discord"]).contains("read_file"));
    assert!(pick(&["--enabled", "file_tools,nope"]).contains("read_file"));
}

#[test]
fn a_call_prints_the_result_and_succeeds_also_with_an_error_result() {
    let home = Home::temp();
    home.write("work/a.txt", "one\ntwo\n");
    let call =
        |name: &str, arguments: &str| petasos(&home).run(&["tools", "call", name, arguments]);
    let good = call("read_file", r#"{"path": "a.txt"}"#);
    assert_eq!(good.code, Some(0));
    assert_eq!(good.json()["content"], "1|one\n2|two");
    for (name, arguments) in
        [("read_file", "garbage"), ("read_file", "[]"), ("read_file", "{}"), ("nope", "{}")]
    {
        let bad = call(name, arguments);
        assert_eq!(bad.code, Some(0), "{name} {arguments}");
        assert!(bad.json()["error"].is_string(), "{name} {arguments}: {}", bad.stdout);
    }
}

#[test]
fn arguments_may_come_from_standard_input() {
    let home = Home::temp();
    home.write("work/a.txt", "one\n");
    let finished =
        petasos(&home).input(r#"{"path": "a.txt"}"#).run(&["tools", "call", "read_file", "-"]);
    assert_eq!(finished.json()["total_lines"], 1);
}

#[test]
fn a_schema_is_what_a_model_receives() {
    let one = run(&["tools", "schema", "read_file"]).json();
    assert_eq!(one["type"], "function");
    assert_eq!(one["function"]["name"], "read_file");
    assert_eq!(one["function"]["parameters"]["type"], "object");
    let all = run(&["tools", "schema", "--enabled", "file,terminal"]).json();
    assert!(all.as_array().expect("a list").contains(&one));
    let alone = run(&["tools", "schema", "--enabled", "file"]).stdout;
    assert!(!alone.contains("the terminal"), "there is none: {alone}");
    let missing = run(&["tools", "schema", "raed_file"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("did you mean `read_file`?"), "{}", missing.stderr);
}

#[test]
fn an_explanation_names_each_step_and_the_verdict() {
    let explain = |home: &Home, words: &[&str]| {
        let all: Vec<&str> = ["tools", "explain", "--json"].iter().chain(words).copied().collect();
        petasos(home).run(&all).json()
    };
    let home = Home::temp();
    let offered = explain(&home, &["read_file", "--surface", "telegram"]);
    assert_eq!(offered["verdict"], "offered");
    let steps: Vec<&str> =
        offered["steps"].as_array().unwrap().iter().map(|s| s["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["registry", "surface", "toolset", "check", "patch"]);

    home.write(".petasos/config.yaml", "agent:\n  disabled_toolsets: [file]\n");
    let disabled = explain(&home, &["read_file", "--surface", "telegram"]);
    assert_eq!(disabled["verdict"], "hidden");
    let off = json!({
        "step": "surface", "passed": false,
        "detail": "toolset `file` is off: in `agent.disabled_toolsets`",
    });
    assert!(disabled["steps"].as_array().unwrap().contains(&off), "{disabled}");
    assert_eq!(explain(&home, &["read_file", "--surface", "webhook"])["verdict"], "hidden");
}
