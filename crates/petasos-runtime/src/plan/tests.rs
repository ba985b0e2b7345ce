//! Which calls of a batch may run together.

use petasos_contract::call::{RawArguments, ToolCall};
use petasos_contract::tool::Concurrency;
use serde_json::json;

use super::{Segment, plan};
use crate::probe::{World, echo, entry, settings_with};
use crate::registry::Entry;

const BY_PATH: Concurrency = Concurrency::ByPath { path: "path", alone: &["patch"] };
const BY_COMMAND: Concurrency =
    Concurrency::ByCommand { script: "command", alone: &["background", "pty", "workdir"] };

fn tool(name: &str, concurrency: Concurrency) -> Entry {
    let mut tool = entry(name, "test", echo());
    tool.concurrency = concurrency;
    tool
}

fn world(folder: &std::path::Path) -> World {
    let mut tools: Vec<Entry> =
        ["read_file", "write_file", "patch"].iter().map(|name| tool(name, BY_PATH)).collect();
    tools.push(tool("search_files", Concurrency::Safe));
    tools.push(tool("terminal", BY_COMMAND));
    tools.push(tool("clarify", Concurrency::Barrier));
    let mut world = World::with(tools);
    world.settings = settings_with(&json!({}), &[], folder);
    world
}

/// Names with argument text.
type Calls<'a> = Vec<(&'a str, &'a str)>;

fn segments(folder: &std::path::Path, calls: &[(&str, &str)]) -> Vec<Segment> {
    let world = world(folder);
    let calls: Vec<ToolCall> =
        calls.iter().map(|(name, arguments)| ToolCall::new("c", *name, *arguments)).collect();
    plan(&calls, &world.registry.snapshot(), folder, &world.cx())
}

fn at(path: &str) -> String {
    json!({ "path": path }).to_string()
}

use Segment::{Parallel as P, Sequential as S};

#[test]
fn commands_that_leave_no_trace_run_together_but_never_beside_a_file_tool() {
    let folder = tempfile::tempdir().unwrap();
    let run = |command: &str| json!({ "command": command }).to_string();
    let (look, list, go) = (run("sleep 0.5 && echo 1"), run("ls -la"), run("cd /tmp"));
    let (write, file) = (run("make"), at("a"));
    let behind = json!({ "command": "ls", "background": true }).to_string();
    let table: Vec<(Calls<'_>, Vec<Segment>)> = vec![
        (vec![("terminal", &look), ("terminal", &list)], vec![P(vec![0, 1])]),
        (vec![("terminal", &look), ("search_files", "{}")], vec![P(vec![0, 1])]),
        (vec![("terminal", &look), ("terminal", &go)], vec![S(vec![0, 1])]),
        (vec![("terminal", &look), ("terminal", &write)], vec![S(vec![0, 1])]),
        (vec![("terminal", &look), ("terminal", &behind)], vec![S(vec![0, 1])]),
        (vec![("write_file", &file), ("terminal", &look)], vec![S(vec![0, 1])]),
        (
            vec![("terminal", &look), ("terminal", &list), ("write_file", &file)],
            vec![P(vec![0, 1]), S(vec![2])],
        ),
    ];
    for (calls, wanted) in table {
        assert_eq!(segments(folder.path(), &calls), wanted, "{calls:?}");
    }
}

#[test]
fn batches_are_cut_at_barriers_and_overlaps() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b, c, f) = (at("a"), at("b"), at("c"), at("x/f"));
    let table: Vec<(Calls<'_>, Vec<Segment>)> = vec![
        (vec![], vec![]),
        (vec![("read_file", &a)], vec![S(vec![0])]),
        (
            vec![("read_file", &a), ("read_file", &b), ("terminal", "{}"), ("read_file", &c)],
            vec![P(vec![0, 1]), S(vec![2, 3])],
        ),
        (vec![("write_file", &f), ("patch", &f)], vec![S(vec![0, 1])]),
        (
            vec![("write_file", &f), ("read_file", &a), ("patch", &f), ("read_file", &b)],
            vec![P(vec![0, 1]), P(vec![2, 3])],
        ),
        (
            vec![("search_files", "{}"), ("search_files", "{}"), ("read_file", &a)],
            vec![P(vec![0, 1, 2])],
        ),
        (
            vec![("search_files", "{}"), ("search_files", "not json"), ("search_files", "{}")],
            vec![S(vec![0, 1, 2])],
        ),
        (
            vec![
                ("search_files", "{}"),
                ("search_files", "{}"),
                ("read_file", "[]"),
                ("search_files", "{}"),
                ("search_files", "{}"),
            ],
            vec![P(vec![0, 1]), S(vec![2]), P(vec![3, 4])],
        ),
        (vec![("patch", "{}"), ("patch", &a), ("patch", &b)], vec![S(vec![0]), P(vec![1, 2])]),
        (
            vec![("read_file", r#"{"path": " "}"#), ("read_file", r#"{"path": 5}"#)],
            vec![S(vec![0, 1])],
        ),
        (vec![("clarify", "{}"), ("nope", "{}"), ("tool_call", "{}")], vec![S(vec![0, 1, 2])]),
    ];
    for (calls, wanted) in table {
        assert_eq!(segments(folder.path(), &calls), wanted, "{calls:?}");
    }
}

#[test]
fn paths_overlap_when_one_holds_the_other_however_they_are_spelled() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir_all(root.join("real/deep")).unwrap();
    let absolute = root.join("dir/f").to_string_lossy().into_owned();
    let mut table = vec![
        ("dir", "dir/f", true),
        ("dir/f", "dir/./g/../f", true),
        ("dir/f", absolute.as_str(), true),
        ("dir/f", "dir/f2", false),
        ("dir/f", "directory", false),
        ("~/f", "f", true),
        ("a/missing/x", "a/missing/y", false),
        ("a/missing", "a/missing/y", true),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(root.join("real/deep"), root.join("link")).unwrap();
        table.push(("link/f", "real/deep/f", true));
        // As tools mean it: `..` is folded as text.
        table.push(("link/../f", "real/f", false));
        table.push(("link/../f", "f", true));
        table.push(("link/new/f", "real/deep/new", true));
    }
    for (left, right, overlapping) in table {
        let (left, right) = (at(left), at(right));
        let calls = [("write_file", left.as_str()), ("read_file", right.as_str())];
        let wanted = if overlapping { S(vec![0, 1]) } else { P(vec![0, 1]) };
        assert_eq!(segments(root, &calls), [wanted], "{left} {right}");
    }
}

#[test]
fn a_relative_path_starts_where_the_session_is() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path());
    for (left, right, overlapping) in [
        ("f", "/ws/sub/f", true),
        ("f", "../sub/f", true),
        ("f", "g", false),
        ("f", "/ws/f", false),
        ("f", " f", false),
    ] {
        let calls = [left, right].map(|path| ToolCall::new("c", "write_file", at(path)));
        let wanted = if overlapping { S(vec![0, 1]) } else { P(vec![0, 1]) };
        let base = std::path::Path::new("/ws/sub");
        let planned = plan(&calls, &world.registry.snapshot(), base, &world.cx());
        assert_eq!(planned, [wanted], "{left} {right}");
    }
}

#[test]
fn a_patch_of_many_files_runs_alone() {
    let folder = tempfile::tempdir().unwrap();
    let many = json!({ "path": "a", "patch": "*** Update File: b" }).to_string();
    let calls = [("read_file", at("b")), ("patch", many)];
    let calls = calls.each_ref().map(|(name, args)| (*name, args.as_str()));
    assert_eq!(segments(folder.path(), &calls), [S(vec![0, 1])]);
}

#[test]
fn arguments_that_are_an_object_already_are_planned_alike() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path());
    let call = |path: &str| ToolCall {
        id: "c".into(),
        name: "read_file".into(),
        arguments: RawArguments::Object(json!({ "path": path }).as_object().cloned().unwrap()),
    };
    let plan =
        |calls: &[ToolCall]| plan(calls, &world.registry.snapshot(), folder.path(), &world.cx());
    assert_eq!(plan(&[call("a"), call("b")]), [P(vec![0, 1])]);
    assert_eq!(plan(&[call("a"), call("a")]), [S(vec![0, 1])]);
}
