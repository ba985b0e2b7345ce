//! Every tool against the table of tools that the project keeps: name, toolset, emoji, route,
//! concurrency, condition, parameters with their types, enums, defaults and limits. E19 2.

use std::collections::{BTreeMap, BTreeSet};

use petasos_agent::LOOP_TOOLS;
use petasos_contract::ToolDef;
use petasos_contract::tool::{Concurrency, Route};
use petasos_tools::BUILTIN;
use serde::Deserialize;
use serde_json::{Map, Value};

const TABLE: &str = include_str!("../data/tools.yaml");

#[derive(Deserialize)]
struct Table {
    /// What a tool says that is not there, by the name of its condition.
    conditions: BTreeMap<String, String>,
    tools: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    toolset: String,
    #[serde(default)]
    emoji: Option<String>,
    /// `current`, `legacy`, or `added` by this project.
    status: String,
    dispatch: String,
    concurrency: String,
    core: bool,
    #[serde(default)]
    condition: Option<String>,
    #[serde(default)]
    requires_env: Vec<String>,
    #[serde(default)]
    parameters: Vec<Parameter>,
}

#[derive(Deserialize)]
struct Parameter {
    name: String,
    #[serde(rename = "type")]
    kind: Value,
    required: bool,
    /// This project has it beside the contract's.
    #[serde(default)]
    added: bool,
    #[serde(default)]
    item_fields: Vec<Parameter>,
    #[serde(default)]
    fields: Vec<Parameter>,
    #[serde(flatten)]
    limits: BTreeMap<String, Value>,
}

/// What a property says besides its description.
fn limits(property: &Value) -> BTreeMap<String, Value> {
    let mut said = BTreeMap::new();
    for key in ["enum", "default", "minimum", "maximum", "minItems", "maxItems"] {
        if let Some(value) = property.get(key) {
            said.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(kind) = property.pointer("/items/type") {
        said.insert("items".to_owned(), kind.clone());
    }
    if let Some(values) = property.pointer("/items/enum") {
        said.insert("items_enum".to_owned(), values.clone());
    }
    said
}

/// Numbers are equal whatever their form.
fn same(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a))
}

fn compare(at: &str, wanted: &[Parameter], object: &Value, wrong: &mut Vec<String>) {
    let empty = Map::new();
    let properties = object.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: BTreeSet<&str> = object
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for extra in properties.keys().filter(|name| wanted.iter().all(|it| it.name != **name)) {
        wrong.push(format!("{at}.{extra}: it is not in the table: {}", properties[extra]));
    }
    for parameter in wanted {
        let here = format!("{at}.{}", parameter.name);
        let Some(property) = properties.get(&parameter.name) else {
            wrong.push(format!("{here}: it is missing"));
            continue;
        };
        let any = Value::from("any");
        let kind = property.get("type").unwrap_or(&any);
        if *kind != parameter.kind {
            wrong.push(format!("{here}: it is {kind}, not {}", parameter.kind));
        }
        if required.contains(parameter.name.as_str()) != parameter.required {
            wrong.push(format!("{here}: required should be {}", parameter.required));
        }
        let said = limits(property);
        for (key, value) in &parameter.limits {
            if !said.get(key).is_some_and(|known| same(known, value)) {
                wrong.push(format!("{here}: {key} is {:?}, not {value}", said.get(key)));
            }
        }
        // What limits are ours is told by the table, too.
        for key in said.keys().filter(|key| *key == "enum" || *key == "default") {
            if !parameter.limits.contains_key(key) && !parameter.added {
                wrong.push(format!("{here}: the table has no {key} ({})", said[key]));
            }
        }
        let none = Value::Null;
        let inner = property.get("items").unwrap_or(&none);
        if !parameter.item_fields.is_empty() {
            compare(&here, &parameter.item_fields, inner, wrong);
        }
        if !parameter.fields.is_empty() {
            compare(&here, &parameter.fields, property, wrong);
        }
    }
}

fn concurrency(def: &ToolDef) -> &'static str {
    match def.concurrency {
        Concurrency::Safe => "safe",
        Concurrency::ByPath { .. } => "path",
        Concurrency::ByCommand { .. } => "command",
        Concurrency::Barrier => "barrier",
    }
}

fn check(row: &Row, def: &ToolDef, table: &Table, wrong: &mut Vec<String>) {
    let name = &row.name;
    let mut hold = |what: &str, is: String, wanted: String| {
        if is != wanted {
            wrong.push(format!("{name}: {what} is {is}, not {wanted}"));
        }
    };
    hold("toolset", def.toolset.to_owned(), row.toolset.clone());
    hold("emoji", def.emoji.to_owned(), row.emoji.clone().unwrap_or_default());
    hold("core", def.core.to_string(), row.core.to_string());
    hold("concurrency", concurrency(def).to_owned(), row.concurrency.clone());
    let route = if def.route == Route::AgentLoop { "agent-loop" } else { "registry" };
    hold("dispatch", route.to_owned(), row.dispatch.clone());
    hold("requires_env", format!("{:?}", def.requires_env), format!("{:?}", row.requires_env));
    let condition = def.check.map(|check| check.id.to_owned());
    hold("condition", format!("{condition:?}"), format!("{:?}", row.condition));
    if let Some(condition) = &row.condition
        && !table.conditions.contains_key(condition)
    {
        wrong.push(format!("{name}: the table has no words for `{condition}`"));
    }
    compare(name, &row.parameters, &(def.schema)()["parameters"], wrong);
}

fn table() -> Table {
    serde_saphyr::from_str(TABLE).expect("the table of tools")
}

fn tools() -> BTreeMap<&'static str, &'static ToolDef> {
    BUILTIN.iter().chain(LOOP_TOOLS).map(|def| (def.name, *def)).collect()
}

#[test]
fn e2_every_tool_is_as_the_table_says() {
    let (table, tools) = (table(), tools());
    let mut wrong = Vec::new();
    for row in &table.tools {
        match tools.get(row.name.as_str()) {
            Some(def) => check(row, def, &table, &mut wrong),
            None => wrong.push(format!("{}: the program has no such tool", row.name)),
        }
    }
    let named: BTreeSet<&str> = table.tools.iter().map(|row| row.name.as_str()).collect();
    for name in tools.keys().filter(|name| !named.contains(*name)) {
        wrong.push(format!("{name}: it is not in the table"));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    let of = |status: &str| table.tools.iter().filter(|row| row.status == status).count();
    assert_eq!((of("current"), of("legacy")), (79, 12));
}

/// E19 1: every name of the contract is there, and what is missing is told in the table's words.
#[test]
fn e1_the_listing_knows_every_row_and_says_what_it_needs() {
    let table = table();
    let home = petasos_testkit::Home::temp();
    let listing = crate::petasos(&home).run(&["tools", "list", "--all", "--json"]).json();
    let listed: BTreeMap<&str, &Value> = listing["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| (tool["name"].as_str().expect("a name"), tool))
        .collect();
    for row in &table.tools {
        let tool =
            listed.get(row.name.as_str()).unwrap_or_else(|| panic!("{} is missing", row.name));
        let Some(reason) = tool["reason"].as_str() else { continue };
        assert!(!reason.contains("no such tool"), "{}: {reason}", row.name);
        let Some(condition) = &row.condition else { continue };
        let wanted = &table.conditions[condition];
        assert!(reason.starts_with(wanted.as_str()), "{}: {reason}, not {wanted}", row.name);
    }
    assert!(!listing.to_string().contains("no such tool"), "{listing}");
}
