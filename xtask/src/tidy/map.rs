//! The maps are true: ARCHITECTURE.md names what is there, and every `lib.rs` names its modules.
//!
//! Of ARCHITECTURE.md its table of crates is compared with the layers of `tidy.toml`, its table of
//! families with the build scripts, and every file, type and function that it names with the
//! sources. What a sentence says about them is left to its readers.

use std::collections::BTreeSet;
use std::path::Path;

use super::families::literal;
use crate::finding::Finding;
use crate::house::House;
use crate::source::{Source, is_word, line_of};

const MAP: &str = "ARCHITECTURE.md";

/// A name that stands in the map because nothing may have it.
const ABSENT: &str = "mod.rs";

/// Looks at the map of the house and at the map of each crate.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut found: Vec<Finding> = house.sources.iter().flat_map(modules).collect();
    if let Some((_, text)) = house.texts.iter().find(|(path, _)| path == MAP) {
        found.extend(rows(house, text));
        found.extend(families(house, text));
        found.extend(names(house, text));
    }
    found
}

fn finding(path: &str, line: usize, what: String, cure: &str) -> Finding {
    Finding { path: path.to_owned(), line, check: "map", what, cure: cure.to_owned() }
}

/// Modules of a crate that its `lib.rs` does not name, and files that it names in vain.
fn modules(source: &Source) -> Vec<Finding> {
    let Some(folder) = source.path.strip_suffix("lib.rs").filter(|it| it.ends_with("/src/")) else {
        return Vec::new();
    };
    let docs: Vec<&str> = source.text.lines().filter(|line| line.starts_with("//!")).collect();
    let named: BTreeSet<&str> = docs.iter().flat_map(|line| quoted(line)).map(first_part).collect();
    let production = source.production();
    let own: Vec<(usize, &str)> = (1..).zip(production.lines()).filter_map(module).collect();
    let unnamed = own.iter().filter(|(_, name)| !named.contains(name)).map(|(line, name)| {
        let what = format!("`{name}` is not in the map of its crate");
        finding(&source.path, *line, what, "a newcomer begins here: say in its `//!` what it holds")
    });
    let mut found: Vec<Finding> = unnamed.collect();
    for (line, text) in (1..).zip(&docs) {
        let Some(cell) = text.strip_prefix("//! | `").and_then(|row| row.split('|').next()) else {
            continue;
        };
        let cell = format!("`{cell}");
        let ghosts = quoted(&cell).into_iter().map(first_part).filter(|name| {
            !own.iter().any(|(_, own)| own == name)
                && !std::path::Path::new(folder).ends_with(name)
                && *name != ".."
        });
        found.extend(ghosts.map(|name| {
            let what = format!("the map names `{name}`, and no module has this name");
            finding(&source.path, line, what, "a map of what is gone misleads: correct it")
        }));
    }
    found
}

/// The module of a line `mod name;`.
fn module((number, line): (usize, &str)) -> Option<(usize, &str)> {
    let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
    let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
    Some((number, name))
}

fn first_part(name: &str) -> &str {
    let name = name.trim_end_matches('/').trim_end_matches(".rs");
    name.split('/').next().unwrap_or(name)
}

/// What stands between backticks.
fn quoted(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

/// The table of crates against the layers.
fn rows(house: &House, text: &str) -> Vec<Finding> {
    let mut listed = BTreeSet::new();
    let mut found = Vec::new();
    for (line, row) in (1..).zip(text.lines()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, number, name, ..] = cells.as_slice() else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        let Some(layer) = house.rules.layers.get(name) else { continue };
        listed.insert(name);
        // Crates beside the rows have a dash.
        if number.parse().is_ok_and(|number: u8| number != layer.row) {
            let what = format!("`{name}` is on row {number} here, on {} in tidy.toml", layer.row);
            found.push(finding(MAP, line, what, "the table is what the manifests are held to"));
        }
    }
    let missing = house.manifests.iter().filter(|it| house.rules.layers.contains_key(it.name()));
    for manifest in missing.filter(|it| !listed.contains(it.name())) {
        let what = format!("crate `{}` is not in the map", manifest.name());
        found.push(finding(MAP, 1, what, "every crate has a row and one line about itself"));
    }
    found
}

/// Every family that a build script keeps has a row that says where its files go.
fn families(house: &House, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for manifest in &house.manifests {
        let Some(script) = house.source(&format!("{}build.rs", manifest.folder())) else {
            continue;
        };
        for (at, _) in script.code.match_indices("Family {") {
            let (Some(folder), Some(item)) =
                (literal(script, at, "folder"), literal(script, at, "item"))
            else {
                continue;
            };
            let crate_folder = manifest.folder().trim_start_matches("crates/");
            let row = text.lines().find(|line| {
                let whole = format!("`{crate_folder}{folder}/<name>");
                let short = format!("`{}/<name>.rs`", folder.rsplit('/').next().unwrap_or(&folder));
                let shared = line.contains(&short) && line.contains(&format!("`{crate_folder}"));
                line.starts_with('|') && (line.contains(&whole) || shared)
            });
            let cure = "adding one thing means one new file: say where, and what it declares";
            let what = match row {
                None => format!("the family in `{crate_folder}{folder}` has no row"),
                Some(row) if !row.contains(&format!("`{item}:")) => {
                    format!("the row of `{crate_folder}{folder}` does not say `{item}`")
                }
                Some(_) => continue,
            };
            let table = text.find("## Families").unwrap_or_default();
            found.push(finding(MAP, line_of(text, table), what, cure));
        }
    }
    found
}

/// Files, types and functions that the text names.
fn names(house: &House, text: &str) -> Vec<Finding> {
    let paths: Vec<&str> = house.sources.iter().map(|source| source.path.as_str()).collect();
    let mut found = Vec::new();
    for (line, row) in (1..).zip(text.lines()) {
        for name in quoted(row) {
            let missing = if Path::new(name).extension().is_some_and(|it| it == "rs")
                || name.ends_with('/')
            {
                !is_there(&paths, name)
            } else if name.starts_with(char::is_uppercase) && name.chars().all(is_name) {
                !is_defined(house, name)
            } else {
                false
            };
            if missing && name != ABSENT {
                let what = format!("it names `{name}`, which is not there");
                let cure =
                    "a walk that leads nowhere costs an hour: follow it again and correct it";
                found.push(finding(MAP, line, what, cure));
            }
        }
    }
    found
}

/// Whether a file or folder of this name is there. A name in brackets stands for any.
fn is_there(paths: &[&str], name: &str) -> bool {
    let fixed = name.split('<').next().unwrap_or(name);
    let whole = format!("crates/{fixed}");
    let inner = format!("/{fixed}");
    paths.iter().any(|path| {
        if fixed.ends_with('/') {
            path.starts_with(&whole) || path.contains(&inner) || path.starts_with(fixed)
        } else {
            *path == whole || path.ends_with(&inner)
        }
    })
}

fn is_name(letter: char) -> bool {
    is_word(letter) || letter == ':'
}

/// Whether a type has this name and, after `::`, whether something of it has that one.
fn is_defined(house: &House, name: &str) -> bool {
    let (kind, inner) = name.split_once("::").map_or((name, None), |(kind, it)| (kind, Some(it)));
    let words = ["struct", "enum", "trait", "type", "static", "const"];
    let defines = |source: &&Source| {
        words.iter().any(|word| has_words(&source.code, &format!("{word} {kind}")))
    };
    let about = |source: &&Source| has_words(&source.code, kind);
    let has = |source: &Source, inner: &str| {
        has_words(&source.code, &format!("fn {inner}")) || has_words(&source.code, inner)
    };
    house.sources.iter().any(|source| defines(&source))
        && inner
            .is_none_or(|inner| house.sources.iter().filter(about).any(|source| has(source, inner)))
}

/// Whether the text has these words as whole ones.
fn has_words(code: &str, words: &str) -> bool {
    code.match_indices(words).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        let after = code.get(at + words.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}
