//! `petasos acp`: an editor over pipes. Numbers are the acceptance lines of the surfaces contract.

mod editor;

use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::{petasos, run};
use editor::{Editor, Permit};

fn home(model: &Loopback) -> Home {
    let home = Home::temp();
    home.write(".petasos/config.yaml", format!("{}approvals:\n  mode: manual\n", model.config()));
    home
}

fn terminal(command: &str) -> Say {
    Say::Calls(vec![("terminal", json!({ "command": command }))])
}

fn write(path: &str, content: &str) -> Say {
    Say::Calls(vec![("write_file", json!({ "path": path, "content": content }))])
}

/// The last result that the model was told.
fn result(model: &Loopback) -> String {
    let asked = model.asked();
    let messages = asked.last().map(|body| body["messages"].clone()).unwrap_or_default();
    let messages = messages.as_array().cloned().unwrap_or_default();
    let last = messages.iter().rev().find(|message| message["role"] == "tool").cloned();
    last.map(|message| message["content"].to_string()).unwrap_or_default()
}

#[test]
fn nothing_is_answered_before_initialize_and_any_version_gets_the_first() {
    let model = Loopback::saying(Vec::new());
    let mut editor = Editor::start(&home(&model));
    assert_eq!(editor.refused("session/list", json!({})), -32600);
    assert_eq!(editor.refused("initialize", json!({ "protocolVersion": "one" })), -32602);
    let hello = json!({ "protocolVersion": 7, "clientCapabilities": {}, "future": { "x": 1 } });
    let answer = editor.ask("initialize", hello);
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(answer["agentCapabilities"]["loadSession"], true);
    assert_eq!(answer["agentCapabilities"]["promptCapabilities"]["audio"], false);
    let methods = answer["authMethods"].as_array().expect("a list");
    assert!(methods.iter().all(|method| method["type"] != "terminal"), "{answer}");
    assert_eq!(editor.refused("authenticate", json!({ "methodId": "nobody" })), -32602);
    assert_eq!(editor.refused("session/teleport", json!({})), -32601);
    let id = editor.request("logout", json!({}));
    assert!(editor.answer(id)["result"].is_object());
}

#[test]
fn a_client_that_has_a_terminal_is_offered_the_setup_there() {
    let model = Loopback::saying(Vec::new());
    let mut editor = Editor::start(&home(&model));
    let abilities = json!({ "auth": { "terminal": true } });
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": abilities });
    let answer = editor.ask("initialize", hello);
    let methods = answer["authMethods"].as_array().expect("a list");
    assert!(
        methods.iter().any(|method| method["id"] == "hermes-setup" && method["type"] == "terminal")
    );
}

#[test]
fn a_prompt_streams_and_ends_with_usage_and_a_title() {
    let model = Loopback::saying(vec![Say::Text("Hello, editor.")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let new = editor.ask("session/new", json!({ "cwd": home.workspace(), "mcpServers": [] }));
    assert_eq!(new["modes"]["currentModeId"], "default");
    let ids: Vec<&str> = new["configOptions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["id"].as_str())
        .collect();
    assert_eq!(ids, ["mode", "model", "thought_level"]);
    let session = new["sessionId"].as_str().expect("a name").to_owned();
    assert_eq!(editor.turn(&session, "say hello"), "end_turn");
    assert_eq!(editor.said(), "Hello, editor.");
    let chunk = &editor.updates("agent_message_chunk")[0];
    assert!(chunk["messageId"].is_string(), "{chunk}");
    let usage = &editor.updates("usage_update")[0];
    assert!(usage["used"].as_u64() > Some(0) && usage["size"].as_u64() >= usage["used"].as_u64());
    assert_eq!(editor.updates("session_info_update")[0]["title"], "say hello");
    let commands = editor.updates("available_commands_update")[0]["availableCommands"].clone();
    let names: Vec<&str> =
        commands.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"help") && !names.contains(&"approve"), "{names:?}");
    let (took, code) = editor.leave();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn prompts_that_cannot_be_taken_are_refused() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let prompt = |blocks: Value| json!({ "sessionId": session, "prompt": blocks });
    assert_eq!(editor.refused("session/prompt", prompt(json!([]))), -32602);
    assert_eq!(
        editor.refused("session/prompt", prompt(json!([{ "type": "text", "text": " " }]))),
        -32602
    );
    assert_eq!(
        editor.refused(
            "session/prompt",
            json!({ "sessionId": "nobody", "prompt": [{ "type": "text", "text": "x" }] })
        ),
        -32002
    );
    assert_eq!(
        editor.refused("session/new", json!({ "cwd": "relative", "mcpServers": [] })),
        -32602
    );
    assert_eq!(
        editor.refused("session/new", json!({ "cwd": "/nowhere/at/all", "mcpServers": [] })),
        -32602
    );
}

#[test]
fn without_a_provider_a_session_asks_for_authentication() {
    let home = Home::temp();
    let mut editor = Editor::greeted(&home, &json!({}));
    let id = editor.request("session/new", json!({ "cwd": home.workspace(), "mcpServers": [] }));
    assert_eq!(editor.answer(id)["error"]["code"], -32000);
}

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

fn replayed(editor: &Editor) -> Vec<String> {
    let shown = ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"];
    let updates = editor.trace.iter().map(|frame| &frame["params"]["update"]["sessionUpdate"]);
    let kinds = updates.filter_map(|kind| kind.as_str().map(str::to_owned));
    kinds.filter(|kind| shown.contains(&kind.as_str())).collect()
}

/// 142: two sessions in two directories: neither directory nor mode nor approval bleeds.
#[test]
fn sessions_of_one_editor_keep_apart() {
    let model = Loopback::saying(vec![
        terminal("pwd"),
        Say::Text("one"),
        terminal("pwd"),
        Say::Text("two"),
        write("x.txt", "1"),
        Say::Text("three"),
        write("x.txt", "1"),
        Say::Text("four"),
    ]);
    let home = home(&model);
    home.write("work/a/keep", "");
    home.write("work/b/keep", "");
    let (a, b) = (home.workspace().join("a"), home.workspace().join("b"));
    let mut editor = Editor::greeted(&home, &json!({}));
    let (first, second) = (editor.session(&a), editor.session(&b));
    editor.turn(&first, "where");
    assert!(result(&model).contains(a.to_str().expect("text")), "{}", result(&model));
    editor.turn(&second, "where");
    assert!(result(&model).contains(b.to_str().expect("text")), "{}", result(&model));
    editor.ask("session/set_mode", json!({ "sessionId": first, "modeId": "accept_edits" }));
    editor.turn(&first, "write");
    assert!(a.join("x.txt").exists() && editor.asked.is_empty());
    editor.permits = vec![Permit::Choose("deny")];
    editor.turn(&second, "write");
    assert_eq!(editor.asked.len(), 1, "the other session still asks");
    assert!(!b.join("x.txt").exists());
}

#[test]
fn slash_commands_run_and_unknown_ones_are_told() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "/help"), "end_turn");
    assert!(editor.said().contains("/status"), "{}", editor.said());
    editor.turn(&session, "/hepl");
    assert!(editor.said().contains("did you mean /help?"), "{}", editor.said());
    editor.turn(&session, "/approve");
    assert!(editor.said().contains("not for editors"), "{}", editor.said());
    assert!(model.asked().is_empty(), "no model was asked");
}

#[test]
fn the_plan_follows_the_tasks() {
    let todos = json!({ "todos": [
        { "id": "1", "content": "read", "status": "completed" },
        { "id": "2", "content": "write", "status": "in_progress" },
    ] });
    let model = Loopback::saying(vec![Say::Calls(vec![("todo", todos)]), Say::Text("planned")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "plan");
    let plan = editor.updates("plan");
    let entries = plan[0]["entries"].as_array().expect("a list");
    let told: Vec<(&str, &str)> = entries
        .iter()
        .filter_map(|it| Some((it["content"].as_str()?, it["status"].as_str()?)))
        .collect();
    assert_eq!(told, [("read", "completed"), ("write", "in_progress")]);
}

#[test]
fn what_a_command_prints_is_shown_while_it_runs() {
    let command = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended";
    let model = Loopback::saying(vec![terminal(command), Say::Text("ran")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let id = editor.say(&session, "run");
    let shows = |editor: &mut Editor| {
        let updates = editor.updates("tool_call_update");
        updates.iter().any(|update| update["content"].to_string().contains("begun")).then_some(())
    };
    editor.until("its output", shows);
    home.write("work/go", "");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    let updates = editor.updates("tool_call_update");
    let last = updates.last().expect("an update");
    assert_eq!(last["status"], "completed");
    assert!(last["content"].to_string().contains("ended"), "{last}");
    assert!(
        last["rawOutput"]["output"].as_str().is_some_and(|text| text.contains("begun")),
        "{last}"
    );
}

#[test]
fn a_broken_provider_is_an_error_of_the_prompt() {
    let model = Loopback::saying(vec![Say::Fail(401); 8]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let id = editor.say(&session, "hello");
    assert_eq!(editor.answer(id)["error"]["code"], -32603);
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

#[test]
fn it_checks_itself_and_prints_what_editors_need() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let checked = petasos(&home).run(&["acp", "--check", "--json"]);
    assert_eq!(checked.code, Some(0), "{} {}", checked.stdout, checked.stderr);
    let steps = checked.json()["steps"].as_array().map(Vec::len);
    assert_eq!(steps, Some(6));
    assert!(run(&["acp", "--setup", "zed"]).stdout.contains("agent_servers"));
    assert_eq!(run(&["acp", "--setup", "ed"]).code, Some(2));
}

/// Lines that are no frames, frames that are no requests, requests that make no sense: each gets one
/// well-formed error, nothing else is printed, and the server goes on.
#[test]
fn whatever_is_sent_gets_an_error_and_the_server_goes_on() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let deep = format!("{}{}", "[".repeat(4000), "]".repeat(4000));
    let long = format!("{{\"jsonrpc\":\"2.0\",\"x\":\"{}\"}}", "x".repeat(17 * 1024 * 1024));
    let odd =
        ["", "{", "null", "7", "\"x\"", "[]", "[{}]", "{}", "\u{0}", deep.as_str(), long.as_str()];
    let frames = [
        json!({ "jsonrpc": "1.0", "id": 1, "method": "initialize" }),
        json!({ "jsonrpc": "2.0", "id": {}, "method": "initialize" }),
        json!({ "jsonrpc": "2.0", "id": 1.5, "method": "initialize" }),
        json!({ "jsonrpc": "2.0", "id": 9000, "method": 7 }),
        json!({ "jsonrpc": "2.0", "id": 9001 }),
        json!({ "jsonrpc": "2.0", "id": 9002, "method": "" }),
        json!({ "jsonrpc": "2.0", "id": 9003, "method": "session/prompt", "params": [] }),
        json!({ "jsonrpc": "2.0", "id": 9004, "method": "session/prompt", "params": { "sessionId": session, "prompt": [{ "type": "hologram" }] } }),
        json!({ "jsonrpc": "2.0", "id": 9005, "method": "session/new", "params": { "cwd": 7 } }),
        json!({ "jsonrpc": "2.0", "id": "text", "method": "session/load", "params": null }),
    ];
    let frames: Vec<String> = frames.iter().map(Value::to_string).collect();
    let lines = odd.into_iter().chain(frames.iter().map(String::as_str));
    for line in lines.filter(|line| !line.is_empty()) {
        let before = editor.trace.len();
        editor.raw(line);
        let error = editor.until("an error", |editor| {
            let mut new = editor.trace.iter().skip(before);
            new.rfind(|frame| frame.get("method").is_none()).cloned()
        });
        assert_eq!(error["jsonrpc"], "2.0");
        assert!(
            error.get("id").is_some() && error["error"]["code"].is_i64(),
            "{line:.80}: {error}"
        );
        assert!(error["error"]["message"].is_string(), "{error}");
    }
    // Notifications and answers to nothing are taken in silence.
    for frame in [
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": 7 }),
        json!({ "jsonrpc": "2.0", "method": "_future/thing" }),
        json!({ "jsonrpc": "2.0", "id": 12345, "result": {} }),
        json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": "x" } }),
    ] {
        editor.raw(&frame.to_string());
    }
    assert_eq!(editor.turn(&session, "still there?"), "end_turn");
}

/// A frame with random pieces exchanged: no byte that is no frame, and the server lives.
#[test]
fn frames_that_are_cut_and_mixed_do_no_harm() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let whole = [
        json!({ "jsonrpc": "2.0", "id": 7, "method": "session/set_mode", "params": { "sessionId": session, "modeId": "plan" } }),
        json!({ "jsonrpc": "2.0", "id": "a", "method": "session/list", "params": { "cursor": null } }),
        json!({ "jsonrpc": "2.0", "id": 8, "method": "session/set_config_option", "params": { "sessionId": session, "configId": "mode", "value": "plan" } }),
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }),
    ];
    let whole: Vec<Vec<u8>> = whole.iter().map(|frame| frame.to_string().into_bytes()).collect();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap_or_default()
    };
    for _ in 0..400 {
        let mut line = whole[random(whole.len())].clone();
        for _ in 0..=random(4) {
            let (at, byte) = (random(line.len()), b" {}[]\":,0aZ\\\t"[random(13)]);
            match random(3) {
                0 => line[at] = byte,
                1 => line.truncate(at.max(1)),
                _ => line.insert(at, byte),
            }
        }
        editor.raw(&String::from_utf8_lossy(&line));
    }
    let set = json!({ "sessionId": session, "modeId": "default" });
    editor.ask("session/set_mode", set);
    for frame in editor.trace.iter().filter(|frame| frame.get("error").is_some()) {
        assert!(frame["error"]["code"].is_i64() && frame.get("id").is_some(), "{frame}");
    }
}

/// Where the service is; nothing when it is not there.
#[expect(clippy::disallowed_methods, reason = "services tell their addresses by variables")]
fn service(name: &str) -> Option<String> {
    std::env::var(format!("PETASOS_TEST_ACP_{name}")).ok()
}

/// Runs a client of others; gives what it printed.
#[expect(clippy::disallowed_methods, reason = "official clients are programs of their own")]
fn driven(home: &Home, program: &str, arguments: &[&str]) -> Value {
    let output = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(home.workspace())
        .output()
        .expect("the client starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program}: {told} {}",
        String::from_utf8_lossy(&output.stdout)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn beside(file: &str) -> String {
    format!("{}/tests/it/acp/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// 133, 135, 136, 139 with the official TypeScript client; every frame is checked by the published
/// schema.
#[test]
fn the_official_typescript_client_drives_an_editor_session() {
    let (Some(sdk), Some(python), Some(validate), Some(schema)) =
        (service("ACP_SDK"), service("ACP_PYTHON"), service("ACP_VALIDATE"), service("ACP_SCHEMA"))
    else {
        let test = "the_official_typescript_client_drives_an_editor_session";
        return petasos_testkit::skip(test, "acp", "the official clients are not installed");
    };
    let edit = json!({ "path": "note.txt", "old_string": "unsaved", "new_string": "edited" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]),
        Say::Calls(vec![("patch", edit)]),
        write("other.txt", "never"),
        terminal("echo made > made.txt"),
        Say::Text("worked. "),
        Say::Stuck("begin "),
        terminal("sleep 60"),
        Say::Text("again."),
    ]);
    let home = home(&model);
    home.write("work/note.txt", "saved words\n");
    let trace = home.user().join("trace.jsonl");
    let cwd = home.workspace();
    let saw = driven(
        &home,
        "node",
        &[
            &beside("drive.mjs"),
            &sdk,
            env!("CARGO_BIN_EXE_petasos"),
            cwd.to_str().expect("text"),
            trace.to_str().expect("text"),
        ],
    );
    assert_eq!(saw["version"], 1);
    assert_eq!(saw["stops"], json!(["end_turn", "cancelled", "cancelled", "end_turn"]), "{saw}");
    assert_eq!(saw["live"], "worked. begin ", "{saw}");
    assert!(saw["text"].as_str().is_some_and(|text| text.ends_with("again.")), "{saw}");
    let permits: Vec<&str> = saw["asked"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["permit"].as_str())
        .collect();
    // What only sleeps changes nothing, and is not asked about.
    assert_eq!(permits, ["allow_once", "deny", "allow_once"], "{saw}");
    assert_eq!(saw["asked"][0]["diff"], json!(["unsaved words\n", "edited words\n"]), "{saw}");
    assert_eq!(saw["asked"][1]["diff"], json!([null, "never"]), "{saw}");
    assert!(cwd.join("made.txt").exists() && !cwd.join("other.txt").exists());
    assert_eq!((saw["forked"].as_bool(), saw["listed"].as_u64()), (Some(true), Some(2)), "{saw}");
    assert_eq!(saw["replayed"], 3, "{saw}");
    let states = saw["calls"].as_object().expect("a map");
    assert!(states.values().all(|state| state == "completed" || state == "failed"), "{saw}");
    // The client's text is what was read and edited.
    assert!(
        result_of(&model, "read_file").contains("unsaved words"),
        "{}",
        result_of(&model, "read_file")
    );
    assert_eq!(saw["buffer"], "edited words\n", "{saw}");
    let checked = validated(&python, &[&validate, &schema, trace.to_str().expect("text")]);
    assert!(checked.is_ok(), "{checked:?}");
}

/// The first result of a tool that the model was told.
fn result_of(model: &Loopback, tool: &str) -> String {
    let asked = model.asked();
    let messages = asked.iter().filter_map(|body| body["messages"].as_array()).flatten();
    let named = |message: &&Value| {
        message["role"] == "tool" && message["tool_call_id"].to_string().contains(tool)
    };
    let found = messages.into_iter().find(named).cloned();
    found.map(|message| message["content"].to_string()).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "the check of the schema is a program of its own")]
fn validated(python: &str, arguments: &[&str]) -> Result<String, String> {
    let output =
        std::process::Command::new(python).args(arguments).output().expect("python starts");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    // `session/fork` is not in the stable schema yet, and the killed program leaves nothing open.
    let bad =
        told.lines().filter(|line| line.starts_with("PROBLEM") && !line.contains("session/fork"));
    let bad: Vec<&str> = bad.collect();
    if bad.is_empty() { Ok(told) } else { Err(bad.join("\n")) }
}

/// 142 with the official Python client.
#[test]
fn the_official_python_client_keeps_two_sessions_apart() {
    let Some(python) = service("ACP_PYTHON") else {
        let test = "the_official_python_client_keeps_two_sessions_apart";
        return petasos_testkit::skip(test, "acp", "the official clients are not installed");
    };
    let model = Loopback::saying(vec![
        write("x.txt", "1"),
        Say::Text("one"),
        write("x.txt", "1"),
        Say::Text("two"),
    ]);
    let home = home(&model);
    home.write("work/a/keep", "");
    home.write("work/b/keep", "");
    let (a, b) = (home.workspace().join("a"), home.workspace().join("b"));
    let paths = (a.to_str().expect("text"), b.to_str().expect("text"));
    let program = env!("CARGO_BIN_EXE_petasos");
    let saw = driven(&home, &python, &[&beside("drive.py"), program, paths.0, paths.1]);
    assert_eq!(saw["stops"], json!(["end_turn", "end_turn"]), "{saw}");
    assert_eq!(saw["asked"], json!(["second"]), "{saw}");
    assert_eq!(saw["text"], json!(["one", "two"]), "{saw}");
    assert!(a.join("x.txt").exists() && !b.join("x.txt").exists());
}

/// A server of a few lines, with one tool that tells its name.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "small", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "hello", "description": "says who it is", "inputSchema": {"type": "object"},
                             "annotations": {"readOnlyHint": True}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "I am " + sys.argv[1]}]}
    else:
        result = {}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

/// 141: servers of the client: one is dead, two have one name, and another session sees none of them.
#[test]
fn servers_of_a_client_belong_to_its_session() {
    let call = || Say::Calls(vec![("mcp__small__hello", json!({}))]);
    let model = Loopback::saying(vec![
        call(),
        Say::Text("one"),
        call(),
        Say::Text("two"),
        call(),
        Say::Text("three"),
    ]);
    let home = home(&model);
    home.write("server.py", SERVER);
    let script = home.user().join("server.py");
    let server = |who: &str| json!({ "name": "small", "command": "/usr/bin/python3", "args": [script, who], "env": [] });
    let dead = json!({ "name": "dead", "command": "/nowhere/at/all", "args": [], "env": [] });
    let mut editor = Editor::greeted(&home, &json!({}));
    let mut open = |servers: Value| {
        let new =
            editor.ask("session/new", json!({ "cwd": home.workspace(), "mcpServers": servers }));
        new["sessionId"].as_str().expect("a name").to_owned()
    };
    let first = open(json!([server("the first"), dead]));
    let second = open(json!([server("the second")]));
    let third = open(json!([]));
    assert!(editor.said().contains("`dead`"), "{}", editor.said());
    editor.turn(&first, "call it");
    assert!(result(&model).contains("I am the first"), "{}", result(&model));
    editor.turn(&second, "call it");
    assert!(result(&model).contains("I am the second"), "{}", result(&model));
    editor.turn(&third, "call it");
    assert!(!result(&model).contains("I am"), "{}", result(&model));
    let asked = model.asked();
    let offered = |turn: usize| asked[turn]["tools"].to_string().contains("mcp__small__hello");
    assert_eq!((offered(0), offered(2), offered(4)), (true, true, false));
}

/// Another agent does a part of the work, and what it asks for is asked here.
#[test]
fn another_agent_works_as_a_subagent_under_our_approvals() {
    let theirs =
        Loopback::saying(vec![terminal("rm -rf build"), Say::Text("I was not allowed to.")]);
    let other = home(&theirs);
    let task = json!({ "goal": "remove the build folder", "agent": "other", "background": false });
    let ours =
        Loopback::saying(vec![Say::Calls(vec![("delegate_task", task)]), Say::Text("so not")]);
    let home = home(&ours);
    let agent = format!(
        "acp:\n  agents:\n    other:\n      command: {}\n      args: [acp]\n      env: {{ HOME: {} }}\n",
        env!("CARGO_BIN_EXE_petasos"),
        other.user().display()
    );
    home.write(
        ".petasos/config.yaml",
        format!("{}approvals:\n  mode: manual\n{agent}", ours.config()),
    );
    home.write("work/build/keep", "");
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.permits = vec![Permit::Choose("deny")];
    assert_eq!(editor.turn(&session, "delegate"), "end_turn");
    assert_eq!(editor.asked.len(), 1, "{:?}", editor.asked);
    let asked = &editor.asked[0];
    assert!(asked["toolCall"]["title"].to_string().contains("agent other wants"), "{asked}");
    assert_eq!(asked["toolCall"]["toolCallId"], "call_0_delegate_task");
    assert!(home.workspace().join("build/keep").exists());
    assert!(result(&ours).contains("I was not allowed to."), "{}", result(&ours));
    assert!(result(&ours).contains("completed"), "{}", result(&ours));
    let told = result(&theirs);
    assert!(told.contains("not consented"), "{told}");
}

/// An agent that is not there, or not named, is told as that.
#[test]
fn an_agent_that_cannot_be_started_is_a_failed_task() {
    let call = |agent: &str| {
        let task = json!({ "goal": "x", "agent": agent, "background": false });
        Say::Calls(vec![("delegate_task", task)])
    };
    let model = Loopback::saying(vec![call("ghost"), Say::Text("a"), call("mute"), Say::Text("b")]);
    let home = home(&model);
    let agents = "acp:\n  agents:\n    mute:\n      command: /bin/sh\n      args: [-c, 'echo it is broken >&2']\n";
    home.write(
        ".petasos/config.yaml",
        format!("{}approvals:\n  mode: manual\n{agents}", model.config()),
    );
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "ask a ghost");
    assert!(result(&model).contains("no agent is named `ghost`"), "{}", result(&model));
    editor.turn(&session, "ask a mute");
    assert!(result(&model).contains("it is broken"), "{}", result(&model));
}
