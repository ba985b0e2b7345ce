//! No file, function or crate grows past its limit.
//!
//! Lines under `#[cfg(test)]` and whole test files do not count for files and crates; comments
//! count for a file, which is read, not for a crate, which is built. A function's size is its
//! body's lines of code, as clippy counts them; clippy stays the precise
//! judge, this one also sees code that no build of the day compiles.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::house::House;
use crate::source::{Source, closing, is_word, item_head_end, line_of};

/// Measures everything.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let limits = &house.rules.limits;
    let mut found = Vec::new();
    let mut crates: BTreeMap<&str, usize> = BTreeMap::new();
    for source in &house.sources {
        found.extend(long_functions(source, limits.function));
        if source.is_test() {
            continue;
        }
        let lines = source.production_lines();
        if lines > limits.file {
            let what = format!("{lines} production lines, the limit is {}", limits.file);
            let cure = "a second idea moved in: give it a file of its own, named after it";
            found.push(finding(&source.path, limits.file + 1, what, cure));
        }
        let home = house.manifests.iter().find(|one| source.path.starts_with(one.folder()));
        if let Some(home) = home {
            let code = source.production();
            let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
            *crates.entry(home.name()).or_default() += lines;
        }
    }
    let default = limits.by_crate.get("default").copied().unwrap_or(usize::MAX);
    for manifest in &house.manifests {
        let limit = limits.by_crate.get(manifest.name()).copied().unwrap_or(default);
        let lines = crates.get(manifest.name()).copied().unwrap_or(0);
        if lines > limit {
            let what = format!("crate of {lines} lines of code, the limit is {limit}");
            let cure = "crates follow laws and weights: find what does not belong here";
            found.push(finding(&manifest.path, 1, what, cure));
        }
    }
    found
}

fn long_functions(source: &Source, limit: usize) -> Vec<Finding> {
    let code = source.code.as_bytes();
    let mut found = Vec::new();
    for (at, keyword) in source.code.match_indices("fn ") {
        let before = source.code.get(..at).unwrap_or("");
        let head = at + keyword.len();
        let name: String =
            source.code.get(head..).unwrap_or("").chars().take_while(|one| is_word(*one)).collect();
        let open = item_head_end(code, head);
        if before.ends_with(is_word) || name.is_empty() || code.get(open) != Some(&b'{') {
            continue;
        }
        let body = source.code.get(open + 1..closing(code, open)).unwrap_or("");
        let lines = body.lines().filter(|line| !line.trim().is_empty()).count();
        if lines > limit {
            let what = format!("function `{name}` has {lines} lines of code, the limit is {limit}");
            let cure = "name its phases and make them functions";
            found.push(finding(&source.path, line_of(&source.code, at), what, cure));
        }
    }
    found
}

fn finding(path: &str, line: usize, what: String, cure: &str) -> Finding {
    Finding { path: path.to_owned(), line, check: "sizes", what, cure: cure.to_owned() }
}
