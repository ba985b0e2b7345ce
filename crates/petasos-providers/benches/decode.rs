//! Bytes into deltas and a reply, for every dialect's recorded answer.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use petasos_providers::mode::Wire;
use petasos_providers::transport::{self, Framing, Target};

fn main() {
    divan::main();
}

const CHAT: &[u8] = include_bytes!("../golden/chat_completions/parallel.sse");
const MESSAGES: &[u8] = include_bytes!("../golden/anthropic_messages/thinking_tools.sse");
const RESPONSES: &[u8] = include_bytes!("../golden/codex_responses/reasoning_tools.sse");
const GEMINI: &[u8] = include_bytes!("../golden/gemini/thoughts_tools.sse");
const BEDROCK: &[u8] = include_bytes!("../golden/bedrock_converse/reasoning_tools.bin");

fn decode(bencher: Bencher, wire: Wire, framing: Framing, bytes: &[u8]) {
    let Some(transport) = transport::of(wire) else { return };
    let target = Target::default();
    bencher.counter(BytesCount::of_slice(bytes)).bench(|| {
        let mut decoder = (transport.decoder)(&target, framing);
        let mut deltas = Vec::new();
        let pushed = decoder.push(black_box(bytes), &mut deltas);
        (pushed.is_ok(), decoder.finish(&mut deltas).is_ok(), deltas)
    });
}

#[divan::bench]
fn chat_completions(bencher: Bencher) {
    decode(bencher, Wire::ChatCompletions, Framing::Events, CHAT);
}

#[divan::bench]
fn anthropic_messages(bencher: Bencher) {
    decode(bencher, Wire::AnthropicMessages, Framing::Events, MESSAGES);
}

#[divan::bench]
fn codex_responses(bencher: Bencher) {
    decode(bencher, Wire::CodexResponses, Framing::Events, RESPONSES);
}

#[divan::bench]
fn gemini(bencher: Bencher) {
    decode(bencher, Wire::Gemini, Framing::Events, GEMINI);
}

#[divan::bench]
fn bedrock_converse(bencher: Bencher) {
    decode(bencher, Wire::BedrockConverse, Framing::AmazonEvents, BEDROCK);
}

/// A long answer in many small pieces of text, which is the usual load.
#[divan::bench]
fn long_chat(bencher: Bencher) {
    let event = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let stream = event.repeat(5_000) + end;
    decode(bencher, Wire::ChatCompletions, Framing::Events, stream.as_bytes());
}
