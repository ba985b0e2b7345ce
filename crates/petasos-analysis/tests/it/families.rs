//! Adding a rule or what a program does is one new file: the index follows by itself.

use petasos_index::Family;
use std::path::{Path, PathBuf};

/// A copy of a family's folder and index, with one more member.
fn with_one_more(folder: &str, family: &Family<'_>) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("families-{folder}"));
    let members = root.join("src").join(folder);
    std::fs::create_dir_all(&members).unwrap();
    for entry in std::fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, members.join(path.file_name().unwrap())).unwrap();
    }
    let any = std::fs::read_dir(&members).unwrap().next().unwrap().unwrap().path();
    std::fs::copy(any, members.join("added_by_a_test.rs")).unwrap();
    family.sync_in(&root).unwrap();
    std::fs::read_to_string(root.join(family.index)).unwrap()
}

#[test]
fn a_new_file_is_a_new_program() {
    let family = Family {
        folder: "src/programs",
        index: "src/programs.rs",
        item: "PROGRAMS",
        list: "pub(crate) static PROGRAMS: &[&&[Program]]",
        imports: "use crate::program::Program;",
        check: "",
        doc: "Index of the programs and what they do.",
    };
    let index = with_one_more("programs", &family);
    assert!(
        index.contains("mod added_by_a_test;") && index.contains("&added_by_a_test::PROGRAMS,")
    );
    let others = index.replace("mod added_by_a_test;\n", "");
    let others = others.replace("    &added_by_a_test::PROGRAMS,\n", "");
    assert_eq!(others, include_str!("../../src/programs.rs"));
}

#[test]
fn a_new_file_is_a_new_rule() {
    let family = Family {
        folder: "src/rules",
        index: "src/rules.rs",
        item: "RULE",
        list: "pub static RULES: &[&Rule]",
        imports: "use crate::rule::Rule;",
        check: "",
        doc: "Index of the rules: what is blocked and what is asked about.",
    };
    let index = with_one_more("rules", &family);
    let others = index.replace("mod added_by_a_test;\n", "");
    let others = others.replace("    &added_by_a_test::RULE,\n", "");
    assert_ne!(others, index);
    assert_eq!(others, include_str!("../../src/rules.rs"));
}
