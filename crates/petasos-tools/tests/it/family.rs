//! What holds for every built-in tool.

use std::collections::BTreeSet;

use petasos_contract::ToolName;
use petasos_contract::ports::Ports;
use petasos_contract::tool::Patch;
use petasos_tools::{BUILTIN, discover_builtin_tools};
use serde_json::Value;

use crate::bench::Bench;

#[test]
fn discovery_gives_the_index_in_the_order_of_names() {
    let names: Vec<_> = discover_builtin_tools().iter().map(|def| def.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(names, BUILTIN.iter().map(|def| def.name).collect::<Vec<_>>());
}

/// The kinds of failure that a model can meet.
const KINDS: &str = "missing_setup bad_argument not_found ambiguous stale covered not_actionable \
    dialog_open blocked_address blocked_policy blocked_site tainted denied timeout cancelled \
    rate_limited quota auth upstream too_large unsupported crashed busy no_result";

/// The first example of a tool works where everything that it needs is there: the walk over every
/// row runs it. In a bare place it works too, or says in the shared shape what is missing. The
/// others show what they say anywhere.
#[test]
fn every_example_shows_what_it_says() {
    let mut wrong = Vec::new();
    for def in BUILTIN {
        assert!(!def.examples.is_empty(), "{} has no example", def.name);
        for (at, example) in def.examples.iter().enumerate() {
            let bench = Bench::local(&serde_json::json!({}));
            bench.file("README.md", "# Sample\n\nA sample workspace.\n");
            bench.file("src/main.rs", "fn main() {\n    let sample = 1;\n    drop(sample);\n}\n");
            let args = serde_json::from_str(example.args).unwrap();
            let told = bench.run(def.name, &args);
            let shows = told.to_string().contains(example.shows);
            let says_why = told["error"].as_str().is_some_and(|text| !text.is_empty())
                && told["error_type"]
                    .as_str()
                    .is_some_and(|kind| KINDS.split_whitespace().any(|known| known == kind));
            if !(shows || at == 0 && says_why) {
                wrong.push(format!("{}, {}: {told}", def.name, example.title));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_schema_describes_itself_and_names_what_it_requires() {
    for def in BUILTIN {
        let schema = (def.schema)();
        let text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
        assert!(text(&schema["description"]), "{}", def.name);
        let properties = schema["parameters"]["properties"].as_object().unwrap();
        for (name, property) in properties {
            // A name that says everything needs no words: each costs every request.
            let described = property.get("description");
            assert!(described.is_none_or(text), "{}.{name}", def.name);
        }
        let names: BTreeSet<_> = properties.keys().map(String::as_str).collect();
        let required = schema["parameters"]["required"].as_array();
        for name in required.into_iter().flatten() {
            assert!(names.contains(name.as_str().unwrap()), "{}: {name}", def.name);
        }
    }
}

#[test]
fn a_schema_names_no_tool_that_is_not_there() {
    // Names that are plain words are looked for the way a schema speaks of a tool.
    let spoken = |tool: &'static str| match tool {
        "contacts" | "discord" | "notify" => vec!["contacts tool", "discord tool", "notify tool"],
        "patch" => vec!["Use patch"],
        "process" => vec!["process tool"],
        "terminal" => vec!["the terminal", "terminal started", "terminal named"],
        other => vec![other],
    };
    for def in BUILTIN {
        let tool = (def.build)(&Ports::default());
        // An action of `skill_manage` is called like a tool.
        let is_action = |name: &str| def.name == "skill_manage" && name == "write_file";
        let others = BUILTIN.iter().filter(|other| other.name != def.name);
        for missing in others.filter(|other| !is_action(other.name)) {
            let granted = BUILTIN.iter().filter(|other| other.name != missing.name);
            let granted: BTreeSet<ToolName> =
                granted.map(|other| ToolName::new(other.name)).collect();
            let mut schema = (def.schema)();
            if let Patch::Merge(changes) = tool.schema_patch(&granted).unwrap() {
                schema.as_object_mut().unwrap().extend(changes);
            }
            let text = schema.to_string();
            for words in spoken(missing.name) {
                let what = format!("{} without {}: {text}", def.name, missing.name);
                assert!(!text.contains(words), "{what}");
            }
        }
        let all = BUILTIN.iter().map(|other| ToolName::new(other.name)).collect();
        if let Patch::Merge(changes) = tool.schema_patch(&all).unwrap() {
            assert_eq!(def.name, "execute_code", "{changes:?}");
        }
    }
}
