//! The arguments of a tool call: always a JSON object, parsed once at the door.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::tool::ToolError;

/// A JSON object that a tool reads into its own typed input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Args(Map<String, Value>);

impl Args {
    /// Wraps an object.
    pub fn new(object: Map<String, Value>) -> Self {
        Self(object)
    }

    /// The typed input of a tool; a mismatch says which field and what was expected.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, ToolError> {
        let given: Vec<String> = self.0.keys().map(|name| format!("`{name}`")).collect();
        serde_json::from_value(Value::Object(self.0)).map_err(|error| {
            // Whoever misspelt a name sees it beside the one that is missing.
            let mut why = error.to_string();
            if why.starts_with("missing field") && !given.is_empty() {
                why.extend(["; given: ", &given.join(", ")]);
            }
            ToolError::new("InvalidArguments", why)
        })
    }

    /// A text argument, when it is there and is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// All texts in it, one a line, whatever their place.
    pub fn words(&self) -> String {
        fn gather(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::String(text) => found.push(text.clone()),
                Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
                Value::Object(object) => object.values().for_each(|item| gather(item, found)),
                Value::Number(number) => found.push(number.to_string()),
                Value::Null | Value::Bool(_) => {}
            }
        }
        let mut found = Vec::new();
        self.0.values().for_each(|value| gather(value, &mut found));
        found.join("\n")
    }

    /// Any argument.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The object itself.
    pub fn object(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The object itself, to be rewritten.
    pub fn object_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }

    /// Gives the object up.
    pub fn into_object(self) -> Map<String, Value> {
        self.0
    }
}

impl From<Map<String, Value>> for Args {
    fn from(object: Map<String, Value>) -> Self {
        Self(object)
    }
}

impl TryFrom<Value> for Args {
    type Error = Value;

    fn try_from(value: Value) -> Result<Self, Value> {
        match value {
            Value::Object(object) => Ok(Self(object)),
            other => Err(other),
        }
    }
}
