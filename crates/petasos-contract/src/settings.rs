//! The one snapshot of configuration, environment and secrets, and where each value came from.
//!
//! `petasos-config` fills it once at the start; everyone else is handed it. A reload makes a new
//! one: a running turn keeps what it began with.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::secret::Secret;

/// Where a value came from. Ordered from weak to strong only in the sense of the usual case; which
/// one wins for a key is the snapshot maker's rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    /// Built in.
    Default,
    /// The user's configuration file.
    User {
        /// The file.
        file: PathBuf,
    },
    /// The project's configuration file.
    Project {
        /// The file.
        file: PathBuf,
    },
    /// A line of a dotenv file.
    DotEnv {
        /// The file.
        file: PathBuf,
        /// The variable.
        variable: String,
    },
    /// The process environment.
    Environment {
        /// The variable.
        variable: String,
    },
    /// The command line.
    Flag {
        /// The flag.
        flag: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("built-in default"),
            Self::User { file } | Self::Project { file } => write!(f, "{}", file.display()),
            Self::DotEnv { file, variable } => write!(f, "{variable} in {}", file.display()),
            Self::Environment { variable } => write!(f, "environment variable {variable}"),
            Self::Flag { flag } => write!(f, "command line {flag}"),
        }
    }
}

/// One candidate for a key; the first of a stack is the one in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Layered {
    /// The value; secrets are masked here.
    pub value: Value,
    /// Where it came from.
    pub source: Source,
    /// Why it is not in force, for all but the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<String>,
}

/// Something a person should know about their configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The key or variable it is about.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

/// A variable from a dotenv file or the process environment.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its value: any variable may hold a secret.
    pub value: Secret,
    /// Where it was set.
    pub source: Source,
}

/// The parts of a snapshot, named for the one place that makes it.
#[derive(Debug, Default)]
pub struct Parts {
    /// The agent home.
    pub home: PathBuf,
    /// The user's own home directory.
    pub user_home: PathBuf,
    /// Where the program was started.
    pub workspace: PathBuf,
    /// Where temporary files go.
    pub temp: PathBuf,
    /// The merged configuration.
    pub values: Map<String, Value>,
    /// Every candidate for every key, by dotted path.
    pub sources: BTreeMap<String, Vec<Layered>>,
    /// Names that a project narrows a key to, by dotted path.
    pub limits: BTreeMap<String, Vec<String>>,
    /// Every variable, by name.
    pub variables: BTreeMap<String, Variable>,
    /// Secrets that are kept beside the configuration, such as those of logins: to be hidden.
    pub secrets: Vec<Secret>,
    /// What a person should know.
    pub notices: Vec<Notice>,
}

/// The snapshot.
pub struct Settings {
    parts: Parts,
    workspace: Arc<Path>,
    fingerprint: u64,
    derived: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// Says where it is from and how much is in it: the values may hold keys.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("home", &self.parts.home)
            .field("workspace", &self.workspace)
            .field("keys", &self.parts.sources.len())
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// A section that does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{section}` in config.yaml: {problem}")]
pub struct SectionError {
    /// The section.
    pub section: String,
    /// What does not fit.
    pub problem: String,
}

/// A part of the configuration that one crate owns.
pub trait Section: DeserializeOwned + Default {
    /// Its key at the top of the file, or a dotted path.
    const NAME: &'static str;
}

impl Settings {
    /// Makes the snapshot.
    pub fn new(parts: Parts) -> Self {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        Value::Object(parts.values.clone()).to_string().hash(&mut hasher);
        parts.home.hash(&mut hasher);
        parts.limits.hash(&mut hasher);
        for (name, variable) in &parts.variables {
            name.hash(&mut hasher);
            variable.value.expose().hash(&mut hasher);
        }
        let workspace = Arc::from(parts.workspace.as_path());
        Self { workspace, fingerprint: hasher.finish(), parts, derived: Mutex::default() }
    }

    /// Secrets that are kept beside the configuration.
    pub fn secrets(&self) -> &[Secret] {
        &self.parts.secrets
    }

    /// A snapshot with nothing in it but a configuration tree, for tests and embedders.
    pub fn from_values(values: Map<String, Value>) -> Self {
        Self::new(Parts { values, temp: PathBuf::from("/tmp"), ..Parts::default() })
    }

    /// The agent home.
    pub fn home(&self) -> &Path {
        &self.parts.home
    }

    /// The user's own home directory.
    pub fn user_home(&self) -> &Path {
        &self.parts.user_home
    }

    /// Where the program was started.
    pub fn workspace(&self) -> &Arc<Path> {
        &self.workspace
    }

    /// Where temporary files go.
    pub fn temp(&self) -> &Path {
        &self.parts.temp
    }

    /// The value at a dotted path.
    pub fn get(&self, path: &str) -> Option<&Value> {
        let mut keys = path.split('.');
        let mut value = self.parts.values.get(keys.next()?)?;
        for key in keys {
            value = value.get(key)?;
        }
        Some(value)
    }

    /// The text at a dotted path.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.get(path)?.as_str()
    }

    /// Names at a dotted path: a list of texts, or one text.
    pub fn names(&self, path: &str) -> Option<Vec<String>> {
        match self.get(path)? {
            Value::String(one) => Some(vec![one.clone()]),
            Value::Array(many) => {
                Some(many.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            _ => None,
        }
    }

    /// The names that a project narrows a key to. Names may stand for groups that only the reader
    /// knows, so that the reader takes away what none of them brings, whatever the key's value is.
    pub fn limit(&self, path: &str) -> Option<&[String]> {
        self.parts.limits.get(path).map(Vec::as_slice)
    }

    /// Everything a project narrows.
    pub fn limits(&self) -> &BTreeMap<String, Vec<String>> {
        &self.parts.limits
    }

    /// A crate's own section, typed; its defaults when the file has none.
    pub fn section<T: Section>(&self) -> Result<T, SectionError> {
        match self.get(T::NAME) {
            None | Some(Value::Null) => Ok(T::default()),
            Some(value) => serde_json::from_value(value.clone()).map_err(|error| SectionError {
                section: T::NAME.to_owned(),
                problem: error.to_string(),
            }),
        }
    }

    /// Something computed from the snapshot alone, made on first need and kept with it.
    pub fn derived<T: Send + Sync + 'static>(&self, make: fn(&Self) -> T) -> Arc<T> {
        let known = self.derived.lock().get(&TypeId::of::<T>()).cloned();
        if let Some(Ok(known)) = known.map(Arc::downcast) {
            return known;
        }
        // Made without the lock: two callers at once make it twice, and equal.
        let value = Arc::new(make(self));
        self.derived.lock().insert(TypeId::of::<T>(), Arc::clone(&value) as _);
        value
    }

    /// Every candidate for a key, the one in force first.
    pub fn explain(&self, path: &str) -> &[Layered] {
        self.parts.sources.get(path).map_or(&[], Vec::as_slice)
    }

    /// Every key that has a value, with its candidates.
    pub fn sources(&self) -> &BTreeMap<String, Vec<Layered>> {
        &self.parts.sources
    }

    /// The whole tree.
    pub fn values(&self) -> &Map<String, Value> {
        &self.parts.values
    }

    /// A variable that holds a secret, or may.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.parts.variables.get(name)
    }

    /// Every variable.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.parts.variables
    }

    /// Whether a role variable such as `HERMES_KANBAN_TASK` is set to something; the `PETASOS_`
    /// spelling comes first.
    pub fn role(&self, name: &str) -> Option<&Variable> {
        let known = |full: String| self.parts.variables.get(&full);
        known(format!("PETASOS_{name}"))
            .or_else(|| known(format!("HERMES_{name}")))
            .filter(|variable| !variable.value.expose().is_empty())
    }

    /// Whether a role variable such as `PETASOS_SAFE_MODE` is switched on; `0` and `false` are off.
    pub fn is_on(&self, name: &str) -> bool {
        self.role(name).is_some_and(|variable| {
            let text = variable.value.expose().trim().to_ascii_lowercase();
            matches!(text.as_str(), "1" | "true" | "yes" | "on")
        })
    }

    /// What a person should know about their configuration.
    pub fn notices(&self) -> &[Notice] {
        &self.parts.notices
    }

    /// Equal for snapshots with the same content; caches are keyed by it.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}
