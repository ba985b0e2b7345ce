//! Everything the snapshot is made of that does not come from a file, captured once.
//!
//! [`Inputs::from_process`] is the only place in the project that reads the process environment.
//! Tests and embedders make an [`Inputs`] by hand instead.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A value from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The dotted key.
    pub key: String,
    /// The value as typed.
    pub value: String,
    /// The flag, as a person would type it.
    pub flag: String,
}

/// What the process was started with.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The environment.
    pub environment: BTreeMap<String, String>,
    /// Names of variables whose value is not UTF-8, and which are therefore not in `environment`.
    pub unreadable: Vec<String>,
    /// Values from the command line, later ones stronger.
    pub overrides: Vec<Override>,
    /// The profile named on the command line.
    pub profile: Option<String>,
    /// The directory the program was started in.
    pub cwd: PathBuf,
    /// The user's own home directory.
    pub user_home: Option<PathBuf>,
}

impl Inputs {
    /// Captures environment, working directory and home of this process.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn from_process() -> Self {
        let mut environment = BTreeMap::new();
        let mut unreadable = Vec::new();
        for (name, value) in std::env::vars_os() {
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) => {
                    environment.insert(name, value);
                }
                (Ok(name), Err(_)) => unreadable.push(name),
                (Err(name), _) => unreadable.push(name.to_string_lossy().into_owned()),
            }
        }
        // A deleted working directory has no name; the root is the one place that always exists.
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let user_home = std::env::home_dir().filter(|home| home.is_absolute());
        Self { environment, unreadable, overrides: Vec::new(), profile: None, cwd, user_home }
    }

    /// Adds a value from the command line.
    pub fn with_override(mut self, key: &str, value: &str, flag: &str) -> Self {
        self.overrides.push(Override {
            key: key.to_owned(),
            value: value.to_owned(),
            flag: flag.to_owned(),
        });
        self
    }

    /// A variable of the process that is set to something: the `PETASOS_` spelling, else `HERMES_`.
    pub(crate) fn prefixed(&self, name: &str) -> Option<(String, &str)> {
        ["PETASOS_", "HERMES_"].into_iter().find_map(|prefix| {
            let full = format!("{prefix}{name}");
            let value = self.environment.get(&full).filter(|value| !value.is_empty())?;
            Some((full, value.as_str()))
        })
    }
}
