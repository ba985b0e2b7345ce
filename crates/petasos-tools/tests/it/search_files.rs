//! `search_files` over small trees.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant, SystemTime};

use petasos_contract::effect::{Effect, Effects};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::bench::{Bench, is_root, put};

fn search(bench: &Bench, args: &Value) -> Value {
    bench.run("search_files", args)
}

fn tree() -> Bench {
    let bench = Bench::new();
    bench.file("a.txt", "apple\nbanana\napple pie\n");
    bench.file("b/c.rs", "// apple\nfn main() {}\n");
    bench.file("b/d.md", "no fruit\n");
    bench
}

#[test]
fn few_matches_come_one_by_one_and_in_order() {
    let found = search(&tree(), &json!({ "pattern": "apple" }));
    let expected = json!({ "total_count": 3, "matches": [
        { "path": "a.txt", "line": 1, "content": "apple" },
        { "path": "a.txt", "line": 3, "content": "apple pie" },
        { "path": "b/c.rs", "line": 1, "content": "// apple" },
    ]});
    assert_eq!(found, expected);
}

#[test]
fn many_matches_are_grouped_by_file_with_their_context() {
    let bench = Bench::new();
    bench.file("x", "1 hit\n2\n3\n4\n5 hit\n6\n7 hit\n");
    bench.file("y", "hit\nhit\n");
    let found = search(&bench, &json!({ "pattern": "hit", "context": 1 }));
    let text = "x\n1: 1 hit\n2- 2\n--\n4- 4\n5: 5 hit\n6- 6\n7: 7 hit\ny\n1: hit\n2: hit";
    let expected =
        json!({ "total_count": 5, "matches_format": "path-grouped", "matches_text": text });
    assert_eq!(found, expected);
}

#[test]
fn context_of_few_matches_stands_beside_them() {
    let found = search(&tree(), &json!({ "pattern": "banana", "context": 2, "path": "a.txt" }));
    let expected = json!({ "total_count": 1, "matches": [{
        "path": "a.txt", "line": 2, "content": "banana", "before": ["apple"], "after": ["apple pie"],
    }]});
    assert_eq!(found, expected);
}

#[test]
fn the_modes_show_lines_files_or_counts() {
    let bench = tree();
    for (args, expected) in [
        (
            json!({ "output_mode": "files_only" }),
            json!({ "total_count": 2, "files": ["a.txt", "b/c.rs"] }),
        ),
        (
            json!({ "output_mode": "count" }),
            json!({ "total_count": 3, "counts": { "a.txt": 2, "b/c.rs": 1 } }),
        ),
        (
            json!({ "output_mode": "count", "file_glob": "*.rs" }),
            json!({ "total_count": 1, "counts": { "b/c.rs": 1 } }),
        ),
        (
            json!({ "output_mode": "files_only", "path": "b" }),
            json!({ "total_count": 1, "files": ["b/c.rs"] }),
        ),
        (
            json!({ "output_mode": "files_only", "file_glob": "!*.rs", "target": "grep" }),
            json!({ "total_count": 1, "files": ["a.txt"] }),
        ),
        (json!({ "file_glob": "*.md" }), json!({ "total_count": 0, "matches": [] })),
    ] {
        let mut args = args;
        args["pattern"] = json!("apple");
        assert_eq!(search(&bench, &args), expected, "{args}");
    }
}

#[test]
fn files_are_found_by_name_the_newest_first() {
    let bench = Bench::new();
    for (age, name) in [(30, "old.rs"), (10, "sub/new.rs"), (20, "sub/middle.rs"), (5, "x.md")] {
        let changed = SystemTime::now() - Duration::from_secs(age);
        File::options()
            .write(true)
            .open(bench.file(name, ""))
            .unwrap()
            .set_modified(changed)
            .unwrap();
    }
    for (args, expected) in [
        (
            json!({ "pattern": "*.rs", "target": "files" }),
            json!({ "total_count": 3, "files": ["sub/new.rs", "sub/middle.rs", "old.rs"] }),
        ),
        (
            json!({ "pattern": "sub/*", "target": "find" }),
            json!({ "total_count": 2, "files": ["sub/new.rs", "sub/middle.rs"] }),
        ),
        (
            json!({ "pattern": "*", "target": "files", "file_glob": "*.md" }),
            json!({ "total_count": 1, "files": ["x.md"] }),
        ),
        (
            json!({ "pattern": "*", "target": "files", "limit": 2, "offset": 1 }),
            json!({
                "total_count": 4, "files": ["sub/new.rs", "sub/middle.rs"],
                "truncated": true, "limit_reason": "limit", "next_offset": 3,
            }),
        ),
    ] {
        assert_eq!(search(&bench, &args), expected, "{args}");
    }
    let plain = search(&bench, &json!({ "pattern": "middle", "target": "files" }));
    assert!(plain["warning"].as_str().unwrap().contains("`*middle*`"), "{plain}");
}

#[test]
fn pages_cover_everything_once_and_in_order() {
    let bench = Bench::new();
    for file in 0..30 {
        bench.file(&format!("{file:02}"), "hit\n".repeat(file % 7));
    }
    let all = search(&bench, &json!({ "pattern": "hit", "limit": 1000 }));
    let lines = |found: &Value| {
        found["matches_text"].as_str().unwrap().lines().filter(|line| line.contains(": ")).count()
    };
    let total = usize::try_from(all["total_count"].as_u64().unwrap()).unwrap();
    assert_eq!(lines(&all), total);
    let (mut offset, mut seen) = (json!(0), 0);
    while !offset.is_null() {
        let page = search(&bench, &json!({ "pattern": "hit", "limit": 13, "offset": offset }));
        assert_eq!(page["total_count"], all["total_count"]);
        seen += page["matches_text"]
            .as_str()
            .map_or_else(|| page["matches"].as_array().unwrap().len(), |_| lines(&page));
        offset = page["next_offset"].clone();
    }
    assert_eq!(seen, total);
    let past = search(&bench, &json!({ "pattern": "hit", "offset": 5000 }));
    assert!(past["warning"].as_str().unwrap().contains("past them"), "{past}");
}

#[test]
fn hidden_ignored_and_protected_files_are_left_out() {
    let bench = Bench::new();
    for name in [".hidden", "kept.log", "seen", ".env", "sub/dropped.tmp"] {
        bench.file(name, "needle\n");
    }
    bench.file(".ignore", "*.log\n");
    bench.file(".gitignore", "*.tmp\n");
    fs::create_dir(bench.path(".git")).unwrap();
    symlink("/proc/self/environ", bench.path("link")).unwrap();
    let found = search(&bench, &json!({ "pattern": "needle", "output_mode": "files_only" }));
    assert_eq!(found, json!({ "total_count": 1, "files": ["seen"] }));

    fs::create_dir(bench.root.join("home/.agent/mcp-tokens")).unwrap();
    put(&bench.root.join("home/.agent/mcp-tokens/x.json"), "needle");
    put(&bench.root.join("home/.agent/note"), "needle");
    let found =
        search(&bench, &json!({ "pattern": "needle", "path": "~/.agent", "output_mode": "count" }));
    let note = bench.root.join("home/.agent/note").display().to_string();
    assert_eq!(found, json!({ "total_count": 1, "counts": { note: 1 }, "_omitted": 1 }));
}

#[test]
fn what_cannot_be_searched_is_explained() {
    let bench = tree();
    bench.file(".env", "KEY=1");
    let pipe = bench.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for (args, told) in [
        (json!({ "pattern": "" }), "`pattern` is empty"),
        (json!({ "pattern": "a(b" }), "no regular expression"),
        (json!({ "pattern": "x", "path": "missing" }), "does not exist"),
        (json!({ "pattern": "x", "path": "pipe" }), "neither a folder nor a regular file"),
        (json!({ "pattern": "x", "path": ".env" }), "is not searched"),
        (json!({ "pattern": "x", "path": "/proc/self/environ" }), "is not searched"),
        (json!({ "pattern": "[", "target": "files" }), "no name pattern"),
        (json!({ "pattern": "x", "file_glob": "{a" }), "no name pattern"),
        (json!({ "pattern": "x", "offset": 99_999_999 }), "`offset` is at most"),
    ] {
        let message = bench.refused("search_files", &args);
        assert!(message.contains(told), "{args}: {message}");
    }
    let wrong = bench.try_run("search_files", &json!({ "pattern": "x", "target": "sky" }));
    assert_eq!(wrong.unwrap_err().kind(), "InvalidArguments");
    let found = search(&bench, &json!({ "pattern": "apple", "output_mode": "files_only" }));
    assert_eq!(found["total_count"], json!(2));
}

#[test]
fn warnings_say_what_was_not_done() {
    let bench = tree();
    bench.file("half.bin", "apple\n\0apple\n");
    for (args, told) in [
        (json!({ "pattern": "apple\nbanana" }), "one by one"),
        (json!({ "pattern": r"apple\n|pie" }), "one by one"),
        (json!({ "pattern": "apple", "limit": 5000 }), "`limit` was lowered to 1000"),
        (json!({ "pattern": "apple", "context": 5000 }), "`context` was lowered to 10"),
        (json!({ "pattern": "apple", "path": "half.bin" }), "binary from byte"),
    ] {
        let found = search(&bench, &args);
        let warning = found["warning"].as_str().unwrap_or_default();
        assert!(warning.contains(told), "{args}: {found}");
    }
    assert_eq!(search(&bench, &json!({ "pattern": r"apple\n|pie" }))["total_count"], json!(1));
}

#[test]
fn long_lines_show_the_part_around_the_match() {
    let bench = Bench::new();
    let far = format!("{}needle{}", "é".repeat(5_000_000), "x".repeat(10_000));
    bench.file("one-line.js", far);
    let found = search(&bench, &json!({ "pattern": "needle" }));
    let shown = found["matches"][0]["content"].as_str().unwrap();
    assert!(shown.starts_with("…é") && shown.contains("éneedlex"), "{shown}");
    assert!(shown.chars().count() < 520);
}

#[test]
fn huge_results_fit_one_page() {
    let bench = Bench::new();
    bench.file("wide", format!("{}\n", "w".repeat(600)).repeat(1000));
    let found = search(&bench, &json!({ "pattern": "w", "limit": 1000 }));
    assert!(found.to_string().len() < 100_000);
    assert_eq!([&found["limit_reason"], &found["total_count"]], [&json!("chars"), &json!(1000)]);
    assert!(found["next_offset"].as_u64().unwrap() > 100);
}

#[test]
fn strange_files_do_not_disturb_a_search() {
    let bench = tree();
    put(&bench.path("").join(OsStr::from_bytes(b"na\xffme")), "apple\n");
    bench.file("utf16.txt", b"\xff\xfea\0p\0p\0l\0e\0\n\0");
    bench.file("latin", b"apple \xe9\n");
    bench.file("empty", "");
    bench.file("no-newline", "apple");
    mknodat(CWD, bench.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    symlink("/dev/zero", bench.path("zero")).unwrap();
    symlink(".", bench.path("round")).unwrap();
    let mut sparse = File::create(bench.path("sparse")).unwrap();
    sparse.seek(SeekFrom::Start(2_000_000_000)).unwrap();
    sparse.write_all(b"apple").unwrap();
    let found = search(&bench, &json!({ "pattern": "apple", "output_mode": "files_only" }));
    let expected = json!(["a.txt", "b/c.rs", "latin", "na\u{fffd}me", "no-newline", "utf16.txt"]);
    assert_eq!(found["files"], expected);
    let shut = bench.path("b");
    fs::set_permissions(&shut, Permissions::from_mode(0o000)).unwrap();
    let found = search(&bench, &json!({ "pattern": "fruit" }));
    fs::set_permissions(&shut, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(found["warning"].is_string(), !is_root(), "{found}");
}

#[test]
fn a_search_ends_with_its_call() {
    let mut bench = tree();
    bench.cx.deadline = Instant::now();
    let late = search(&bench, &json!({ "pattern": "apple" }));
    assert_eq!([&late["truncated"], &late["limit_reason"]], [&json!(true), &json!("timeout")]);
    bench.cx.cancel.cancel();
    let cancelled = bench.try_run("search_files", &json!({ "pattern": "apple" })).unwrap_err();
    assert_eq!(cancelled.kind(), "Cancelled");
}

#[test]
fn the_effect_is_reading_the_root() {
    let bench = Bench::new();
    let expected = |name: &str| Effects::one(Effect::Read(bench.path(name)));
    assert_eq!(
        bench.effects("search_files", &json!({ "pattern": "x", "path": "sub" })),
        expected("sub")
    );
    assert_eq!(
        bench.effects("search_files", &json!({ "pattern": "x" })),
        Effects::one(Effect::Read(bench.cx.workspace.to_path_buf()))
    );
}

#[test]
fn what_was_found_before_a_file_failed_is_told() {
    let bench = Bench::new();
    let mut text = b"first\n".to_vec();
    text.resize(70 << 20, b'x');
    bench.file("endless-line", text);
    let found = search(&bench, &json!({ "pattern": "first" }));
    assert_eq!([&found["total_count"], &found["matches"][0]["line"]], [&json!(1), &json!(1)]);
    assert!(found["warning"].as_str().unwrap().contains("could not be read: 1"), "{found}");
}
