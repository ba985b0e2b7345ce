//! A foreign schema, made fit for models, or kept out with the reason.

use serde_json::{Map, Value, json};

/// Larger schemas than this are no description of arguments.
const BYTES_MAX: usize = 256 * 1024;
/// Deeper ones neither.
const DEPTH_MAX: usize = 32;

/// The schema as it is registered; the reason when the tool is better left out.
pub(super) fn fit(schema: &Map<String, Value>) -> Result<Value, String> {
    let whole = Value::Object(schema.clone());
    if depth(&whole) > DEPTH_MAX {
        return Err(format!("its schema is nested deeper than {DEPTH_MAX} levels"));
    }
    let size = whole.to_string().len();
    if size > BYTES_MAX {
        return Err(format!("its schema has {size} bytes, more than {BYTES_MAX}"));
    }
    if schema.is_empty() {
        return Ok(json!({ "type": "object", "properties": {} }));
    }
    let mut fitted = whole;
    refine(&mut fitted);
    if fitted.get("type").is_none() {
        fitted["type"] = json!("object");
    }
    if fitted.get("type") != Some(&json!("object")) {
        return Err("its schema does not describe an object".to_owned());
    }
    Ok(fitted)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Keywords whose values are schemas by name; a property may be called like a keyword.
const BY_NAME: [&str; 4] = ["properties", "$defs", "patternProperties", "dependentSchemas"];
/// Keywords whose values are schemas or lists of them.
const NESTED: [&str; 9] = [
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "additionalProperties",
    "prefixItems",
    "contains",
    "then",
];

fn refine(node: &mut Value) {
    let Value::Object(object) = node else { return };
    if let Some(old) = object.remove("definitions") {
        object.entry("$defs").or_insert(old);
    }
    if let Some(Value::String(target)) = object.get_mut("$ref")
        && let Some(name) = target.strip_prefix("#/definitions/")
    {
        *target = format!("#/$defs/{name}");
    }
    collapse_nullable(object);
    for key in BY_NAME {
        for schema in object.get_mut(key).and_then(Value::as_object_mut).into_iter().flatten() {
            refine(schema.1);
        }
    }
    for key in NESTED {
        match object.get_mut(key) {
            Some(Value::Array(schemas)) => schemas.iter_mut().for_each(refine),
            Some(schema) => refine(schema),
            None => {}
        }
    }
    shape_object(object);
}

/// `anyOf: [X, null]` and `type: [X, null]` become X that may be null.
fn collapse_nullable(object: &mut Map<String, Value>) {
    let null = json!("null");
    if let Some(Value::Array(types)) = object.get("type") {
        let rest: Vec<Value> = types.iter().filter(|kind| **kind != null).cloned().collect();
        if rest.len() == 1 && types.len() == 2 {
            object.insert("type".to_owned(), rest[0].clone());
            object.insert("nullable".to_owned(), true.into());
        }
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(options)) = object.get(key) else { continue };
        let is_null = |option: &&Value| option.get("type") == Some(&null);
        let rest: Vec<&Value> = options.iter().filter(|option| !is_null(option)).collect();
        let (true, [Value::Object(only)]) = (options.len() == 2, rest.as_slice()) else { continue };
        let only = only.clone();
        object.remove(key);
        for (name, value) in only {
            object.entry(name).or_insert(value);
        }
        object.insert("nullable".to_owned(), true.into());
    }
}

/// What looks like an object says so, and requires only what it has.
fn shape_object(object: &mut Map<String, Value>) {
    let looks = object.contains_key("properties") || object.contains_key("required");
    if looks && !object.contains_key("type") {
        object.insert("type".to_owned(), json!("object"));
    }
    if object.get("type") != Some(&json!("object")) {
        return;
    }
    if !object.get("properties").is_some_and(Value::is_object) {
        object.insert("properties".to_owned(), json!({}));
    }
    let known: Vec<String> = object["properties"]
        .as_object()
        .map(|known| known.keys().cloned().collect())
        .unwrap_or_default();
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required
            .retain(|name| name.as_str().is_some_and(|name| known.iter().any(|one| one == name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "written in place")]
    fn fitted(schema: Value) -> Result<Value, String> {
        fit(schema.as_object().unwrap())
    }

    #[test]
    fn old_and_loose_schemas_are_made_fit() {
        let cases = [
            (json!({}), json!({ "type": "object", "properties": {} })),
            (json!({ "type": "object" }), json!({ "type": "object", "properties": {} })),
            (
                json!({ "properties": { "definitions": { "$ref": "#/definitions/a" } }, "definitions": { "a": { "type": "string" } }, "required": ["definitions", "gone"] }),
                json!({ "properties": { "definitions": { "$ref": "#/$defs/a" } }, "required": ["definitions"], "$defs": { "a": { "type": "string" } }, "type": "object" }),
            ),
            (
                json!({ "type": "object", "properties": { "x": { "anyOf": [{ "type": "string" }, { "type": "null" }] } } }),
                json!({ "type": "object", "properties": { "x": { "type": "string", "nullable": true } } }),
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(fitted(schema).unwrap(), expected);
        }
    }

    #[test]
    fn bombs_are_kept_out() {
        let mut deep = json!({ "type": "string" });
        for _ in 0..60 {
            deep = json!({ "type": "object", "properties": { "x": deep } });
        }
        assert!(fitted(deep).unwrap_err().contains("nested"));
        let wide: Map<String, Value> =
            (0..20_000).map(|n| (format!("property_{n}"), json!({ "type": "string" }))).collect();
        assert!(
            fitted(json!({ "type": "object", "properties": wide })).unwrap_err().contains("bytes")
        );
        assert!(fitted(json!({ "type": "array" })).unwrap_err().contains("object"));
    }
}
