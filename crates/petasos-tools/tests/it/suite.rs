//! What the file tools do wherever their files are. Each check takes a bench and asks nothing
//! about its place, so that any backend can be put under it.

use serde_json::{Value, json};

use crate::bench::Bench;

/// Every place that a test can make without help from outside.
fn places() -> [(&'static str, Bench); 3] {
    let nothing = json!({});
    [
        ("no terminal", Bench::with(&nothing)),
        ("local", Bench::local(&nothing)),
        ("elsewhere", Bench::elsewhere(&nothing)),
    ]
}

type Check = fn(&Bench);

const CHECKS: &[(&str, Check)] = &[
    ("reading pages", reading),
    ("what cannot be read", refusals),
    ("writing", writing),
    ("line ends and marks", line_ends),
    ("replacing", replacing),
    ("patching many files", patching),
    ("a fault changes nothing", all_or_nothing),
    ("searching", searching),
    ("broken syntax", syntax),
];

#[test]
fn the_file_tools_do_the_same_everywhere() {
    for (check, act) in CHECKS {
        for (place, bench) in places() {
            println!("{check}: {place}");
            act(&bench);
        }
    }
}

/// Runs every check in one place, each in a folder and a conversation of its own.
fn holds(place: &str, test: &str, make: fn(&str) -> Option<Bench>) {
    let Some(mut bench) = make(test) else { return };
    for (check, act) in CHECKS {
        println!("{check}: {place}");
        bench.go_to(check);
        act(&bench);
    }
}

#[test]
fn the_file_tools_do_the_same_in_a_container() {
    holds("docker", "the_file_tools_do_the_same_in_a_container", Bench::docker);
}

#[test]
fn the_file_tools_do_the_same_over_ssh() {
    holds("ssh", "the_file_tools_do_the_same_over_ssh", Bench::ssh);
}

fn text(bench: &Bench, name: &str) -> String {
    std::fs::read_to_string(bench.path(name)).unwrap()
}

fn reading(bench: &Bench) {
    bench.file("long.txt", "line\n".repeat(1200));
    let page = bench.run("read_file", &json!({ "path": "long.txt", "limit": 2, "offset": 1199 }));
    assert_eq!(page["content"], "1199|line\n1200|line");
    assert_eq!(page["total_lines"], 1200);
    bench.file("utf16", b"\xff\xfeo\0n\0e\0");
    assert_eq!(bench.run("read_file", &json!({ "path": "utf16" }))["content"], "1|one");
    let missing = bench.run("read_file", &json!({ "path": "longer.txt" }));
    assert_eq!(missing["similar_files"], json!(["long.txt"]));
    let cells = json!({ "cells": [{ "cell_type": "code", "source": ["x = 1"] }] });
    bench.file("book.ipynb", cells.to_string());
    let book = bench.run("read_file", &json!({ "path": "book.ipynb" }));
    assert_eq!(book["extracted_document"], "notebook");
    assert!(book["content"].as_str().unwrap().contains("2|x = 1"), "{book}");
}

fn refusals(bench: &Bench) {
    bench.file(".env", "KEY=1");
    bench.file("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    std::os::unix::fs::symlink(bench.path(".env"), bench.path("innocent")).unwrap();
    for (path, told) in [
        (".env", "is not shown"),
        ("innocent", "is not shown"),
        ("/proc/self/environ", "is not shown"),
        ("/dev/zero", "device"),
        (".", "is a folder"),
        ("nothing", "does not exist"),
        ("no/folder", "neither does the folder"),
        ("program", "binary"),
    ] {
        let message = bench.refused("read_file", &json!({ "path": path }));
        assert!(message.contains(told), "{path}: {message}");
    }
    let args = json!({ "mode": "replace", "path": ".env", "old_string": "KEY", "new_string": "X" });
    assert!(bench.refused("patch", &args).contains("not patched"));
}

fn writing(bench: &Bench) {
    let told = bench.run("write_file", &json!({ "path": "a/b/c.txt", "content": "one\n" }));
    let path = bench.path("a/b/c.txt").display().to_string();
    assert_eq!(
        told,
        json!({
            "bytes_written": 4, "dirs_created": true, "resolved_path": path, "files_modified": [],
        })
    );
    let told = bench.run("write_file", &json!({ "path": "a/b/c.txt", "content": "two" }));
    assert_eq!(told["files_modified"], json!(["a/b/c.txt"]));
    assert_eq!(text(bench, "a/b/c.txt"), "two");
    std::os::unix::fs::symlink("c.txt", bench.path("a/b/link")).unwrap();
    bench.run("write_file", &json!({ "path": "a/b/link", "content": "through" }));
    assert_eq!(text(bench, "a/b/c.txt"), "through");
    std::os::unix::fs::symlink(&bench.root, bench.path("out")).unwrap();
    let told = bench.refused("write_file", &json!({ "path": "out/x", "content": "x" }));
    assert!(told.contains("leads out of the working directory"), "{told}");
    let told = bench.refused("write_file", &json!({ "path": "a", "content": "x" }));
    assert!(told.contains("is a folder"), "{told}");
}

fn line_ends(bench: &Bench) {
    bench.file("crlf", "\u{feff}one\r\ntwo\r\n");
    let args = json!({ "path": "crlf", "old_string": "one\ntwo", "new_string": "1\n2\n3" });
    bench.run("patch", &args);
    assert_eq!(text(bench, "crlf"), "\u{feff}1\r\n2\r\n3\r\n");
    bench.run("write_file", &json!({ "path": "crlf", "content": "a\nb\n" }));
    assert_eq!(text(bench, "crlf"), "\u{feff}a\r\nb\r\n");
}

fn replacing(bench: &Bench) {
    bench.file("f.txt", "fn a() {\n    one();\n    two();\n}\n");
    let args = json!({
        "mode": "replace", "path": "f.txt", "old_string": "one();\ntwo();", "new_string": "three();",
    });
    let told = bench.run("patch", &args);
    assert_eq!(text(bench, "f.txt"), "fn a() {\n    three();\n}\n");
    assert_eq!([&told["success"], &told["files_modified"]], [&json!(true), &json!(["f.txt"])]);
    let diff = told["diff"].as_str().unwrap();
    assert!(diff.contains("-    one();\n-    two();\n+    three();"), "{diff}");
    assert!(told["_hint"].as_str().unwrap().contains("line-trimmed"));
    for _ in 0..3 {
        let missed = bench.run("patch", &args);
        assert_eq!(missed["success"], false);
    }
    assert!(bench.refused("patch", &args).contains("copy the lines exactly"));
}

fn patching(bench: &Bench) {
    bench.file("keep", "1\n2\n3\n");
    bench.file("gone", "x");
    bench.file("old", "#!/bin/sh\n");
    set_mode(bench, "old", 0o750);
    let patch = "*** Begin Patch\n*** Update File: keep\n 1\n-2\n+two\n*** Add File: new/file\n\
                 +text\n*** Delete File: gone\n*** Move File: old -> bin/new\n*** End Patch";
    let told = bench.run("patch", &json!({ "mode": "patch", "patch": patch }));
    assert_eq!(told["files_modified"], json!(["keep"]));
    assert_eq!(told["files_created"], json!(["bin/new", "new/file"]));
    assert_eq!(told["files_deleted"], json!(["gone", "old"]));
    assert_eq!([text(bench, "keep"), text(bench, "new/file")], ["1\ntwo\n3\n", "text\n"]);
    assert!(!bench.path("gone").exists() && !bench.path("old").exists());
    assert_eq!(mode(bench, "bin/new"), 0o750);
}

fn all_or_nothing(bench: &Bench) {
    for name in ["a", "b", "c"] {
        bench.file(name, format!("{name}\n"));
    }
    let patch = "*** Update File: a\n-a\n+A\n*** Update File: b\n-wrong\n+B\n*** Delete File: c";
    let told = bench.refused("patch", &json!({ "mode": "patch", "patch": patch }));
    assert!(told.contains("`b`") && told.contains("No file was changed"), "{told}");
    assert_eq!(["a", "b", "c"].map(|name| text(bench, name)), ["a\n", "b\n", "c\n"]);
}

fn searching(bench: &Bench) {
    bench.file("src/one.rs", "fn one() {}\nfn two() {}\n// end\n");
    bench.file("src/two.txt", "fn three\n");
    bench.file(".hidden", "fn four\n");
    bench.file(".env", "fn five\n");
    let found = bench.run("search_files", &json!({ "pattern": "fn \\w+", "context": 1 }));
    let expected = json!({
        "total_count": 3,
        "matches": [
            { "path": "src/one.rs", "line": 1, "content": "fn one() {}" },
            { "path": "src/one.rs", "line": 2, "content": "fn two() {}", "after": ["// end"] },
            { "path": "src/two.txt", "line": 1, "content": "fn three" },
        ],
    });
    assert_eq!(without_note(found), expected);
    let args = json!({ "pattern": "fn", "file_glob": "*.rs", "output_mode": "count" });
    let found = bench.run("search_files", &args);
    assert_eq!(without_note(found), json!({ "total_count": 2, "counts": { "src/one.rs": 2 } }));
    let args = json!({ "pattern": "fn", "output_mode": "files_only", "path": "src", "limit": 1 });
    let found = without_note(bench.run("search_files", &args));
    assert_eq!([&found["total_count"], &found["files"]], [&json!(2), &json!(["src/one.rs"])]);
    let found = bench.run("search_files", &json!({ "pattern": "*.txt", "target": "files" }));
    assert_eq!(without_note(found), json!({ "total_count": 1, "files": ["src/two.txt"] }));
    let found = bench.run("search_files", &json!({ "pattern": "two", "path": "src/one.rs" }));
    assert_eq!(found["matches"][0]["path"], "src/one.rs");
    let none = bench.run("search_files", &json!({ "pattern": "nowhere" }));
    assert_eq!(none["total_count"], 0, "{none}");
}

/// A target may lack ripgrep and then says so.
fn without_note(mut found: Value) -> Value {
    let note = found["warning"].as_str().unwrap_or_default().to_owned();
    if note == "the target has no ripgrep: ignore files were not obeyed" {
        found.as_object_mut().unwrap().remove("warning");
    }
    found
}

fn syntax(bench: &Bench) {
    for (name, good, bad) in [
        ("a.json", "{\"a\": 1}", "{\"a\": }"),
        ("a.yaml", "a: [1]\n", "a: [1\n"),
        ("a.toml", "a = 1\n", "a =\n"),
    ] {
        bench.run("write_file", &json!({ "path": name, "content": good }));
        let told = bench.refused("write_file", &json!({ "path": name, "content": bad }));
        assert!(told.contains("would not be valid"), "{told}");
        assert_eq!(text(bench, name), good);
        let args = json!({ "path": name, "old_string": good.trim(), "new_string": bad.trim() });
        assert!(bench.refused("patch", &args).contains("would not be valid"));
        assert_eq!(text(bench, name), good);
    }
}

fn set_mode(bench: &Bench, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(bench.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(bench: &Bench, name: &str) -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(bench.path(name)).unwrap().mode() & 0o7777
}
