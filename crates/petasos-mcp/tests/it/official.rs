//! The official servers, over stdio, streamable HTTP and the older SSE, through our client.

use petasos_mcp::client::State;
use petasos_testkit::skip;
use serde_json::{Value, json};

use crate::kit::{Kit, view};

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
        // Whether the page that `fetch` is asked for is up belongs to another service.
        let well = text.contains("\"result\"") && !text.contains("\"error\"");
        assert!(well || *name == "fetch" && text.contains("fetch http"), "{name}: {text}");
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
