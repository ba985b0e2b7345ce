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
fn servers_that_people_run_themselves_state_the_room_they_have() {
    let cases = [
        (
            "This model's maximum context length is 32768 tokens. However, you requested 65636 tokens \
          (100 in the messages, 65536 in the completion).",
            Some(32_668),
            Some(32_768),
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 65536. This model's maximum \
          context length is 32768 tokens and your request has 100 input tokens (65536 > 32768 - \
          100). None",
            Some(32_668),
            Some(32_768),
        ),
        (
            "This model's maximum context length is 128000 tokens. However, you requested 65535 \
          output tokens and your prompt contains at least 62466 input tokens, for a total of at \
          least 128001 tokens.",
            Some(65_534),
            Some(128_000),
        ),
        (
            "You passed 1 input tokens and requested 65535 output tokens. However, the model's \
          context length is only 65535 tokens, resulting in a maximum input length of 0 tokens.",
            Some(65_534),
            Some(65_535),
        ),
        (
            "Requested token count exceeds the model's maximum context length of 32768 tokens. You \
          requested a total of 65636 tokens: 100 tokens from the input messages and 65536 tokens \
          for the completion.",
            Some(32_668),
            Some(32_768),
        ),
        (
            "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 100 `inputs` tokens and \
          65536 `max_new_tokens`",
            Some(3_996),
            Some(4_096),
        ),
        (
            "This model's maximum context length is 4096 tokens. However, your request has 5000 \
          input tokens. Please reduce the length of the input messages.",
            None,
            Some(4_096),
        ),
        (
            "request (14429 tokens) exceeds the available context size (8192 tokens), try \
          increasing it",
            None,
            Some(8_192),
        ),
    ];
    for (words, room, context) in cases {
        let judged = judge(Wire::ChatCompletions, 400, &error(words), Size::default());
        assert_eq!(judged.reason, Reason::ContextOverflow, "{words}");
        assert_eq!((judged.room, judged.context_length), (room, context), "{words}");
    }
    let fields = json!({"error": {"message": "the request exceeds the available context size",
        "n_prompt_tokens": 14_429, "n_ctx": 8_192}});
    let judged = judge(Wire::ChatCompletions, 400, &fields, Size::default());
    assert_eq!(judged.context_length, Some(8_192));
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
