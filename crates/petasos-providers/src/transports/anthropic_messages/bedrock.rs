//! Messages inside Amazon Bedrock: the same body below another path, the same events inside
//! Amazon's frames.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure;
use crate::transport::decode::{DecodeError, parse};
use crate::transport::node::Body;
use crate::transport::target::Target;

/// Whether Amazon serves this target.
pub(super) fn serves(target: &Target) -> bool {
    target.provider == "bedrock"
}

/// The model is in the path, and so is whether the answer streams.
pub(super) fn endpoint(target: &Target) -> String {
    let action = if target.streams() { "invoke-with-response-stream" } else { "invoke" };
    target.below(&format!("model/{}/{action}", escaped(&target.model)))
}

/// What stands in the body here and in headers elsewhere.
pub(super) fn put(body: &mut Body) {
    body.put("anthropic_version", json!("bedrock-2023-05-31"));
    body.put("anthropic_beta", json!(["interleaved-thinking-2025-05-14"]));
}

/// A model id as one path segment: ids hold colons, and inference profiles slashes.
fn escaped(model: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = model.bytes().map(|byte| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    });
    each.collect::<Vec<_>>().concat()
}

/// The event inside a frame; nothing when the event came without one.
pub(super) fn unwrapped(name: &str, data: &str) -> Result<Option<String>, DecodeError> {
    #[derive(Deserialize)]
    struct Chunk {
        bytes: Option<String>,
    }
    let lower = name.to_ascii_lowercase();
    if lower.ends_with("exception") {
        let mut fault = failure::fault(&parse::<Value>(data)?);
        // The frame spells the name with a small letter, the error table as the service does.
        let mut letters = name.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        fault.code = Some(first.into_iter().chain(letters).collect());
        return Err(DecodeError::Fault { fault });
    }
    if lower != "chunk" {
        return Ok(None);
    }
    let chunk: Chunk = parse(data)?;
    // Some imitations put the event into the frame as it is.
    let Some(bytes) = chunk.bytes else { return Ok(None) };
    let bytes = STANDARD.decode(bytes.as_bytes());
    let bytes = bytes.map_err(|error| DecodeError::malformed(error, data))?;
    String::from_utf8(bytes).map(Some).map_err(|error| DecodeError::malformed(error, data))
}

#[cfg(test)]
mod tests {
    use petasos_contract::message::Message;
    use petasos_contract::model::Prompt;

    use super::*;
    use crate::mode::Wire;
    use crate::transport::{self, Framing};

    fn target() -> Target {
        Target {
            provider: "bedrock".to_owned(),
            model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0".to_owned(),
            base_url: "https://bedrock-runtime.us-east-1.amazonaws.com".to_owned(),
            ..Target::default()
        }
    }

    fn frame(kind: &str, payload: &str) -> Vec<u8> {
        let name = b":event-type";
        let mut heads = vec![u8::try_from(name.len()).unwrap()];
        heads.extend_from_slice(name);
        heads.push(7);
        heads.extend_from_slice(&u16::try_from(kind.len()).unwrap().to_be_bytes());
        heads.extend_from_slice(kind.as_bytes());
        let total = u32::try_from(16 + heads.len() + payload.len()).unwrap();
        let mut bytes = total.to_be_bytes().to_vec();
        bytes.extend_from_slice(&u32::try_from(heads.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(&transport::eventstream::crc32(&bytes).to_be_bytes());
        bytes.extend_from_slice(&heads);
        bytes.extend_from_slice(payload.as_bytes());
        bytes.extend_from_slice(&transport::eventstream::crc32(&bytes).to_be_bytes());
        bytes
    }

    #[test]
    fn the_model_is_in_the_path_and_the_version_in_the_body() {
        let messages = transport::of(Wire::AnthropicMessages).unwrap();
        let prompt = Prompt { messages: vec![Message::user("hi")], ..Prompt::default() };
        let request = (messages.encode)(&prompt, &target()).unwrap();
        let path =
            "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream";
        assert!(request.url.ends_with(path), "{}", request.url);
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["anthropic_version"], "bedrock-2023-05-31");
        assert!(body.get("model").is_none() && body.get("stream").is_none(), "{body}");
        assert_eq!(body["max_tokens"], 64_000, "the limit of this very model");
        assert!(request.headers.is_empty(), "{:?}", request.headers);
    }

    #[test]
    fn events_come_out_of_amazon_s_frames_at_every_cut() {
        let events = [
            r#"{"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":3}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
            r#"{"type":"message_stop"}"#,
        ];
        let wrapped =
            |event: &&str| frame("chunk", &json!({"bytes": STANDARD.encode(event)}).to_string());
        let stream: Vec<u8> = events.iter().flat_map(wrapped).collect();
        let messages = transport::of(Wire::AnthropicMessages).unwrap();
        for cut in 0..stream.len() {
            let mut decoder = (messages.decoder)(&target(), Framing::AmazonEvents);
            let (one, two) = stream.split_at(cut);
            let mut deltas = Vec::new();
            decoder.push(one, &mut deltas).unwrap();
            decoder.push(two, &mut deltas).unwrap();
            let reply = decoder.finish(&mut deltas).unwrap();
            assert_eq!((reply.message.text(), reply.usage.input), ("hello", 3), "{cut}");
        }
        let mut decoder = (messages.decoder)(&target(), Framing::AmazonEvents);
        let busy = frame("throttlingException", r#"{"message":"too many"}"#);
        let error = decoder.push(&busy, &mut Vec::new()).unwrap_err();
        let DecodeError::Fault { fault } = error else { panic!("{error}") };
        assert_eq!(fault.code.as_deref(), Some("ThrottlingException"));
    }
}
