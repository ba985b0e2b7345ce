//! What an editor is asked before it happens, and what its answers mean.

use std::time::Duration;

use serde_json::json;

use super::editor::{Editor, Permit};
use super::{home, result, terminal, write};
use crate::loopback::{Loopback, Say};

/// 136: a denied edit and then the same by the shell: both are asked.
#[test]
fn an_edit_is_asked_with_its_difference_and_the_shell_is_no_way_around() {
    let model = Loopback::saying(vec![
        write("note.txt", "new\n"),
        terminal("echo new > note.txt"),
        Say::Text("so not"),
        write("note.txt", "new\n"),
        Say::Text("done"),
    ]);
    let home = home(&model);
    home.write("work/note.txt", "old\n");
    let note = home.workspace().join("note.txt");
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.permits = vec![Permit::Choose("deny")];
    assert_eq!(editor.turn(&session, "change it"), "end_turn");
    assert_eq!(editor.asked.len(), 2, "{:?}", editor.asked);
    assert_eq!(std::fs::read_to_string(&note).expect("a file"), "old\n");
    let asked = &editor.asked[0];
    let announced = &editor.updates("tool_call")[0];
    assert_eq!(asked["toolCall"]["toolCallId"], announced["toolCallId"]);
    // A call without a status is pending.
    assert_eq!((announced["kind"].as_str(), announced["status"].as_str()), (Some("edit"), None));
    let diff = &asked["toolCall"]["content"][0];
    assert_eq!(diff["type"], "diff");
    assert_eq!(
        (diff["oldText"].as_str(), diff["newText"].as_str()),
        (Some("old\n"), Some("new\n"))
    );
    assert_eq!(diff["path"].as_str(), note.to_str());
    let states = editor.calls();
    assert!(states.values().all(|state| state == "failed"), "{states:?}");
    editor.permits = vec![Permit::Choose("allow_once")];
    assert_eq!(editor.turn(&session, "again"), "end_turn");
    assert_eq!(std::fs::read_to_string(&note).expect("a file"), "new\n");
    let last = editor.updates("tool_call_update");
    let last = last.iter().rev().find(|update| update["status"] == "completed").expect("an end");
    assert_eq!(
        (last["content"][0]["type"].as_str(), last["content"][0]["newText"].as_str()),
        (Some("diff"), Some("new\n"))
    );
}

/// 138: every option, one that was not offered, a withdrawal, nonsense.
#[test]
fn only_an_offered_option_agrees() {
    let edit = || write("note.txt", "new\n");
    let model = Loopback::saying((0..5).flat_map(|_| [edit(), Say::Text("next")]).collect());
    let home = home(&model);
    let note = home.workspace().join("note.txt");
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    for permit in [Permit::Choose("allow_everything"), Permit::Cancelled, Permit::Nonsense] {
        editor.permits = vec![permit];
        assert_eq!(editor.turn(&session, "write"), "end_turn");
        assert!(!note.exists());
        assert!(result(&model).contains("not consented"), "{}", result(&model));
    }
    let options = editor.asked[0]["options"].as_array().expect("a list").clone();
    let kinds: Vec<(&str, &str)> = options
        .iter()
        .filter_map(|it| Some((it["optionId"].as_str()?, it["kind"].as_str()?)))
        .collect();
    assert_eq!(
        kinds,
        [
            ("allow_once", "allow_once"),
            ("allow_session", "allow_always"),
            ("allow_always", "allow_always"),
            ("deny", "reject_once"),
            ("deny_always", "reject_always"),
        ]
    );
    editor.permits = vec![Permit::Choose("deny_always")];
    editor.turn(&session, "write");
    let asked = editor.asked.len();
    editor.turn(&session, "write");
    assert_eq!(editor.asked.len(), asked, "the same is not asked again");
    assert!(result(&model).contains("whole session"), "{}", result(&model));
    assert!(!note.exists());
}

#[test]
fn a_mode_decides_what_is_asked() {
    let model = Loopback::saying(vec![
        write("a.txt", "1"),
        Say::Text("a"),
        write(".env", "KEY=1"),
        Say::Text("b"),
        write("c.txt", "1"),
        Say::Text("c"),
    ]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.permits = vec![Permit::Choose("deny")];
    editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "accept_edits" }));
    editor.turn(&session, "inside");
    assert!(home.workspace().join("a.txt").exists() && editor.asked.is_empty());
    editor.turn(&session, "protected");
    assert!(!home.workspace().join(".env").exists());
    assert_eq!(editor.asked.len(), 1);
    let set = json!({ "sessionId": session, "configId": "mode", "value": "plan" });
    let options = editor.ask("session/set_config_option", set);
    assert_eq!(options["configOptions"][0]["currentValue"], "plan");
    editor.turn(&session, "plan");
    assert!(!home.workspace().join("c.txt").exists());
    assert!(result(&model).contains("Plan mode"), "{}", result(&model));
    let bad = json!({ "sessionId": session, "modeId": "wild" });
    assert_eq!(editor.refused("session/set_mode", bad), -32602);
}

/// 138: a question that nobody answers expires: that is a denial, and it says so.
#[test]
fn s138_a_permission_that_nobody_gives_expires() {
    let model = Loopback::saying(vec![write("note.txt", "new\n"), Say::Text("so not")]);
    let home = home(&model);
    let patience = "approvals:\n  mode: manual\n  gateway_timeout: 1\n";
    home.write(".petasos/config.yaml", format!("{}{patience}", model.config()));
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.permits = vec![Permit::Silent];
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "write"), "end_turn");
    assert_eq!(editor.asked.len(), 1);
    assert!(!home.workspace().join("note.txt").exists());
    let told = result(&model).to_lowercase();
    assert!(told.contains("expired") || told.contains("nobody answered"), "{told}");
    let withdrawn = editor.trace.iter().any(|frame| frame["method"] == "$/cancel_request");
    assert!(withdrawn, "the editor is told that the question is over");
    assert!(editor.calls().values().all(|state| state == "failed"), "{:?}", editor.calls());
}

/// 138: an editor that dies with a question open has agreed to nothing, and the program ends.
#[test]
fn s138_an_editor_that_dies_has_agreed_to_nothing() {
    let model = Loopback::saying(vec![write("note.txt", "new\n"), Say::Text("after")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.permits = vec![Permit::Silent];
    let session = editor.session(&home.workspace());
    editor.say(&session, "write");
    editor.until("a question", |editor| (!editor.asked.is_empty()).then_some(()));
    let (took, code) = editor.leave();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(!home.workspace().join("note.txt").exists());
    let mut editor = Editor::greeted(&home, &json!({}));
    let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    editor.ask("session/load", here);
    assert!(editor.calls().values().all(|state| state == "failed"), "{:?}", editor.calls());
    assert_eq!(editor.turn(&session, "go on"), "end_turn");
    assert!(!home.workspace().join("note.txt").exists());
    assert!(editor.asked.is_empty(), "an old question is not put again: {:?}", editor.asked);
}

/// What is allowed for the session is not asked again in it, and is asked in another.
#[test]
fn s138_an_answer_for_the_session_holds_there_alone() {
    let run = || terminal("touch made.txt");
    let model = Loopback::saying((0..3).flat_map(|_| [run(), Say::Text("next")]).collect());
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.permits = vec![Permit::Choose("allow_session")];
    let session = editor.session(&home.workspace());
    editor.turn(&session, "run");
    let asked = editor.asked.len();
    assert!(asked > 0 && home.workspace().join("made.txt").exists());
    editor.turn(&session, "run again");
    assert_eq!(editor.asked.len(), asked, "{:?}", editor.asked);
    let other = editor.session(&home.workspace());
    editor.turn(&other, "run");
    assert!(editor.asked.len() > asked, "another session asks for itself");
}

/// Whoever wants to see every edit sees it on every surface, whatever the mode of an editor says; where
/// nobody can be asked nothing is edited.
#[test]
fn every_edit_is_shown_first_where_the_user_wants_that() {
    let script = || vec![write("note.txt", "new\n"), Say::Text("done")];
    let model = Loopback::saying(script());
    let home = home(&model);
    home.write("work/note.txt", "old\n");
    let note = home.workspace().join("note.txt");
    let config =
        |model: &Loopback| format!("{}approvals:\n  mode: manual\n  edits: each\n", model.config());
    home.write(".petasos/config.yaml", config(&model));
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "dont_ask" }));
    editor.permits = vec![Permit::Choose("deny")];
    assert_eq!(editor.turn(&session, "change it"), "end_turn");
    assert_eq!(editor.asked.len(), 1, "{:?}", editor.asked);
    let diff = &editor.asked[0]["toolCall"]["content"][0];
    assert_eq!(
        (diff["oldText"].as_str(), diff["newText"].as_str()),
        (Some("old\n"), Some("new\n"))
    );
    let model = Loopback::saying(script());
    home.write(".petasos/config.yaml", config(&model));
    crate::petasos(&home).run(&["run", "change it"]);
    assert!(result(&model).contains("nobody"), "{}", result(&model));
    assert_eq!(std::fs::read_to_string(&note).expect("a file"), "old\n");
}

/// What the mode of an editor asks is for the person there, also where a model reviews.
#[test]
fn a_reviewer_does_not_answer_what_the_mode_asks() {
    let mut said = vec![terminal("touch made"), Say::Text("so not")].into_iter();
    let model = Loopback::answering(move |body| {
        let reviews = body["messages"].to_string().contains("You review one action");
        if reviews { Say::Text("APPROVE") } else { said.next().unwrap_or(Say::Text("done")) }
    });
    let home = home(&model);
    home.write(".petasos/config.yaml", format!("{}approvals:\n  mode: smart\n", model.config()));
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.permits = vec![Permit::Choose("deny")];
    assert_eq!(editor.turn(&session, "make it"), "end_turn");
    assert_eq!(editor.asked.len(), 1, "{:?}", editor.asked);
    assert!(!home.workspace().join("made").exists());
}

/// What a reviewing model advises against can be allowed this once or not.
#[test]
fn after_a_reviewers_denial_there_are_two_answers() {
    let mut edits = vec![terminal("rm -rf build"), Say::Text("so not")].into_iter();
    let model = Loopback::answering(move |body| {
        let reviews = body["messages"].to_string().contains("You review one action");
        let next = || Say::Text("DENY");
        if reviews { next() } else { edits.next().unwrap_or(Say::Text("done")) }
    });
    let home = home(&model);
    home.write("work/build/keep", "");
    home.write(".petasos/config.yaml", format!("{}approvals:\n  mode: smart\n", model.config()));
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    // What a mode asks goes to the person at once.
    editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "accept_edits" }));
    editor.permits = vec![Permit::Choose("deny")];
    assert_eq!(editor.turn(&session, "remove it"), "end_turn");
    let options = editor.asked[0]["options"].as_array().expect("a list").clone();
    let ids: Vec<&str> = options.iter().filter_map(|it| it["optionId"].as_str()).collect();
    assert_eq!(ids, ["allow_once", "deny"], "{}", editor.asked[0]);
    assert!(home.workspace().join("build/keep").exists());
}
