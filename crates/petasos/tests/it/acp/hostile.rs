//! Whatever is sent, and whatever prints: standard output carries the protocol.

use serde_json::{Value, json};

use super::editor::{Editor, Permit};
use super::home;
use crate::loopback::{Loopback, Say};

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

/// How many answers a line gets, by the rules of JSON-RPC: one for a request and for what is none of
/// the three, none for what is told or answered.
fn answers(line: &str) -> usize {
    if line.trim_ascii().is_empty() {
        return 0;
    }
    let Ok(Value::Object(frame)) = serde_json::from_str::<Value>(line) else { return 1 };
    let id = frame.get("id");
    let good = id.is_none_or(|id| id.is_null() || id.is_string() || id.as_i64().is_some());
    if !good || frame.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return 1;
    }
    match frame.get("method") {
        Some(Value::String(_)) => usize::from(id.is_some()),
        Some(_) => 1,
        None => {
            let error = frame.get("error").is_some_and(|error| !error.is_null());
            usize::from(id.is_none() || !(error || frame.contains_key("result")))
        }
    }
}

/// Two thousand frames of every kind with values exchanged, keys lost, bytes changed: exactly one
/// well-formed answer to each that wants one, nothing else, while a turn waits for its permission.
#[test]
fn fuzzed_frames_get_one_answer_each() {
    let model = Loopback::saying(vec![super::write("x.txt", "x"), Say::Text("after")]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.permits = vec![Permit::Silent];
    let waiting = editor.say(&session, "write");
    editor.until("a question", |editor| (!editor.asked.is_empty()).then_some(()));
    let asked = |frame: &&Value| frame["method"] == "session/request_permission";
    let question = editor.trace.iter().find(asked).expect("a question")["id"].clone();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let whole = frames(&session, &home.workspace(), &question);
    let before = editor.trace.len();
    let mut wanted = 0;
    for number in 0..2000 {
        let line = mutated(&whole, number, &mut random);
        wanted += answers(&line);
        editor.raw(&line);
    }
    let got = |editor: &Editor| {
        let new = editor.trace.iter().skip(before);
        new.filter(|frame| frame.get("method").is_none()).cloned().collect::<Vec<Value>>()
    };
    editor.until("every answer", |editor| (got(editor).len() >= wanted).then_some(()));
    // One more request and its answer: whatever was too much is there before it.
    editor.ask("session/list", json!({}));
    let all = got(&editor);
    assert_eq!(all.len(), wanted + 1);
    for frame in &all {
        let one = frame.get("result").is_some() != frame.get("error").is_some();
        assert!(frame["jsonrpc"] == "2.0" && frame.get("id").is_some() && one, "{frame}");
        if let Some(error) = frame.get("error") {
            assert!(error["code"].is_i64() && error["message"].is_string(), "{frame}");
        }
    }
    assert!(!home.workspace().join("x.txt").exists(), "no garbled answer is a permission");
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.answer(waiting)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.turn(&session, "still there?"), "end_turn");
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap_or_default()
    }
}

/// Frames of every kind. None of them ends the session or agrees to anything as it stands.
fn frames(session: &str, cwd: &std::path::Path, question: &Value) -> Vec<Value> {
    let request = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let here = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let of = |more: Value| {
        let mut all = json!({ "sessionId": session });
        let all_map = all.as_object_mut().expect("an object");
        all_map.extend(more.as_object().cloned().unwrap_or_default());
        all
    };
    let denied = json!({ "outcome": { "outcome": "selected", "optionId": "maybe" } });
    vec![
        request(json!(900_001), "session/set_mode", of(json!({ "modeId": "default" }))),
        request(json!("a"), "session/list", json!({ "cursor": null, "cwd": cwd })),
        request(
            json!(900_002),
            "session/set_config_option",
            of(json!({ "configId": "thought_level", "value": "low" })),
        ),
        request(json!(900_003), "session/load", here.clone()),
        request(json!(900_004), "session/resume", here),
        request(json!(900_005), "session/prompt", of(json!({ "prompt": [] }))),
        request(json!(900_006), "authenticate", json!({ "methodId": "nobody" })),
        request(json!(null), "logout", json!({})),
        request(json!(900_007), "_future/method", json!({ "x": [1, { "y": null }] })),
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": session } }),
        json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": "none" } }),
        json!({ "jsonrpc": "2.0", "id": 77_777, "result": denied }),
        json!({ "jsonrpc": "2.0", "id": question.as_i64().map(|id| id + 500), "error": { "code": 7 } }),
    ]
}

/// One of the frames with something wrong about it.
fn mutated(whole: &[Value], number: usize, random: &mut Random) -> String {
    let odd =
        [json!(null), json!(-1), json!(1e300), json!("\u{202e}"), json!([[]]), json!({ "": 0 })];
    let mut frame = whole[number % whole.len()].clone();
    // Ids stay: an answer must find its way back.
    let keys = ["jsonrpc", "method", "params", "result", "error"];
    match random.below(6) {
        0 => frame[keys[random.below(keys.len())]] = odd[random.below(odd.len())].clone(),
        1 => drop(frame.as_object_mut().expect("an object").remove(keys[random.below(keys.len())])),
        2 => {
            if let Some(params) = frame["params"].as_object_mut() {
                let names: Vec<String> = params.keys().cloned().collect();
                if let Some(name) = names.get(random.below(names.len().max(1))) {
                    params.insert(name.clone(), odd[random.below(odd.len())].clone());
                }
            }
        }
        3 => frame["future"] = json!({ "field": [1, 2, 3] }),
        _ => {}
    }
    let mut line = frame.to_string().into_bytes();
    for _ in 0..random.below(3) {
        let (at, byte) = (random.below(line.len()), b" {}[]\":,0aZ\\\t\x00\xff"[random.below(15)]);
        match random.below(3) {
            0 => line[at] = byte,
            1 => line.truncate(at.max(1)),
            _ => line.insert(at, byte),
        }
    }
    String::from_utf8_lossy(&line).replace(['\n', '\r'], " ")
}

/// A client that asks, and stops to read in the middle of a long answer: the program does not hang on
/// it, and goes when the client does.
#[test]
fn a_client_that_stops_reading_is_left() {
    let long: &'static str = Box::leak("word ".repeat(200_000).into_boxed_str());
    let model = Loopback::saying(vec![Say::Text(long)]);
    let home = home(&model);
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    editor.stop_reading();
    editor.say(&session, "talk");
    for _ in 0..400 {
        editor.request("session/list", json!({}));
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while model.asked().is_empty() {
        assert!(std::time::Instant::now() < deadline, "the model is asked all the same");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (took, code) = editor.leave();
    assert_eq!(code, Some(0));
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

/// A client that asks more than can be done at once is told, and is not left: it does hear.
#[test]
fn a_client_that_asks_too_much_is_told() {
    let model = Loopback::saying(vec![Say::Text("still here")]);
    let home = home(&model);
    home.write("mute.py", "import time\ntime.sleep(600)\n");
    let script = home.user().join("mute.py");
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    // A server that never speaks holds up the first; the others wait behind it.
    let mute =
        json!({ "name": "mute", "command": "/usr/bin/python3", "args": [script], "env": [] });
    let slow = json!({ "cwd": home.workspace(), "mcpServers": [mute] });
    for id in 0..10_050 {
        let id = 1_000_000 + id;
        let new = json!({ "jsonrpc": "2.0", "id": id, "method": "session/new", "params": slow });
        editor.raw(&new.to_string());
    }
    let refused = |frame: &Value| frame["error"]["message"].to_string().contains("are open: wait");
    editor.until("that it is too much", |editor| editor.trace.iter().any(refused).then_some(()));
    // What is told, and what is answered, is heard all the same.
    for id in 9_000..9_100 {
        editor.tell("$/cancel_request", json!({ "requestId": 1_000_000 + id }));
    }
    let withdrawn = |frame: &Value| frame["error"]["code"] == -32800;
    editor.until("a withdrawal", |editor| editor.trace.iter().any(withdrawn).then_some(()));
    assert_eq!(editor.turn(&session, "and you?"), "end_turn");
    assert_eq!(editor.leave().1, Some(0));
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
        Say::Text("done"),
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
