//! Every Rust file opens by saying what it is for.

use crate::finding::Finding;
use crate::house::House;

/// Looks at the first line of every Rust file.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let silent = house.sources.iter().filter(|source| {
        let first = source.text.lines().find(|line| !line.trim().is_empty());
        !first.is_some_and(|line| line.starts_with("//! "))
    });
    let finding = |path: &String| Finding {
        path: path.clone(),
        line: 1,
        check: "header",
        what: "the file does not begin with a `//!` comment".to_owned(),
        cure: "say in two to six lines what it is for and what it does not do".to_owned(),
    };
    silent.map(|source| finding(&source.path)).collect()
}
