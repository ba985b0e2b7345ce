//! Wire bytes in both directions, compared with files that are reviewed as diffs.
//!
//! Set `PETASOS_BLESS=1` to write the expected files anew; the recorded streams are never written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::message::{Assistant, Content, Message, Part, RequestedCall};
use petasos_contract::model::{Definition, Delta, Prompt, Reply};
use petasos_providers::mode::Wire;
use petasos_providers::transport::{DecodeError, Framing, Target, TransportDef};
use petasos_providers::transports::TRANSPORTS;
use serde_json::{Value, json};

pub(crate) fn golden(transport: &TransportDef) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(transport.name)
}

#[expect(clippy::disallowed_methods, reason = "a test's own switch, read once")]
fn blesses() -> bool {
    std::env::var_os("PETASOS_BLESS").is_some()
}

#[expect(clippy::disallowed_methods, reason = "golden files are written on request only")]
fn compare(path: &Path, actual: &Value) {
    let text = format!("{actual:#}\n");
    if blesses() {
        fs::write(path, &text).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    let expected: Value = serde_json::from_str(&expected).unwrap_or(Value::Null);
    assert_eq!(actual, &expected, "{} differs; PETASOS_BLESS=1 writes it", path.display());
}

pub(crate) fn target(wire: Wire) -> Target {
    let (provider, model, base_url) = match wire {
        Wire::AnthropicMessages => ("anthropic", "claude-sonnet-4-5", "https://api.anthropic.com"),
        Wire::CodexResponses => ("openai-api", "gpt-5", "https://api.openai.com/v1"),
        Wire::Gemini => {
            ("gemini", "gemini-3-pro-preview", "https://generativelanguage.googleapis.com/v1beta")
        }
        Wire::BedrockConverse => (
            "bedrock",
            "anthropic.claude-sonnet-4-5-20250929-v1:0",
            "https://bedrock-runtime.us-east-1.amazonaws.com",
        ),
        Wire::CopilotAcp => ("copilot-acp", "copilot-acp", "acp://copilot"),
        Wire::CodexAppServer => ("openai-codex", "gpt-5", "https://chatgpt.com/backend-api/codex"),
        _ => ("openrouter", "anthropic/claude-opus-4.5", "https://openrouter.ai/api/v1"),
    };
    Target {
        provider: provider.to_owned(),
        model: model.to_owned(),
        base_url: base_url.to_owned(),
        session: Some("session-1".to_owned()),
        ..Target::default()
    }
}

fn call(id: &str, city: &str) -> RequestedCall {
    RequestedCall {
        id: id.into(),
        name: "get_weather".into(),
        arguments: json!({"city": city}).to_string(),
        provider_data: None,
    }
}

pub(crate) fn weather() -> Definition {
    Definition {
        name: "get_weather".into(),
        description: "Current weather for a city".to_owned(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}},
            "required": ["city"]}),
    }
}

/// Two calls, one blank result, a picture.
pub(crate) fn conversation() -> Prompt {
    let calls = vec![call("call.1", "Oslo"), call("call_2", "Rome")];
    Prompt {
        system: "You are terse.".to_owned(),
        messages: vec![
            Message::user("weather in two cities"),
            Message::Assistant(Assistant { tool_calls: calls, ..Assistant::default() }),
            Message::tool("call.1", "3C"),
            Message::tool("call_2", ""),
            Message::User {
                content: Content::Parts(vec![
                    Part::text("and this picture?"),
                    Part::image("data:image/png;base64,AAAA"),
                ]),
            },
        ],
        tools: Arc::from([weather()]),
        max_tokens: Some(1000),
        ..Prompt::default()
    }
}

pub(crate) fn sent(transport: &TransportDef, prompt: &Prompt, target: &Target) -> Value {
    let request = (transport.encode)(prompt, target).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    json!({"url": request.url, "headers": request.headers, "body": body})
}

#[test]
fn one_conversation_is_written_in_every_dialect() {
    for transport in TRANSPORTS {
        let path = golden(transport).join("request.json");
        let sent = sent(transport, &conversation(), &target(transport.wire));
        compare(&path, &sent);
    }
}

#[test]
fn each_dialect_writes_what_it_has_a_word_for_and_nothing_else() {
    let shape = json!({ "name": "hat", "schema": { "type": "object" }, "strict": true });
    let given = json!({
        "top_p": 0.5, "stop": "END", "seed": 7,
        "response_format": { "type": "json_schema", "json_schema": shape },
    });
    let extra = given.as_object().cloned().unwrap();
    let prompt = Prompt { extra, ..conversation() };
    for transport in TRANSPORTS.iter().filter(|transport| transport.program.is_none()) {
        // Models that think refuse to be told how freely to choose.
        let mut target = target(transport.wire);
        if transport.wire == Wire::CodexResponses {
            "gpt-4.1".clone_into(&mut target.model);
        }
        let body = sent(transport, &prompt, &target)["body"].to_string();
        let words = [
            ("top_p", ["\"top_p\":0.5", "\"topP\":0.5"]),
            ("stop", ["\"stop\":\"END\"", "[\"END\"]"]),
            ("seed", ["\"seed\":7", "\"seed\":7"]),
            ("response_format", ["\"name\":\"hat\"", "\"name\":\"hat\""]),
        ];
        for (field, forms) in words {
            let written = forms.iter().any(|form| body.contains(form));
            assert_eq!(
                written,
                transport.takes.contains(&field),
                "{} {field}: {body}",
                transport.name
            );
        }
    }
}

#[test]
fn equal_prompts_give_equal_bytes() {
    for transport in TRANSPORTS {
        let bytes = || (transport.encode)(&conversation(), &target(transport.wire)).unwrap().body;
        assert_eq!(bytes(), bytes(), "{}", transport.name);
    }
}

/// One recorded answer and how it is framed.
pub(crate) struct Recorded {
    pub(crate) path: PathBuf,
    pub(crate) framing: Framing,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn recordings(transport: &TransportDef) -> Vec<Recorded> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(golden(transport)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let each = paths.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        let expected =
            name.ends_with(".reply.json") || name == "request.json" || name == "replay.json";
        let framing = match path.extension()?.to_str()? {
            "sse" => Framing::Events,
            "bin" => Framing::AmazonEvents,
            "jsonl" => Framing::Lines,
            "json" if !expected => Framing::Whole,
            _ => return None,
        };
        let bytes = fs::read(&path).unwrap();
        Some(Recorded { path, framing, bytes })
    });
    each.collect()
}

pub(crate) type Decoded = (Vec<Delta>, Result<Reply, (DecodeError, Reply)>);

/// Decodes an answer that arrives in these pieces.
pub(crate) fn decode(transport: &TransportDef, recorded: &Recorded, pieces: &[&[u8]]) -> Decoded {
    let mut target = target(transport.wire);
    if recorded.path.ends_with("commentary.sse") {
        "openai-codex".clone_into(&mut target.provider);
    }
    let mut decoder = (transport.decoder)(&target, recorded.framing);
    let mut deltas = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut deltas) {
            return (deltas, Err((error, decoder.rescue())));
        }
    }
    let finished = decoder.finish(&mut deltas);
    (deltas, finished.map_err(|error| (error, decoder.rescue())))
}

fn shown((deltas, outcome): &Decoded) -> Value {
    let reply = |reply: &Reply| {
        json!({"message": reply.message, "finish": reply.finish, "usage": reply.usage,
            "cost": reply.cost, "model": reply.model, "id": reply.id})
    };
    match outcome {
        Ok(done) => json!({"deltas": deltas, "reply": reply(done)}),
        Err((error, rescued)) => {
            json!({"deltas": deltas, "error": error.to_string(), "rescued": reply(rescued)})
        }
    }
}

fn same(left: &Decoded, right: &Decoded) -> bool {
    let parts =
        |reply: &Reply| (reply.message.clone(), reply.finish, reply.usage, reply.id.clone());
    let outcome = |decoded: &Decoded| match &decoded.1 {
        Ok(reply) => (None, parts(reply)),
        Err((error, rescued)) => (Some(error.clone()), parts(rescued)),
    };
    left.0 == right.0 && outcome(left) == outcome(right)
}

#[test]
fn recorded_answers_are_read_the_same_at_every_cut() {
    for transport in TRANSPORTS {
        for recorded in recordings(transport) {
            let whole = decode(transport, &recorded, &[&recorded.bytes]);
            compare(&recorded.path.with_extension("reply.json"), &shown(&whole));
            for at in 0..=recorded.bytes.len() {
                let (left, right) = recorded.bytes.split_at(at);
                let cut = decode(transport, &recorded, &[left, right]);
                assert!(same(&cut, &whole), "{} cut at {at}", recorded.path.display());
            }
            let bytes: Vec<&[u8]> = recorded.bytes.chunks(1).collect();
            assert!(same(&decode(transport, &recorded, &bytes), &whole));
        }
    }
}

/// The recorded answer of each dialect that has reasoning and two calls; programs run their own.
pub(crate) const RICH: [(Wire, &str); 5] = [
    (Wire::AnthropicMessages, "thinking_tools"),
    (Wire::BedrockConverse, "reasoning_tools"),
    (Wire::ChatCompletions, "parallel"),
    (Wire::CodexResponses, "reasoning_tools"),
    (Wire::Gemini, "thoughts_tools"),
];

fn rich() -> impl Iterator<Item = (&'static TransportDef, &'static str)> {
    RICH.into_iter().map(|(wire, name)| (petasos_providers::transport::of(wire).unwrap(), name))
}

#[test]
fn a_reply_goes_back_with_its_calls_in_order_and_its_signed_blocks_untouched() {
    for (transport, name) in rich() {
        let recordings = recordings(transport);
        let stem =
            |recorded: &&Recorded| recorded.path.file_stem().is_some_and(|stem| stem == name);
        let recorded = recordings.iter().find(stem).unwrap();
        let (_, reply) = decode(transport, recorded, &[&recorded.bytes]);
        let message = reply.unwrap().message;
        let mut messages = vec![Message::user("weather?"), Message::Assistant(message.clone())];
        for call in &message.tool_calls {
            messages.push(Message::tool(call.id.clone(), format!("sunny for {}", call.id)));
        }
        // What is stored is what comes back.
        let stored = serde_json::to_string(&messages).unwrap();
        let messages: Vec<Message> = serde_json::from_str(&stored).unwrap();
        let prompt = Prompt { messages, ..Prompt::default() };
        let sent = sent(transport, &prompt, &target(transport.wire));
        compare(&golden(transport).join("replay.json"), &sent["body"]);
        let bytes = (transport.encode)(&prompt, &target(transport.wire)).unwrap().body;
        let text = String::from_utf8(bytes).unwrap();
        for signed in
            ["EqoBCkgIARAB", "Two cities — two calls.", "gAAAAABencrypted==", "Co8CAdHtim9z"]
        {
            let had = String::from_utf8_lossy(&recorded.bytes).replace("\"}}", "").contains(signed);
            assert!(!had || text.contains(signed), "{}: {signed}", transport.name);
        }
    }
}

#[test]
fn a_strangers_signed_blocks_are_never_sent() {
    for (transport, name) in rich() {
        let recordings = recordings(transport);
        let stem =
            |recorded: &&Recorded| recorded.path.file_stem().is_some_and(|stem| stem == name);
        let recorded = recordings.iter().find(stem).unwrap();
        let message = decode(transport, recorded, &[&recorded.bytes]).1.unwrap().message;
        let prompt = Prompt {
            messages: vec![Message::user("x"), Message::Assistant(message)],
            ..Prompt::default()
        };
        for other in TRANSPORTS.iter().filter(|other| other.name != transport.name) {
            let bytes = (other.encode)(&prompt, &target(other.wire)).unwrap().body;
            let text = String::from_utf8(bytes).unwrap();
            for signed in ["EqoBCkgIARAB", "gAAAAABencrypted==", "Co8CAdHtim9z", "c2ln"] {
                assert!(!text.contains(signed), "{} to {}: {text}", transport.name, other.name);
            }
        }
    }
}
