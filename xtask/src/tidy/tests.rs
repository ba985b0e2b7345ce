//! What each check finds in a small checkout made for it, and in the real one.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::families::literal;
use super::findings;
use crate::house::House;

const RULES: &str = r#"
forbidden-names = ["utils"]
[limits]
file-lines = 12
function-lines = 3
[limits.crate-lines]
default = 20
[layers]
petasos-contract = { row = 0 }
petasos-sqlite = { row = 1, uses = ["petasos-contract"] }
petasos-agent = { row = 3, uses = ["petasos-contract"], build = ["petasos-index"] }
petasos-index = { row = 0 }
petasos-testkit = { row = 0 }
[weights]
rusqlite = ["petasos-sqlite"]
[[call]]
name = "environment"
patterns = ["env::var"]
allow = ["crates/petasos-sqlite/src/"]
tests = true
why = "ask for Settings"
"#;

/// A file of the length that the rules allow.
const TURN: &str = "//! Turn.\nstruct Turn;\nimpl Turn {\n    fn take() {}\n}\n";

const AGENT: &str = "[package]\nname = \"petasos-agent\"\n[lints]\nworkspace = true\n";

/// A checkout of one good crate, plus or instead of that the given files.
fn found(rules: &str, files: &[(&str, &str)]) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    let good = [
        ("tidy.toml", rules),
        ("crates/petasos-agent/Cargo.toml", AGENT),
        (
            "crates/petasos-agent/src/lib.rs",
            "//! Agent: `turn`.\nmod turn;\npub use turn::{A, B};\n",
        ),
        ("crates/petasos-agent/src/turn.rs", "//! Turn.\n"),
    ];
    for (path, text) in good.iter().chain(files) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }
    let house = House::open(root.path()).unwrap();
    let short = |path: &str| path.replace("crates/petasos-agent/", "");
    findings(&house)
        .iter()
        .map(|one| format!("{}:{}: {} [{}]", short(&one.path), one.line, one.what, one.check))
        .collect()
}

fn check(file: &str, text: &str, expected: &[&str]) {
    let path = format!("crates/petasos-agent/{file}");
    assert_eq!(found(RULES, &[(path.as_str(), text)]), expected, "{file}: {text}");
}

#[test]
fn a_tidy_checkout_has_no_findings() {
    assert_eq!(found(RULES, &[]), Vec::<String>::new());
}

#[test]
fn a_crate_uses_only_what_its_row_allows() {
    let with = |lines: &str| format!("{AGENT}{lines}");
    check(
        "Cargo.toml",
        &with("[dependencies]\npetasos-sqlite.workspace = true\n"),
        &["Cargo.toml:6: `petasos-agent` may not use `petasos-sqlite` in dependencies [layers]"],
    );
    check(
        "Cargo.toml",
        &with("[target.'cfg(unix)'.dependencies]\nx = { package = \"petasos-sqlite\" }\n"),
        &["Cargo.toml:1: `petasos-agent` may not use `petasos-sqlite` in dependencies [layers]"],
    );
    check(
        "Cargo.toml",
        &with("[dependencies]\npetasos-testkit.workspace = true\n"),
        &["Cargo.toml:6: `petasos-agent` may not use `petasos-testkit` in dependencies [layers]"],
    );
    check(
        "Cargo.toml",
        &with("[dependencies]\nrusqlite.workspace = true\n"),
        &["Cargo.toml:6: `petasos-agent` may not carry `rusqlite` [layers]"],
    );
    check("Cargo.toml", &with("[dev-dependencies]\npetasos-testkit.workspace = true\n"), &[]);
    check("Cargo.toml", &with("[build-dependencies]\npetasos-index.workspace = true\n"), &[]);
    check(
        "Cargo.toml",
        "[package]\nname = \"petasos-new\"\n[lints]\nworkspace = true\n",
        &["Cargo.toml:2: crate `petasos-new` has no row in the layer table [layers]"],
    );
}

#[test]
fn the_table_itself_lets_nothing_depend_sideways() {
    let sideways = RULES.replace("petasos-sqlite = { row = 1", "petasos-sqlite = { row = 0");
    let expected = "tidy.toml:1: the table lets `petasos-sqlite` use `petasos-contract`, \
                    which is not below it [layers]";
    assert_eq!(found(&sideways, &[]), [expected]);
}

#[test]
fn a_manifest_inherits_versions_and_lints() {
    check(
        "Cargo.toml",
        "[package]\nname = \"petasos-agent\"\n[dependencies]\nserde = \"1\"\n",
        &[
            "Cargo.toml:1: the workspace lints are not inherited [manifests]",
            "Cargo.toml:4: `serde` is not inherited from the workspace [manifests]",
        ],
    );
}

#[test]
fn files_and_functions_have_limits_and_tests_do_not_count() {
    let long = format!("//! Turn.\n{}", "const A: u8 = 1;\n".repeat(12));
    check("src/turn.rs", &long, &["src/turn.rs:13: 13 production lines, the limit is 12 [sizes]"]);
    let tests = "#[cfg(test)]\nmod tests {\n}\n".repeat(5);
    check("src/turn.rs", &format!("//! Turn.\n{tests}"), &[]);
    check(
        "src/turn.rs",
        "//! Turn.\nfn a() -> [u8; 2] {\n    // why\n\n    b(\"}\");\n    c();\n    d();\n    e()\n}\n",
        &["src/turn.rs:2: function `a` has 4 lines of code, the limit is 3 [sizes]"],
    );
}

#[test]
fn names_that_say_nothing_are_found() {
    for path in ["src/turn/utils.rs", "src/turn/text_utils.rs"] {
        let full = format!("crates/petasos-agent/{path}");
        let stem = full.rsplit_once('/').unwrap().1.replace(".rs", "");
        let turn = format!("//! Turn.\nmod {stem};\n");
        let files = [("crates/petasos-agent/src/turn.rs", turn.as_str()), (&full, "//! U.\n")];
        assert_eq!(found(RULES, &files), [format!("{path}:1: `utils` says nothing [names]")]);
    }
}

#[test]
fn a_file_says_what_it_is_for() {
    let what = "src/turn.rs:1: the file does not begin with a `//!` comment [header]";
    check("src/turn.rs", "fn a() {}\n", &[what]);
}

#[test]
fn a_promise_names_its_issue() {
    check("src/turn.rs", "//! Turn.\n// TODO(#12): later.\nconst A: &str = \"TODO\";\n", &[]);
    for comment in ["// TODO: later", "// TODO(me): later", "/* a\n FIXME */"] {
        let found = found(
            RULES,
            &[("crates/petasos-agent/src/turn.rs", &format!("//! Turn.\n{comment}\n"))],
        );
        assert_eq!(found.len(), 1, "{comment}: {found:?}");
    }
}

#[test]
fn a_lib_rs_holds_no_code() {
    let good = "//! A: `turn`.\n#![deny(x)]\n#[cfg(a)]\nmod turn;\npub(crate) use a::{\n    b,\n};\npub use c;\npub type D<T> = E<T>;\n";
    check("src/lib.rs", good, &[]);
    check(
        "src/lib.rs",
        "//! A: `turn`.\nmod turn;\n/// B.\npub fn b() {}\npub use turn::C;\nconst D: u8 = 1;\n",
        &["src/lib.rs:4: code in `lib.rs` [lib.rs]", "src/lib.rs:6: code in `lib.rs` [lib.rs]"],
    );
}

#[test]
fn a_call_outside_its_place_is_found_but_not_in_tests_or_text() {
    let what = "src/turn.rs:3: `env::var` is not written here [calls]";
    check("src/turn.rs", "//! Turn.\nfn a() {\n    std::env::var(\"A\");\n}\n", &[what]);
    check("src/turn.rs", "//! Turn.\n// env::var\nconst A: &str = \"env::var\";\n", &[]);
    check("src/turn.rs", "//! Turn.\n#[cfg(test)]\nmod tests {\n    use env::var;\n}\n", &[]);
}

#[test]
fn a_file_that_no_module_names_is_found() {
    let what = "src/lost.rs:1: no `mod` line names this file [reach]";
    check("src/lost.rs", "//! Lost.\n", &[what]);
    check("tests/it/main.rs", "//! It.\n", &[]);
}

const SCRIPT: &str = r#"//! Build.
fn main() {
    petasos_index::Family {
        folder: "src/turn",
        index: "src/turn.rs",
        item: "A",
        list: "static B: &[&C]",
        imports: "use c::C;",
        check: "",
        doc: "Index of \"a\".",
    }
    .sync()
}
"#;

const INDEX: &str = r#"//! Index of "a". Kept in step with the folder by the build; do not edit.

mod one;

use c::C;

/// Every member, in the order of its file name.
#[rustfmt::skip]
static B: &[&C] = &[
    &one::A,
];
"#;

fn index_findings(index: &str, attributes: &str, more: &[(&str, &str)]) -> Vec<String> {
    let crate_files = [
        (".gitattributes", attributes),
        ("crates/petasos-agent/build.rs", SCRIPT),
        ("crates/petasos-agent/src/turn.rs", index),
        ("crates/petasos-agent/src/turn/one.rs", "//! One.\n"),
    ];
    let rules = RULES.replace("= 12", "= 99").replace("= 3\n", "= 99\n").replace("= 20", "= 99");
    found(&rules, &[&crate_files, more].concat())
}

#[test]
fn a_stale_index_is_found() {
    let attributes = "crates/petasos-agent/src/turn.rs merge=union\n";
    let stale =
        "src/turn.rs:1: the index is not in step with `crates/petasos-agent/src/turn` [families]";
    assert_eq!(index_findings(INDEX, attributes, &[]), Vec::<String>::new());
    assert_eq!(index_findings(&INDEX.replace("one::A", "one::B"), attributes, &[]), [stale]);
    let lost = "src/turn/two.rs:1: no `mod` line names this file [reach]";
    let two = [("crates/petasos-agent/src/turn/two.rs", "//! Two.\n")];
    assert_eq!(index_findings(INDEX, attributes, &two), [stale, lost]);
    let rule = "src/turn.rs:1: the index has no merge rule [families]";
    assert_eq!(index_findings(INDEX, "", &[]), [rule]);
}

#[test]
fn a_map_that_is_not_true_is_found() {
    let library = "crates/petasos-agent/src/lib.rs";
    let with = |docs: &str| format!("{docs}\nmod turn;\n");
    let unnamed = with("//! Agent.");
    assert_eq!(
        found(RULES, &[(library, &unnamed)]),
        ["src/lib.rs:2: `turn` is not in the map of its crate [map]"]
    );
    let ghost = with("//! | `turn`, `gone` | turns |");
    assert_eq!(
        found(RULES, &[(library, &ghost)]),
        ["src/lib.rs:1: the map names `gone`, and no module has this name [map]"]
    );
    let map = |lines: &str| format!("| 3 | `petasos-agent` | it |\n{lines}\n");
    let of = |lines: &str| {
        let text = map(lines);
        found(RULES, &[("ARCHITECTURE.md", &text), ("crates/petasos-agent/src/turn.rs", TURN)])
    };
    let true_ones =
        "`turn.rs`, `petasos-agent/src/turn.rs`, `src/`, `Turn`, `Turn::take`, `mod.rs`";
    assert_eq!(of(true_ones), Vec::<String>::new());
    for lie in ["turns.rs", "petasos-agent/src/turns.rs", "turn/", "Turns", "Turn::taken"] {
        let told = format!("ARCHITECTURE.md:2: it names `{lie}`, which is not there [map]");
        assert_eq!(of(&format!("`{lie}`")), [told]);
    }
    let wrong = "| 2 | `petasos-agent` | it |\n";
    assert_eq!(
        found(RULES, &[("ARCHITECTURE.md", wrong)]),
        ["ARCHITECTURE.md:1: `petasos-agent` is on row 2 here, on 3 in tidy.toml [map]"]
    );
    assert_eq!(
        found(RULES, &[("ARCHITECTURE.md", "")]),
        ["ARCHITECTURE.md:1: crate `petasos-agent` is not in the map [map]"]
    );
}

#[test]
fn a_family_without_a_row_in_the_map_is_found() {
    let attributes = "crates/petasos-agent/src/turn.rs merge=union\n";
    let of = |row: &str| {
        let map = format!("| 3 | `petasos-agent` | it |\n{row}\n");
        index_findings(INDEX, attributes, &[("ARCHITECTURE.md", &map)])
    };
    let row = "| a turn | `petasos-agent/src/turn/<name>.rs` | `A: u8` |";
    assert_eq!(of(row), Vec::<String>::new());
    let none = "ARCHITECTURE.md:1: the family in `petasos-agent/src/turn` has no row [map]";
    assert_eq!(of(""), [none]);
    let other = "ARCHITECTURE.md:1: the row of `petasos-agent/src/turn` does not say `A` [map]";
    assert_eq!(of(&row.replace("`A: u8`", "`B: u8`")), [other]);
}

#[test]
fn an_exemption_silences_its_check_and_must_be_needed() {
    let exempt = |path: &str| {
        format!(
            "{RULES}\n[[exempt]]\ncheck = \"header\"\npath = \"{path}\"\nreason = \"made by a tool\"\n"
        )
    };
    let file = [("crates/petasos-agent/src/turn.rs", "const A: u8 = 1;\n")];
    assert_eq!(found(&exempt("crates/petasos-agent/src/"), &file), Vec::<String>::new());
    assert_eq!(
        found(&exempt("crates/petasos-agent/src/turn.rs"), &[]),
        ["tidy.toml:1: the exemption of `crates/petasos-agent/src/turn.rs` from `header` covers \
          nothing [exempt]"]
    );
}

/// In a copy of its folder a family gets one more file: the index gets its two lines and nothing
/// else changes, in whichever crate.
#[test]
fn every_family_grows_by_one_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let house = House::open(root).unwrap();
    let mut grown = Vec::new();
    for manifest in &house.manifests {
        let path = format!("{}build.rs", manifest.folder());
        let Some(script) = house.source(&path) else { continue };
        for (at, _) in script.code.match_indices("Family {") {
            let value = |field| literal(script, at, field).unwrap();
            let (folder, index, item) = (value("folder"), value("index"), value("item"));
            let (list, imports) = (value("list"), value("imports"));
            let (check, doc) = (value("check"), value("doc"));
            let family = petasos_index::Family {
                folder: &folder,
                index: &index,
                item: &item,
                list: &list,
                imports: &imports,
                check: &check,
                doc: &doc,
            };
            let here = root.join(manifest.folder());
            let copy = tempfile::tempdir().unwrap();
            let members = copy.path().join(&folder);
            fs::create_dir_all(&members).unwrap();
            for entry in fs::read_dir(here.join(&folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    fs::copy(&path, members.join(path.file_name().unwrap())).unwrap();
                } else {
                    fs::create_dir(members.join(path.file_name().unwrap())).unwrap();
                }
            }
            fs::File::create(members.join("added_by_a_test.rs")).unwrap();
            family.sync_in(copy.path()).unwrap();
            let after = fs::read_to_string(copy.path().join(&index)).unwrap();
            let row = format!("    &added_by_a_test::{item},\n");
            assert!(after.contains(&row), "{path}: {after}");
            let before = after.replace("mod added_by_a_test;\n", "").replace(&row, "");
            assert_eq!(before, fs::read_to_string(here.join(&index)).unwrap(), "{path}");
            grown.push(item);
        }
    }
    for family in ["TOOL", "BACKEND", "ROW", "PROGRAMS", "RULE", "COMMAND", "PLATFORM"] {
        assert!(grown.iter().any(|item| item == family), "{family} is in no family: {grown:?}");
    }
}

#[test]
fn the_house_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let found = findings(&House::open(root).unwrap());
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}
