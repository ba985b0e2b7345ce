//! Tool schemas from the canonical form into what one dialect accepts.
//!
//! A schema that cannot be lowered, or that a provider refused before, quarantines its own tool
//! and no other; the tool and the reason are handed back so that a person hears of it.

mod gemini;
mod inline;

use std::collections::BTreeSet;

use petasos_contract::id::ToolName;
use petasos_contract::model::Definition;
use serde_json::{Map, Value, json};

use crate::transport::Quarantined;
use crate::transport::target::{Repair, Target};

/// What a dialect accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schemas {
    /// JSON Schema as it is.
    Plain,
    /// No unions at the top, no nullable unions.
    Anthropic,
    /// Google's subset of OpenAPI.
    Gemini,
    /// A type on every node, and none beside `anyOf`.
    Moonshot,
    /// No patterns, formats or enum values with slashes.
    Xai,
}

impl Schemas {
    /// What a chat or Responses target accepts.
    pub fn of(target: &Target) -> Self {
        match target.provider.as_str() {
            "kimi-coding" | "kimi-coding-cn" => Self::Moonshot,
            "xai" | "xai-oauth" => Self::Xai,
            "gemini" => Self::Gemini,
            _ if target.family().starts_with("kimi") => Self::Moonshot,
            _ => Self::Plain,
        }
    }
}

/// A tool as a dialect is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    /// The name on the wire.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
}

/// Every tool, or why not.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowering {
    /// Those offered, in the order given.
    pub tools: Vec<Lowered>,
    /// Those left out.
    pub quarantined: Vec<Quarantined>,
}

impl Lowering {
    /// The names of those offered, in the order sent.
    pub fn names(&self) -> Vec<ToolName> {
        self.tools.iter().map(|tool| tool.name.as_str().into()).collect()
    }
}

/// The deepest schema that is taken.
const DEPTH_MAX: usize = 48;
/// Every dialect's bound on names, the strictest of them.
const NAME_CHARS_MAX: usize = 64;

/// Lowers every tool.
pub fn lower(tools: &[Definition], schemas: Schemas, repairs: &BTreeSet<Repair>) -> Lowering {
    let mut lowering = Lowering { tools: Vec::new(), quarantined: Vec::new() };
    for tool in tools {
        match one(tool, schemas, repairs, &lowering.tools) {
            Ok(lowered) => lowering.tools.push(lowered),
            Err(why) => {
                lowering.quarantined.push(Quarantined { tool: tool.name.clone(), why });
            }
        }
    }
    lowering
}

fn one(
    tool: &Definition,
    schemas: Schemas,
    repairs: &BTreeSet<Repair>,
    earlier: &[Lowered],
) -> Result<Lowered, String> {
    let name = tool.name.to_string();
    if repairs.contains(&Repair::Quarantine(tool.name.clone())) {
        return Err("the provider refused its schema".to_owned());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(plain) {
        return Err("its name is not 1 to 64 letters, digits, `_` or `-`".to_owned());
    }
    if earlier.iter().any(|lowered| lowered.name == name) {
        return Err("another tool has the same name".to_owned());
    }
    let mut schema = inline::inline(&tool.parameters, DEPTH_MAX)?;
    object_at_top(&mut schema)?;
    match schemas {
        Schemas::Plain => {}
        Schemas::Anthropic => anthropic(&mut schema),
        Schemas::Gemini => schema = gemini::lower(&schema),
        Schemas::Moonshot => walk(&mut schema, &moonshot),
        Schemas::Xai => walk(&mut schema, &xai),
    }
    if repairs.contains(&Repair::DropPatterns) {
        walk(&mut schema, &|node| {
            node.shift_remove("pattern");
            node.shift_remove("format");
        });
    }
    Ok(Lowered { name, description: tool.description.clone(), schema })
}

/// Arguments are always an object; an empty schema means one without properties.
fn object_at_top(schema: &mut Value) -> Result<(), String> {
    if schema.is_null() || schema.as_object().is_some_and(Map::is_empty) {
        *schema = json!({"type": "object", "properties": {}});
    }
    let Value::Object(top) = schema else {
        return Err("its parameters are not a schema object".to_owned());
    };
    match top.get("type") {
        None => {
            top.insert("type".to_owned(), json!("object"));
        }
        Some(Value::String(kind)) if kind == "object" => {}
        Some(other) => return Err(format!("its parameters are of type {other} and not an object")),
    }
    if !top.get("properties").is_some_and(Value::is_object) {
        top.insert("properties".to_owned(), json!({}));
    }
    top.shift_remove("$schema");
    Ok(())
}

fn anthropic(schema: &mut Value) {
    if let Some(top) = schema.as_object_mut() {
        for key in ["oneOf", "allOf", "anyOf"] {
            top.shift_remove(key);
        }
    }
    walk(schema, &collapse_null);
}

/// `anyOf: [X, null]` and `type: [X, "null"]` become X: an optional argument is left out.
fn collapse_null(node: &mut Map<String, Value>) {
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(options)) = node.get(key) else { continue };
        let is_null = |option: &&Value| option.get("type") == Some(&json!("null"));
        let rest: Vec<Value> = options.iter().filter(|option| !is_null(option)).cloned().collect();
        if rest.len() == options.len() || rest.len() != 1 {
            continue;
        }
        node.shift_remove(key);
        if let Some(Value::Object(only)) = rest.into_iter().next() {
            for (key, value) in only {
                node.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(kinds)) = node.get("type") {
        let mut rest = kinds.iter().filter(|kind| **kind != json!("null"));
        if let (Some(only), None) = (rest.next().cloned(), rest.next()) {
            node.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

fn moonshot(node: &mut Map<String, Value>) {
    collapse_null(node);
    if node.contains_key("anyOf") {
        node.shift_remove("type");
    } else if !node.contains_key("type") {
        let kind = if node.contains_key("properties") {
            "object"
        } else if node.contains_key("items") {
            "array"
        } else {
            "string"
        };
        node.insert("type".to_owned(), json!(kind));
    }
}

fn xai(node: &mut Map<String, Value>) {
    node.shift_remove("pattern");
    node.shift_remove("format");
    let slashed = |value: &Value| value.as_str().is_some_and(|text| text.contains('/'));
    if node.get("enum").and_then(Value::as_array).is_some_and(|all| all.iter().any(slashed)) {
        node.shift_remove("enum");
    }
}

/// Visits every schema node below and including this one, children first.
fn walk(schema: &mut Value, visit: &dyn Fn(&mut Map<String, Value>)) {
    let Value::Object(node) = schema else { return };
    for key in ["properties", "patternProperties"] {
        let children = node.get_mut(key).and_then(Value::as_object_mut).into_iter();
        children.flat_map(Map::values_mut).for_each(|child| walk(child, visit));
    }
    for key in ["items", "additionalProperties", "not", "contains"] {
        if let Some(child) = node.get_mut(key) {
            walk(child, visit);
        }
    }
    for key in ["items", "anyOf", "oneOf", "allOf", "prefixItems"] {
        let children = node.get_mut(key).and_then(Value::as_array_mut).into_iter();
        children.flatten().for_each(|child| walk(child, visit));
    }
    visit(node);
}

#[cfg(test)]
mod tests;
