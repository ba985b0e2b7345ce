//! Google's subset: an allow-list of keywords, one type per node, string enums only.

use serde_json::{Map, Value, json};

const KEPT: [&str; 13] = [
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
];
const FORMATS: [&str; 6] = ["enum", "date-time", "int32", "int64", "float", "double"];

/// The node in Google's subset.
pub(super) fn lower(schema: &Value) -> Value {
    let Value::Object(node) = schema else { return json!({"type": "string"}) };
    let mut kept: Map<String, Value> = Map::new();
    kinds(node, &mut kept);
    for (key, value) in node {
        let value = match key.as_str() {
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let each = properties.map(|(name, child)| (name.clone(), lower(child)));
                Value::Object(each.collect())
            }
            "items" => lower(value),
            "oneOf" | "anyOf" => continue,
            "format" if FORMATS.iter().any(|format| value == format) => value.clone(),
            key if KEPT.contains(&key) => value.clone(),
            _ => continue,
        };
        kept.insert(key.clone(), value);
    }
    options(node, &mut kept);
    tidy(&mut kept);
    Value::Object(kept)
}

/// One type; a `null` among several means nullable.
fn kinds(node: &Map<String, Value>, kept: &mut Map<String, Value>) {
    let kinds: Vec<&str> = match node.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if kinds.contains(&"null") {
        kept.insert("nullable".to_owned(), json!(true));
    }
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "null").collect();
    match kinds.as_slice() {
        [] => {}
        [only] => drop(kept.insert("type".to_owned(), json!(only))),
        several => {
            let each = several.iter().map(|kind| json!({"type": kind}));
            kept.insert("anyOf".to_owned(), Value::Array(each.collect()));
        }
    }
}

fn options(node: &Map<String, Value>, kept: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = node.get("anyOf").or_else(|| node.get("oneOf")) else {
        return;
    };
    let is_null = |option: &&Value| option.get("type") == Some(&json!("null"));
    if options.iter().any(|option| is_null(&option)) {
        kept.insert("nullable".to_owned(), json!(true));
    }
    let rest: Vec<Value> = options.iter().filter(|option| !is_null(option)).map(lower).collect();
    match rest.as_slice() {
        [Value::Object(only)] => {
            for (key, value) in only {
                kept.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        [] => {}
        _ => {
            kept.shift_remove("type");
            kept.insert("anyOf".to_owned(), Value::Array(rest));
        }
    }
}

fn tidy(kept: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = kept.get_mut("enum") {
        values.retain(|value| !value.is_null());
        if values.is_empty() || !values.iter().all(Value::is_string) {
            kept.shift_remove("enum");
        } else {
            kept.insert("type".to_owned(), json!("string"));
        }
    }
    let known: Vec<String> = kept
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    if let Some(Value::Array(required)) = kept.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| known.iter().any(|k| k == name)));
        if required.is_empty() {
            kept.shift_remove("required");
        }
    }
    if !kept.contains_key("type") && !kept.contains_key("anyOf") {
        let kind = if kept.contains_key("properties") {
            "object"
        } else if kept.contains_key("items") {
            "array"
        } else {
            "string"
        };
        kept.insert("type".to_owned(), json!(kind));
    }
    if kept.get("type") == Some(&json!("array")) && !kept.contains_key("items") {
        kept.insert("items".to_owned(), json!({"type": "string"}));
    }
}
