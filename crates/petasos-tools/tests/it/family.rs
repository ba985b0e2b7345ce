//! What holds for every built-in tool.

use std::collections::BTreeSet;

use petasos_tools::{BUILTIN, discover_builtin_tools};
use serde_json::Value;

use crate::bench::Bench;

#[test]
fn discovery_gives_the_index_in_the_order_of_names() {
    let names: Vec<_> = discover_builtin_tools().iter().map(|def| def.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(names, BUILTIN.iter().map(|def| def.name).collect::<Vec<_>>());
}

#[test]
fn every_example_shows_what_it_says() {
    for def in BUILTIN {
        assert!(!def.examples.is_empty(), "{} has no example", def.name);
        for example in def.examples {
            let bench = Bench::local(&serde_json::json!({}));
            bench.file("README.md", "# Sample\n\nA sample workspace.\n");
            bench.file("src/main.rs", "fn main() {\n    let sample = 1;\n    drop(sample);\n}\n");
            let args = serde_json::from_str(example.args).unwrap();
            let result = bench.run(def.name, &args).to_string();
            let what = format!("{}, {}", def.name, example.title);
            assert!(result.contains(example.shows), "{what}: {result}");
        }
    }
}

#[test]
fn every_schema_describes_itself_and_names_what_it_requires() {
    for def in BUILTIN {
        let schema = (def.schema)();
        let text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
        assert!(text(&schema["description"]), "{}", def.name);
        let properties = schema["parameters"]["properties"].as_object().unwrap();
        for (name, property) in properties {
            assert!(text(&property["description"]), "{}.{name}", def.name);
        }
        let names: BTreeSet<_> = properties.keys().map(String::as_str).collect();
        let required = schema["parameters"]["required"].as_array();
        for name in required.into_iter().flatten() {
            assert!(names.contains(name.as_str().unwrap()), "{}: {name}", def.name);
        }
    }
}
