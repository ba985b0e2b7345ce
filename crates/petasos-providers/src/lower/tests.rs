//! One table of schemas against every dialect's rules.

use petasos_contract::model::Definition;
use serde_json::{Value, json};

use super::*;

fn tool(name: &str, parameters: Value) -> Definition {
    Definition { name: name.into(), description: "does it".to_owned(), parameters }
}

fn check(schemas: Schemas, parameters: Value, expected: &Value) {
    let lowering = lower(&[tool("t", parameters)], schemas, &BTreeSet::new());
    assert_eq!(lowering.quarantined, []);
    assert_eq!(&lowering.tools[0].schema, expected, "{schemas:?}");
}

#[test]
fn every_dialect_gets_a_schema_that_it_accepts() {
    let source = json!({"type": "object", "$schema": "x", "properties": {
        "a": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
        "b": {"$ref": "#/$defs/B"}, "m": {"type": "string", "pattern": "^x", "format": "uri",
        "enum": ["x/y"]}},
        "required": ["a", "gone"], "$defs": {"B": {"type": ["string", "null"]}}, "oneOf": [{}]});
    let m = json!({"type": "string", "pattern": "^x", "format": "uri", "enum": ["x/y"]});
    check(
        Schemas::Anthropic,
        source.clone(),
        &json!({"type": "object", "properties": {
        "a": {"default": null, "type": "integer"}, "b": {"type": "string"}, "m": m},
        "required": ["a", "gone"]}),
    );
    check(
        Schemas::Gemini,
        source.clone(),
        &json!({"type": "object", "properties": {
        "a": {"nullable": true, "type": "integer"}, "b": {"nullable": true, "type": "string"},
        "m": {"type": "string", "pattern": "^x", "enum": ["x/y"]}}, "required": ["a"]}),
    );
    check(
        Schemas::Xai,
        source,
        &json!({"type": "object", "properties": {
        "a": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
        "b": {"type": ["string", "null"]}, "m": {"type": "string"}},
        "required": ["a", "gone"], "oneOf": [{}]}),
    );
    check(Schemas::Plain, Value::Null, &json!({"type": "object", "properties": {}}));
}

#[test]
fn a_schema_that_cannot_be_lowered_leaves_out_its_own_tool_only() {
    let looped = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}}});
    let tools = [
        tool("good", json!({"type": "object"})),
        tool("looped", looped),
        tool("remote", json!({"$ref": "https://example.org/schema"})),
        tool("listed", json!({"type": "array"})),
        tool("bad name", json!({})),
        tool("good", json!({})),
        tool("refused", json!({})),
    ];
    let repairs = BTreeSet::from([Repair::Quarantine("refused".into())]);
    let lowering = lower(&tools, Schemas::Plain, &repairs);
    let kept: Vec<_> = lowering.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(kept, ["good"]);
    let out: Vec<_> = lowering.quarantined.iter().map(|one| one.tool.as_str()).collect();
    assert_eq!(out, ["looped", "remote", "listed", "bad name", "good", "refused"]);
}
