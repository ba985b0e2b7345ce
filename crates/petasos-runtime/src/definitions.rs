//! Definitions: the list of schemas that a model is given, and why it is that list.
//!
//! Resolve the choice, drop what is not registered or not available, let tools adjust their
//! schemas to what is left, sanitise, and hide the long tail behind tool search. The same code
//! answers `tools explain`: every name keeps its fate.

mod catalogue;
mod function;
mod sanitise;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use petasos_contract::ToolName;
use serde::Serialize;
use serde_json::{Value, json};

use crate::registry::Generation;
use crate::toolsets::Step;

pub(crate) use catalogue::function;
pub use catalogue::{Catalogue, Wanted};
pub use function::Function;
pub use sanitise::sanitise;

/// The tools of a conversation, frozen: same bytes for the same inputs.
#[derive(Debug)]
pub struct Definitions {
    /// What the model is given, sorted by name, bridge tools last.
    pub tools: Vec<Definition>,
    /// Tools that can be reached through tool search only.
    pub deferred: BTreeSet<ToolName>,
    /// What became of every name that the choice came down to.
    pub fates: BTreeMap<ToolName, Fate>,
    /// How the choice was resolved.
    pub trace: Vec<Step>,
    /// The registry generation they were made from.
    pub generation: Generation,
    json: OnceLock<Arc<str>>,
}

/// One function definition.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The tool.
    pub name: ToolName,
    /// The function schema: `name`, `description`, `parameters`.
    pub function: Function,
}

/// What became of a tool name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", content = "reason", rename_all = "snake_case")]
pub enum Fate {
    /// The model has it.
    Offered,
    /// The model finds it through tool search.
    Deferred,
    /// No such tool in this program.
    NotRegistered,
    /// Its check says that it cannot work here.
    Unavailable(String),
    /// It withdrew itself.
    Withdrawn(String),
}

impl Definitions {
    /// Every tool that a call of this conversation may name, deferred ones included.
    pub fn granted(&self) -> BTreeSet<ToolName> {
        let shown = self.tools.iter().map(|definition| definition.name.clone());
        shown.chain(self.deferred.iter().cloned()).collect()
    }

    /// The list as it goes over the wire.
    pub fn json(&self) -> Arc<str> {
        let build = || {
            let list: Vec<Value> = self.tools.iter().map(Definition::to_value).collect();
            Value::Array(list).to_string().into()
        };
        Arc::clone(self.json.get_or_init(build))
    }
}

impl Definition {
    /// `{"type": "function", "function": …}`.
    pub fn to_value(&self) -> Value {
        json!({ "type": "function", "function": Value::Object((*self.function).clone()) })
    }
}
