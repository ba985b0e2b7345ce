//! `petasos rollback`: what an agent changed, by whatever tool, can be undone, and that too.

use std::fs;

use petasos_testkit::Home;
use serde_json::json;

use crate::loopback::{Loopback, Say};
use crate::petasos;

fn text(home: &Home, name: &str) -> String {
    fs::read_to_string(home.workspace().join(name)).unwrap_or_default()
}

/// A conversation in which the model does these calls, one a reply.
fn worked(calls: Vec<(&'static str, serde_json::Value)>) -> (Home, Loopback) {
    let script = calls.into_iter().map(|call| Say::Calls(vec![call])).collect();
    let model = Loopback::saying(script);
    let home = model.home();
    home.write("work/a.txt", "one\n");
    home.write("work/b.txt", "two\n");
    let ran = petasos(&home).run(&["run", "work"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (home, model)
}

#[test]
fn writes_by_tools_and_by_commands_are_undone_and_redone() {
    let (home, _model) = worked(vec![
        ("terminal", json!({ "command": "ls" })),
        ("terminal", json!({ "command": "echo changed > a.txt; rm b.txt" })),
        ("write_file", json!({ "path": "c.txt", "content": "new\n" })),
    ]);
    assert_eq!((text(&home, "a.txt"), text(&home, "c.txt")), ("changed\n".into(), "new\n".into()));
    let list = petasos(&home).run(&["rollback", "list", "--json"]).json();
    let list = list["checkpoints"].as_array().expect("a list").clone();
    assert_eq!(list.len(), 1, "one copy a turn: {list:?}");
    assert_eq!(list[0]["why"], "before terminal");
    let diff = petasos(&home).run(&["rollback", "diff"]).stdout;
    assert!(diff.contains("-one") && diff.contains("+changed") && diff.contains("c.txt"), "{diff}");
    let back = petasos(&home).run(&["rollback", "restore", "--json"]).json();
    assert_eq!(back["files"], json!(["a.txt", "b.txt", "c.txt"]), "{back}");
    assert_eq!((text(&home, "a.txt"), text(&home, "b.txt")), ("one\n".into(), "two\n".into()));
    assert!(!home.workspace().join("c.txt").exists());
    let undo = back["undo"].as_str().expect("a number").to_owned();
    assert_eq!(petasos(&home).run(&["rollback", "restore", &undo]).code, Some(0));
    assert_eq!((text(&home, "a.txt"), text(&home, "c.txt")), ("changed\n".into(), "new\n".into()));
    assert!(!home.workspace().join("b.txt").exists());
}

#[test]
fn one_file_can_go_back_alone() {
    let (home, _model) =
        worked(vec![("terminal", json!({ "command": "echo x > a.txt; echo y > b.txt" }))]);
    let back = petasos(&home).run(&["rollback", "restore", "latest", "a.txt", "--json"]).json();
    assert_eq!(back["files"], json!(["a.txt"]));
    assert_eq!((text(&home, "a.txt"), text(&home, "b.txt")), ("one\n".into(), "y\n".into()));
    let mistyped = petasos(&home).run(&["rollback", "restore", "1", "nosuch"]);
    assert_eq!(mistyped.code, Some(1), "{}", mistyped.stdout);
    assert!(mistyped.stderr.contains("no such file in checkpoint 1"), "{}", mistyped.stderr);
    // What is as it was is no mistake.
    assert_eq!(petasos(&home).run(&["rollback", "restore", "1", "./a.txt"]).code, Some(0));
}

#[test]
fn readers_and_switched_off_copies_leave_none() {
    let (home, _model) = worked(vec![("terminal", json!({ "command": "cat a.txt | head -1" }))]);
    let none = petasos(&home).run(&["rollback", "restore", "--json"]);
    assert_eq!(none.json()["error"]["code"], "not_found");
    let args = json!({ "path": "a.txt", "content": "new\n" }).to_string();
    let off = ["--set", "checkpoints.enabled=false", "tools", "call", "write_file", &args];
    assert_eq!(petasos(&home).run(&off).code, Some(0));
    let list = petasos(&home).run(&["rollback", "list", "--json"]).json();
    assert_eq!(list["checkpoints"], json!([]));
    assert_eq!(petasos(&home).run(&["tools", "call", "write_file", &args]).code, Some(0));
    let list = petasos(&home).run(&["rollback", "list", "--json"]).json();
    assert_eq!(list["checkpoints"].as_array().expect("a list").len(), 1, "{list}");
}

#[test]
fn the_projects_own_repository_is_not_touched() {
    let home = Home::temp();
    let run = |arguments: &[&str]| petasos(&home).run(arguments);
    let git = json!({ "command": "git init -q . && git status --short | wc -l" }).to_string();
    assert_eq!(run(&["tools", "call", "terminal", &git]).code, Some(0));
    let before = fs::read(home.workspace().join(".git/HEAD")).expect("a repository");
    let args = json!({ "path": "a.txt", "content": "new\n" }).to_string();
    assert_eq!(run(&["tools", "call", "write_file", &args]).code, Some(0));
    assert_eq!(run(&["rollback", "restore"]).code, Some(0));
    assert!(!home.workspace().join("a.txt").exists());
    assert_eq!(fs::read(home.workspace().join(".git/HEAD")).expect("a repository"), before);
    assert!(!home.workspace().join(".git/index").exists(), "its index was not made");
}

#[test]
fn a_restore_that_removes_many_files_is_asked_for_twice() {
    let many = "for n in 1 2 3 4 5; do echo x > new$n; done; echo changed > a.txt";
    let (home, _model) = worked(vec![("terminal", json!({ "command": many }))]);
    let refused = petasos(&home).run(&["rollback", "restore"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("removes 5 files"), "{}", refused.stderr);
    let refused = petasos(&home).run(&["rollback", "restore", "--json"]).json();
    assert_eq!(refused["error"]["code"], "needs_consent");
    let dry = petasos(&home).run(&["rollback", "restore", "--dry-run", "--json"]).json();
    assert_eq!(dry["deleted"], json!(["new1", "new2", "new3", "new4", "new5"]));
    assert_eq!(dry["written"], json!(["a.txt"]));
    assert_eq!((text(&home, "a.txt"), text(&home, "new1")), ("changed\n".into(), "x\n".into()));
    let done = petasos(&home).run(&["rollback", "restore", "--yes", "--json"]).json();
    assert_eq!(done["deleted"], dry["deleted"], "{done}");
    assert_eq!(text(&home, "a.txt"), "one\n");
    assert!(!home.workspace().join("new1").exists());
}
