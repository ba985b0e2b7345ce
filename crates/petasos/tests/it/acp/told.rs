//! What an editor is told: thoughts, ends, calls of subagents, calls beside each other, lists.

use serde_json::{Value, json};

use super::editor::{Editor, Permit};
use super::{home, terminal, write};
use crate::chat::pane::{Pane, Start};
use crate::loopback::{Loopback, Say};

/// What a model thinks is told as that, apart from what it says, live and in a loaded session.
#[test]
fn thoughts_are_told_apart_from_words() {
    let model = Loopback::saying(vec![Say::Thought("it must be blue", "Blue.")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "which colour?"), "end_turn");
    let told = |editor: &Editor, kind: &str| -> Vec<(String, Value)> {
        let chunks = editor.updates(kind).into_iter();
        let text = |it: &Value| it["content"]["text"].as_str().unwrap_or_default().to_owned();
        chunks.map(|it| (text(&it), it["messageId"].clone())).collect()
    };
    let (thoughts, words) =
        (told(&editor, "agent_thought_chunk"), told(&editor, "agent_message_chunk"));
    assert_eq!((thoughts[0].0.as_str(), words[0].0.as_str()), ("it must be blue", "Blue."));
    assert_ne!(thoughts[0].1, words[0].1, "they are two messages");
    drop(editor);
    let mut editor = Editor::greeted(&home, &json!({}));
    let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    editor.ask("session/load", here);
    assert_eq!(told(&editor, "agent_thought_chunk")[0].0, "it must be blue");
}

/// A turn that its budget or the provider's filter ends says so.
#[test]
fn every_end_of_a_turn_has_its_word() {
    let model = Loopback::saying(vec![Say::Filtered("I may not")]);
    let place = home(&model);
    let mut editor = Editor::greeted(&place, &json!({}));
    let session = editor.session(&place.workspace());
    assert_eq!(editor.turn(&session, "say it"), "refusal");
    let model = Loopback::answering(|_| terminal("echo more"));
    let place = home(&model);
    let own = "approvals:\n  mode: manual\nagent:\n  max_turns: 2\n";
    place.write(".petasos/config.yaml", format!("{}{own}", model.config()));
    let mut editor = Editor::greeted(&place, &json!({}));
    let session = editor.session(&place.workspace());
    assert_eq!(editor.turn(&session, "go on for ever"), "max_turn_requests");
    let states = editor.calls();
    assert!(states.values().all(|state| state == "completed" || state == "failed"), "{states:?}");
}

/// A subagent asks through the session of its parent, and its own call is what is shown.
#[test]
fn a_subagent_asks_with_its_own_call() {
    let task = json!({ "goal": "make the file", "background": false });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("delegate_task", task)]),
        write("child.txt", "made\n"),
        Say::Text("I made it."),
        Say::Text("It is made."),
    ]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.permits = vec![Permit::Choose("allow_once")];
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "delegate it"), "end_turn");
    assert!(home.workspace().join("child.txt").exists());
    let asked = editor.asked.first().expect("a question").clone();
    let announced = editor.updates("tool_call");
    let its = announced.iter().find(|it| it["toolCallId"] == asked["toolCall"]["toolCallId"]);
    let title = its.expect("the call was announced")["title"].as_str().unwrap_or_default();
    assert!(title.starts_with("↳ ") && title.contains("child.txt"), "{title}");
    assert_eq!(asked["toolCall"]["content"][0]["newText"], "made\n", "{asked}");
    assert_eq!(asked["sessionId"].as_str(), Some(session.as_str()));
    assert!(editor.calls().values().all(|state| state == "completed"), "{:?}", editor.calls());
}

/// Several subagents ask at once: each question is put with its own call, and a denial of one is none
/// of the other.
#[test]
fn subagents_that_ask_at_once_are_told_apart() {
    let tasks = json!({ "tasks": [{ "goal": "make the red one" }, { "goal": "make the blue one" }], "background": false });
    let mut delegated = false;
    let model = Loopback::answering(move |body| {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().cloned().unwrap_or_default();
        let goal = messages.iter().rfind(|it| it["role"] == "user").map(Value::to_string);
        let goal = goal.unwrap_or_default();
        let made = last["role"] == "tool";
        match (goal.contains("the red one"), goal.contains("the blue one")) {
            (true, false) if !made => write("red.txt", "red\n"),
            (false, true) if !made => write("blue.txt", "blue\n"),
            (true, false) | (false, true) => Say::Text("tried"),
            _ if std::mem::replace(&mut delegated, true) => Say::Text("both tried"),
            _ => Say::Calls(vec![("delegate_task", tasks.clone())]),
        }
    });
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.permits = vec![Permit::Choose("allow_once"), Permit::Choose("deny")];
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "delegate both"), "end_turn");
    assert_eq!(editor.asked.len(), 2, "{:?}", editor.asked);
    let first = editor.asked[0]["toolCall"]["content"][0]["newText"].clone();
    let (allowed, denied) =
        if first == "red\n" { ("red.txt", "blue.txt") } else { ("blue.txt", "red.txt") };
    assert!(home.workspace().join(allowed).exists() && !home.workspace().join(denied).exists());
    let ids: std::collections::HashSet<String> =
        editor.asked.iter().map(|it| it["toolCall"]["toolCallId"].to_string()).collect();
    assert_eq!(ids.len(), 2, "{:?}", editor.asked);
    let states = editor.calls();
    // Their models gave both calls one name: each ends all the same.
    assert_eq!((editor.updates("tool_call").len(), states.len()), (3, 3), "{states:?}");
    let failed = states.values().filter(|state| *state == "failed").count();
    assert_eq!(failed, 1, "{states:?}");
    assert!(states.values().all(|state| state == "completed" || state == "failed"), "{states:?}");
}

/// Calls beside each other: each has its own id, output and end.
#[test]
fn calls_beside_each_other_are_kept_apart() {
    let call = |word: &str| ("terminal", json!({ "command": format!("echo {word}; ls {word}") }));
    let calls = vec![call("heliotrope"), call("vermilion")];
    let model = Loopback::saying(vec![Say::Calls(calls), Say::Text("both")]);
    let home = home(&model);
    home.write("work/heliotrope", "");
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "run both"), "end_turn");
    let mut ends = Vec::new();
    for update in editor.updates("tool_call_update") {
        let id = update["toolCallId"].as_str().expect("an id").to_owned();
        let (own, other) = match id.as_str() {
            "call_0_terminal" => ("heliotrope", "vermilion"),
            _ => ("vermilion", "heliotrope"),
        };
        let told = update.to_string();
        assert!(!told.contains(other), "{id}: {told}");
        if let Some(state @ ("completed" | "failed")) = update["status"].as_str() {
            assert!(update["rawOutput"].to_string().contains(own), "{id}: {told}");
            ends.push((id, state.to_owned()));
        }
    }
    ends.sort();
    let wanted = [("call_0_terminal", "completed"), ("call_1_terminal", "failed")];
    assert_eq!(ends, wanted.map(|(id, state)| (id.to_owned(), state.to_owned())));
}

/// Conversations of the chat at a terminal are listed where the user wants that, and go on here.
#[test]
fn conversations_of_the_terminal_are_listed_where_that_is_wanted() {
    let model = Loopback::saying(vec![Say::Text("from the terminal"), Say::Text("from here")]);
    let home = home(&model);
    let Some(pane) = Pane::open("listed_in_editors", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("hello");
    pane.ready_after("from the terminal");
    drop(pane);
    let mut editor = Editor::greeted(&home, &json!({}));
    assert_eq!(editor.ask("session/list", json!({}))["sessions"], json!([]));
    home.write(".petasos/config.yaml", format!("{}acp:\n  list_all: true\n", model.config()));
    let mut editor = Editor::greeted(&home, &json!({}));
    let listed = editor.ask("session/list", json!({}))["sessions"].clone();
    let id = listed[0]["sessionId"].as_str().expect("it is listed").to_owned();
    let cwd = listed[0]["cwd"].clone();
    editor.ask("session/load", json!({ "sessionId": id, "cwd": cwd, "mcpServers": [] }));
    assert!(editor.said().contains("from the terminal"), "{}", editor.said());
    assert_eq!(editor.turn(&id, "and now?"), "end_turn");
}

/// Further folders of a workspace are parts of it.
#[test]
fn further_folders_are_parts_of_the_workspace() {
    let more = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let path = more.path().join("x.txt").display().to_string();
    let edit = json!({ "path": path, "content": "x\n" });
    let model = Loopback::answering(move |body| {
        let last = body["messages"].as_array().and_then(|all| all.last()).cloned();
        match last.unwrap_or_default()["role"].as_str() {
            Some("tool") => Say::Text("done"),
            _ => Say::Calls(vec![("write_file", edit.clone())]),
        }
    });
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.permits = vec![Permit::Choose("deny")];
    for (folders, asked) in [(json!([]), 1), (json!([more.path()]), 1)] {
        let new =
            json!({ "cwd": home.workspace(), "mcpServers": [], "additionalDirectories": folders });
        let session = editor.ask("session/new", new)["sessionId"].clone();
        editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "accept_edits" }));
        editor.turn(session.as_str().expect("a name"), "write");
        assert_eq!(editor.asked.len(), asked, "{folders}");
    }
    assert!(more.path().join("x.txt").exists());
}
