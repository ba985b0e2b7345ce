//! Two editors, each with a program of its own, on one conversation: they follow each other.

use serde_json::json;

use super::editor::{Editor, Permit};
use super::{home, write};
use crate::loopback::{Loopback, Say};

/// Two windows on a conversation that one of them began.
fn two(model: &Loopback) -> (petasos_testkit::Home, Editor, Editor, String) {
    let home = home(model);
    let mut first = Editor::greeted(&home, &json!({}));
    let session = first.session(&home.workspace());
    assert_eq!(first.turn(&session, "hello"), "end_turn");
    let mut second = Editor::greeted(&home, &json!({}));
    let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    second.ask("session/load", here);
    assert_eq!(second.said(), "hi", "what was said before is shown");
    (home, first, second, session)
}

#[test]
fn what_is_said_in_one_window_is_shown_in_the_other() {
    let model = Loopback::saying(vec![
        Say::Text("hi"),
        Say::Calls(vec![("terminal", json!({ "command": "echo seen" }))]),
        Say::Text("from the first"),
        Say::Text("from the second"),
    ]);
    let (_home, mut first, mut second, session) = two(&model);
    assert_eq!(first.turn(&session, "go on"), "end_turn");
    second.until("the other window's words", |editor| {
        editor.said().contains("from the first").then_some(())
    });
    let words = |editor: &Editor| -> Vec<String> {
        let chunks = editor.updates("user_message_chunk");
        chunks.iter().filter_map(|it| it["content"]["text"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(words(&second), ["hello", "go on"]);
    let calls = second.updates("tool_call");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0]["rawInput"]["command"], "echo seen");
    assert!(second.calls().values().all(|state| state == "completed"), "{:?}", second.calls());
    assert_eq!(second.turn(&session, "my turn"), "end_turn");
    first.until("the second window's words", |editor| {
        editor.said().contains("from the second").then_some(())
    });
    assert_eq!(words(&first), ["my turn"], "its own words an editor shows itself");
    // The one that followed knows everything that was said.
    let asked = model.asked().last().expect("a request")["messages"].to_string();
    assert!(asked.contains("from the first") && asked.contains("go on"), "{asked}");
}

/// Both windows are asked; the first answer counts, and the other question is withdrawn.
#[test]
fn a_question_is_put_in_both_windows_and_answered_in_one() {
    let model = Loopback::saying(vec![Say::Text("hi"), write("x.txt", "x"), Say::Text("written")]);
    let (home, mut first, mut second, session) = two(&model);
    first.permits = vec![Permit::Silent];
    second.permits = vec![Permit::Choose("allow_once")];
    let id = first.say(&session, "write");
    first.until("a question", |editor| (!editor.asked.is_empty()).then_some(()));
    second.until("the same question", |editor| (!editor.asked.is_empty()).then_some(()));
    assert_eq!(first.answer(id)["result"]["stopReason"], "end_turn");
    assert!(home.workspace().join("x.txt").exists());
    first.until("the withdrawal", |editor| {
        let mut frames = editor.trace.iter();
        frames.any(|frame| frame["method"] == "$/cancel_request").then_some(())
    });
}

/// A window that joins while a command of the other one runs shows it as running, and then its end.
#[test]
fn a_call_that_runs_elsewhere_is_open_until_it_ends() {
    let wait = "while [ ! -e go ]; do sleep 0.05; done; echo went";
    let model = Loopback::saying(vec![super::terminal(wait), Say::Text("ran")]);
    let home = home(&model);
    let mut first = Editor::greeted(&home, &json!({}));
    let session = first.session(&home.workspace());
    let id = first.say(&session, "run");
    first.until("a running call", |editor| {
        editor.calls().values().any(|state| state == "in_progress").then_some(())
    });
    let mut second = Editor::greeted(&home, &json!({}));
    let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    second.ask("session/load", here.clone());
    assert_eq!(second.updates("tool_call").len(), 1);
    assert!(second.calls().is_empty(), "pending, which is no word: {:?}", second.calls());
    // The same in the window where it runs.
    first.ask("session/load", here);
    home.write("work/go", "");
    assert_eq!(first.answer(id)["result"]["stopReason"], "end_turn");
    second.until("the end of the call", |editor| {
        editor.calls().values().any(|state| state == "completed").then_some(())
    });
    for editor in [&first, &second] {
        let last = editor.updates("tool_call_update").pop().expect("an update");
        assert_eq!(last["status"], "completed", "{last}");
        assert!(last["rawOutput"].to_string().contains("went"), "{last}");
    }
}

/// A program that is killed in the middle of a call leaves the conversation to the next one at once.
#[test]
fn a_killed_window_leaves_its_turn_to_the_other() {
    let model = Loopback::saying(vec![super::terminal("sleep 300"), Say::Text("I went on")]);
    let home = home(&model);
    let mut first = Editor::greeted(&home, &json!({}));
    let session = first.session(&home.workspace());
    first.say(&session, "run");
    first.until("a running call", |editor| {
        editor.calls().values().any(|state| state == "in_progress").then_some(())
    });
    let mut second = Editor::greeted(&home, &json!({}));
    let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    second.ask("session/load", here);
    let id = second.say(&session, "go on");
    second.until("that it waits", |editor| editor.said().contains("waiting").then_some(()));
    first.kill();
    assert_eq!(second.answer(id)["result"]["stopReason"], "end_turn");
    assert!(second.said().contains("I went on"), "{}", second.said());
    let states = second.calls();
    assert!(states.values().all(|state| state == "failed"), "{states:?}");
}
