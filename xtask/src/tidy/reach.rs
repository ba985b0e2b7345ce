//! Every Rust file is named by a `mod` line, so the compiler, rustfmt and clippy see it.
//!
//! The walk starts at the files cargo takes as targets and follows `mod name;` as the compiler
//! does. A file it does not meet is dead text that looks alive.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::house::{House, Manifest};
use crate::source::{Source, is_word};

/// Compares the files that exist with the files that are reached.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    for manifest in &house.manifests {
        let targets = house.sources.iter().filter(|source| is_target(manifest, &source.path));
        targets.for_each(|target| follow(house, target, true, &mut reached));
    }
    let lost = house.sources.iter().filter(|source| !reached.contains(source.path.as_str()));
    let finding = |source: &Source| Finding {
        path: source.path.clone(),
        line: 1,
        check: "reach",
        what: "no `mod` line names this file".to_owned(),
        cure: "the compiler, rustfmt and clippy never see it: name it or delete it".to_owned(),
    };
    lost.map(finding).collect()
}

/// Whether cargo compiles `path` as a target of this crate: by convention or by a `path` key.
fn is_target(manifest: &Manifest, path: &str) -> bool {
    let Some(inside) = path.strip_prefix(manifest.folder()) else { return false };
    let parts: Vec<&str> = inside.split('/').collect();
    match parts.as_slice() {
        ["build.rs"]
        | ["src", "lib.rs" | "main.rs"]
        | ["src", "bin", _]
        | ["tests" | "benches" | "examples", _]
        | ["tests" | "benches" | "examples", _, "main.rs"] => true,
        _ => named_targets(&manifest.table).any(|target| target == inside),
    }
}

fn named_targets(table: &toml::Table) -> impl Iterator<Item = &str> {
    let sections = ["lib", "bin", "test", "bench", "example"];
    let values = sections.into_iter().filter_map(|section| table.get(section));
    let tables = values.flat_map(|value| match value {
        toml::Value::Array(all) => all.iter().collect(),
        other => vec![other],
    });
    tables.filter_map(|target| target.get("path")).filter_map(toml::Value::as_str)
}

fn follow<'a>(house: &'a House, from: &'a Source, is_root: bool, reached: &mut BTreeSet<&'a str>) {
    if !reached.insert(&from.path) {
        return;
    }
    let (folder, file) = from.path.rsplit_once('/').unwrap_or(("", &from.path));
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let base = if is_root { folder.to_owned() } else { format!("{folder}/{stem}") };
    for module in modules(from) {
        let path = match module {
            Module::Named(name) => format!("{base}/{name}.rs"),
            Module::At(path) => format!("{folder}/{path}"),
        };
        if let Some(next) = house.source(&path) {
            follow(house, next, false, reached);
        }
    }
}

enum Module<'a> {
    Named(&'a str),
    At(&'a str),
}

fn modules(source: &Source) -> Vec<Module<'_>> {
    let mut modules = Vec::new();
    for (at, keyword) in source.code.match_indices("mod ") {
        let before = source.code.get(..at).unwrap_or("");
        let rest = source.code.get(at + keyword.len()..).unwrap_or("");
        let name = rest.split(|letter| !is_word(letter)).next().unwrap_or("");
        let ends = rest.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(';'));
        if ends && !before.ends_with(is_word) {
            modules.push(explicit_path(source, before).map_or(Module::Named(name), Module::At));
        }
    }
    modules
}

/// The file of a `#[path = "…"]` attribute that stands directly before a module line.
fn explicit_path<'a>(source: &'a Source, before: &str) -> Option<&'a str> {
    let item = before.rsplit([';', '}']).next()?;
    let start = before.len() - item.len();
    let attribute = start + item.find("#[path")?;
    source.text.get(attribute..)?.split('"').nth(1)
}
