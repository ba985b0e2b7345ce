//! Makes a function schema acceptable to strict providers without changing what it means.
//!
//! Works on a copy, in place, once per definition. What it fixes and for whom is said beside each
//! step. Dialects of single providers are lowered elsewhere, from this common form.

use serde_json::{Map, Value, json};

/// Depth at which a foreign schema is cut off: deeper ones are bombs, not schemas.
const DEPTH_MAX: usize = 64;

/// Keywords whose value is one schema.
const ONE: &[&str] = &[
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
    "not",
    "additionalItems",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords whose value is a list of schemas.
const LIST: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value maps names to schemas.
const NAMED: &[&str] =
    &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords that may not stand at the top of a function's parameters.
const NOT_AT_TOP: &[&str] = &["allOf", "anyOf", "oneOf", "enum", "not"];

/// Fixes the `parameters` of a function schema.
pub fn sanitise(function: &mut Map<String, Value>) {
    let parameters = function.entry("parameters").or_insert(Value::Null);
    if !parameters.is_object() {
        *parameters = json!({ "type": "object", "properties": {} });
        return;
    }
    fix(parameters, DEPTH_MAX);
    let Value::Object(top) = parameters else { return };
    for keyword in NOT_AT_TOP {
        top.shift_remove(*keyword);
    }
    top.shift_remove("nullable");
    top.insert("type".to_owned(), "object".into());
    if !top.get("properties").is_some_and(Value::is_object) {
        top.insert("properties".to_owned(), json!({}));
    }
    prune_required(top);
}

/// Fixes one schema and everything below it.
fn fix(schema: &mut Value, depth: usize) {
    from_bare_word(schema);
    if depth == 0 {
        *schema = json!({});
        return;
    }
    let Value::Object(object) = schema else { return };
    split_types(object);
    // Branches are fixed before one of them takes the union's place.
    each_below(object, |below| fix(below, depth - 1));
    collapse_nullable_union(object);
    if object.contains_key("$ref") {
        object.shift_remove("default");
    }
    if object.get("type").and_then(Value::as_str) == Some("object")
        && !object.get("properties").is_some_and(Value::is_object)
    {
        object.insert("properties".to_owned(), json!({}));
    }
    prune_required(object);
}

/// Malformed servers write `"object"` where a schema belongs.
fn from_bare_word(schema: &mut Value) {
    let Value::String(word) = schema else { return };
    *schema = match word.as_str() {
        "object" => json!({ "type": "object", "properties": {} }),
        "string" | "number" | "integer" | "boolean" | "array" | "null" => json!({ "type": word }),
        _ => json!({}),
    };
}

/// `type: [X, "null"]` becomes `X` and `nullable`; several types become an `anyOf`.
fn split_types(object: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = object.get("type") else { return };
    let nullable = types.iter().any(|kind| kind == "null");
    let others: Vec<Value> = types.iter().filter(|kind| *kind != "null").cloned().collect();
    match others.as_slice() {
        [] => {
            object.insert("type".to_owned(), "null".into());
            return;
        }
        [one] => {
            object.insert("type".to_owned(), one.clone());
        }
        many => {
            let branches: Vec<Value> = many.iter().map(|kind| json!({ "type": kind })).collect();
            object.shift_remove("type");
            object.insert("anyOf".to_owned(), Value::Array(branches));
        }
    }
    if nullable {
        object.insert("nullable".to_owned(), true.into());
    }
}

/// A union of one real branch and null becomes that branch, with the outer words carried over.
fn collapse_nullable_union(object: &mut Map<String, Value>) {
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = object.get(keyword) else { continue };
        let is_null = |branch: &&Value| branch.get("type").and_then(Value::as_str) == Some("null");
        let real: Vec<&Value> = branches.iter().filter(|branch| !is_null(branch)).collect();
        let [Value::Object(only)] = real.as_slice() else { continue };
        if branches.len() == real.len() {
            continue;
        }
        let mut merged = only.clone();
        for (key, value) in object.iter() {
            if key != keyword {
                merged.insert(key.clone(), value.clone());
            }
        }
        merged.insert("nullable".to_owned(), true.into());
        *object = merged;
        return;
    }
}

/// `required` names only properties that exist, or goes.
fn prune_required(object: &mut Map<String, Value>) {
    let Some(Value::Array(required)) = object.get("required") else { return };
    let Some(Value::Object(properties)) = object.get("properties") else { return };
    let known: Vec<Value> = required
        .iter()
        .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
        .cloned()
        .collect();
    if known.is_empty() {
        object.shift_remove("required");
    } else if known.len() != required.len() {
        object.insert("required".to_owned(), Value::Array(known));
    }
}

/// Visits every schema below one, but nothing that is a value: `enum`, `default`, `examples`.
fn each_below(object: &mut Map<String, Value>, mut visit: impl FnMut(&mut Value)) {
    for keyword in ONE {
        match object.get_mut(*keyword) {
            Some(Value::Array(list)) => list.iter_mut().for_each(&mut visit),
            Some(below @ (Value::Object(_) | Value::String(_))) => visit(below),
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
        }
    }
    for keyword in LIST {
        if let Some(Value::Array(list)) = object.get_mut(*keyword) {
            list.iter_mut().for_each(&mut visit);
        }
    }
    for keyword in NAMED {
        if let Some(Value::Object(map)) = object.get_mut(*keyword) {
            map.values_mut().for_each(&mut visit);
        }
    }
}
