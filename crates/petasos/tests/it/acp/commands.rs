//! Slash commands that an editor types: turns like any other, and answers that are true there.

use serde_json::json;

use super::editor::Editor;
use super::home;
use crate::loopback::{Loopback, Say};

/// A command that becomes a turn ends as that turn does: cancelled, or with its error.
#[test]
fn a_command_that_becomes_a_turn_ends_as_the_turn_does() {
    let mut says = vec![Say::Text("first"), Say::Stuck("again"), Say::Text("third")];
    says.extend(vec![Say::Fail(401); 8]);
    let model = Loopback::saying(says);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "say it");
    let id = editor.say(&session, "/retry");
    editor.until("the second try", |editor| editor.said().contains("again").then_some(()));
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.turn(&session, "/retry"), "end_turn");
    assert!(editor.said().contains("third"), "{}", editor.said());
    let id = editor.say(&session, "/retry");
    assert_eq!(editor.answer(id)["error"]["code"], -32603);
}

/// Other names of a command mean the command: what is not for editors is not by any name.
#[test]
fn every_name_of_a_command_means_the_same() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    for (number, name) in ["/yes", "/no", "/settings", "/bg x", "/checkpoint"].iter().enumerate() {
        editor.turn(&session, name);
        let told = editor.said().matches("not for editors").count();
        assert_eq!(told, number + 1, "{name}: {}", editor.said());
    }
    assert!(model.asked().is_empty());
}

/// A conversation that begins anew keeps its name at the editor, and the model hears nothing of what
/// was said before; neither does whoever loads it later.
#[test]
fn a_conversation_begins_anew_under_its_name() {
    let model = Loopback::saying(vec![
        Say::Text("the word is heliotrope"),
        Say::Text("and more"),
        Say::Text("which word?"),
    ]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "remember the word");
    editor.turn(&session, "go on");
    assert_eq!(editor.turn(&session, "/reset"), "end_turn");
    assert_eq!(editor.turn(&session, "what was it?"), "end_turn");
    let asked = model.asked().last().expect("a request")["messages"].to_string();
    assert!(asked.contains("what was it?") && !asked.contains("heliotrope"), "{asked}");
    assert!(!asked.contains("remember the word") && !asked.contains("go on"), "{asked}");
    drop(editor);
    let mut editor = Editor::greeted(&home, &json!({}));
    let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    editor.ask("session/load", here);
    assert_eq!(editor.said(), "which word?");
    // Nothing was said: that is told, too.
    let empty = editor.session(&home.workspace());
    assert_eq!(editor.turn(&empty, "/new"), "end_turn");
}

/// Copies and other conversations are found by commands, and opened by the editor.
#[test]
fn copies_and_others_are_named_and_opened_by_the_editor() {
    let model = Loopback::saying(vec![Say::Text("one"), Say::Text("two")]);
    let home = home(&model);
    let cwd = home.workspace();
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&cwd);
    editor.turn(&session, "hello there");
    assert_eq!(editor.turn(&session, "/branch the copy"), "end_turn");
    let listed = editor.ask("session/list", json!({ "cwd": cwd }))["sessions"].clone();
    let listed = listed.as_array().expect("a list");
    let copy = listed.iter().find(|it| it["title"] == "the copy").expect("the copy is listed");
    let copy = copy["sessionId"].as_str().expect("a name").to_owned();
    assert!(editor.said().contains(&copy), "{}", editor.said());
    let here = json!({ "sessionId": copy, "cwd": cwd, "mcpServers": [] });
    editor.ask("session/load", here);
    // This conversation goes on where it is.
    assert_eq!(editor.turn(&session, "still here?"), "end_turn");
    editor.turn(&session, "/sessions");
    assert!(editor.said().contains("hello there"), "{}", editor.said());
    editor.turn(&session, "/resume the copy");
    assert!(editor.said().matches(&copy).count() >= 3, "{}", editor.said());
    editor.turn(&session, "/context");
    assert!(editor.said().contains("window"), "{}", editor.said());
}

/// A title is told when it is given, not with the next turn.
#[test]
fn a_new_title_is_told_at_once() {
    let model = Loopback::saying(vec![Say::Text("hi")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "hello");
    editor.turn(&session, "/title The very thing");
    let last = editor.updates("session_info_update").pop().expect("an update");
    assert_eq!(last["title"], "The very thing");
}
