//! The official servers, over stdio, streamable HTTP and the older SSE, through our client, and the
//! official conformance suite against both of our sides.

use std::sync::Arc;

use petasos_mcp::client::State;
use petasos_testkit::{Home, Program, skip};
use serde_json::{Value, json};

use crate::kit::{Kit, Parrot, Yes, eventually, view};

/// What `scripts/services/mcp.sh start` wrote.
fn servers(test: &str) -> Option<Value> {
    let file = std::env::var("MCP_SERVERS_JSON").ok();
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
    let Some(text) = text else {
        skip(test, "mcp", "MCP_SERVERS_JSON is not set; `scripts/services/mcp.sh start` prints it");
        return None;
    };
    Some(serde_json::from_str::<Value>(&text).unwrap()["servers"].clone())
}

#[tokio::test]
async fn every_official_server_answers_a_call() {
    let Some(known) = servers("every_official_server_answers_a_call") else { return };
    let kit = Kit::new();
    let mut entries: Vec<(&str, Value)> = Vec::new();
    for (name, server) in known.as_object().unwrap() {
        let mut entry = json!({ "connect_timeout": 60, "timeout": 60 });
        for key in ["command", "args", "url"] {
            if let Some(value) = server.get(key) {
                entry[key] = value.clone();
            }
        }
        if server["transport"] == "sse" {
            entry["transport"] = json!("sse");
        }
        entries.push((name, entry));
    }
    let started = kit.start(&entries).await;
    started.settle(std::time::Duration::from_mins(1)).await;
    for (name, _) in &entries {
        let shown = view(&started, name);
        assert_eq!(shown.state, State::Ready, "{shown:?}");
        assert!(shown.notes.is_empty(), "{shown:?}");
        let tried = &known[name]["try"];
        let tool = petasos_mcp::client::full_name(name, tried[0].as_str().unwrap());
        let text = kit.call(&tool, tried[1].clone()).await;
        let well = text.contains("\"result\"") && !text.contains("\"error\"");
        assert!(well, "{name}: {text}");
    }
}

#[tokio::test]
async fn the_everything_server_shows_media_resources_and_prompts() {
    let test = "the_everything_server_shows_media_resources_and_prompts";
    let Some(known) = servers(test) else { return };
    let kit = Kit::new();
    let url = known["everything-http"]["url"].clone();
    let _servers = kit.start(&[("all", json!({ "url": url }))]).await;
    let image = kit.call("mcp__all__get_tiny_image", json!({})).await;
    assert!(image.contains("MEDIA:") && image.contains(".png"), "{image}");
    let structured = json!({ "location": "New York" });
    let structured = kit.call("mcp__all__get_structured_content", structured).await;
    assert!(structured.contains("structuredContent"), "{structured}");
    let list = kit.call("mcp__all__list_resources", json!({})).await;
    assert!(list.contains("uri"), "{list}");
    let prompts = kit.call("mcp__all__list_prompts", json!({})).await;
    assert!(prompts.contains("name"), "{prompts}");
}

#[tokio::test]
async fn the_everything_server_asks_the_model_the_user_and_for_directories() {
    let test = "the_everything_server_asks_the_model_the_user_and_for_directories";
    let Some(known) = servers(test) else { return };
    let mut kit = Kit::new();
    let people = Arc::new(Yes::default());
    kit.around.model = Some(Arc::new(Parrot));
    kit.around.people = Some(Arc::clone(&people) as _);
    let mut entry = known["everything-stdio"].clone();
    entry["roots"] = json!(["/shown/to/it"]);
    let servers = kit.start(&[("all", entry)]).await;
    // These come when the server knows what its client can do.
    let asks = ["trigger_sampling_request", "trigger_elicitation_request", "get_roots_list"];
    let tools = || view(&servers, "all").tools.join(" ");
    eventually("the tools that ask", || asks.iter().all(|name| tools().contains(name))).await;
    let sampled = json!({ "prompt": "tea", "maxTokens": 50 });
    let text = kit.call("mcp__all__trigger_sampling_request", sampled).await;
    assert!(text.contains("a parrot heard") && text.contains("tea"), "{text}");
    let text = kit.call("mcp__all__get_roots_list", json!({})).await;
    assert!(text.contains("/shown/to/it"), "{text}");
    let text = kit.call("mcp__all__trigger_elicitation_request", json!({})).await;
    assert!(!text.contains("\"error\""), "{text}");
    assert_eq!(people.0.lock().len(), 1, "{:?}", people.0.lock());
    let long = json!({ "duration": 1, "steps": 3 });
    let text = kit.call("mcp__all__trigger_long_running_operation", long).await;
    assert!(text.contains("completed"), "{text}");
}

/// Scenarios that do not apply are named in `scripts/services/mcp/expected-failures.yaml`; one that
/// passes all the same fails this too.
#[test]
fn the_official_suite_passes_on_both_sides() {
    if servers("the_official_suite_passes_on_both_sides").is_none() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let examples = program.parent().unwrap().parent().unwrap().join("examples");
    assert!(examples.join("conformance_server").is_file(), "build the examples first");
    let home = Home::temp();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/mcp-conformance");
    let mut suite = Program::new(script, &home);
    // It finds its packages where the services keep theirs.
    for (name, value) in std::env::vars() {
        if ["PETASOS_", "XDG_", "HOME", "PATH"].iter().any(|own| name.starts_with(own)) {
            suite = suite.with(&name, &value);
        }
    }
    let suite = suite.with("PETASOS_CONFORMANCE_BIN", examples.to_str().unwrap());
    for side in ["server", "client"] {
        let finished = suite.run(&[side]);
        assert_eq!(finished.code, Some(0), "{}\n{}", finished.stdout, finished.stderr);
        assert!(finished.stdout.contains("Baseline check passed"), "{}", finished.stdout);
    }
}
