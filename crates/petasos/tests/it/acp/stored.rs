//! Conversations that are loaded, resumed, copied, listed and left.

use serde_json::json;

use super::editor::Editor;
use super::{home, terminal};
use crate::loopback::{Loopback, Say};

/// 135: load replays everything, resume nothing; unknown ones are told; list, fork, close, delete;
/// a killed program loses nothing that was said.
#[test]
fn a_stored_session_is_loaded_resumed_copied_and_left() {
    let model =
        Loopback::saying(vec![terminal("echo hi"), Say::Text("It says hi."), Say::Text("more")]);
    let home = home(&model);
    let cwd = home.workspace();
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&cwd);
    editor.turn(&session, "run it");
    editor.kill();
    let here = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.ask("session/load", here.clone());
    let kinds: Vec<String> = replayed(&editor);
    assert_eq!(
        kinds,
        ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
    );
    assert_eq!(editor.calls().values().cloned().collect::<Vec<_>>(), ["completed"]);
    assert_eq!(editor.said(), "It says hi.");
    let elsewhere = json!({ "sessionId": session, "cwd": home.user(), "mcpServers": [] });
    assert_eq!(editor.refused("session/load", elsewhere), -32602);
    let listed = editor.ask("session/list", json!({ "cwd": cwd }));
    assert_eq!(listed["sessions"][0]["sessionId"].as_str(), Some(session.as_str()));
    assert_eq!(listed["sessions"][0]["title"], "run it");
    assert_eq!(editor.ask("session/list", json!({ "cwd": "/" }))["sessions"], json!([]));
    assert_eq!(editor.refused("session/list", json!({ "cursor": "50.abc" })), -32602);
    editor.ask("session/close", json!({ "sessionId": session }));
    assert_eq!(editor.refused("session/close", json!({ "sessionId": session })), -32002);
    assert_eq!(editor.turn_refused(&session), -32002);
    drop(editor);
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.ask("session/resume", here.clone());
    assert_eq!(replayed(&editor), Vec::<String>::new());
    assert_eq!(editor.turn(&session, "go on"), "end_turn");
    let copy = editor.ask("session/fork", here.clone())["sessionId"].as_str().map(str::to_owned);
    let copy = copy.expect("a name");
    assert_ne!(copy, session);
    for _ in 0..2 {
        editor.ask("session/delete", json!({ "sessionId": copy }));
    }
    let listed = editor.ask("session/list", json!({}));
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    let nobody = json!({ "sessionId": "nobody", "cwd": cwd, "mcpServers": [] });
    for method in ["session/load", "session/resume", "session/fork"] {
        assert_eq!(editor.refused(method, nobody.clone()), -32002, "{method}");
    }
}

/// A session in which nothing was said can be gone on with, by another program, too; lists leave it
/// out until something is said.
#[test]
fn a_session_in_which_nothing_was_said_is_resumed() {
    let model = Loopback::saying(vec![Say::Text("first words"), Say::Text("more")]);
    let home = home(&model);
    let cwd = home.workspace();
    let mut editor = Editor::greeted(&home, &json!({}));
    let (killed, closed) = (editor.session(&cwd), editor.session(&cwd));
    editor.ask("session/close", json!({ "sessionId": closed }));
    let here = |session: &str| json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    editor.ask("session/resume", here(&closed));
    editor.kill();
    let mut editor = Editor::greeted(&home, &json!({}));
    assert_eq!(editor.ask("session/list", json!({}))["sessions"], json!([]));
    editor.ask("session/resume", here(&killed));
    editor.ask("session/load", here(&closed));
    assert_eq!(replayed(&editor), Vec::<String>::new());
    let elsewhere = json!({ "sessionId": killed, "cwd": home.user(), "mcpServers": [] });
    assert_eq!(editor.refused("session/resume", elsewhere), -32602);
    assert_eq!(editor.turn(&killed, "hello"), "end_turn");
    assert_eq!(editor.updates("session_info_update")[0]["title"], "hello");
    let listed = editor.ask("session/list", json!({}))["sessions"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed[0]["sessionId"].as_str(), Some(killed.as_str()));
    let copy = editor.ask("session/fork", here(&closed))["sessionId"].as_str().map(str::to_owned);
    assert_eq!(editor.turn(&copy.expect("a name"), "and here"), "end_turn");
}

/// A call that is shown again has the state that it ended with.
#[test]
fn a_call_ends_again_as_it_ended() {
    let model = Loopback::saying(vec![
        terminal("echo well"),
        terminal("echo badly; exit 3"),
        Say::Calls(vec![("read_file", json!({ "path": "absent.txt" }))]),
        Say::Text("so"),
    ]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "run them");
    let ended = |editor: &Editor| -> Vec<String> {
        let updates = editor.updates("tool_call_update").into_iter();
        let states = updates.filter_map(|it| it["status"].as_str().map(str::to_owned));
        states.filter(|state| state == "completed" || state == "failed").collect()
    };
    let live = ended(&editor);
    assert_eq!(live, ["completed", "failed", "failed"]);
    drop(editor);
    let mut editor = Editor::greeted(&home, &json!({}));
    let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    editor.ask("session/load", here);
    assert_eq!(ended(&editor), live);
}

fn replayed(editor: &Editor) -> Vec<String> {
    let shown = ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"];
    let updates = editor.trace.iter().map(|frame| &frame["params"]["update"]["sessionUpdate"]);
    let kinds = updates.filter_map(|kind| kind.as_str().map(str::to_owned));
    kinds.filter(|kind| shown.contains(&kind.as_str())).collect()
}
