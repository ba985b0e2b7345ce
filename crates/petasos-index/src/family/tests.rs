//! Behaviour of a family's index over throw-away folders.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::Family;

const FAMILY: Family<'static> = Family {
    folder: "src/animals",
    index: "src/animals.rs",
    item: "ANIMAL",
    list: "pub static ANIMALS: &[&Animal]",
    imports: "use crate::animal::{Animal, unique};",
    check: "const _: () = unique(ANIMALS);",
    doc: "Index of the animals.",
};

const EXPECTED: &str = "\
//! Index of the animals. Kept in step with the folder by the build; do not edit.

mod cat;
mod dog;

use crate::animal::{Animal, unique};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static ANIMALS: &[&Animal] = &[
    &cat::ANIMAL,
    &dog::ANIMAL,
];

const _: () = unique(ANIMALS);

#[cfg(test)]
mod tests;
";

fn crate_with(members: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("src/animals/dog")).unwrap();
    for member in members {
        fs::File::create(root.path().join("src/animals").join(member)).unwrap();
    }
    root
}

fn index(root: &Path) -> String {
    fs::read_to_string(root.join("src/animals.rs")).unwrap()
}

fn modified(root: &Path) -> SystemTime {
    fs::metadata(root.join("src/animals.rs")).unwrap().modified().unwrap()
}

#[test]
fn every_member_is_listed_in_order_and_other_files_are_not() {
    let root = crate_with(&["dog.rs", "cat.rs", "tests.rs", "notes.md", ".#cat.rs"]);
    FAMILY.sync_in(root.path()).unwrap();
    assert_eq!(index(root.path()), EXPECTED);
    let left: Vec<_> = fs::read_dir(root.path().join("src")).unwrap().collect();
    assert_eq!(left.len(), 2, "no draft is left behind");
}

#[test]
fn a_new_member_makes_the_index_stale_until_the_next_sync() {
    let root = crate_with(&["cat.rs"]);
    assert!(!FAMILY.is_fresh(root.path()).unwrap());
    FAMILY.sync_in(root.path()).unwrap();
    assert!(FAMILY.is_fresh(root.path()).unwrap());
    fs::File::create(root.path().join("src/animals/owl.rs")).unwrap();
    assert!(!FAMILY.is_fresh(root.path()).unwrap());
    FAMILY.sync_in(root.path()).unwrap();
    assert!(index(root.path()).contains("    &owl::ANIMAL,\n"));
}

#[test]
fn a_fresh_index_is_not_touched() {
    let root = crate_with(&["cat.rs"]);
    FAMILY.sync_in(root.path()).unwrap();
    let file = fs::File::open(root.path().join("src/animals.rs")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    FAMILY.sync_in(root.path()).unwrap();
    assert_eq!(modified(root.path()), SystemTime::UNIX_EPOCH);
}

#[test]
fn a_stale_index_that_cannot_be_written_says_so() {
    let root = crate_with(&["cat.rs"]);
    // A folder in the index's place refuses the write for every user, root included.
    fs::create_dir_all(root.path().join("src/animals.rs/full")).unwrap();
    let error = FAMILY.sync_in(root.path()).unwrap_err().to_string();
    assert!(error.contains("is stale and cannot be written"), "{error}");
    assert!(error.contains("commit it"), "{error}");
}

#[test]
fn a_member_whose_name_is_no_module_is_named() {
    let root = crate_with(&["guinea-pig.rs"]);
    let error = FAMILY.sync_in(root.path()).unwrap_err().to_string();
    assert!(error.contains("guinea-pig.rs` cannot be a module"), "{error}");
}

#[test]
fn a_missing_folder_is_named() {
    let root = tempfile::tempdir().unwrap();
    let error = FAMILY.sync_in(root.path()).unwrap_err().to_string();
    assert!(error.contains("cannot list the family folder"), "{error}");
}
