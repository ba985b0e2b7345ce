//! `plugin.yaml`: what a plugin says about itself before anything of it runs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Names under which a manifest is looked for.
pub(crate) const FILES: &[&str] = &["plugin.yaml", "plugin.yml"];
/// A manifest longer than this is none.
const BYTES_MAX: u64 = 256 * 1024;

/// Where a plugin comes from; later ones replace earlier ones of the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It came with the program.
    Bundled,
    /// `<home>/plugins`.
    User,
    /// `./.petasos/plugins` or `./.hermes/plugins`.
    Project,
    /// An installed Python package.
    Package,
}

/// What a plugin says about itself.
#[derive(Debug, Clone, Serialize)]
pub struct Manifest {
    /// What the configuration calls it: its name, or `category/name`.
    pub key: String,
    /// Its own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One line.
    pub description: String,
    /// Who wrote it.
    pub author: String,
    /// Variables that it needs.
    pub requires_env: Vec<String>,
    /// Tools that it promises.
    pub provides_tools: Vec<String>,
    /// Hooks that it promises.
    pub provides_hooks: Vec<String>,
    /// What it is: `standalone`, `backend`, `exclusive`, `platform` or `model-provider`.
    pub kind: String,
    /// The program that speaks the protocol; absent for a Python package.
    pub command: Option<Vec<String>>,
    /// Where it lies.
    pub folder: PathBuf,
    /// Where it comes from.
    pub source: Source,
    /// The module of an installed package.
    pub module: Option<String>,
    /// What is odd about it.
    pub warnings: Vec<String>,
}

/// A manifest that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {why}")]
pub struct ManifestError {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    name: Option<Value>,
    version: Value,
    description: Value,
    author: Value,
    requires_env: Vec<Value>,
    provides_tools: Vec<String>,
    provides_hooks: Vec<String>,
    kind: Option<String>,
    command: Value,
}

impl Manifest {
    /// Reads the manifest of a folder; `Ok(None)` when there is none.
    pub fn read(
        folder: &Path,
        category: Option<&str>,
        source: Source,
    ) -> Result<Option<Self>, ManifestError> {
        let Some(file) = FILES.iter().map(|name| folder.join(name)).find(|file| file.is_file())
        else {
            return Ok(None);
        };
        let fail = |why: String| ManifestError { path: file.display().to_string(), why };
        let size = file.metadata().map_or(0, |known| known.len());
        if size > BYTES_MAX {
            return Err(fail(format!("{size} bytes are too many for a manifest")));
        }
        let text = std::fs::read_to_string(&file).map_err(|error| fail(error.to_string()))?;
        let written: Written =
            serde_saphyr::from_str(&text).map_err(|error| fail(error.to_string()))?;
        let own = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Self::of(written, &own, category, folder, source).map(Some).map_err(fail)
    }

    /// A plugin that is an installed package.
    pub fn package(name: &str, module: &str) -> Self {
        Self {
            key: name.to_owned(),
            name: name.to_owned(),
            version: String::new(),
            description: String::new(),
            author: String::new(),
            requires_env: Vec::new(),
            provides_tools: Vec::new(),
            provides_hooks: Vec::new(),
            kind: "standalone".to_owned(),
            command: None,
            folder: PathBuf::new(),
            source: Source::Package,
            module: Some(module.to_owned()),
            warnings: Vec::new(),
        }
    }

    fn of(
        written: Written,
        own: &str,
        category: Option<&str>,
        folder: &Path,
        source: Source,
    ) -> Result<Self, String> {
        let name = written.name.as_ref().map_or_else(|| own.to_owned(), plain);
        if name.trim().is_empty() || name.contains(['/', '\\', '\0']) {
            return Err(format!("`name: {name}` is no name"));
        }
        let mut warnings = Vec::new();
        let kinds = ["standalone", "backend", "exclusive", "platform", "model-provider"];
        let kind = match written.kind {
            None => "standalone".to_owned(),
            Some(kind) if kinds.contains(&kind.as_str()) => kind,
            Some(kind) => {
                warnings.push(format!("unknown kind `{kind}`, taken as standalone"));
                "standalone".to_owned()
            }
        };
        let key = category.map_or_else(|| name.clone(), |category| format!("{category}/{name}"));
        Ok(Self {
            key,
            name,
            version: plain(&written.version),
            description: plain(&written.description),
            author: plain(&written.author),
            requires_env: written.requires_env.iter().filter_map(variable).collect(),
            provides_tools: written.provides_tools,
            provides_hooks: written.provides_hooks,
            kind,
            command: command(&written.command)?,
            folder: folder.to_owned(),
            source,
            module: None,
            warnings,
        })
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A name, or an object that has one.
fn variable(value: &Value) -> Option<String> {
    let name = value.as_str().or_else(|| value.get("name")?.as_str())?;
    Some(name.to_owned())
}

fn command(value: &Value) -> Result<Option<Vec<String>>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.split_whitespace().map(str::to_owned).collect())),
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            let words = words.filter(|words| !words.is_empty());
            words.map(Some).ok_or_else(|| "`command` is a list of texts".to_owned())
        }
        _ => Err("`command` is a text or a list of texts".to_owned()),
    }
}
