//! The checkout as the checks see it: its files, its manifests and the rules.
//!
//! Everything is read once. Files that git ignores are no part of the house; files that are not
//! added yet are, so that a finding comes before the commit and not after.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::rules::Rules;
use crate::source::Source;

/// One checkout.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) root: PathBuf,
    pub(crate) rules: Rules,
    /// Rust files.
    pub(crate) sources: Vec<Source>,
    /// `Cargo.toml` files below the root one.
    pub(crate) manifests: Vec<Manifest>,
    /// Every other text file: path and text.
    pub(crate) texts: Vec<(String, String)>,
}

/// One crate's manifest.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The manifest's path, relative to the checkout.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) table: toml::Table,
}

impl Manifest {
    /// The crate's folder with a closing slash.
    pub(crate) fn folder(&self) -> &str {
        self.path.strip_suffix("Cargo.toml").unwrap_or(&self.path)
    }

    /// The crate's name.
    pub(crate) fn name(&self) -> &str {
        let package = self.table.get("package").and_then(|package| package.get("name"));
        package.and_then(toml::Value::as_str).unwrap_or("")
    }

    /// The line on which `word` first stands, for pointing at a dependency.
    pub(crate) fn line_of(&self, word: &str) -> usize {
        self.text.lines().position(|line| line.starts_with(word)).map_or(1, |at| at + 1)
    }
}

impl House {
    /// Reads the checkout at `root`.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let rules =
            fs::read_to_string(root.join("tidy.toml")).context("cannot read `tidy.toml`")?;
        let rules = toml::from_str(&rules).context("`tidy.toml` is not as `xtask` expects it")?;
        Self::with_rules(root, rules)
    }

    /// Reads the checkout at `root`, judged by the given rules.
    pub(crate) fn with_rules(root: &Path, rules: Rules) -> Result<Self> {
        let mut house = Self {
            root: root.to_owned(),
            rules,
            sources: Vec::new(),
            manifests: Vec::new(),
            texts: Vec::new(),
        };
        for path in listing(root)? {
            house.take(path)?;
        }
        Ok(house)
    }

    /// The Rust file at `path`.
    pub(crate) fn source(&self, path: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.path == path)
    }

    fn take(&mut self, path: String) -> Result<()> {
        // Listed but gone is a deletion not committed yet; not UTF-8 is a picture or an archive.
        let Ok(text) = fs::read_to_string(self.root.join(&path)) else { return Ok(()) };
        let is_rust = Path::new(&path).extension().is_some_and(|kind| kind == "rs");
        if is_rust {
            self.sources.push(Source::read(path, text));
        } else if path.ends_with("/Cargo.toml") {
            let table = text.parse().with_context(|| format!("`{path}` is not TOML"))?;
            self.manifests.push(Manifest { path, text, table });
        } else {
            self.texts.push((path, text));
        }
        Ok(())
    }
}

/// Tracked and new files, relative to `root`, sorted.
fn listing(root: &Path) -> Result<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = program("git", root).args(arguments).output();
    let mut paths = match listed {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.split_terminator('\0').map(str::to_owned).collect()
        }
        // An unpacked archive has no history to ask.
        _ => {
            let mut paths = Vec::new();
            walk(root, "", &mut paths)?;
            paths
        }
    };
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

fn walk(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if [".git", "target", "__pycache__"].contains(&name.as_str()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), &format!("{prefix}{name}/"), paths)?;
        } else {
            paths.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

/// A program to be run in the checkout.
#[expect(clippy::disallowed_methods, reason = "a chore starts git and cargo; it ships nowhere")]
pub(crate) fn program(name: &str, root: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(name);
    command.current_dir(root).stdin(std::process::Stdio::null());
    command
}
