//! DeepInfra: OpenAI's shape at another address.

use serde_json::json;

use crate::speaking::{SpeechDef, Way, Wish};
use crate::vendor::{Body, KeyHeader, Outgoing, Vendor};

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "deepinfra",
    limit: 4_000,
    rank: None,
    cents: 1,
    way: Way::Cloud {
        vendor: Vendor {
            id: "deepinfra",
            keys: &["DEEPINFRA_API_KEY"],
            base: "https://api.deepinfra.com/v1/openai",
            header: KeyHeader::Bearer,
        },
        outgoing,
        sound: |answer| Ok(answer.bytes.clone()),
    },
};

fn outgoing(text: &str, wish: &Wish) -> Outgoing {
    let format = if wish.opus { "opus" } else { "mp3" };
    let body = json!({ "model": wish.model_or("hexgrad/Kokoro-82M"), "input": text,
        "voice": wish.voice_or("af_bella"), "response_format": format });
    Outgoing { path: "/audio/speech".to_owned(), body: Body::Json(body) }
}
