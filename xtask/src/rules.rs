//! `tidy.toml`: the tables that the checks read.
//!
//! Only shapes live here. An unknown key is refused, so a rule with a typing error cannot be
//! silently without effect.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Rules {
    pub(crate) limits: Limits,
    /// File names (without ending) that say nothing about what is inside.
    pub(crate) forbidden_names: Vec<String>,
    /// By crate: its row and the crates of ours it may use.
    pub(crate) layers: BTreeMap<String, Layer>,
    /// Third-party crates that only the named crates of ours may use.
    #[serde(default)]
    pub(crate) weights: BTreeMap<String, Vec<String>>,
    #[serde(default, rename = "call")]
    pub(crate) calls: Vec<Call>,
    #[serde(default, rename = "page")]
    pub(crate) pages: Vec<Page>,
    #[serde(default, rename = "exempt")]
    pub(crate) exemptions: Vec<Exemption>,
}

/// How many lines things may have.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// Production lines of one file.
    #[serde(rename = "file-lines")]
    pub(crate) file: usize,
    /// Lines of code in the body of one function.
    #[serde(rename = "function-lines")]
    pub(crate) function: usize,
    /// Lines of code of one crate without its tests and comments, by crate; `default` for the others.
    #[serde(rename = "crate-lines")]
    pub(crate) by_crate: BTreeMap<String, usize>,
}

/// One crate's place in the house.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    /// The row of the map; a crate uses its own row only where `uses` says so, never a higher one.
    pub(crate) row: u8,
    /// Crates of ours that it may depend on.
    #[serde(default)]
    pub(crate) uses: Vec<String>,
    /// Crates of ours that its tests may use besides.
    #[serde(default)]
    pub(crate) dev: Vec<String>,
    /// Crates of ours that its build script may use.
    #[serde(default)]
    pub(crate) build: Vec<String>,
}

/// Code that may be written in the named places only.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// Texts without spaces, compared with the code without comments, strings and spaces.
    pub(crate) patterns: Vec<String>,
    /// Files, or folders with a closing slash.
    pub(crate) allow: Vec<String>,
    /// Whether code that is not shipped (tests, benches, build scripts) is free of the rule.
    #[serde(default)]
    pub(crate) tests: bool,
    pub(crate) why: String,
}

/// A generated page and the arguments of `petasos` that print it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) command: Vec<String>,
}

/// A place where one check does not apply, with the reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exemption {
    pub(crate) check: String,
    /// A file, or a folder with a closing slash.
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// Says whether `place` (a file, or a folder with a closing slash) covers `path`.
pub(crate) fn covers(place: &str, path: &str) -> bool {
    place == path || (place.ends_with('/') && path.starts_with(place))
}
