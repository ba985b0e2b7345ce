//! Sessions of one editor, and the servers that it brings: nothing bleeds.

use serde_json::{Value, json};

use super::editor::{Editor, Permit};
use super::{home, result, terminal, write};
use crate::loopback::{Loopback, Say};

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

/// 141: a server that is slow does not hold the session up for ever, one that never speaks is told,
/// and names that clash with a configured server do not meet.
#[test]
fn s141_slow_and_clashing_servers_of_a_client() {
    let call = || Say::Calls(vec![("mcp__small__hello", json!({}))]);
    let model = Loopback::saying(vec![call(), Say::Text("one"), call(), Say::Text("two")]);
    let home = home(&model);
    home.write("server.py", SERVER);
    home.write("mute.py", "import time\ntime.sleep(600)\n");
    let (script, mute) = (home.user().join("server.py"), home.user().join("mute.py"));
    let configured = format!(
        "mcp_servers:\n  small:\n    command: /usr/bin/python3\n    args: [{}, the configured]\n",
        script.display()
    );
    let manual = "approvals:\n  mode: manual\n";
    home.write(".petasos/config.yaml", format!("{}{manual}{configured}", model.config()));
    let server = |name: &str, script: &std::path::Path, who: &str| json!({ "name": name, "command": "/usr/bin/python3", "args": [script, who], "env": [] });
    let mut editor = Editor::greeted(&home, &json!({}));
    let servers = json!([server("small", &script, "the client's"), server("mute", &mute, "x")]);
    let started = std::time::Instant::now();
    let new = editor.ask("session/new", json!({ "cwd": home.workspace(), "mcpServers": servers }));
    assert!(started.elapsed() < std::time::Duration::from_secs(45), "{:?}", started.elapsed());
    let first = new["sessionId"].as_str().expect("a name").to_owned();
    assert!(editor.said().contains("`mute`"), "{}", editor.said());
    editor.turn(&first, "call it");
    let told = result(&model);
    assert!(told.contains("I am the client's"), "the session's own server answers: {told}");
    let second = editor.session(&home.workspace());
    editor.turn(&second, "call it");
    let told = result(&model);
    assert!(told.contains("I am the configured"), "elsewhere the configured one does: {told}");
}

/// Servers of a client end with its session.
#[test]
fn s141_servers_of_a_client_end_with_the_session() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model);
    let kept = format!(
        "import os, sys\nopen(sys.argv[1] + '.pid', 'w').write(str(os.getpid()))\n{SERVER}"
    );
    home.write("server.py", kept);
    let (script, mark) = (home.user().join("server.py"), home.user().join("mark"));
    let server = json!({ "name": "small", "command": "/usr/bin/python3", "args": [script, mark], "env": [] });
    let mut editor = Editor::greeted(&home, &json!({}));
    let new = json!({ "cwd": home.workspace(), "mcpServers": [server] });
    let session = editor.ask("session/new", new)["sessionId"].as_str().expect("a name").to_owned();
    let pid = std::fs::read_to_string(home.user().join("mark.pid")).expect("it runs");
    let lives = || std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(lives());
    editor.ask("session/close", json!({ "sessionId": session }));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while lives() {
        assert!(std::time::Instant::now() < deadline, "it outlives its session");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Servers whose names look alike to a model are told apart.
#[test]
fn s141_servers_whose_names_look_alike_do_not_meet() {
    let call = |name| Say::Calls(vec![(name, json!({}))]);
    let model = Loopback::saying(vec![
        call("mcp__my_hub__hello"),
        call("mcp__my_hub_2__hello"),
        Say::Text("both"),
    ]);
    let home = home(&model);
    home.write("server.py", SERVER);
    let script = home.user().join("server.py");
    let server = |name: &str, who: &str| json!({ "name": name, "command": "/usr/bin/python3", "args": [script, who], "env": [] });
    let servers = json!([server("my.hub", "the first"), server("my-hub", "the second")]);
    let mut editor = Editor::greeted(&home, &json!({}));
    let new = editor.ask("session/new", json!({ "cwd": home.workspace(), "mcpServers": servers }));
    let session = new["sessionId"].as_str().expect("a name").to_owned();
    assert_eq!(editor.turn(&session, "call both"), "end_turn");
    let asked = model.asked();
    let told = asked.last().expect("a request")["messages"].to_string();
    assert!(told.contains("I am the first") && told.contains("I am the second"), "{told:.3000}");
}
