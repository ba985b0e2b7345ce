//! No file is named after nothing, and no module is a `mod.rs`.
//!
//! A name from the list in `tidy.toml`, alone or as the last word of a name, says that a thing
//! has no home yet.

use std::path::Path;

use crate::finding::Finding;
use crate::house::House;

/// Looks at the names of all Rust files and of the folders they are in.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &house.sources {
        let path = Path::new(&source.path);
        if path.file_name().is_some_and(|name| name == "mod.rs") {
            let cure = "editors show only the file's name: write `foo.rs` beside `foo/`";
            found.push(finding(&source.path, "`mod.rs` is not used here".to_owned(), cure));
        }
        let words = path.with_extension("");
        for word in words.components().map(|part| part.as_os_str().to_string_lossy()) {
            let forbidden = &house.rules.forbidden_names;
            let ends = |name: &String| word == *name || word.ends_with(&format!("_{name}"));
            if let Some(name) = forbidden.iter().find(|name| ends(name)) {
                let cure = "name it after the one idea inside, or move each part to its idea";
                found.push(finding(&source.path, format!("`{name}` says nothing"), cure));
            }
        }
    }
    found
}

fn finding(path: &str, what: String, cure: &str) -> Finding {
    Finding { path: path.to_owned(), line: 1, check: "names", what, cure: cure.to_owned() }
}
