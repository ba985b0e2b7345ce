//! Calls are shown as soon as their names are known, and how a reply ends is told.

use serde_json::{Value, json};

use super::editor::Editor;
use super::{home, terminal};
use crate::loopback::{Loopback, Say};

fn named(editor: &Editor, id: &str) -> Vec<Value> {
    let kinds = ["tool_call", "tool_call_update"];
    let all = kinds.iter().flat_map(|kind| editor.updates(kind));
    all.filter(|update| update["toolCallId"] == id).collect()
}

/// The name of a call is there long before the reply is whole; a turn that is stopped then leaves
/// no call open.
#[test]
fn a_call_is_shown_before_the_reply_is_whole() {
    let model = Loopback::saying(vec![Say::HalfCall("write_file"), Say::Text("after")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let id = editor.say(&session, "write");
    let shown = editor
        .until("a call whose arguments never come", |editor| editor.updates("tool_call").pop());
    assert_eq!(shown["toolCallId"], "call_half", "the model's own name of the call: {shown}");
    assert_eq!(
        (shown["kind"].as_str(), shown["name"].as_str()),
        (Some("edit"), Some("write_file"))
    );
    assert!(shown.get("rawInput").is_none(), "{shown}");
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.calls()["call_half"], "failed");
    assert_eq!(editor.turn(&session, "go on"), "end_turn");
}

/// One id from the name to the result: announced once, completed by updates.
#[test]
fn a_call_keeps_its_id_from_its_name_to_its_result() {
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let model = Loopback::saying(vec![
        Say::Calls(vec![read("a.txt"), read("b.txt")]),
        Say::Text("read"),
        terminal("echo hi"),
        Say::Text("ran"),
    ]);
    let home = home(&model);
    home.write("work/a.txt", "one");
    home.write("work/b.txt", "two");
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "read both");
    editor.turn(&session, "run");
    let announced = editor.updates("tool_call");
    let ids: Vec<&str> = announced.iter().filter_map(|it| it["toolCallId"].as_str()).collect();
    assert_eq!(ids, ["call_0_read_file", "call_1_read_file", "call_0_terminal"]);
    for (id, path) in [("call_0_read_file", "a.txt"), ("call_1_read_file", "b.txt")] {
        let told = named(&editor, id);
        let input = told.iter().find(|it| it.get("rawInput").is_some()).expect("its input");
        assert_eq!(input["rawInput"]["path"], path, "parallel calls are kept apart");
        assert_eq!(input["title"].as_str(), Some(format!("Read {path}").as_str()));
        let place = home.workspace().join(path);
        assert_eq!(input["locations"][0]["path"].as_str(), place.to_str());
        assert_eq!(told.last().expect("an end")["status"], "completed");
    }
}

/// A reply that breaks off is asked for again: its call has failed, the new one is another.
#[test]
fn a_call_of_a_reply_that_broke_off_has_failed() {
    let model =
        Loopback::saying(vec![Say::BrokenCall("terminal"), terminal("echo hi"), Say::Text("ran")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "run"), "end_turn");
    let states = editor.calls();
    assert_eq!(states.get("call_broken").map(String::as_str), Some("failed"), "{states:?}");
    assert_eq!(states.get("call_0_terminal").map(String::as_str), Some("completed"), "{states:?}");
    let why = named(&editor, "call_broken").pop().expect("an end")["content"].to_string();
    assert!(why.contains("asked again"), "{why}");
}

/// An edit is followed to the line that it changed, before it happens and after.
#[test]
fn an_edit_is_followed_to_its_line() {
    let change = json!({ "path": "a.txt", "old_string": "three", "new_string": "3" });
    let model = Loopback::saying(vec![Say::Calls(vec![("patch", change)]), Say::Text("changed")]);
    let home = home(&model);
    home.write("work/a.txt", "one\ntwo\nthree\nfour\n");
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "change");
    let place = json!([{ "path": home.workspace().join("a.txt"), "line": 3 }]);
    assert_eq!(editor.asked[0]["toolCall"]["locations"], place);
    let last = named(&editor, "call_0_patch").pop().expect("an end");
    assert_eq!((last["status"].as_str(), &last["locations"]), (Some("completed"), &place));
}

/// A reply that runs into its limit again and again ends the turn with that reason.
#[test]
fn a_reply_without_an_end_is_told_as_cut_off() {
    let model = Loopback::saying(vec![Say::Cut("more and "); 8]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "tell me everything"), "max_tokens");
    let model = Loopback::saying(vec![Say::Cut("one "), Say::Text("two")]);
    let home = super::home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "tell me"), "end_turn", "the model went on to its end");
}

/// A script that edits files shows each edit with its difference, though the model asked for one
/// call alone.
#[test]
fn edits_of_a_script_are_shown_with_their_differences() {
    let code = "from petasos_tools import write_file\nwrite_file('a.txt', 'one\\nTWO\\n')\n";
    let script = Say::Calls(vec![("execute_code", json!({ "code": code }))]);
    let model = Loopback::saying(vec![script, Say::Text("edited")]);
    let home = home(&model);
    home.write("work/a.txt", "one\ntwo\n");
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "edit by a script");
    let asked: Vec<&Value> = editor.asked.iter().map(|it| &it["toolCall"]["content"][0]).collect();
    assert!(asked.iter().any(|it| it["type"] == "diff"), "asked with its difference: {asked:?}");
    let calls = editor.updates("tool_call");
    let edit = calls.iter().find(|it| it["kind"] == "edit").expect("the edit is shown");
    let diff = &edit["content"][0];
    assert_eq!(
        (diff["oldText"].as_str(), diff["newText"].as_str()),
        (Some("one\ntwo\n"), Some("one\nTWO\n"))
    );
    assert_eq!(edit["locations"][0]["line"], 2);
}
