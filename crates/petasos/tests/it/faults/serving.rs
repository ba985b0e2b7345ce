//! The HTTP interface dies: `kill -9` of a real `petasos serve`, and what the next one on the same
//! home knows of responses, keys, runs and approvals.

use std::io::{BufRead, Read as _};
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::model::{Asked, Model, Piece, calls, event, stream, text};
use crate::serve::{KEY, Server};

const PATIENCE: Duration = Duration::from_mins(1);

fn server(home: &Home) -> Server {
    Server::start(home, &["serve", "--port", "0"], &[("API_SERVER_KEY", KEY)])
}

/// Reads lines until one holds this.
fn until(reader: &mut impl BufRead, wanted: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        let read = reader.read_line(&mut line).expect("a line");
        assert!(read > 0, "it ended before {wanted}");
        if line.contains(wanted) {
            return line;
        }
    }
}

/// Asks until it is so.
fn eventually(server: &Server, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let late = Instant::now() + PATIENCE;
    loop {
        let (_, told) = server.ask("GET", path, KEY, &Value::Null);
        if is_so(&told) {
            return told;
        }
        assert!(Instant::now() < late, "not seen at {path}: {told}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How many messages the model was shown.
fn shown(asked: &Asked) -> usize {
    asked.body["messages"].as_array().map_or(0, Vec::len)
}

#[test]
fn s104_a_chain_of_responses_goes_on_after_a_kill() {
    let model = Model::new(|asked| text(&format!("{} messages", shown(asked))));
    let home = Home::temp();
    model.is_used_by(&home, "");
    let first = server(&home);
    let (status, one) = first.ask("POST", "/v1/responses", KEY, &json!({ "input": "remember 42" }));
    assert_eq!(status, 200, "{one}");
    first.kill();
    let next = server(&home);
    let body = json!({ "input": "and?", "previous_response_id": one["id"] });
    let (status, two) = next.ask("POST", "/v1/responses", KEY, &body);
    assert_eq!(status, 200, "{two}");
    assert!(two.to_string().contains("4 messages"), "system, question, answer, question: {two}");
    let path = format!("/v1/responses/{}", one["id"].as_str().expect("an id"));
    assert_eq!(next.ask("GET", &path, KEY, &Value::Null).1["id"], one["id"]);
}

#[test]
fn s106_a_request_under_a_key_is_one_turn_across_a_kill() {
    let model = Model::new(|asked| match asked.prompt().as_str() {
        "die" => {
            let words = event(&json!({ "role": "assistant", "content": "half" }), None);
            vec![Piece::Bytes([stream(), words].concat()), Piece::Stall]
        }
        prompt => text(&format!("answer to {prompt}")),
    });
    let home = Home::temp();
    model.is_used_by(&home, "");
    let body = |text: &str| json!({ "messages": [{ "role": "user", "content": text }] });
    let path = "/v1/chat/completions";
    let answered = |server: &Server, key: &str, text: &str| {
        let more = format!("Idempotency-Key: {key}\r\n");
        let mut all = String::new();
        let mut reader = server.open("POST", path, &more, &body(text));
        reader.read_to_string(&mut all).expect("an answer");
        all
    };
    let first = server(&home);
    let before = answered(&first, "done", "quick");
    assert!(before.contains("answer to quick"), "{before}");
    // One that is in the middle when the process dies.
    let more = "Idempotency-Key: dying\r\n";
    let mut streaming = body("die");
    streaming["stream"] = json!(true);
    let asked = model.asked();
    let mut reader = first.open("POST", path, more, &streaming);
    until(&mut reader, "half");
    first.kill();
    assert_eq!(model.asked(), asked + 1);
    let asked = model.asked();
    let next = server(&home);
    let again = answered(&next, "done", "quick");
    assert!(again.contains("answer to quick"), "{again}");
    assert!(answered(&next, "done", "other").starts_with("HTTP/1.1 422"));
    assert_eq!(model.asked(), asked, "nothing was asked a second time");
    let mut all = String::new();
    let mut reader = next.open("POST", path, more, &streaming);
    reader.read_to_string(&mut all).expect("an answer");
    assert!(all.contains("agent_incomplete"), "{all}");
    assert_eq!(model.asked(), asked, "one call is one turn: {all}");
}

#[test]
fn s107_the_events_of_a_run_outlive_a_kill() {
    let model = Model::new(|asked| match asked.prompt().as_str() {
        "hang" => {
            let words = event(&json!({ "role": "assistant", "content": "half an answer" }), None);
            vec![Piece::Bytes([stream(), words].concat()), Piece::Stall]
        }
        _ => text("whole"),
    });
    let home = Home::temp();
    model.is_used_by(&home, "");
    let first = server(&home);
    let begin = |input: &str| {
        let (status, run) = first.ask("POST", "/v1/runs", KEY, &json!({ "input": input }));
        assert_eq!(status, 202, "{run}");
        run["id"].as_str().expect("an id").to_owned()
    };
    let (whole, half) = (begin("quick"), begin("hang"));
    eventually(&first, &format!("/v1/runs/{whole}"), |run| run["status"] == "completed");
    let mut reader = first.open("GET", &format!("/v1/runs/{half}/events"), "", &Value::Null);
    until(&mut reader, "half an answer");
    // Events are stored together a moment after they are shown.
    std::thread::sleep(Duration::from_millis(500));
    first.kill();
    let next = server(&home);
    let events = |id: &str, after: &str| {
        let path = format!("/v1/runs/{id}/events{after}");
        let mut all = String::new();
        let mut reader = next.open("GET", &path, "", &Value::Null);
        reader.read_to_string(&mut all).expect("events");
        all
    };
    let all = events(&whole, "");
    assert!(all.contains("run.started") && all.contains("run.completed"), "{all}");
    let run = eventually(&next, &format!("/v1/runs/{half}"), |run| run["status"] != "running");
    assert_eq!(run["status"], "interrupted", "{run}");
    let all = events(&half, "");
    assert!(all.contains("half an answer") && all.contains("run.cancelled"), "{all}");
    let last = all.lines().filter_map(|line| line.strip_prefix("id: ")).next_back();
    let rest = events(&half, &format!("?after={}", last.expect("numbers")));
    assert!(!rest.contains("data: "), "nothing follows the end: {rest}");
}

#[test]
fn s108_an_approval_is_answered_after_a_kill() {
    let model = Model::new(|asked| match asked.results() {
        0 => {
            let push = calls(&[("terminal", json!({ "command": "git push --force origin main" }))]);
            [vec![Piece::Pause(Duration::from_secs(2))], push].concat()
        }
        _ => text("as you wish"),
    });
    let home = Home::temp();
    model.is_used_by(&home, "terminal:\n  sandbox: off\n");
    let first = server(&home);
    let (status, run) = first.ask("POST", "/v1/runs", KEY, &json!({ "input": "push" }));
    assert_eq!(status, 202, "{run}");
    let id = run["id"].as_str().expect("an id").to_owned();
    let mut reader = first.open("GET", &format!("/v1/runs/{id}/events"), "", &Value::Null);
    let asked = until(&mut reader, "\"approval_id\"");
    assert!(asked.contains("\"open\""), "somebody reads it: {asked}");
    let waiting = |run: &Value| run["status"] == "waiting_for_approval";
    eventually(&first, &format!("/v1/runs/{id}"), waiting);
    std::thread::sleep(Duration::from_millis(500));
    first.kill();
    let next = server(&home);
    let open = eventually(&next, "/v1/approvals", |list| {
        list["data"].as_array().is_some_and(|all| all.len() == 1)
    });
    assert!(open.to_string().contains("git push --force"), "{open}");
    let path = format!("/v1/runs/{id}/approval");
    let (status, decided) = next.ask("POST", &path, KEY, &json!({ "choice": "deny" }));
    assert_eq!(status, 200, "{decided}");
    let run = eventually(&next, &format!("/v1/runs/{id}"), |run| run["status"] == "completed");
    assert_eq!(run["output"], "as you wish", "{run}");
    let (status, _) = next.ask("POST", &path, KEY, &json!({ "choice": "once" }));
    assert_eq!(status, 409, "it is answered");
}
