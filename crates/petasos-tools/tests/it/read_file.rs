//! `read_file` on files of all shapes.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use petasos_contract::CallContext;
use petasos_contract::context::Principal;
use petasos_contract::effect::{Effect, Effects};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::bench::{Bench, is_root, memory_peak, put};

fn read(bench: &Bench, path: &str) -> Value {
    page(bench, &json!({ "path": path }))
}

/// As a script, which is always shown the text.
fn page(bench: &Bench, args: &Value) -> Value {
    let script = CallContext { principal: Principal::Code, ..bench.cx.clone() };
    bench.run_in(&script, "read_file", args)
}

fn refused(bench: &Bench, path: &str) -> String {
    bench.refused("read_file", &json!({ "path": path }))
}

#[test]
fn whole_files_come_back_numbered() {
    let bench = Bench::new();
    for (content, shown, lines) in [
        (&b""[..], "", 0),
        (b"one", "1|one", 1),
        (b"one\ntwo\n", "1|one\n2|two", 2),
        (b"one\r\n\r\ntwo", "1|one\n2|\n3|two", 3),
        (b"\xef\xbb\xbfone\n", "1|one", 1),
        (b"caf\xe9 au lait\n", "1|caf\u{fffd} au lait", 1),
        (b"\xff\xfeo\0n\0e\0\n\0", "1|one", 1),
        ("日本\n".as_bytes(), "1|日本", 1),
    ] {
        bench.file("file", content);
        let expected = json!({
            "content": shown, "total_lines": lines, "file_size": content.len(), "truncated": false,
        });
        assert_eq!(read(&bench, "file"), expected);
    }
}

#[test]
fn pages_lead_from_one_to_the_next() {
    let bench = Bench::new();
    let text = "line\n".repeat(1200);
    bench.file("long.txt", text);
    let first = read(&bench, "long.txt");
    assert_eq!(
        [&first["truncated"], &first["truncated_by"], &first["next_offset"]],
        [&json!(true), &json!("lines"), &json!(501)]
    );
    let (mut offset, mut seen) = (json!(1), 0);
    while !offset.is_null() {
        let args = json!({ "path": "long.txt", "offset": offset, "limit": 499 });
        let page = bench.run("read_file", &args);
        seen += page["content"].as_str().unwrap().lines().count();
        offset = page["next_offset"].clone();
    }
    assert_eq!(seen, 1200);
}

#[test]
fn the_budget_ends_a_page_at_a_line() {
    let bench = Bench::with(&json!({
        "file_read_max_chars": 50, "tool_output": { "max_lines": 3, "max_line_length": 30 },
    }));
    bench.file("file", format!("{}\nsecond line\nthird line\n4\n5\n", "x".repeat(99)));
    let page = read(&bench, "file");
    assert_eq!(page["content"], json!(format!("1|{}… [line cut]", "x".repeat(30))));
    assert_eq!([&page["truncated_by"], &page["next_offset"]], [&json!("bytes"), &json!(2)]);
    let page = bench.run("read_file", &json!({ "path": "file", "offset": 2, "limit": 9000 }));
    assert_eq!(page["content"], json!("2|second line\n3|third line\n4|4"));
    assert!(page["hint"].as_str().unwrap().contains("lowered to 3"), "{page}");
}

#[test]
fn odd_numbers_are_brought_within_bounds() {
    let bench = Bench::new();
    bench.file("file", "one\ntwo\n");
    for (offset, limit, shown) in
        [(-5, 1, "1|one"), (0, 0, "1|one"), (2, -1, "2|two"), (9, 5, ""), (i64::MAX, 5, "")]
    {
        let args = json!({ "path": "file", "offset": offset, "limit": limit });
        assert_eq!(page(&bench, &args)["content"], json!(shown), "{args}");
    }
    let past = bench.run("read_file", &json!({ "path": "file", "offset": 9 }));
    assert!(past["hint"].as_str().unwrap().contains("has 2 lines"), "{past}");
}

#[test]
fn paths_start_at_the_workspace_or_the_home() {
    let bench = Bench::new();
    bench.file("sub/file", "inside");
    put(&bench.root.join("home/note"), "at home");
    let absolute = bench.path("sub/file");
    for (path, shown) in [
        ("sub/file", "1|inside"),
        ("./sub/../sub/file", "1|inside"),
        (absolute.to_str().unwrap(), "1|inside"),
        ("~/note", "1|at home"),
    ] {
        assert_eq!(read(&bench, path)["content"], json!(shown), "{path}");
    }
    let effects = bench.effects("read_file", &json!({ "path": "sub/../sub/file" }));
    assert_eq!(effects, Effects::one(Effect::Read(absolute)));
}

#[test]
fn what_cannot_be_read_is_explained() {
    let bench = Bench::new();
    bench.file("notes.txt", "text");
    bench.file("picture.PNG", "not really");
    bench.file("data.zip", "not really");
    bench.file("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0");
    fs::create_dir(bench.path("folder")).unwrap();
    symlink("nowhere", bench.path("dangling")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    for (path, told) in [
        ("", "`path` is empty"),
        ("folder", "is a folder: list it with search_files"),
        ("missing", "`missing` does not exist"),
        ("no/such/file", "neither does the folder `no/such`"),
        ("notes.txt/more", "does not exist"),
        ("dangling", "does not exist"),
        ("loop", "cannot be read"),
        ("nul\0byte", "cannot be read"),
        ("picture.PNG", "vision_analyze"),
        ("data.zip", "binary"),
        ("program", "binary"),
    ] {
        let message = refused(&bench, path);
        assert!(message.contains(told), "{path}: {message}");
    }
    let missing = read(&bench, "note.txt");
    assert_eq!(missing["similar_files"], json!(["notes.txt"]));
    let wrong = bench.try_run("read_file", &json!({ "path": 7 })).unwrap_err();
    assert_eq!(wrong.kind(), "InvalidArguments");
}

#[test]
fn secrets_are_refused_also_behind_links() {
    let bench = Bench::new();
    bench.file(".env", "KEY=1");
    bench.file("sub/.env.production", "KEY=1");
    bench.file(".env.example", "KEY=");
    put(&bench.root.join("home/.agent/auth.json"), "{}");
    symlink("/proc/self/environ", bench.path("innocent.txt")).unwrap();
    symlink(bench.path(".env"), bench.path("settings")).unwrap();
    symlink(bench.root.join("home"), bench.path("elsewhere")).unwrap();
    for path in [
        ".env",
        "sub/.env.production",
        "settings",
        "innocent.txt",
        "/proc/self/environ",
        "/proc/self/task/../environ",
        "/proc/1/cmdline",
        "/proc/kmsg",
        "~/.agent/auth.json",
        "elsewhere/.agent/auth.json",
    ] {
        let message = refused(&bench, path);
        assert!(message.contains("is not shown"), "{path}: {message}");
    }
    assert_eq!(read(&bench, ".env.example")["content"], json!("1|KEY="));
    assert!(read(&bench, "/proc/self/status")["file_size"].as_u64().unwrap() > 0);
}

#[test]
fn nothing_that_could_block_is_opened() {
    let bench = Bench::new();
    let pipe = bench.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    symlink(&pipe, bench.path("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    for path in ["pipe", "link", "socket", "/dev/zero", "/dev/tty", "/dev/random"] {
        let message = refused(&bench, path);
        assert!(message.contains("device, pipe or socket"), "{path}: {message}");
    }
}

#[test]
fn a_file_that_we_may_not_read_says_so() {
    let bench = Bench::new();
    let path = bench.file("closed", "text");
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    if is_root() {
        assert_eq!(read(&bench, "closed")["content"], json!("1|text"));
        return;
    }
    assert!(refused(&bench, "closed").contains("cannot be read"));
}

#[test]
fn names_that_are_no_text_do_not_disturb_suggestions() {
    let bench = Bench::new();
    put(&bench.path("").join(OsStr::from_bytes(b"no\xfftes.txt")), "text");
    let similar = read(&bench, "notes.txt")["similar_files"].clone();
    assert_eq!(similar, json!(["no\u{fffd}tes.txt"]));
}

#[test]
fn a_line_of_ten_megabytes_is_cut() {
    let bench = Bench::new();
    bench.file("long.json", vec![b'x'; 10_000_000]);
    let page = read(&bench, "long.json");
    assert_eq!(
        page["content"].as_str().unwrap().chars().count(),
        2 + 2000 + "… [line cut]".chars().count()
    );
    assert_eq!([&page["total_lines"], &page["truncated"]], [&json!(1), &json!(false)]);
}

#[test]
fn a_page_of_two_gigabytes_takes_constant_memory() {
    let bench = Bench::new();
    let mut file = File::create(bench.path("huge.log")).unwrap();
    file.write_all("line\n".repeat(1000).as_bytes()).unwrap();
    file.seek(SeekFrom::Start(2_000_000_000)).unwrap();
    file.write_all(b"\nlast\n").unwrap();
    drop(file);
    let before = memory_peak();
    let page = read(&bench, "huge.log");
    let grown = memory_peak() - before;
    assert_eq!([&page["next_offset"], &page["truncated_by"]], [&json!(501), &json!("lines")]);
    assert_eq!(page["file_size"], json!(2_000_000_006_u64));
    assert!(page["_hint"].is_string());
    // Other tests run in this process meanwhile; the file is eight times as large.
    assert!(grown < 256 << 20, "{grown} bytes more");
}
