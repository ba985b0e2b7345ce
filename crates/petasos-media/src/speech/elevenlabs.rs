//! ElevenLabs: `POST /v1/text-to-speech/<voice>`, the format in the query.

use serde_json::json;

use crate::speaking::{SpeechDef, Way, Wish};
use crate::vendor::{Body, KeyHeader, Outgoing, Vendor};

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "elevenlabs",
    limit: 10_000,
    rank: None,
    cents: 30,
    way: Way::Cloud {
        vendor: Vendor {
            id: "elevenlabs",
            keys: &["ELEVENLABS_API_KEY"],
            base: "https://api.elevenlabs.io/v1",
            header: KeyHeader::Named("xi-api-key"),
        },
        outgoing,
        sound: |answer| Ok(answer.bytes.clone()),
    },
};

fn outgoing(text: &str, wish: &Wish) -> Outgoing {
    let format = if wish.opus { "opus_48000_64" } else { "mp3_44100_128" };
    let voice: String =
        wish.voice_or("pNInz6obpgDQGcFmaJgB").chars().filter(char::is_ascii_alphanumeric).collect();
    let body = json!({ "text": text, "model_id": wish.model_or("eleven_multilingual_v2") });
    let path = format!("/text-to-speech/{voice}?output_format={format}");
    Outgoing { path, body: Body::Json(body) }
}
