//! The board tools: whose words a card carries, and that every failure has the shared shape.

use petasos_contract::ToolOutput;
use petasos_contract::taint::Taint;
use serde_json::json;

use crate::bench::Bench;

#[test]
fn a_cards_label_reaches_whoever_reads_it() {
    let bench = Bench::new();
    let clean = bench.run("kanban_create", &json!({ "title": "Clean", "assignee": "w" }));
    let tainted = bench.cx.clone().tainted(Taint::WEB);
    let create = json!({ "title": "From a page", "assignee": "w", "parents": [clean["task_id"]] });
    let made = bench.run_in(&tainted, "kanban_create", &create);
    let child = json!({ "title": "Child", "assignee": "w", "parents": [made["task_id"]] });
    let child = bench.run("kanban_create", &child);
    let show =
        |id: &serde_json::Value| bench.try_run("kanban_show", &json!({ "task_id": id })).unwrap();
    assert!(matches!(show(&clean["task_id"]), ToolOutput::Text(_)));
    for id in [&made["task_id"], &child["task_id"]] {
        let ToolOutput::Untrusted(text) = show(id) else { panic!("{id} is shown as ours") };
        assert!(text.contains("\"from_outside\":true"), "{text}");
    }
    let said = json!({ "task_id": clean["task_id"], "body": "read on a page" });
    bench.run_in(&tainted, "kanban_comment", &said);
    assert!(matches!(show(&clean["task_id"]), ToolOutput::Untrusted(_)), "a comment counts, too");
}

#[test]
fn a_card_keeps_no_secret_and_says_what_is_wrong_with_a_wish() {
    let bench = Bench::new();
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
    let made = json!({ "title": "T", "assignee": "w", "body": format!("use {key}") });
    let made = bench.run("kanban_create", &made);
    let shown = bench.run("kanban_show", &json!({ "task_id": made["task_id"] }));
    assert!(!shown.to_string().contains(key), "{shown}");
    let database = std::fs::read(bench.root.join("home/.agent/petasos.db")).unwrap();
    let log = std::fs::read(bench.root.join("home/.agent/petasos.db-wal")).unwrap_or_default();
    let is_in = |bytes: &[u8]| bytes.windows(key.len()).any(|piece| piece == key.as_bytes());
    assert!(!is_in(&database) && !is_in(&log));
    for (tool, args) in [
        ("kanban_create", json!({ "title": " ", "assignee": "w" })),
        ("kanban_create", json!({ "title": "T", "assignee": "w", "workspace_kind": "dir" })),
        ("kanban_create", json!({ "title": "T", "assignee": "w", "parents": ["t_ffffffff"] })),
        ("kanban_create", json!({ "title": "T", "assignee": "w", "board": "../x" })),
        ("kanban_show", json!({})),
        ("kanban_heartbeat", json!({ "task_id": made["task_id"] })),
        ("kanban_unblock", json!({ "task_id": made["task_id"] })),
        ("kanban_block", json!({ "task_id": made["task_id"], "reason": "r", "kind": "mood" })),
        (
            "kanban_attach",
            json!({ "task_id": made["task_id"], "filename": "a", "content_base64": "aGk" }),
        ),
    ] {
        let told = bench.run(tool, &args);
        assert!(
            told["error"].is_string() && told["error_type"].is_string(),
            "{tool} {args}: {told}"
        );
    }
}
