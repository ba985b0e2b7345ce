//! Error bodies as the vendors publish them, and the reason each must give.

use std::time::{Duration, SystemTime};

use petasos_contract::model::Reason;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::mode::Wire;
use crate::transport;
use crate::transports::TRANSPORTS;

fn judge(wire: Wire, status: u16, body: &Value, size: Size) -> Failure {
    let body = body.to_string();
    let answer = Answer { status, headers: &[], body: body.as_bytes() };
    classify(transport::of(wire).unwrap(), answer, size, SystemTime::UNIX_EPOCH)
}

fn error(message: &str) -> Value {
    json!({"error": {"message": message}})
}

fn typed(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

#[derive(Deserialize)]
struct Row {
    dialect: String,
    status: u16,
    body: Value,
    reason: Reason,
}

#[test]
fn published_errors_get_their_reason() {
    for line in include_str!("../../golden/failures.jsonl").lines() {
        let Row { dialect, status, body, reason } = serde_json::from_str(line).unwrap();
        let transport = TRANSPORTS.iter().find(|transport| transport.name == dialect).unwrap();
        let judged = judge(transport.wire, status, &body, Size::default());
        assert_eq!((judged.reason, judged.status), (reason, Some(status)), "{line}");
    }
}

#[test]
fn what_an_error_states_is_kept() {
    let long = "prompt is too long: 210000 tokens > 200000 maximum";
    let judged =
        judge(Wire::AnthropicMessages, 400, &typed("invalid_request_error", long), Size::default());
    assert_eq!(judged.context_length, Some(200_000));
    let sum = "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000";
    let judged =
        judge(Wire::AnthropicMessages, 400, &typed("invalid_request_error", sum), Size::default());
    assert_eq!(judged.room, Some(10_000));
    let tool = "Invalid value at 'tools[0].function_declarations[4].parameters'";
    let judged = judge(Wire::Gemini, 400, &error(tool), Size::default());
    assert_eq!(judged.tool, Some(ToolHint::Index(4)));
    let field = typed("invalid_request_error", "output_config: Extra inputs are not permitted");
    let judged = judge(Wire::AnthropicMessages, 400, &field, Size::default());
    assert_eq!(judged.param.as_deref(), Some("output_config"));
    let wait = json!({"error": {"message": "m", "details": [{"retryDelay": "31s"}]}});
    let judged = judge(Wire::Gemini, 429, &wait, Size::default());
    assert_eq!(judged.retry_after, Some(Duration::from_secs(31)));
}

#[test]
fn a_bare_refusal_means_another_thing_for_a_large_conversation() {
    let large = Size { tokens: 90_000, messages: 3, context: Some(200_000) };
    assert_eq!(
        judge(Wire::ChatCompletions, 400, &error("Error"), large).reason,
        Reason::ContextOverflow
    );
    let small = Size { tokens: 900, ..large };
    assert_eq!(judge(Wire::ChatCompletions, 400, &error("Error"), small).reason, Reason::Format);
}

#[test]
fn a_page_for_people_is_told_apart_from_an_answer() {
    let page = b"<html><head><title>502 Bad Gateway</title></head></html>";
    let chat = transport::of(Wire::ChatCompletions).unwrap();
    for (status, reason) in [(502, Reason::ServerError), (404, Reason::InvalidResponse)] {
        let answer = Answer { status, headers: &[], body: page };
        let judged = classify(chat, answer, Size::default(), SystemTime::UNIX_EPOCH);
        assert_eq!((judged.reason, judged.message.as_str()), (reason, "not JSON: 502 Bad Gateway"));
    }
}
