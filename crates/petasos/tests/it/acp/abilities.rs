//! What a client can do: its texts, its terminals, its forms, what it can hear.

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::editor::{Editor, Permit};
use super::{home, result, result_of, terminal, write};
use crate::loopback::{Loopback, Say};

fn with(model: &Loopback, more: &str) -> Home {
    let home = home(model);
    home.write(
        ".petasos/config.yaml",
        format!("{}approvals:\n  mode: manual\n{more}", model.config()),
    );
    home
}

/// 137: a patch of several files is one difference for each, and the text that is not saved yet is
/// what it starts from.
#[test]
fn a_patch_of_many_files_is_shown_file_by_file_from_the_unsaved_text() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-unsaved\n+edited\n*** Add File: b.txt\n+new\n*** End Patch";
    let model = Loopback::saying(vec![
        Say::Calls(vec![("patch", json!({ "mode": "patch", "patch": patch }))]),
        Say::Text("done"),
    ]);
    let home = home(&model);
    home.write("work/a.txt", "saved\n");
    let (a, b) = (home.workspace().join("a.txt"), home.workspace().join("b.txt"));
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut editor = Editor::greeted(&home, &fs);
    editor.buffers.insert(a.display().to_string(), "unsaved\n".to_owned());
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "patch it"), "end_turn");
    let asked = editor.asked.first().expect("a question").clone();
    let content = asked["toolCall"]["content"].as_array().expect("a list").clone();
    let diffs: Vec<&Value> = content.iter().filter(|it| it["type"] == "diff").collect();
    let seen: Vec<(&str, Option<&str>, &str)> = diffs
        .iter()
        .filter_map(|it| {
            Some((it["path"].as_str()?, it["oldText"].as_str(), it["newText"].as_str()?))
        })
        .collect();
    let (a, b) = (a.display().to_string(), b.display().to_string());
    assert_eq!(
        seen,
        [(a.as_str(), Some("unsaved\n"), "edited\n"), (b.as_str(), None, "new\n")],
        "{asked}"
    );
    assert_eq!(editor.buffers.get(&a).map(String::as_str), Some("edited\n"));
    let end = editor.updates("tool_call_update");
    let end = end.iter().rev().find(|it| it["status"] == "completed").expect("an end").clone();
    let shown = end["content"].as_array().into_iter().flatten();
    assert_eq!(shown.filter(|it| it["type"] == "diff").count(), 2, "{end}");
}

/// A command runs in the editor's terminal where both sides want that, and the terminal is given
/// back whatever happens: at its end, when it is stopped, when its time is over.
#[test]
fn commands_run_in_the_editors_terminal_and_it_is_always_released() {
    let slow = json!({ "command": "echo slow; sleep 60", "timeout": 1 });
    let model = Loopback::saying(vec![
        terminal("echo $((6 * 7)); exit 3"),
        Say::Text("ran"),
        terminal("echo begun; sleep 60"),
        Say::Calls(vec![("terminal", slow)]),
        Say::Text("late"),
    ]);
    let home = with(&model, "acp:\n  use_client_terminal: true\n");
    let mut editor = Editor::greeted(&home, &json!({ "terminal": true }));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "run"), "end_turn");
    let told = result(&model);
    assert!(told.contains("42") && told.contains("\\\"exit_code\\\":3"), "{told}");
    let shown = editor.updates("tool_call_update");
    let terminals: Vec<&Value> =
        shown.iter().filter(|it| it["content"][0]["type"] == "terminal").collect();
    assert_eq!(terminals[0]["content"][0]["terminalId"], "term-1", "{shown:?}");
    // An exit code that is not zero is a failure.
    assert_eq!(terminals.last().expect("an end")["status"], "failed");
    // 139: a cancelled turn ends what runs in the editor's terminal.
    let id = editor.say(&session, "sleep");
    editor.until("a second terminal", |editor| (editor.terminals.made == 2).then_some(()));
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    editor.until("its release", |editor| (editor.terminals.released == 2).then_some(()));
    assert!(editor.calls().values().all(|state| state != "in_progress"), "{:?}", editor.calls());
    assert_eq!(editor.turn(&session, "again"), "end_turn");
    assert!(result(&model).contains("slow"), "{}", result(&model));
    assert_eq!((editor.terminals.made, editor.terminals.released), (3, 3));
}

/// Only where the user wants it: without the setting our own terminal is used.
#[test]
fn without_the_setting_commands_stay_here_and_background_jobs_always_do() {
    let job = json!({ "command": "sleep 30", "background": true });
    let model = Loopback::saying(vec![terminal("echo ours"), Say::Text("ran")]);
    let place = home(&model);
    let mut editor = Editor::greeted(&place, &json!({ "terminal": true }));
    let session = editor.session(&place.workspace());
    editor.turn(&session, "run");
    assert!(result(&model).contains("ours") && editor.terminals.made == 0);
    let model = Loopback::saying(vec![Say::Calls(vec![("terminal", job)]), Say::Text("started")]);
    let home = with(&model, "acp:\n  use_client_terminal: true\n");
    let mut editor = Editor::greeted(&home, &json!({ "terminal": true }));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "start");
    assert_eq!(editor.terminals.made, 0, "{}", result(&model));
}

/// A client that has forgotten a terminal does no harm.
#[test]
fn a_terminal_that_the_editor_has_forgotten_is_tolerated() {
    let model = Loopback::saying(vec![terminal("true"), Say::Text("ran")]);
    let home = with(&model, "acp:\n  use_client_terminal: true\n");
    let mut editor = Editor::greeted(&home, &json!({ "terminal": true }));
    editor.terminals.forgetful = true;
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "run"), "end_turn");
    assert!(result(&model).contains("did not give the output"), "{}", result(&model));
}

/// A question of the model is a form where the client has them, and a choice otherwise.
#[test]
fn a_question_of_the_model_is_a_form_or_a_choice() {
    let ask = || {
        let ask = json!({ "question": "Which colour?", "choices": ["red", "blue"] });
        Say::Calls(vec![("clarify", ask)])
    };
    for (abilities, answer) in
        [(json!({ "elicitation": { "form": {} } }), "green"), (json!({}), "blue")]
    {
        let model = Loopback::saying(vec![ask(), Say::Text("so")]);
        let home = with(&model, "platform_toolsets:\n  acp: [hermes-acp, clarify]\n");
        let mut editor = Editor::greeted(&home, &abilities);
        editor.form = json!({ "action": "accept", "content": { "answer": "green" } });
        editor.permits = vec![Permit::Choose("choice_1")];
        let session = editor.session(&home.workspace());
        assert_eq!(editor.turn(&session, "ask me"), "end_turn");
        assert!(result(&model).contains(answer), "{}", result(&model));
    }
}

/// Half a second of silence.
fn recording() -> Vec<u8> {
    let samples: u32 = 8000;
    let mut wave = Vec::new();
    wave.extend(b"RIFF");
    wave.extend((36 + samples * 2).to_le_bytes());
    wave.extend(b"WAVEfmt ");
    wave.extend(16_u32.to_le_bytes());
    wave.extend([1, 0, 1, 0]);
    wave.extend(16_000_u32.to_le_bytes());
    wave.extend(32_000_u32.to_le_bytes());
    wave.extend([2, 0, 16, 0]);
    wave.extend(b"data");
    wave.extend((samples * 2).to_le_bytes());
    wave.resize(wave.len() + 16_000, 0);
    wave
}

/// Recordings in prompts are heard where a recogniser is set up, and refused otherwise.
#[test]
fn audio_is_heard_where_somebody_listens() {
    use base64::Engine as _;
    let data = base64::prelude::BASE64_STANDARD.encode(recording());
    let audio = json!([{ "type": "text", "text": "do this:" }, { "type": "audio", "mimeType": "audio/wav", "data": data }]);
    let model = Loopback::saying(vec![Say::Text("heard")]);
    let own =
        "stt:\n  provider: mine\n  providers:\n    mine:\n      command: echo open the window\n";
    let home = with(&model, own);
    let mut editor = Editor::start(&home);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    let answer = editor.ask("initialize", hello);
    assert_eq!(answer["agentCapabilities"]["promptCapabilities"]["audio"], true, "{answer}");
    let session = editor.session(&home.workspace());
    let prompt = |session: &str, blocks: &Value| json!({ "sessionId": session, "prompt": blocks });
    let ended = editor.ask("session/prompt", prompt(&session, &audio));
    assert_eq!(ended["stopReason"], "end_turn");
    let asked = model.asked();
    let said = asked[0]["messages"].to_string();
    assert!(said.contains("[spoken] open the window"), "{said}");
    let bad = json!([{ "type": "audio", "mimeType": "audio/wav", "data": "AAAA" }]);
    assert_eq!(editor.refused("session/prompt", prompt(&session, &bad)), -32602);
    let model = Loopback::saying(Vec::new());
    let deaf = with(&model, "stt:\n  enabled: false\n");
    let mut editor = Editor::greeted(&deaf, &json!({}));
    let session = editor.session(&deaf.workspace());
    assert_eq!(editor.refused("session/prompt", prompt(&session, &audio)), -32602);
}

/// 134: whatever a client can do or cannot, it is asked for exactly what it can.
#[test]
fn s134_a_client_is_asked_only_for_what_it_offers() {
    let script = |_: u32| {
        [
            Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]),
            write("made.txt", "x\n"),
            terminal("echo run > ran.txt"),
            Say::Calls(vec![("clarify", json!({ "question": "Which?", "choices": ["a"] }))]),
            Say::Text("done"),
        ]
    };
    let model = Loopback::saying((0..32).flat_map(script).collect());
    let home = with(&model, "acp:\n  use_client_terminal: true\n");
    home.write("work/note.txt", "on the disk\n");
    let note = home.workspace().join("note.txt").display().to_string();
    let mut editor = Editor::start(&home);
    editor.buffers.insert(note, "in the editor\n".to_owned());
    for combination in 0..32_u32 {
        let on = |bit: u32| combination & (1 << bit) != 0;
        let (reads, writes, runs, asks, notices) = (on(0), on(1), on(2), on(3), on(4));
        let mut abilities = json!({
            "fs": { "readTextFile": reads, "writeTextFile": writes }, "terminal": runs,
        });
        if asks {
            abilities["elicitation"] = json!({ "form": {} });
        }
        if notices {
            abilities["session"] = json!({ "notices": {} });
        }
        editor.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": abilities }));
        editor.served.clear();
        let (from, session) = (editor.trace.len(), editor.session(&home.workspace()));
        assert_eq!(editor.turn(&session, "go"), "end_turn", "{abilities}");
        let asked = |method: &str| editor.served.iter().any(|it| it == method);
        assert_eq!(asked("fs/write_text_file"), writes, "{abilities} {:?}", editor.served);
        assert!(reads || !asked("fs/read_text_file"), "{abilities}");
        assert_eq!(asked("terminal/create"), runs, "{abilities}");
        assert_eq!(asked("terminal/release"), runs, "{abilities}");
        assert_eq!(asked("elicitation/create"), asks, "{abilities}");
        let kinds = editor.trace[from..].iter().map(|it| &it["params"]["update"]["sessionUpdate"]);
        assert!(notices || kinds.into_iter().all(|kind| kind != "notice"), "{abilities}");
        let refused = editor.trace[from..].iter().filter(|it| it["error"]["code"] == -32601);
        assert_eq!(refused.count(), 0, "nothing was asked that is not there: {abilities}");
        editor.ask("session/close", json!({ "sessionId": session }));
    }
    assert_eq!(editor.terminals.made, editor.terminals.released);
    assert!(result_of(&model, "read_file").contains("on the disk"));
}

/// 134, the other way: what is advertised answers, and what is not is not there.
#[test]
fn s134_only_what_is_advertised_answers() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let mut editor = Editor::start(&home);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    let offers = editor.ask("initialize", hello)["agentCapabilities"].clone();
    let session = editor.session(&home.workspace());
    let own = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    let sessions = offers["sessionCapabilities"].as_object().expect("a map").clone();
    let told = ["list", "resume", "close", "delete", "fork", "additionalDirectories"];
    for name in told {
        assert!(sessions.contains_key(name), "{offers}");
    }
    assert!(offers["auth"]["logout"].is_object() && offers["loadSession"] == true, "{offers}");
    for method in [
        "session/list",
        "session/load",
        "session/resume",
        "session/fork",
        "session/close",
        "session/delete",
        "session/set_mode",
        "session/set_config_option",
        "session/set_model",
        "logout",
        "authenticate",
        "session/new",
        "session/prompt",
    ] {
        let id = editor.request(method, own.clone());
        assert_ne!(editor.answer(id)["error"]["code"], -32601, "{method}");
    }
    for method in [
        "session/archive",
        "session/unarchive",
        "session/status",
        "session/set_title",
        "auth/status",
        "providers/list",
        "providers/set",
        "providers/disable",
        "mcp/message",
        "mcp/connect",
        "proxy/initialize",
        "nes/start",
        "fs/read_text_file",
        "_private/thing",
    ] {
        assert_eq!(editor.refused(method, own.clone()), -32601, "{method}");
    }
}
