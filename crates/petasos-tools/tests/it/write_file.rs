//! `write_file` and `patch`: what is refused, what is kept, what is stated beforehand.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use petasos_contract::effect::{Effect, Effects};
use serde_json::{Value, json};

use crate::bench::{Bench, is_root};

#[test]
fn missing_and_wrong_arguments_are_told_apart() {
    let bench = Bench::new();
    for (args, told) in [
        (json!({ "content": "x" }), "`path` is missing"),
        (json!({ "path": " ", "content": "x" }), "`path` is missing"),
        (json!({ "path": "f" }), "`content` is missing"),
        (json!({ "path": "f", "content": null }), "`content` is missing"),
        (json!({ "path": "f", "content": { "a": 1 } }), "must be text"),
        (json!({ "path": "f", "content": "1|a\n2|b\n3|c" }), "line numbers"),
    ] {
        let message = bench.refused("write_file", &args);
        assert!(message.contains(told), "{args}: {message}");
    }
    for (args, told) in [
        (json!({ "mode": "replace" }), "`path` is missing"),
        (json!({ "path": "f" }), "`new_string` is missing"),
        (json!({ "mode": "patch" }), "`patch` is missing"),
        (json!({ "path": "f", "old_string": "a", "new_string": "b" }), "does not exist"),
        (json!({ "mode": "patch", "patch": "*** Delete File: ../f" }), "may not contain `..`"),
    ] {
        let message = bench.refused("patch", &args);
        assert!(message.contains(told), "{args}: {message}");
    }
    assert!(!bench.path("f").exists());
}

#[test]
fn a_file_keeps_its_mode_and_owner() {
    let bench = Bench::new();
    let path = bench.file("f", "one\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&path, Some(1234), Some(1235)).unwrap();
    }
    let before = std::fs::metadata(&path).unwrap();
    let told = bench.run("write_file", &json!({ "path": "f", "content": "two\n" }));
    let after = std::fs::metadata(&path).unwrap();
    let rights = |known: &std::fs::Metadata| (known.mode(), known.uid(), known.gid());
    assert_eq!(rights(&before), rights(&after), "{told}");
    assert_ne!(before.ino(), after.ino());
}

#[test]
fn every_file_that_would_change_is_an_effect() {
    let bench = Bench::new();
    bench.file("real", "x");
    symlink("real", bench.path("link")).unwrap();
    let writes = |names: &[&str]| -> Effects {
        names.iter().map(|name| Effect::Write(bench.path(name))).collect()
    };
    let effects = |tool: &str, args: &Value| bench.effects(tool, args);
    assert_eq!(effects("write_file", &json!({ "path": "a/../b", "content": "" })), writes(&["b"]));
    assert_eq!(
        effects("write_file", &json!({ "path": "link", "content": "" })),
        writes(&["link", "real"])
    );
    assert_eq!(effects("patch", &json!({ "path": "f" })), writes(&["f"]));
    let patch =
        "*** Update File: a\n-x\n*** Move File: b -> c\n*** Add File: d\n*** Delete File: e";
    let args = json!({ "mode": "patch", "patch": patch });
    assert_eq!(effects("patch", &args), writes(&["a", "b", "c", "d", "e"]));
}

#[test]
fn python_that_a_change_breaks_is_told_and_what_was_broken_is_not() {
    let bench = Bench::local(&json!({}));
    let told = bench.run("write_file", &json!({ "path": "a.py", "content": "x = 1\n" }));
    assert_eq!(told["lint"], json!({ "status": "ok", "errors": [] }), "{told}");
    let told = bench.run("write_file", &json!({ "path": "a.py", "content": "def f(:\n" }));
    assert_eq!(told["lint"]["status"], "errors", "{told}");
    assert!(told["lint"]["errors"][0].as_str().unwrap().starts_with("a.py: line 1"), "{told}");
    let told = bench.run("write_file", &json!({ "path": "a.py", "content": "\ndef f(:\n" }));
    assert_eq!(told["lint"]["status"], "ok", "{told}");
}

#[test]
fn secrets_are_masked_in_what_is_shown_and_kept_in_the_file() {
    let bench = Bench::new();
    let key = format!("sk-{}", "a1B2".repeat(8));
    bench.file("f", format!("key = {key}\nother = 1\n"));
    let read = bench.run("read_file", &json!({ "path": "f" }));
    assert_eq!(read["content"], "1|key = [masked]\n2|other = 1");
    let found = bench.run("search_files", &json!({ "pattern": "key" }));
    assert_eq!(found["matches"][0]["content"], "key = [masked]");
    let args = json!({ "path": "f", "old_string": "other = 1", "new_string": "other = 2" });
    assert!(!bench.run("patch", &args)["diff"].as_str().unwrap().contains(&key));
    assert_eq!(
        std::fs::read_to_string(bench.path("f")).unwrap(),
        format!("key = {key}\nother = 2\n")
    );
}

/// What each checker says about the text that it is given; the real ones are told apart below.
const CHECKERS: &[(&str, &str)] = &[
    (
        "gofmt",
        "grep -q broken || exit 0; echo '<standard input>:3:5: expected operand' >&2; exit 2",
    ),
    (
        "rustfmt",
        "grep -q broken || exit 0; echo 'error: expected expression' >&2\n\
         echo ' --> <stdin>:2:9' >&2; exit 1",
    ),
    (
        "tsc",
        "for file; do :; done; grep -q import \"$file\" && { \
         echo \"$file(1,1): error TS2307: Cannot find module\"; code=2; }\n\
         grep -q broken \"$file\" && { echo \"$file(2,9): error TS1005: ';' expected.\"; code=2; }\n\
         exit ${code:-0}",
    ),
];

#[test]
fn code_is_judged_by_its_own_program_and_only_new_errors_are_told() {
    let bench = Bench::equipped(CHECKERS);
    for (name, good, error) in [
        ("a.go", "package a\n", "a.go: line 3: expected operand"),
        ("a.rs", "fn a() {}\n", "a.rs: error: expected expression\nline 2"),
        ("a.ts", "import x from 'x'\n", "a.ts: line 2: TS1005: ';' expected."),
    ] {
        let write = |text: &str| bench.run("write_file", &json!({ "path": name, "content": text }));
        assert_eq!(write(good)["lint"], json!({ "status": "ok", "errors": [] }), "{name}");
        let bad = format!("{good}broken\n");
        assert_eq!(write(&bad)["lint"], json!({ "status": "errors", "errors": [error] }));
        let still = format!("{bad}more\n");
        assert_eq!(write(&still)["lint"]["errors"], json!([]), "it was broken before");
    }
    let bench = Bench::local(&json!({}));
    let told = bench.run("write_file", &json!({ "path": "a.go", "content": "broken" }));
    assert!(told.get("lint").is_none(), "nobody can judge: {told}");
}

#[test]
fn python_and_javascript_are_judged_for_real() {
    let bench = Bench::local(&json!({}));
    let has_node = std::path::Path::new("/usr/bin/node").exists();
    for (name, good, bad, error) in [
        ("a.py", "x = 1\n", "x = 1\ny = (\n", "line 2: '(' was never closed"),
        ("a.js", "const fs = require('fs')\n", "let a\nlet = ;\n", "line 2"),
        ("b.js", "import a from 'b'\nexport const x = 1\n", "export {\n", "SyntaxError"),
        ("a.mjs", "await 1\n", "await\n", "SyntaxError"),
    ] {
        if !has_node && !name.ends_with("py") {
            petasos_testkit::skip("python_and_javascript_are_judged_for_real", "node", "none");
            return;
        }
        let write = |text: &str| bench.run("write_file", &json!({ "path": name, "content": text }));
        assert_eq!(write(good)["lint"], json!({ "status": "ok", "errors": [] }), "{name}");
        let told = write(bad);
        assert_eq!(told["lint"]["status"], "errors", "{told}");
        assert!(told["lint"]["errors"][0].as_str().unwrap().contains(error), "{told}");
        assert_eq!(told["bytes_written"], bad.len(), "it is written all the same");
    }
}

#[test]
fn no_program_of_the_project_runs_after_a_change() {
    let bench = Bench::local(&json!({}));
    let marker = bench.path("ran");
    let program = format!("#!/bin/sh\ntouch {}\n", marker.display());
    let tsc = bench.file("node_modules/.bin/tsc", program);
    std::fs::set_permissions(&tsc, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    bench.run("write_file", &json!({ "path": "a.ts", "content": "const a = ;\n" }));
    bench.run("write_file", &json!({ "path": "deep/b.ts", "content": "const a = ;\n" }));
    assert!(!marker.exists());
}
