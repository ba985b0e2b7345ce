//! Fifty MCP servers at once, good and bad ones.

use std::fmt::Write as _;
use std::time::Duration;

use petasos_testkit::Home;
use serde_json::json;

use super::figure;
use super::model::{Asked, Model, Piece, calls, text};
use super::started::{Started, gone, program, ran};

/// Behaves as its first argument says.
const SERVER: &str = r#"
import json, sys, time
mode = sys.argv[1]
if mode == "exit":
    sys.exit("no key")
if mode == "hang":
    time.sleep(600)
for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "small", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "hello", "inputSchema": {"type": "object"},
                             "annotations": {"readOnlyHint": True}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "hello from " + sys.argv[2]}]}
    else:
        result = {}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

/// Calls `hello` of the server that the prompt names.
fn work(asked: &Asked) -> Vec<Piece> {
    // Notices about other servers may follow the first word.
    let prompt = asked.prompt();
    let server = prompt.split_whitespace().next().unwrap_or_default();
    let name = format!("mcp__{server}__hello");
    if asked.results() == 0 {
        return calls(&[(&name, json!({}))]);
    }
    let said = asked.body["messages"].to_string().contains("hello from");
    text(if said { "heard" } else { "silence" })
}

/// Servers of these kinds, named by kind and number; those of the first kind are required.
fn configured(model: &Model, kinds: &[(&str, usize)]) -> Home {
    let home = Home::temp();
    let script = home.write("server.py", SERVER);
    let mut lines = "mcp_servers:\n".to_owned();
    for (kind, count) in kinds {
        for number in 0..*count {
            let required = *kind == "good";
            writeln!(
                lines,
                "  {kind}{number}: {{command: python3, args: [{}, {kind}, '{number}'], \
                 required: {required}, connect_timeout: 120}}",
                script.display()
            )
            .expect("text");
        }
    }
    model.is_used_by(&home, &lines);
    home
}

#[test]
fn fifty_servers_start_answer_and_end_with_the_program() {
    let model = Model::new(work);
    let home = configured(&model, &[("good", 50)]);
    let ended = ran(&home, &["run", "good49"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "heard\n"), "{}", ended.stderr);
    let last = gone(home.user(), "fifty servers");
    let seconds = ended.took.as_secs_f64();
    figure(
        "50 MCP servers",
        &format!("answered after {seconds:.1} s; gone {last:?} after the end"),
    );
    let mut running = Started::new(program(&home, &["run", "good0"]));
    let begun = std::time::Instant::now();
    while model.asked() < 3 && begun.elapsed() < Duration::from_mins(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
    running.kill();
    let last = gone(home.user(), "fifty servers of a killed program");
    figure("kill -9 with 50 MCP servers", &format!("all gone after {last:?}"));
}

#[test]
fn bad_servers_do_not_keep_a_good_one_from_answering() {
    let model = Model::new(work);
    let home = configured(&model, &[("good", 5), ("hang", 40), ("exit", 5)]);
    let ended = ran(&home, &["run", "good4"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "heard\n"), "{}", ended.stderr);
    assert!(ended.took < Duration::from_secs(100), "it waited for servers that hang");
    gone(home.user(), "bad servers");
    let seconds = ended.took.as_secs_f64();
    figure(
        "40 hanging and 5 failing MCP servers",
        &format!("a good one heard after {seconds:.1} s"),
    );
}
