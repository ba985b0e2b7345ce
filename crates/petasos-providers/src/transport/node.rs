//! A JSON tree for request bodies whose leaves may be text that must not be touched.
//!
//! A plain `Value` would re-write numbers and escapes of signed blocks; here they pass through as
//! they came. Keys keep the order in which they were put, so equal prompts give equal bytes.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::EncodeError;

/// A node of a body.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Node {
    /// Our own JSON.
    Value(Value),
    /// Somebody else's JSON, byte for byte.
    Raw(Box<RawValue>),
    /// A list.
    List(Vec<Node>),
    /// An object.
    Map(IndexMap<String, Node>),
}

impl Node {
    /// A stored block.
    pub fn raw(text: &str) -> Result<Self, EncodeError> {
        let raw = RawValue::from_string(text.to_owned());
        raw.map(Self::Raw).map_err(|error| EncodeError::Block(error.to_string()))
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Vec<Node>> for Node {
    fn from(list: Vec<Node>) -> Self {
        Self::List(list)
    }
}

/// A body under construction.
#[derive(Debug, Clone, Default)]
pub struct Body(IndexMap<String, Node>);

impl Body {
    /// Puts a field.
    pub fn put(&mut self, key: &str, value: impl Into<Node>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Puts a field when there is a value.
    pub fn put_some(&mut self, key: &str, value: Option<impl Into<Node>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Takes a field out.
    pub fn remove(&mut self, key: &str) {
        self.0.shift_remove(key);
    }

    /// Whether a field is there.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Adds the user's own fields; theirs win.
    pub fn merge(&mut self, extra: &Map<String, Value>) {
        for (key, value) in extra {
            self.put(key, value.clone());
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> Result<Vec<u8>, EncodeError> {
        serde_json::to_vec(&self.0).map_err(|error| EncodeError::Body(error.to_string()))
    }
}

/// The same value with the keys of every object in byte order.
pub fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort_unstable();
            let sorted = keys.into_iter().map(|key| (key.clone(), canonical(&object[key])));
            Value::Object(sorted.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}
