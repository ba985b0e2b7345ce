//! What the file tools notice about a session: repeats, and changes by others.

use petasos_contract::context::Principal;
use petasos_contract::hook::{Hook, Moment, ToolMoment};
use petasos_contract::{Args, CallContext, ToolName};
use petasos_tools::FileMemory;
use serde_json::json;

use crate::bench::{Bench, put};

#[test]
fn a_page_that_the_model_has_is_not_shown_again() {
    let bench = Bench::new();
    bench.file("f", "text\n");
    let args = json!({ "path": "f" });
    assert_eq!(bench.run("read_file", &args)["content"], "1|text");
    let again = bench.run("read_file", &args);
    assert_eq!(
        [&again["status"], &again["dedup"], &again["content_returned"], &again["path"]],
        [&json!("unchanged"), &json!(true), &json!(false), &json!("f")]
    );
    let third = bench.run("read_file", &args);
    assert!(third["_warning"].is_string(), "{third}");
    assert!(bench.refused("read_file", &args).contains("has not changed"));
    let other = bench.as_session("other");
    assert_eq!(bench.run_in(&other, "read_file", &args)["content"], "1|text");
    bench.file("f", "changed\n");
    assert_eq!(bench.run("read_file", &args)["content"], "1|changed");
    bench.ports.file_memory.as_ref().unwrap().forget(&bench.cx.session);
    assert_eq!(bench.run("read_file", &args)["content"], "1|changed");
}

#[test]
fn a_script_always_gets_the_text() {
    let bench = Bench::new();
    bench.file("f", "text\n");
    let script = CallContext { principal: Principal::Code, ..bench.cx.clone() };
    for _ in 0..6 {
        let read = bench.run_in(&script, "read_file", &json!({ "path": "f" }));
        assert_eq!(read["content"], "1|text");
    }
}

#[test]
fn another_tool_ends_a_run_of_identical_searches() {
    let mut bench = Bench::new();
    let memory = FileMemory::new();
    bench.ports.file_memory = Some(memory.clone());
    bench.file("f", "needle\n");
    let args = json!({ "pattern": "needle" });
    for _ in 0..2 {
        assert!(bench.run("search_files", &args)["_warning"].is_null());
    }
    let (tool, none) = (ToolName::new("terminal"), Args::default());
    let moment = ToolMoment { tool: &tool, args: &none, cx: &bench.cx, rewrites: &[] };
    bench.runtime.block_on(memory.fire(&Moment::PreToolCall(&moment))).unwrap();
    for _ in 0..2 {
        assert!(bench.run("search_files", &args)["_warning"].is_null());
    }
    assert!(bench.run("search_files", &args)["_warning"].is_string());
    assert!(bench.refused("search_files", &args).contains("same search"));
}

#[test]
fn a_write_over_what_others_changed_says_so() {
    let bench = Bench::new();
    let path = bench.file("f", "one\n");
    let write = |content: &str| json!({ "path": "f", "content": content });
    bench.run("read_file", &json!({ "path": "f" }));
    assert!(bench.run("write_file", &write("two\n"))["_warning"].is_null());
    put(&path, "by hand\n");
    let told = bench.run("write_file", &write("three\n"));
    assert!(told["_warning"].as_str().unwrap().contains("somebody else"), "{told}");
    let other = bench.as_session("other");
    bench.run_in(&other, "write_file", &write("theirs\n"));
    let args = json!({ "path": "f", "old_string": "theirs", "new_string": "ours" });
    let told = bench.run("patch", &args);
    assert!(told["_warning"].as_str().unwrap().contains("another agent"), "{told}");
}
