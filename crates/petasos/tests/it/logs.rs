//! The program's log and its traces: what is told, what is masked, who pays.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::petasos;

fn script() -> Vec<Say> {
    vec![
        Say::Calls(vec![("terminal", json!({ "command": "echo sk-0123456789abcdefghij" }))]),
        Say::Text("the heliotrope is done"),
    ]
}

#[test]
fn a_turn_is_logged_without_what_was_said() {
    let model = Loopback::saying(script());
    let home = model.home();
    assert_eq!(petasos(&home).run(&["run", "remember heliotrope"]).code, Some(0));
    let told = petasos(&home).run(&["logs"]).stdout;
    for word in ["turn begins", "model answered", "tool ended", "turn ended"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(!told.contains("heliotrope") && !told.contains("0123456789"), "{told}");
    let lines = petasos(&home).run(&["logs", "--json", "--last", "1"]).json();
    assert_eq!(lines["level"], "info", "{lines}");
    let none = petasos(&home).run(&["logs", "--level", "error"]).stdout;
    assert_eq!(none, "");
    let file = home.agent().join("logs/agent.log");
    let mode = std::fs::metadata(file).expect("a log").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_failure_is_in_both_files_and_keys_are_masked() {
    let model = Loopback::saying(vec![Say::Fail(400); 20]);
    let home = model.home();
    assert_eq!(petasos(&home).run(&["run", "hello"]).code, Some(1));
    let errors = petasos(&home).run(&["logs", "--level", "error"]).stdout;
    assert!(errors.contains("turn failed"), "{errors}");
    for file in ["agent.log", "errors.log"] {
        let text = std::fs::read_to_string(home.agent().join("logs").join(file)).expect("a log");
        assert!(text.contains("turn failed") && !text.contains("sk-loopback"), "{text}");
    }
}

#[test]
fn looking_at_things_makes_no_log() {
    let home = Home::temp();
    petasos(&home).run(&["tools", "list"]);
    petasos(&home).run(&["--version"]);
    assert!(!home.agent().join("logs").exists());
    let off = Loopback::saying(script());
    let home = off.home();
    petasos(&home).run(&["--set", "logging.level=off", "run", "hello"]);
    assert!(!home.agent().join("logs/agent.log").exists());
}

/// A collector that takes one trace.
fn collector() -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let mut reader = BufReader::new(socket);
            let (mut line, mut length, mut head) = (String::new(), 0, String::new());
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
                    length = number.trim().parse().unwrap_or(0);
                }
                head.push_str(&line);
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            reader.into_inner().write_all(answer).expect("an answer");
            let body: Value = serde_json::from_slice(&body).expect("JSON");
            tell.send(json!({ "head": head, "body": body })).expect("the test listens");
        }
    });
    (url, told)
}

fn spans(trace: &Value) -> Vec<Value> {
    let spans = &trace["body"]["resourceSpans"][0]["scopeSpans"][0]["spans"];
    spans.as_array().expect("spans").clone()
}

#[test]
fn a_collector_gets_the_spans_of_a_turn_without_content() {
    let (url, told) = collector();
    let model = Loopback::saying(script());
    let home = model.home();
    let config = format!(
        "{}telemetry:\n  enabled: true\n  endpoint: {url}\n  headers:\n    x-team: lamps\n",
        model.config()
    );
    home.write(".petasos/config.yaml", config);
    assert_eq!(petasos(&home).run(&["run", "remember heliotrope"]).code, Some(0));
    let trace = told.try_recv().expect("it was sent before the program ended");
    let head = trace["head"].as_str().expect("text").to_lowercase();
    assert!(head.starts_with("post /v1/traces ") && head.contains("x-team: lamps"), "{head}");
    let spans = spans(&trace);
    let names: Vec<&str> =
        spans.iter().map(|span| span["name"].as_str().expect("a name")).collect();
    assert_eq!(
        names,
        ["chat double", "execute_tool terminal", "chat double", "invoke_agent petasos"]
    );
    let root = &spans[3];
    for span in &spans[..3] {
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&root["traceId"], &root["spanId"]));
    }
    let text = trace["body"].to_string();
    assert!(!text.contains("heliotrope") && !text.contains("echo sk"), "{text}");
}

#[test]
fn content_is_traced_only_when_asked_for_and_masked() {
    let (url, told) = collector();
    let model = Loopback::saying(script());
    let home = model.home();
    let config = format!(
        "{}telemetry:\n  enabled: true\n  endpoint: {url}\n  content: true\n",
        model.config()
    );
    home.write(".petasos/config.yaml", config);
    petasos(&home).run(&["run", "hello"]);
    let text = told.try_recv().expect("a trace")["body"].to_string();
    assert!(text.contains("heliotrope") && !text.contains("0123456789abcdefghij"), "{text}");
}

#[test]
fn a_collector_that_is_away_costs_a_warning() {
    let model = Loopback::saying(script());
    let home = model.home();
    let set = ["--set", "telemetry.enabled=true", "--set", "telemetry.endpoint=http://127.0.0.1:9"];
    assert_eq!(petasos(&home).run(&[&set[..], &["run", "hello"]].concat()).code, Some(0));
    let told = petasos(&home).run(&["logs", "--level", "warn"]).stdout;
    assert!(told.contains("a trace was not sent"), "{told}");
}

#[test]
fn a_collector_that_hangs_slows_one_turn_down_and_not_every_one() {
    // Nobody accepts: the connection stands and nothing is ever answered.
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("telemetry.endpoint=http://{}", deaf.local_addr().expect("an address"));
    let model = Loopback::saying(vec![Say::Text("ok"); 6]);
    let home = model.home();
    let set = ["--set", "telemetry.enabled=true", "--set", &endpoint, "chat"];
    let finished = petasos(&home).input("one\ntwo\nthree\nfour\nfive\nsix\n").run(&set);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let told = petasos(&home).run(&["logs", "--level", "warn"]).stdout;
    let (waited, skipped) = ("a trace was not sent", "too slow before");
    assert_eq!(told.matches(waited).count(), 1, "{told}");
    assert_eq!(told.matches(skipped).count(), 5, "{told}");
}
