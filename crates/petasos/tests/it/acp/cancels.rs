//! Turns that are stopped, prompts that wait.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::editor::{Editor, Permit};
use super::{home, terminal, write};
use crate::loopback::{Loopback, Say};

/// 139: cancelling the model, a tool and a permission gives `cancelled`, and no call stays open.
#[test]
fn a_cancelled_turn_says_so_whatever_it_was_doing() {
    let model = Loopback::saying(vec![
        Say::Stuck("begin"),
        terminal("sleep 60"),
        write("x.txt", "x"),
        Say::Text("after"),
    ]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let cancel = json!({ "sessionId": session });
    let id = editor.say(&session, "think");
    editor.until("a first word", |editor| (editor.said() == "begin").then_some(()));
    stopped(&mut editor, id, &cancel);
    let id = editor.say(&session, "sleep");
    editor.until("a running call", |editor| {
        editor.calls().values().any(|state| state == "in_progress").then_some(())
    });
    stopped(&mut editor, id, &cancel);
    editor.permits = vec![Permit::Silent];
    let before = editor.asked.len();
    let id = editor.say(&session, "write");
    editor.until("a question", |editor| (editor.asked.len() > before).then_some(()));
    stopped(&mut editor, id, &cancel);
    let withdrawn = |frame: &&Value| frame["method"] == "$/cancel_request";
    assert!(editor.trace.iter().any(|frame| withdrawn(&frame)), "the question is withdrawn");
    assert!(!home.workspace().join("x.txt").exists());
    editor.permits = vec![Permit::Choose("allow_once")];
    assert_eq!(editor.turn(&session, "go on"), "end_turn");
}

fn stopped(editor: &mut Editor, id: u64, cancel: &Value) {
    let started = Instant::now();
    editor.tell("session/cancel", cancel.clone());
    let answer = editor.answer(id);
    assert_eq!(answer["result"]["stopReason"], "cancelled", "{answer}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let states = editor.calls();
    assert!(states.values().all(|state| state == "completed" || state == "failed"), "{states:?}");
}

/// 140: a second prompt is answered at its own end, and survives that the first is cancelled.
#[test]
fn prompts_wait_for_each_other() {
    let model =
        Loopback::saying(vec![Say::Stuck("first"), Say::Text("second"), Say::Text("third")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let first = editor.say(&session, "one");
    let second = editor.say(&session, "two");
    let third = editor.say(&session, "three");
    editor.until("a first word", |editor| (editor.said() == "first").then_some(()));
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(first)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.answer(second)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.answer(third)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.said(), "firstsecondthird");
    let echoed = editor.updates("user_message_chunk");
    let echoed: Vec<&str> = echoed.iter().filter_map(|it| it["content"]["text"].as_str()).collect();
    assert_eq!(echoed, ["two", "three"], "queued prompts are shown when they start");
}

/// A cancellation that arrives right behind its prompt finds it.
#[test]
fn a_prompt_can_be_cancelled_before_it_has_begun() {
    let model = Loopback::saying(vec![Say::Stuck("x")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let id = editor.say(&session, "one");
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
}

#[test]
fn a_request_can_be_withdrawn() {
    let model = Loopback::saying(vec![Say::Stuck("x")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let id = editor.say(&session, "one");
    editor.until("a first word", |editor| (editor.said() == "x").then_some(()));
    editor.tell("$/cancel_request", json!({ "requestId": id }));
    assert_eq!(editor.answer(id)["error"]["code"], -32800);
}

/// A prompt that waits and is withdrawn is the only one that ends.
#[test]
fn a_prompt_that_waits_can_be_withdrawn_alone() {
    let wait = "while [ ! -e go ]; do sleep 0.05; done";
    let mut ran = false;
    let model = Loopback::answering(move |body| {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let said = messages.iter().rfind(|it| it["role"] == "user").map(Value::to_string);
        match said.unwrap_or_default() {
            said if said.contains("two") => Say::Stuck("nobody waits for this"),
            said if said.contains("three") => Say::Text("third"),
            _ if std::mem::replace(&mut ran, true) => Say::Text("first"),
            _ => terminal(wait),
        }
    });
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let first = editor.say(&session, "one");
    editor.until("a running call", |editor| {
        editor.calls().values().any(|state| state == "in_progress").then_some(())
    });
    let second = editor.say(&session, "two");
    let third = editor.say(&session, "three");
    // Both wait: the session lists them.
    while !editor.said().contains("2. three") {
        editor.turn(&session, "/queue");
    }
    editor.tell("$/cancel_request", json!({ "requestId": second }));
    assert_eq!(editor.answer(second)["error"]["code"], -32800);
    home.write("work/go", "");
    assert_eq!(editor.answer(first)["result"]["stopReason"], "end_turn");
    assert!(editor.said().contains("first"), "{}", editor.said());
    assert_eq!(editor.answer(third)["result"]["stopReason"], "end_turn");
    assert!(editor.said().ends_with("third"), "{}", editor.said());
    assert!(editor.calls().values().all(|state| state == "completed"), "{:?}", editor.calls());
}

/// A session that is closed or deleted in the middle of a turn, or of a question: every prompt is
/// answered, nothing runs on, and the conversation can be opened again.
#[test]
fn a_session_is_left_in_the_middle_of_a_turn() {
    for (method, asks) in
        [("session/close", false), ("session/close", true), ("session/delete", false)]
    {
        let call = if asks { write("x.txt", "x") } else { terminal("sleep 60; touch late.txt") };
        let model = Loopback::saying(vec![call, Say::Text("after"), Say::Text("again")]);
        let home = home(&model);
        let mut editor = Editor::greeted(&home, &json!({}));
        editor.permits = vec![Permit::Silent];
        let session = editor.session(&home.workspace());
        let set = json!({ "sessionId": session, "modeId": "dont_ask" });
        if !asks {
            editor.ask("session/set_mode", set);
        }
        let first = editor.say(&session, "work");
        let second = editor.say(&session, "and then");
        editor.until("something that runs", |editor| {
            let runs = editor.calls().values().any(|state| state == "in_progress");
            (runs || !editor.asked.is_empty()).then_some(())
        });
        editor.ask(method, json!({ "sessionId": session }));
        for id in [first, second] {
            let answer = editor.answer(id);
            assert_eq!(answer["result"]["stopReason"], "cancelled", "{method}: {answer}");
        }
        assert!(!home.workspace().join("x.txt").exists());
        let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
        editor.ask("session/load", here);
        assert!(editor.calls().values().all(|state| state == "failed"), "{:?}", editor.calls());
    }
}

/// An editor that does not answer is no reason to wait: whatever is asked of it, a turn is cancelled
/// at once, and the next one runs.
#[test]
fn a_mute_editor_does_not_hold_up_a_cancellation() {
    let files: Vec<_> = (0..20).map(|at| format!("*** Add File: f{at}.txt\n+x\n")).collect();
    let patch = format!("*** Begin Patch\n{}*** End Patch", files.concat());
    let edit = Say::Calls(vec![("patch", json!({ "mode": "patch", "patch": patch }))]);
    let read = Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]);
    let model = Loopback::saying(vec![
        edit.clone(),
        read,
        edit,
        terminal("echo run"),
        terminal("echo run"),
        Say::Text("after"),
    ]);
    let home = home(&model);
    let own = "approvals:\n  mode: manual\nacp:\n  use_client_terminal: true\n";
    home.write(".petasos/config.yaml", format!("{}{own}", model.config()));
    home.write("work/note.txt", "words\n");
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true });
    let mut editor = Editor::greeted(&home, &fs);
    let session = editor.session(&home.workspace());
    editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "accept_edits" }));
    let cancel = json!({ "sessionId": session });
    for method in [
        "fs/read_text_file",
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/wait_for_exit",
    ] {
        editor.mute = vec![method];
        editor.served.clear();
        let id = editor.say(&session, "go");
        editor.until(method, |editor| editor.served.iter().any(|it| it == method).then_some(()));
        stopped(&mut editor, id, &cancel);
    }
    editor.mute.clear();
    assert_eq!(editor.turn(&session, "still there?"), "end_turn");
}
