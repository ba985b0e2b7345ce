//! Any history, however mangled, becomes a request that every dialect accepts.

use petasos_contract::message::{Assistant, Content, Message, Part, RequestedCall};
use petasos_contract::model::Prompt;
use petasos_providers::transports::TRANSPORTS;
use proptest::prelude::*;
use serde_json::Value;

use crate::golden::target;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" ".to_owned()), Just("a\0b".to_owned()), "[a-z☀]{1,8}"]
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("call.1".to_owned()), Just("call_1".to_owned()), "[a-c]"]
}

fn message() -> impl Strategy<Value = Message> {
    let arguments = prop_oneof![
        Just("{\"b\":1,\"a\":2}".to_owned()),
        Just("{\"x".to_owned()),
        Just("[1]".to_owned()),
        Just(String::new())
    ];
    let call = (id(), arguments).prop_map(|(id, arguments)| RequestedCall {
        id: id.into(),
        name: "tool".into(),
        arguments,
        provider_data: None,
    });
    let picture = Just(Part::image("data:image/png;base64,AAAA"));
    let part = prop_oneof![text().prop_map(Part::text), picture];
    let content = prop_oneof![
        text().prop_map(Content::Text),
        prop::collection::vec(part, 0..3).prop_map(Content::Parts)
    ];
    prop_oneof![
        content.clone().prop_map(|content| Message::User { content }),
        (text(), prop::collection::vec(call, 0..3)).prop_map(|(text, tool_calls)| {
            Message::Assistant(Assistant {
                content: Some(text),
                tool_calls,
                ..Assistant::default()
            })
        }),
        (id(), content).prop_map(|(id, content)| Message::Tool(
            petasos_contract::message::ToolMessage { tool_call_id: id.into(), name: None, content }
        )),
    ]
}

/// Every call is answered once, right after, and nothing else is answered.
fn paired(messages: &[Value]) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        for block in blocks {
            if block["type"] == "tool_result" {
                let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
                let at = open.iter().position(|known| *known == id);
                at.map(|at| open.remove(at)).ok_or(format!("{id} was not asked"))?;
            } else if message["role"] == "user" && !open.is_empty() {
                return Err(format!("{open:?} not answered before {block}"));
            }
            if block["type"] == "tool_use" {
                open.push(block["id"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} never answered")) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_has_a_valid_form(messages in prop::collection::vec(message(), 1..8)) {
        let prompt = Prompt { messages, ..Prompt::default() };
        for transport in TRANSPORTS {
            let Ok(request) = (transport.encode)(&prompt, &target(transport.wire)) else { continue };
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            prop_assert!(!String::from_utf8_lossy(&request.body).contains("\\u0000"));
            let list = body["messages"].as_array().or(body["contents"].as_array());
            let list = list.cloned().unwrap_or_default();
            if matches!(transport.name, "anthropic_messages" | "bedrock_converse" | "gemini") {
                let roles: Vec<&str> = list.iter().filter_map(|m| m["role"].as_str()).collect();
                prop_assert_eq!(roles.first(), Some(&"user"), "{}", transport.name);
                prop_assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{} {roles:?}", transport.name);
            }
            if transport.name == "anthropic_messages" {
                prop_assert_eq!(paired(&list), Ok(()), "{}", body);
            }
        }
    }
}
