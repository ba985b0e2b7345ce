//! Whatever is sent, and whatever prints: standard output carries the protocol.

use serde_json::{Value, json};

use super::editor::Editor;
use super::home;
use crate::loopback::Loopback;

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

/// Every method with every kind of parameters: one answer each, by its id, and the server goes on.
#[test]
fn every_method_answers_whatever_it_is_given() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    let here = home.workspace();
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let variants = [
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
        json!({ "sessionId": 7 }),
        json!({ "sessionId": session, "cwd": 7, "prompt": {}, "modeId": [], "configId": null }),
        json!({ "sessionId": session, "cwd": "../..", "mcpServers": "all", "prompt": [deep] }),
        json!({ "sessionId": "\u{0}\u{ffff}", "cwd": here, "mcpServers": [], "prompt": [] }),
        json!({ "sessionId": "x".repeat(100_000), "cwd": here, "mcpServers": [{ "name": 1 }] }),
        json!({ "sessionId": session, "configId": "model", "value": "--provider:--global" }),
        json!({ "sessionId": session, "configId": "model", "value": "a:b\n/yolo" }),
        json!({ "sessionId": session, "configId": "thought_level", "value": "high\n/yolo" }),
        json!({ "protocolVersion": -1, "cursor": "9999999999999999999.x", "methodId": {} }),
    ];
    let methods = [
        "initialize",
        "authenticate",
        "logout",
        "session/load",
        "session/resume",
        "session/fork",
        "session/list",
        "session/close",
        "session/delete",
        "session/set_mode",
        "session/prompt",
        "session/set_config_option",
        "session/set_model",
        "session/cancel",
        "$/cancel_request",
        "session/update",
        "terminal/create",
        "",
        "\u{0}",
    ];
    for method in methods {
        for params in &variants {
            let ends = matches!(method, "session/close" | "session/delete" | "session/fork");
            if ends && params["sessionId"] == session.as_str() {
                continue;
            }
            let id = editor.request(method, params.clone());
            let answer = editor.answer(id);
            let whole = answer.get("result").is_some() != answer.get("error").is_some();
            assert!(whole, "{method} {params:.200}: {answer}");
            if let Some(error) = answer.get("error") {
                assert!(error["code"].is_i64() && error["message"].is_string(), "{answer}");
            }
        }
    }
    assert_eq!(editor.turn(&session, "still there?"), "end_turn");
}

/// Whatever is printed by a part of the program, by a hook or by a panic, goes to the error output:
/// the protocol has a channel of its own that nobody else knows.
#[test]
fn nothing_but_the_protocol_has_the_protocols_output() {
    let model = Loopback::saying(vec![
        super::terminal("echo loud; echo louder >&2; echo loudest > /dev/stdout"),
        crate::loopback::Say::Text("done"),
    ]);
    let home = home(&model);
    home.write("noisy.py", "import sys\nprint('a server that prints')\nsys.exit(1)\n");
    let script = home.user().join("noisy.py");
    let mut editor = Editor::greeted(&home, &json!({}));
    let noisy =
        json!({ "name": "noisy", "command": "/usr/bin/python3", "args": [script], "env": [] });
    let new = json!({ "cwd": home.workspace(), "mcpServers": [noisy] });
    let session = editor.ask("session/new", new)["sessionId"].as_str().map(str::to_owned);
    // The small editor fails on the first line that is no frame.
    assert_eq!(editor.turn(&session.expect("a name"), "be loud"), "end_turn");
    let target =
        |number: u32| std::fs::read_link(format!("/proc/{}/fd/{number}", editor.pid())).ok();
    // Where the kernel lets us look, standard output and error output are one place.
    if let (Some(out), Some(error)) = (target(1), target(2)) {
        assert_eq!(out, error);
    }
}
