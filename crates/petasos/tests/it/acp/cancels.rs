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
