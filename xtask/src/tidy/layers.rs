//! Nothing depends upward or sideways, except where `tidy.toml` says so.
//!
//! The table is the map of ARCHITECTURE.md as data; manifests are compared with it. Heavy
//! third-party crates are walled off here too: each has the crates that may carry it.

use crate::finding::Finding;
use crate::house::{House, Manifest};
use crate::rules::{Layer, Rules};

const TESTKIT: &str = "petasos-testkit";

/// Compares every manifest with its row of the table.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut found = impossible_rows(&house.rules);
    for manifest in &house.manifests {
        match house.rules.layers.get(manifest.name()) {
            Some(layer) => found.extend(compare(manifest, layer, house)),
            None => found.push(finding(
                manifest,
                "name",
                format!("crate `{}` has no row in the layer table", manifest.name()),
                "every crate has a place: add it under `[layers]` in tidy.toml".to_owned(),
            )),
        }
    }
    found
}

fn compare(manifest: &Manifest, layer: &Layer, house: &House) -> Vec<Finding> {
    let mut found = Vec::new();
    for (section, package) in dependencies(&manifest.table) {
        let is_ours = house.rules.layers.contains_key(&package);
        let used = layer.uses.contains(&package);
        let allowed = match section {
            Section::Normal => used && package != TESTKIT,
            Section::Dev => used || layer.dev.contains(&package) || package == TESTKIT,
            Section::Build => layer.build.contains(&package),
        };
        if is_ours && !allowed {
            let name = manifest.name();
            let what = format!("`{name}` may not use `{package}` in {}", section.name());
            let cure = format!(
                "row {} uses only what tidy.toml lists for it: ask for a trait of \
                 `petasos-contract` instead and let the host wire it",
                layer.row
            );
            found.push(finding(manifest, &package, what, cure));
        }
        let carriers = house.rules.weights.get(&package);
        let is_outside = |names: &Vec<String>| names.iter().all(|one| one != manifest.name());
        if section == Section::Normal && carriers.is_some_and(is_outside) {
            let what = format!("`{}` may not carry `{package}`", manifest.name());
            let cure = "heavy or dangerous crates live behind one wall: `[weights]` in tidy.toml \
                        names it";
            found.push(finding(manifest, &package, what, cure.to_owned()));
        }
    }
    found
}

fn impossible_rows(rules: &Rules) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, layer) in &rules.layers {
        for used in &layer.uses {
            if rules.layers.get(used).is_none_or(|below| below.row >= layer.row) {
                found.push(Finding {
                    path: "tidy.toml".into(),
                    line: 1,
                    check: "layers",
                    what: format!("the table lets `{name}` use `{used}`, which is not below it"),
                    cure: "nothing depends upward or sideways: correct the row or the list".into(),
                });
            }
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Normal,
    Dev,
    Build,
}

impl Section {
    fn name(self) -> &'static str {
        match self {
            Self::Normal => "dependencies",
            Self::Dev => "dev-dependencies",
            Self::Build => "build-dependencies",
        }
    }
}

/// Package names by section, those of `[target.*]` included.
fn dependencies(table: &toml::Table) -> Vec<(Section, String)> {
    let targets = table.get("target").and_then(toml::Value::as_table);
    let targets =
        targets.into_iter().flat_map(|all| all.values()).filter_map(toml::Value::as_table);
    let mut listed = Vec::new();
    for table in std::iter::once(table).chain(targets) {
        for section in [Section::Normal, Section::Dev, Section::Build] {
            let entries = table.get(section.name()).and_then(toml::Value::as_table);
            for (key, value) in entries.into_iter().flatten() {
                let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
                listed.push((section, package.to_owned()));
            }
        }
    }
    listed
}

fn finding(manifest: &Manifest, word: &str, what: String, cure: String) -> Finding {
    let line = manifest.line_of(word);
    Finding { path: manifest.path.clone(), line, check: "layers", what, cure }
}
