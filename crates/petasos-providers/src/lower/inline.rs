//! Local `$ref`s put in place, because several providers refuse references.

use serde_json::{Map, Value};

/// The most nodes that a schema may grow to when its references are put in place.
const NODES_MAX: usize = 20_000;

/// The same schema without references, or why there is none.
pub(super) fn inline(schema: &Value, depth_max: usize) -> Result<Value, String> {
    let mut walk = Walk { root: schema, depth_max, nodes: 0 };
    let mut done = walk.node(schema, 0)?;
    if let Value::Object(top) = &mut done {
        top.shift_remove("$defs");
        top.shift_remove("definitions");
    }
    Ok(done)
}

struct Walk<'a> {
    root: &'a Value,
    depth_max: usize,
    nodes: usize,
}

impl Walk<'_> {
    fn node(&mut self, value: &Value, depth: usize) -> Result<Value, String> {
        self.nodes += 1;
        if depth > self.depth_max || self.nodes > NODES_MAX {
            return Err("its schema is too deep, too large or refers to itself".to_owned());
        }
        match value {
            Value::Object(object) => {
                if let Some(Value::String(to)) = object.get("$ref") {
                    return self.reference(object, to, depth);
                }
                let mut copy = Map::new();
                for (key, value) in object {
                    // Definitions are visited where they are used.
                    let is_store = depth == 0 && matches!(key.as_str(), "$defs" | "definitions");
                    let value = if is_store { Value::Null } else { self.node(value, depth + 1)? };
                    copy.insert(key.clone(), value);
                }
                Ok(Value::Object(copy))
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.node(item, depth + 1));
                items.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            other => Ok(other.clone()),
        }
    }

    fn reference(
        &mut self,
        object: &Map<String, Value>,
        to: &str,
        depth: usize,
    ) -> Result<Value, String> {
        let Some(pointer) = to.strip_prefix('#') else {
            return Err(format!("its schema refers to `{to}`, which is elsewhere"));
        };
        let found = self.root.pointer(pointer);
        let found =
            found.ok_or_else(|| format!("its schema refers to `{to}`, which is not there"))?;
        let mut copy = self.node(found, depth + 1)?;
        if let Value::Object(copy) = &mut copy {
            for (key, value) in object.iter().filter(|(key, _)| *key != "$ref") {
                copy.insert(key.clone(), value.clone());
            }
        }
        Ok(copy)
    }
}
