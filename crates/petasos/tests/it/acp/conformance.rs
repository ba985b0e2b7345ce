//! The one conformance profile that anybody has drafted for the protocol, `acp-core-v1` of acpx with
//! the cases that its mock agent adds: each case by its name. Its runner and cases are in no package,
//! so they are written here again; a scripted model does what the mock would.

use serde_json::{Value, json};

use super::editor::{Editor, Permit};
use super::{home, result, terminal, write};
use crate::loopback::{Loopback, Say};

/// The profile's client: it gives and takes files.
fn client(model: &Loopback) -> (petasos_testkit::Home, Editor, String) {
    let home = home(model);
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut editor = Editor::greeted(&home, &fs);
    let session = editor.session(&home.workspace());
    (home, editor, session)
}

/// Updates since a frame, all of which must name the session.
fn updates_of(editor: &Editor, session: &str, from: usize) -> usize {
    let frames = editor.trace[from..].iter().filter(|frame| frame["method"] == "session/update");
    let of = frames.map(|frame| frame["params"]["sessionId"].as_str());
    of.inspect(|of| assert_eq!(*of, Some(session))).count()
}

#[test]
fn the_core_profile_holds_for_sessions_and_prompts() {
    let model = Loopback::saying(["one", "two", "three", "?", "blocks"].map(Say::Text).to_vec());
    let home = home(&model);
    let mut editor = Editor::start(&home);
    // acp.v1.initialize.handshake
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    let answer = editor.ask("initialize", hello);
    assert!(answer["protocolVersion"].is_u64() && answer["agentCapabilities"].is_object());
    // acp.v1.session.new.basic
    let session = editor.session(&home.workspace());
    assert!(!session.is_empty());
    // acp.v1.session.prompt.single_turn, acp.v1.session.update.termination, acp.v1.session.prompt.multi_turn,
    // acp.v1.session.prompt.echo_empty, acp.v1.session.prompt.unrecognized
    for text in ["echo hello", "echo again", "echo ", "do what nobody knows"] {
        let from = editor.trace.len();
        assert_eq!(editor.turn(&session, text), "end_turn", "{text}");
        assert!(updates_of(&editor, &session, from) > 0, "{text}");
        let last = editor.trace.last().expect("a frame");
        assert!(last["result"]["stopReason"].is_string(), "the answer comes last: {last}");
    }
    // acp.v1.session.prompt.structured_blocks
    let link = json!({ "type": "resource_link", "name": "x", "uri": "file:///nowhere/x.txt" });
    let blocks = json!([{ "type": "text", "text": "look" }, link]);
    let prompt = json!({ "sessionId": session, "prompt": blocks });
    assert_eq!(editor.ask("session/prompt", prompt)["stopReason"], "end_turn");
    // acp.v1.session.prompt.background_completion
    let id = editor.say(&session, "in the background");
    editor.ask("session/list", json!({}));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn the_core_profile_holds_for_errors() {
    let model = Loopback::saying(Vec::new());
    let (home, mut editor, session) = client(&model);
    let new = |cwd: Value| json!({ "cwd": cwd, "mcpServers": [] });
    let prompt = |session: Value| json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "x" }] });
    // acp.v1.errors.invalid_params, acp.v1.errors.invalid_params.cwd_null
    for cwd in [json!(7), json!(null), json!({})] {
        assert_eq!(editor.refused("session/new", new(cwd)), -32602);
    }
    // acp.v1.errors.invalid_prompt_session_type
    for wrong in [json!(7), json!(null), json!([session])] {
        assert_eq!(editor.refused("session/prompt", prompt(wrong)), -32602);
    }
    // acp.v1.errors.unknown_session
    assert_eq!(editor.refused("session/prompt", prompt(json!("nobody"))), -32002);
    assert_eq!(editor.turn(&session, "still there?"), "end_turn");
    drop(home);
}

#[test]
fn the_core_profile_holds_for_cancelling() {
    let model = Loopback::saying(vec![
        terminal("sleep 60"),
        Say::Text("followed"),
        Say::Text("after an idle one"),
    ]);
    let (_home, mut editor, session) = client(&model);
    let cancel = json!({ "sessionId": session });
    // acp.v1.session.cancel.in_flight
    let id = editor.say(&session, "sleep");
    editor.until("a running call", |editor| {
        editor.calls().values().any(|state| state == "in_progress").then_some(())
    });
    editor.tell("session/cancel", cancel.clone());
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    // acp.v1.session.cancel.followup_prompt
    assert_eq!(editor.turn(&session, "go on"), "end_turn");
    // acp.v1.session.cancel.idle: nothing is answered to what is told.
    let from = editor.trace.len();
    editor.tell("session/cancel", cancel);
    assert_eq!(editor.turn(&session, "and again"), "end_turn");
    let answers = editor.trace[from..].iter().filter(|frame| frame.get("result").is_some());
    assert_eq!(answers.count(), 1);
}

#[test]
fn the_mock_profile_holds_for_permissions() {
    let read = || Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]);
    let model = Loopback::saying(vec![
        read(),
        Say::Text("read"),
        write("made.txt", "made\n"),
        Say::Text("written"),
        write("made.txt", "again\n"),
        Say::Text("denied"),
    ]);
    let (home, mut editor, session) = client(&model);
    let note = home.workspace().join("note.txt").display().to_string();
    editor.buffers.insert(note.clone(), "in the editor\n".to_owned());
    home.write("work/note.txt", "on the disk\n");
    // acp.v1.permissions.read.approved
    assert_eq!(editor.turn(&session, "read it"), "end_turn");
    assert!(result(&model).contains("in the editor"), "{}", result(&model));
    // acp.v1.permissions.write.approved
    assert_eq!(editor.turn(&session, "write it"), "end_turn");
    let made = home.workspace().join("made.txt");
    assert_eq!(std::fs::read_to_string(&made).expect("a file"), "made\n");
    // acp.v1.errors.permission_denied, acp.v1.errors.permission_denied.write
    editor.permits = vec![Permit::Choose("deny")];
    assert_eq!(editor.turn(&session, "write it again"), "end_turn");
    assert_eq!(std::fs::read_to_string(&made).expect("a file"), "made\n");
    let last = editor.updates("tool_call_update").pop().expect("an update");
    assert_eq!(last["status"], "failed", "{last}");
    assert!(last["rawOutput"]["error"].is_string(), "machines can read it: {last}");
    // acp.v1.session.prompt.post_success_drain: nothing of a turn comes after its answer.
    let from = editor.trace.len();
    editor.ask("session/list", json!({}));
    let late =
        editor.trace[from..].iter().filter(|it| it["params"]["update"]["toolCallId"].is_string());
    assert_eq!(late.count(), 0);
}
