//! A function schema that is put together when somebody looks at it: lists and explanations need
//! to know which tools there are, not what each of them takes.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::sanitise;
use crate::registry::Entry;

/// `name`, `description` and `parameters`, sanitised.
#[derive(Clone)]
pub struct Function(Arc<Parts>);

struct Parts {
    built: OnceLock<Map<String, Value>>,
    of: Option<(Arc<Entry>, Map<String, Value>)>,
}

impl Function {
    /// A schema that exists already.
    pub fn ready(function: Map<String, Value>) -> Self {
        Self(Arc::new(Parts { built: OnceLock::from(function), of: None }))
    }

    /// The schema of a tool with these keys replaced.
    pub(super) fn of(entry: &Arc<Entry>, changes: Map<String, Value>) -> Self {
        let of = Some((Arc::clone(entry), changes));
        Self(Arc::new(Parts { built: OnceLock::new(), of }))
    }
}

impl Deref for Function {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        self.0.built.get_or_init(|| {
            let Some((entry, changes)) = &self.0.of else { return Map::new() };
            let mut function = Map::new();
            function.insert("name".to_owned(), entry.name.as_str().into());
            function.extend(entry.schema.get().clone());
            function.extend(changes.clone());
            // The name on the wire is the registry's, whatever a schema says.
            function.insert("name".to_owned(), entry.name.as_str().into());
            sanitise(&mut function);
            function
        })
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
