//! Everything that the published schema names is answered, used, or left out for a reason that is
//! written here: a new version of the schema fails until somebody has looked at it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::clients::service;
use super::editor::Editor;
use super::home;
use crate::loopback::Loopback;

/// What an editor is asked.
const ASKED: &[&str] = &[
    "elicitation/create",
    "fs/read_text_file",
    "fs/write_text_file",
    "session/request_permission",
    "terminal/create",
    "terminal/kill",
    "terminal/output",
    "terminal/release",
    "terminal/wait_for_exit",
];

/// What an editor is told.
const TOLD: &[&str] = &["session/update"];

/// Not used: forms are answered where they stand, and nothing is asked by an address in a browser.
const UNUSED: &[&str] = &["elicitation/complete"];

/// The kinds of updates that are sent.
const SENT: &[&str] = &[
    "agent_message_chunk",
    "agent_thought_chunk",
    "available_commands_update",
    "compaction_update",
    "config_option_update",
    "current_mode_update",
    "notice",
    "plan",
    "session_info_update",
    "tool_call",
    "tool_call_update",
    "usage_update",
    "user_message_chunk",
];

/// Not sent: a summary is short and comes whole.
const UNSENT: &[&str] = &["compaction_summary_chunk"];

/// How a prompt can end.
const STOPS: &[&str] = &["cancelled", "end_turn", "max_tokens", "max_turn_requests", "refusal"];

fn consts(schema: &Value, of: &str, at: &str) -> BTreeSet<String> {
    let variants = schema["$defs"][of]["oneOf"].as_array().cloned().unwrap_or_default();
    let found = variants.iter().filter_map(|it| it.pointer(at).and_then(Value::as_str));
    found.map(str::to_owned).collect()
}

fn set(names: &[&[&str]]) -> BTreeSet<String> {
    names.iter().flat_map(|names| names.iter()).map(|name| (*name).to_owned()).collect()
}

#[test]
fn everything_that_the_schema_names_is_known() {
    let Some(schema) = service("ACP_SCHEMA") else {
        let test = "everything_that_the_schema_names_is_known";
        return petasos_testkit::skip(test, "acp", "the schema is not installed");
    };
    let schema = std::fs::read_to_string(schema).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    assert_eq!(
        consts(&schema, "SessionUpdate", "/properties/sessionUpdate/const"),
        set(&[SENT, UNSENT])
    );
    assert_eq!(consts(&schema, "StopReason", "/const"), set(&[STOPS]));
    let kinds = ["allow_always", "allow_once", "reject_always", "reject_once"];
    assert_eq!(consts(&schema, "PermissionOptionKind", "/const"), set(&[&kinds]));
    let blocks = ["audio", "image", "resource", "resource_link", "text"];
    assert_eq!(consts(&schema, "ContentBlock", "/properties/type/const"), set(&[&blocks]));
    let defs = schema["$defs"].as_object().expect("definitions");
    let of = |side: &str| -> BTreeSet<String> {
        let named = defs.iter().filter(|(name, it)| {
            it["x-side"] == side && !name.ends_with("Response") && it["x-method"].is_string()
        });
        named.filter_map(|(_, it)| it["x-method"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(of("client"), set(&[ASKED, TOLD, UNUSED]));
    let model = Loopback::saying(Vec::new());
    let mut editor = Editor::greeted(&home(&model), &json!({}));
    let told = ["session/cancel", "$/cancel_request"];
    for method in of("agent").iter().filter(|method| !told.contains(&method.as_str())) {
        let id = editor.request(method, json!({}));
        let answer = editor.answer(id);
        assert_ne!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}
