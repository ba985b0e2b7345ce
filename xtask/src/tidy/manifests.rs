//! Manifests repeat nothing: versions, features and lints are inherited from the root.
//!
//! One place for versions is what keeps a narrower build from resolving other features and
//! compiling the world twice.

use toml::Value;

use crate::finding::Finding;
use crate::house::{House, Manifest};

/// Looks at every manifest below the root.
pub(super) fn check(house: &House) -> Vec<Finding> {
    house.manifests.iter().flat_map(one).collect()
}

fn one(manifest: &Manifest) -> Vec<Finding> {
    let mut found = Vec::new();
    let finding = |word: &str, what: String, cure: &str| Finding {
        path: manifest.path.clone(),
        line: manifest.line_of(word),
        check: "manifests",
        what,
        cure: cure.to_owned(),
    };
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let entries = manifest.table.get(section).and_then(Value::as_table);
        for (name, value) in entries.into_iter().flatten() {
            if value.get("workspace").and_then(Value::as_bool) != Some(true) {
                let what = format!("`{name}` is not inherited from the workspace");
                let cure = "versions and features live in the root manifest: write \
                            `name.workspace = true`";
                found.push(finding(name, what, cure));
            }
        }
    }
    let inherits = manifest.table.get("lints").and_then(|lints| lints.get("workspace"));
    if inherits.and_then(Value::as_bool) != Some(true) {
        let what = "the workspace lints are not inherited".to_owned();
        found.push(finding("[lints]", what, "add `[lints]` with `workspace = true`"));
    }
    found
}
