//! Fits argument values to a tool's schema where the meaning is plain; never fails.
//!
//! Models write `"42"` for 42 and `"[1]"` for a list. What cannot be fitted with certainty is left
//! as it is, and the tool says what it expected.

use serde_json::{Map, Number, Value};
use tracing::warn;

/// Nested containers are visited so deep; deeper values are left alone.
const DEPTH_MAX: usize = 32;

/// Coerces each argument by the property of the same name.
pub fn coerce(args: &mut Map<String, Value>, parameters: Option<&Value>) {
    let properties = parameters.and_then(|schema| schema.get("properties")?.as_object());
    let Some(properties) = properties else { return };
    for (name, value) in args.iter_mut() {
        if let Some(schema) = properties.get(name) {
            coerce_value(value, schema, DEPTH_MAX);
        }
    }
}

fn coerce_value(value: &mut Value, schema: &Value, depth: usize) {
    if value.is_null() || depth == 0 {
        return;
    }
    let says_null = |text: &str| text.trim().eq_ignore_ascii_case("null");
    if value.as_str().is_some_and(says_null) && is_nullable(schema) {
        *value = Value::Null;
        return;
    }
    let changed = kinds(schema).any(|kind| coerce_to(value, kind));
    if !changed && kinds(schema).any(|kind| kind == "array") {
        wrap(value, schema);
    }
    match value {
        Value::Array(items) if kinds(schema).any(|kind| kind == "array") => {
            let Some(of) = schema.get("items") else { return };
            for item in items {
                parse_container(item, of);
                coerce_container(item, of, depth - 1);
            }
        }
        Value::Object(fields) if kinds(schema).any(|kind| kind == "object") => {
            let Some(Value::Object(properties)) = schema.get("properties") else { return };
            for (name, field) in fields.iter_mut() {
                if let Some(of) = properties.get(name) {
                    parse_container(field, of);
                    coerce_container(field, of, depth - 1);
                }
            }
        }
        _ => {}
    }
}

/// Below the top only containers are followed: elements that are text stay text.
fn coerce_container(value: &mut Value, schema: &Value, depth: usize) {
    if value.is_array() || value.is_object() {
        coerce_value(value, schema, depth);
    }
}

/// JSON text where the schema expects a container becomes that container.
fn parse_container(value: &mut Value, schema: &Value) {
    let Value::String(text) = &*value else { return };
    for kind in kinds(schema) {
        let parsed = match kind {
            "array" => parse_as(text, Value::is_array),
            "object" => parse_as(text, Value::is_object),
            _ => None,
        };
        if let Some(parsed) = parsed {
            *value = parsed;
            return;
        }
    }
}

/// The types a schema names, in order.
fn kinds(schema: &Value) -> impl Iterator<Item = &str> {
    let named = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    named.iter().filter_map(Value::as_str)
}

fn is_nullable(schema: &Value) -> bool {
    let says_null = |schema: &Value| kinds(schema).any(|kind| kind == "null");
    let branches = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
    says_null(schema)
        || schema.get("nullable") == Some(&Value::Bool(true))
        || branches.flatten().any(says_null)
}

/// Whether the value became one of this kind.
fn coerce_to(value: &mut Value, kind: &str) -> bool {
    let coerced = match (kind, &*value) {
        ("integer", Value::String(text)) => integer(text),
        ("number", Value::String(text)) => number(text),
        ("boolean", Value::String(text)) => boolean(text),
        ("object", Value::String(text)) => parse_as(text, Value::is_object),
        ("array", Value::String(text)) => parse_as(text, Value::is_array),
        _ => None,
    };
    coerced.is_some_and(|coerced| {
        *value = coerced;
        true
    })
}

/// One value for a list means a list of one, unless it fits another type that the schema names.
fn wrap(value: &mut Value, schema: &Value) {
    if kinds(schema).any(|kind| is_of_kind(value, kind)) {
        return;
    }
    if value.as_str().is_some_and(|text| text.trim_start().starts_with(['[', '{'])) {
        warn!("an argument looks like JSON but does not parse as a list, wrapped as one element");
    }
    *value = Value::Array(vec![value.take()]);
}

fn is_of_kind(value: &Value, kind: &str) -> bool {
    match (kind, value) {
        ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
        ("array", Value::Array(_))
        | ("object", Value::Object(_))
        | ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null) => true,
        _ => false,
    }
}

fn parse_as(text: &str, fits: impl Fn(&Value) -> bool) -> Option<Value> {
    serde_json::from_str(text).ok().filter(|value| fits(value))
}

fn boolean(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("true") {
        Some(Value::Bool(true))
    } else if text.eq_ignore_ascii_case("false") {
        Some(Value::Bool(false))
    } else {
        None
    }
}

fn integer(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    whole(finite(text)?)
}

fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    let value = finite(text)?;
    whole(value).or_else(|| Number::from_f64(value).map(Value::Number))
}

/// Finite decimal text; `inf` and `nan` are words, not numbers.
fn finite(text: &str) -> Option<f64> {
    let plain =
        text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
    if !plain {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A number without a fraction, as long as it is exact.
fn whole(value: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() != 0.0 || value.abs() > EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "integral and within the exact range")]
    let whole = value as i64;
    Some(whole.into())
}
