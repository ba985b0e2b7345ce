//! Every row of the tool table runs one call in a test: a law over the tests of all crates, and here
//! the calls of those rows that no other test makes through their tool.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use petasos_agent::LOOP_TOOLS;
use petasos_testkit::Home;
use petasos_tools::BUILTIN;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::petasos;

/// Files that name tools without calling them.
const LISTS: [&str; 3] = ["parity.rs", "toolsets.rs", "request_size.rs"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !LISTS.contains(&name.as_str()) {
            found.push(path);
        }
    }
}

/// Whether a text calls a tool: its name in quotes, as the first word of a call or of a pair with
/// its arguments.
fn calls(text: &str, name: &str) -> bool {
    let quoted = format!("\"{name}\"");
    let pieces: Vec<&str> = text.split(&quoted).collect();
    pieces.windows(2).any(|around| {
        let [before, after] = around else { return false };
        let opens = before.trim_end().ends_with(['(', ',', '[']);
        opens && after.trim_start().starts_with([',', ')'])
    })
}

#[test]
fn every_row_is_called_by_a_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates).expect("the crates").flatten() {
        sources(&entry.path().join("tests"), &mut files);
    }
    let texts: Vec<String> =
        files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    assert!(texts.len() > 50, "the tests are where they were");
    let without: BTreeSet<&str> = BUILTIN
        .iter()
        .chain(LOOP_TOOLS)
        .map(|def| def.name)
        .filter(|name| !texts.iter().any(|text| calls(text, name)))
        .collect();
    assert!(without.is_empty(), "no test calls {without:?}");
}

const PAGE: &str = "<!doctype html><title>Hats</title><h1>Hats</h1><a href='/two'>Two</a>\
    <label>Name <input id=n></label><button onclick=\"console.log('clicked')\">Go</button>\
    <img src='/x.png' alt='a hat' width=9 height=9><div style='height:3000px'></div>";

/// A page on this machine; gives its address.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(&peer);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n";
                let told = format!("{head}content-length: {}\r\n\r\n{PAGE}", PAGE.len());
                // A browser that went away does not read its answer.
                (&peer).write_all(told.as_bytes()).unwrap_or_default();
            });
        }
    });
    address
}

/// What each call was answered, in order.
fn results(model: &Loopback) -> Vec<String> {
    let last = model.asked().last().cloned().unwrap_or_default();
    let messages = last["messages"].as_array().cloned().unwrap_or_default();
    let tool = messages.into_iter().filter(|message| message["role"] == "tool");
    tool.map(|message| message["content"].to_string()).collect()
}

#[test]
fn the_browser_tools_work_on_a_real_page() {
    let address = site();
    let one = |name: &'static str, args: Value| Say::Calls(vec![(name, args)]);
    let model = Loopback::saying(vec![
        one("browser_navigate", json!({ "url": format!("http://{address}/") })),
        one("browser_snapshot", json!({ "find": "Go" })),
        one("browser_console", json!({ "expression": "6 * 7" })),
        one("browser_type", json!({ "ref": "@e2", "text": "Ada" })),
        one("browser_press", json!({ "key": "Tab" })),
        one("browser_click", json!({ "ref": "@e1" })),
        one("browser_back", json!({})),
        one("browser_scroll", json!({ "direction": "down" })),
        one("browser_get_images", json!({})),
        one("browser_dialog", json!({ "action": "dismiss" })),
        one("browser_vision", json!({ "question": "what is there?" })),
        one("browser_cdp", json!({ "method": "Page.getLayoutMetrics" })),
        Say::Text("done"),
    ]);
    let home = Home::temp();
    let more = format!(
        "browser: {{raw_cdp: true}}\nsecurity: {{private_hosts: [\"{address}\"]}}\n\
         platform_toolsets: {{cli: [browser]}}\n"
    );
    home.write(".petasos/config.yaml", format!("{}{more}", model.config()));
    let listing = petasos(&home).run(&["tools", "list", "--all", "--json"]).json();
    let there = listing["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .any(|tool| tool["name"] == "browser_navigate" && tool["available"] == true);
    if !there {
        let why = "no browser is installed";
        petasos_testkit::skip("the_browser_tools_work_on_a_real_page", "chromium", why);
        return;
    }
    let finished = petasos(&home).run(&["run", "look around"]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    let told = results(&model);
    assert_eq!(told.len(), 12, "{told:?}");
    for (at, wanted) in
        [(0, "Hats"), (1, "Go"), (2, "42"), (5, "/two"), (6, "Hats"), (8, "a hat"), (11, "ontent")]
    {
        assert!(told[at].contains(wanted), "{at}: {}", told[at]);
    }
    let unknown = told.iter().filter(|text| text.contains("unknown_tool")).count();
    assert_eq!(unknown, 0, "{told:?}");
}

#[test]
fn speech_is_made_by_the_tool() {
    let home = Home::temp();
    let args = json!({ "text": "hats", "output_path": "hats.wav" }).to_string();
    let finished = petasos(&home).run(&["tools", "call", "text_to_speech", &args]);
    let told = finished.json();
    if told["error_type"] == "missing_setup" || told.to_string().contains("needs a voice") {
        petasos_testkit::skip("speech_is_made_by_the_tool", "espeak-ng", "no voice is installed");
        return;
    }
    assert_eq!(told["success"], true, "{told}");
    let path = told["file_path"].as_str().expect("a file");
    assert!(std::fs::metadata(path).is_ok_and(|file| file.len() > 1000), "{told}");
}
