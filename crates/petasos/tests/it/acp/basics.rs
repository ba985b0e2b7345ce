//! What an editor sees of a session: hello, prompts, updates, commands.

use std::time::Duration;

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::editor::Editor;
use super::{home, terminal};
use crate::loopback::{Loopback, Say};
use crate::{petasos, run};

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
    let setup = methods.iter().find(|method| method["id"] == "hermes-setup").expect("it is there");
    assert_eq!(setup["args"], json!(["--sign-in"]), "appended to what the editor starts");
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
    assert!(took < petasos_testkit::pace::fair(Duration::from_secs(5)), "{took:?}");
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

/// Whoever signs in at a terminal meanwhile goes on where the editor is.
#[test]
fn a_provider_that_is_set_up_meanwhile_answers() {
    let model = Loopback::saying(vec![Say::Text("here I am")]);
    let home = Home::temp();
    let mut editor = Editor::greeted(&home, &json!({}));
    let new = json!({ "cwd": home.workspace(), "mcpServers": [] });
    assert_eq!(editor.refused("session/new", new.clone()), -32000);
    // What an editor appends to its command is one that this program knows.
    let signing = petasos(&home).run(&["acp", "--sign-in"]);
    assert_ne!(signing.code, Some(2), "{}", signing.stderr);
    home.write(".petasos/config.yaml", model.config());
    let opened = editor.ask("session/new", new);
    assert_eq!(opened["configOptions"][1]["currentValue"], "custom:double", "{opened}");
    let session = opened["sessionId"].as_str().expect("a name").to_owned();
    assert_eq!(editor.turn(&session, "who?"), "end_turn");
    assert_eq!(editor.said(), "here I am");
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

/// A choice during a turn counts from the next request on.
#[test]
fn a_model_chosen_during_a_turn_answers_the_next_request() {
    let wait = "while [ ! -e go ]; do sleep 0.05; done";
    let model = Loopback::saying(vec![terminal(wait), Say::Text("ran"), Say::Text("again")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let id = editor.say(&session, "run");
    editor.until("a running call", |editor| {
        editor.calls().values().any(|state| state == "in_progress").then_some(())
    });
    let set = json!({ "sessionId": session, "configId": "model", "value": "custom:other" });
    let options = editor.ask("session/set_config_option", set)["configOptions"].clone();
    assert_eq!(options[1]["currentValue"], "custom:other", "{options}");
    let set = json!({ "sessionId": session, "configId": "thought_level", "value": "high" });
    let options = editor.ask("session/set_config_option", set)["configOptions"].clone();
    assert_eq!(options[2]["currentValue"], "high", "{options}");
    home.write("work/go", "");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    editor.turn(&session, "once more");
    let asked = model.asked();
    let models: Vec<&str> = asked.iter().filter_map(|body| body["model"].as_str()).collect();
    assert_eq!(models, ["double", "other", "other"]);
    let set = json!({ "sessionId": session, "configId": "thought_level", "value": "default" });
    let options = editor.ask("session/set_config_option", set)["configOptions"].clone();
    assert_eq!(options[2]["currentValue"], "default", "{options}");
}

/// Plan mode is one thing, whether the editor's menu or `/plan` turns it on.
#[test]
fn plan_mode_is_the_sessions_own() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.turn(&session, "/plan on");
    let shown = |editor: &Editor| -> Vec<String> {
        let updates = editor.updates("current_mode_update");
        updates.iter().filter_map(|it| it["currentModeId"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(shown(&editor), ["plan"]);
    editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "accept_edits" }));
    editor.turn(&session, "/status");
    assert_eq!(shown(&editor), ["plan", "accept_edits"]);
}

/// Words for a running turn reach it, and words for later have a turn of their own.
#[test]
fn a_turn_is_steered_and_a_message_waits() {
    let wait = "while [ ! -e go ]; do sleep 0.05; done";
    let model = Loopback::saying(vec![terminal(wait), Say::Text("first"), Say::Text("second")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let id = editor.say(&session, "run");
    editor.until("a running call", |editor| {
        editor.calls().values().any(|state| state == "in_progress").then_some(())
    });
    assert_eq!(editor.turn(&session, "/steer mind the gap"), "end_turn");
    assert_eq!(editor.turn(&session, "/queue and then this"), "end_turn");
    home.write("work/go", "");
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    editor.until("the queued turn", |editor| editor.said().contains("second").then_some(()));
    let asked = model.asked();
    assert!(asked[1]["messages"].to_string().contains("mind the gap"), "{}", asked[1]);
    assert!(asked[2]["messages"].to_string().contains("and then this"), "{}", asked[2]);
    let shown = editor.updates("user_message_chunk");
    let shown: Vec<&str> = shown.iter().filter_map(|it| it["content"]["text"].as_str()).collect();
    assert_eq!(shown, ["and then this"]);
}

/// Images, embedded texts and links reach the model, and a loaded session shows the picture again.
#[test]
fn prompts_carry_more_than_text_and_are_replayed() {
    const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let model = Loopback::saying(vec![Say::Text("seen")]);
    let home = home(&model);
    home.write("work/a.txt", "text");
    let link = format!("file://{}", home.workspace().join("a.txt").display());
    let blocks = json!([
        { "type": "text", "text": "look", "annotations": { "future": 1 }, "_meta": { "x": 1 } },
        { "type": "image", "mimeType": "image/png", "data": DOT },
        { "type": "resource", "resource": { "uri": "file:///w/b.txt", "text": "embedded words" } },
        { "type": "resource_link", "name": "a.txt", "uri": link, "size": 4, "later": true },
    ]);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let prompt = json!({ "sessionId": session, "prompt": blocks, "unknownFutureField": [1, 2] });
    assert_eq!(editor.ask("session/prompt", prompt)["stopReason"], "end_turn");
    let said = model.asked()[0]["messages"].to_string();
    for part in ["look", "data:image/", "embedded words", "a.txt"] {
        assert!(said.contains(part), "{part}: {said:.600}");
    }
    drop(editor);
    let mut editor = Editor::greeted(&home, &json!({}));
    let here = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    editor.ask("session/load", here);
    let shown = editor.updates("user_message_chunk");
    let kinds: Vec<&str> = shown.iter().filter_map(|it| it["content"]["type"].as_str()).collect();
    assert!(kinds.contains(&"image") && kinds.contains(&"text"), "{kinds:?}");
    let ids: std::collections::HashSet<&str> =
        shown.iter().filter_map(|it| it["messageId"].as_str()).collect();
    assert_eq!(ids.len(), 1, "the blocks are one message");
}

/// Who stands in for the chosen model is shown as the choice.
#[test]
fn a_fallback_shows_as_a_change_of_the_option() {
    let broken = Loopback::saying(vec![Say::Fail(401); 8]);
    let model = Loopback::saying(vec![Say::Text("I stand in")]);
    let home = home(&broken);
    let other = format!(
        "fallback_providers:\n  - provider: custom\n    model: standin\n    base_url: {}\n    api_key: sk-other-0123456789\n",
        model.url
    );
    home.write(".petasos/config.yaml", format!("{}{other}", broken.config()));
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "hello"), "end_turn");
    assert!(editor.said().contains("I stand in"), "{}", editor.said());
    let options = editor.updates("config_option_update");
    let last = options.last().expect("a change").clone();
    let now = last["configOptions"][1]["currentValue"].as_str().map(str::to_owned);
    assert!(now.is_some_and(|now| now.ends_with(":standin")), "{last}");
}
