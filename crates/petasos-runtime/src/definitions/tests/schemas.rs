//! Schemas as strict providers take them, fix by fix.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::sanitise;

fn parameters(given: Value) -> Value {
    let mut function = serde_json::Map::new();
    function.insert("parameters".to_owned(), given);
    sanitise(&mut function);
    function.remove("parameters").unwrap()
}

/// One property's schema, sanitised.
fn property(given: &Value) -> Value {
    let whole = parameters(json!({ "type": "object", "properties": { "p": given } }));
    whole["properties"]["p"].clone()
}

#[test]
fn parameters_are_always_an_object_schema() {
    let empty = json!({ "type": "object", "properties": {} });
    for given in [json!(null), json!("object"), json!([1]), json!({}), json!({ "type": "string" })]
    {
        let fixed = parameters(given.clone());
        assert_eq!(
            (&fixed["type"], &fixed["properties"]),
            (&empty["type"], &empty["properties"]),
            "{given}"
        );
    }
    let mut function = serde_json::Map::new();
    sanitise(&mut function);
    assert_eq!(function["parameters"], empty);
}

#[test]
fn malformed_and_compound_schemas_become_plain_ones() {
    let table = [
        (json!("object"), json!({ "type": "object", "properties": {} })),
        (json!("string"), json!({ "type": "string" })),
        (json!("whatever"), json!({})),
        (json!({ "type": ["string", "null"] }), json!({ "type": "string", "nullable": true })),
        (
            json!({ "type": ["string", "integer"] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
        ),
        (
            json!({ "type": ["string", "integer", "null"] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }], "nullable": true }),
        ),
        (json!({ "type": ["null"] }), json!({ "type": "null" })),
        (json!({ "type": [] }), json!({ "type": "null" })),
        (json!({ "type": "object" }), json!({ "type": "object", "properties": {} })),
        (
            json!({ "type": "array", "items": "string" }),
            json!({ "type": "array", "items": { "type": "string" } }),
        ),
        (json!({ "$ref": "#/x", "default": 1 }), json!({ "$ref": "#/x" })),
        (
            json!({ "enum": ["object"], "type": "string" }),
            json!({ "enum": ["object"], "type": "string" }),
        ),
        (
            json!({ "type": "string", "default": "object", "examples": ["object"] }),
            json!({ "type": "string", "default": "object", "examples": ["object"] }),
        ),
    ];
    for (given, wanted) in table {
        assert_eq!(property(&given), wanted, "{given}");
    }
}

#[test]
fn a_union_of_one_thing_and_null_is_that_thing() {
    let table = [
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "title": "T", "default": null }),
            json!({ "type": "string", "nullable": true, "title": "T", "default": null }),
        ),
        (
            json!({ "oneOf": [{ "type": "null" }, { "type": "object" }], "description": "D" }),
            json!({ "type": "object", "properties": {}, "nullable": true, "description": "D" }),
        ),
        (
            json!({ "anyOf": ["string", { "type": "null" }] }),
            json!({ "type": "string", "nullable": true }),
        ),
        (
            json!({ "anyOf": [{ "type": ["integer", "null"] }, { "type": "null" }] }),
            json!({ "type": "integer", "nullable": true }),
        ),
        (
            json!({ "anyOf": [{ "$ref": "#/x" }, { "type": "null" }], "default": null }),
            json!({ "$ref": "#/x", "nullable": true }),
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
        ),
    ];
    for (given, wanted) in table {
        assert_eq!(property(&given), wanted, "{given}");
    }
}

#[test]
fn required_names_only_what_is_there() {
    let schema = |required: Value| json!({ "type": "object", "properties": { "a": {} }, "required": required });
    assert_eq!(parameters(schema(json!(["a", "b", 5])))["required"], json!(["a"]));
    assert_eq!(parameters(schema(json!(["b"]))).get("required"), None);
    assert_eq!(property(&json!({ "type": "object", "required": ["x"] })).get("required"), None);
}

#[test]
fn the_top_has_no_combinators_but_a_property_of_that_name_stays() {
    let top = json!({
        "type": "object",
        "properties": { "not": { "type": "string" }, "items": { "type": "array" } },
        "allOf": [{}], "anyOf": [{}], "oneOf": [{}], "enum": [1], "not": {},
    });
    let fixed = parameters(top);
    let keys: Vec<&String> = fixed.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["type", "properties"]);
    assert_eq!(fixed["properties"]["not"], json!({ "type": "string" }));
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!("object")),
        Just(json!("odd")),
        Just(json!(null)),
        Just(json!(true)),
        Just(json!({ "type": "null" })),
        Just(json!({ "type": ["string", "null"] })),
        Just(json!({ "$ref": "#/a", "default": 2 })),
        Just(json!(["string", "null"])),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "items",
            "properties",
            "anyOf",
            "oneOf",
            "allOf",
            "required",
            "enum",
            "not",
            "a",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key, inner), 0..5).prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_schema_comes_out_as_an_object_schema_and_stays_as_it_is(schema in any_schema()) {
        let once = parameters(schema);
        prop_assert_eq!(&once["type"], "object");
        prop_assert!(once["properties"].is_object());
        prop_assert_eq!(parameters(once.clone()), once);
    }
}
